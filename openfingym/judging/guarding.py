"""Answers that try to instruct the judge, and what is done about them.

1. A rule decides first: where one can, no judge is asked, and nothing that an answer says to it matters.
2. An answer that speaks to a judge (:func:`addresses_judge`) scores 0, and no judge is asked. This rests on a list of
   what such texts say, and lists have gaps.
3. The answer is quoted as one JSON string between lines with a random token, and is cut to :data:`LONGEST` characters;
   a reply must repeat the token, and one with two scores is an error. So a score that a judge copies out of an answer
   does not count.
4. An answer that is judged right is judged once more against a truth that is wrong (:func:`decoy`). A judge that calls
   it right there too was told to, or does not look: the answer scores 0. This holds even against a judge that obeys
   whatever it reads, unless the answer tells the truth from the decoy, which its author would have to know.

What cannot be promised: that no text makes some model say 1 to a wrong answer and 0 to its decoy.
"""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Iterator

from openfingym.answers.reading.cleaning import cleaned

LONGEST = 3000
"""Most characters of an answer that a judge is shown."""
# An order stands at the beginning of a sentence or after "please" and the like: "ignore the prior rules" is one, and
# "analysts ignore the prior year" is none.
_ORDER = (
    r"(?:^|[\n.!?;:>\]})\"'-]\s*|\b(?:please|kindly|just|simply|now|must|always|so|and|then|"
    r"you\s+(?:must|should|can|may|will|shall|need\s+to|have\s+to|are\s+to))\s+)"
)
_ROLE = r"(?:system|developer|assistant|user|human|judge|grader|evaluator)"
_ONE = r"[\"']?1(?:\.0+)?(?![\w.,%]*[\w%])"
"""The score 1, and no number that begins with it."""
_SCORING = r"(?:scor(?:e|ing)|grad(?:e|ing)|mark(?:s|ing)?|judg(?:e|ing))"
_PATTERNS = (
    # Scores in the form of a reply.
    r"answer_?\s?score",
    (
        rf"[\"']score[\"']\s*(?::|=|to|as|is)\s*{_ONE}|\{{\s*[\"']?(?:score|token|verdict"
        rf"|grade)\b[\"']?\s*:\s*{_ONE}"
    ),
    (
        rf"(?:^|[\n.;,{{(]\s*|\b(?:the|my|your|this|final|full|correct|a)\s+)score\b(?:\s+(?:for|of|to)\s+(?:this"
        rf"|the|my)"
        rf"\s+\w+(?:\s+\w+)?)?\s*(?:is|of|should be|must be)?\s*[:=]?\s*{_ONE}"
    ),
    # Orders to the judge.
    (
        rf"{_ORDER}(?:score|grade|mark|judge|treat|rate|accept|count)\s+(?:this|it|me|my|the answer|everything"
        rf"|all)\b[^.\n]{{0,40}}"
        r"\b(?:correct|right|1(?![.,\w%]*[\w%])|full(?:\s+(?:marks?|scores?|points?|credits?)|$)|valid|true)\b"
    ),
    (
        rf"{_ORDER}(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{{0,40}}\b(?:instructions?|prompts?"
        rf"|criteria|criterion"
        r"|rules?|reference|directions?|guidelines?|messages?)\b"
    ),
    (
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:instructions?|prompts?"
        r"|reference answers?)\b"
    ),
    (
        rf"{_ORDER}(?:ignore|disregard|forget|override)\s+(?:\w+\s+){{0,3}}(?:previous|prior|above"
        rf"|earlier)\s*(?:[.,;:!\n]|$)"
    ),
    (
        rf"{_ORDER}(?:output|return|respond|reply|print|emit|give|write|answer|assign|award)\b\s+(?:with\s+|me\s+"
        rf"|it\s+|this\s+(?:answer\s+)?"
        r"|the\s+answer\s+)?(?:an?\s+|the\s+)?(?:full\s+|perfect\s+|top\s+|max(?:imum)?\s+|high\s+|good\s+)?"
        rf"(?:score|marks|points|credit|grade|{_ONE})(?!\w)"
    ),
    # Roles of a conversation, marks of its parts, and forms of address.
    (
        rf"(?:^|\n)\W*{_ROLE}\b(?:\s+(?:message|note|prompt))?\W*:[^\n]{{0,160}}\b(?:{_SCORING}|answers?|correct"
        rf"|rules?|instructions?"
        r"|ignore|reference|criteria)\b"
    ),
    rf"\b(?:system|developer)\s+prompts?\b|\b{_ROLE}\s+(?:message|note)\s*[\]>]",
    r"<\|?(?:im_start|im_end|system|endoftext)|\[/?INST\]|<<<",
    r"</?(?:student|system|reference|question|instructions?|criteria|score|judge)[^>]{0,20}>",
    (
        r"\b(?:you are|you're|dear|attention|note to|hey|hello)\s+(?:an?\s+|the\s+|my\s+)?(?:\w+\s+)?"
        r"(?:judge|grader|evaluator|scorer|examiner|(?:llm|language model|ai)(?:\s+(?:\w+\s+)?(?:judge|grader"
        r"|model|assistant)\b|(?!\s+\w)))"
    ),
    # Blocks of the prompt.
    (
        r"\breference\s+answers?\b\s*(?:has been|have been|was|is|:|=)|\b(?:reference|real-time authentic"
        r"|ground[- ]truth)\s+"
        r"(?:answer|information)\b\s*(?:has been|have been)|\b(?:real-time authentic|ground[- ]truth)\s+(?:answer"
        r"|information)\b"
    ),
    (
        r"(?:^|[\n.;:>-]\s*|\b(?:the|new|these|your|updated)\s+)scoring (?:criteria|rules?|basis)\s*(?:[:-]"
        r"|(?:have|has|are|is)\b)"
    ),
    (
        r"\bstudent(?:'s)? answer\b|(?:^|[\n.;>]\s*|\b(?:your|these|the following)\s+)new instructions?\s*[:-]"
        r"|\byour new (?:instructions?|rules?|task)\b"
    ),
    (
        r"(?:^|[\n<\[#=*(-])\s*end of (?:the\s+)?(?:student(?:'s)?\s+answer|answers?|examples?|prompt|input"
        r"|questions?)\b"
    ),
    r"忽略(?:之前|以上|上述|前面|先前|所有)[^。\n]{0,8}(?:指令|要求|指示|规则|标准|内容|提示|说明|答案)",
    r"请[^。\n]{0,6}打分|打[^。\n]{0,2}(?:满|1|一)分|(?:给|判|打|得)[^。\n]{0,6}(?:满分|(?:1|一)分)",
    r"(?:判|视|算|评)(?:断|定)?为?正确|参考答案|系统提示|学生答案|评分标准\s*(?::|已|更|改|变)|输出\s*1(?![\d.万亿千百%])",
)
"""What texts that speak to a judge say: words of a reply or of the prompt, orders, and marks that end a block."""
_SPEAKS = re.compile("|".join(_PATTERNS), re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
"""A long text without blanks, which may be an order that is encoded."""
NO_NUMBER = "None of the names in the question; another one that is not stated here."
"""The wrong truth in the place of a truth without a number."""
_LOOKALIKES = str.maketrans("асеорхуіѕԁһӏΑΕΟΡΧ", "aceopxyisdhlAEOPX")
"""Cyrillic and Greek letters, and the Latin ones that they look like."""


def addresses_judge(answer: str) -> str:
    """The words of an answer that speak to a judge; empty where none are found.

    Letters that look like Latin ones are read as these; invisible characters, and blanks between single letters, are
    left out.
    """
    text = cleaned(answer).translate(_LOOKALIKES)
    # "s c o r e" and "s-c-o-r-e" are read as the word.
    joined = re.sub(r"(?<=\b\w)[ .·_-](?=\w\b)", "", text)
    # The answer as it is too: cleaning may take away a mark that ends a block.
    for version in (answer, text, joined, *_decoded(text)):
        if match := _SPEAKS.search(version):
            return match[0].strip()[:80]
    return ""


def _decoded(text: str) -> Iterator[str]:
    """What is encoded in base64 in a text, where it is words: paths, digests and identifiers look alike."""
    for match in _BASE64.finditer(text):
        # What stands before an encoded text may run into it, as a path does.
        for start in range(4):
            encoded = match[0].rstrip("=")[start:]
            read = base64.b64decode(encoded[: len(encoded) // 4 * 4])
            yield from re.findall(r"[ -~]{20,}", read.decode("latin-1"))


def decoy(reference: str, seed: int) -> str:
    """A wrong truth of the same form: other digits in its numbers, or, without any, another name.

    Args:
        reference: the truth in words.
        seed: seed of the random digits.
    """
    rng = random.Random(seed)

    # The first digit is another one and not 0, so that the number has the same length and is never close to the truth.
    def other(match: re.Match[str]) -> str:
        digit = rng.choice([d for d in "123456789" if d != match[0][0]])
        return digit + "".join(rng.choice("0123456789") for _ in match[0][1:])

    changed = re.sub(r"[0-9]+", other, reference)
    return changed if changed != reference else NO_NUMBER
