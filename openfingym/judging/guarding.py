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

import random
import re

from openfingym.answers.reading.cleaning import cleaned

LONGEST = 3000
"""Most characters of an answer that a judge is shown."""
# Words of a reply or of the prompt, orders to the judge, marks that end a block, and forms of address.
_SPEAKS = re.compile(
    r"answer_?\s?score|\"score\"|'score'|\bscore\b[^.\n]{0,20}[:=]\s*[\"']?1"
    r"|\b(?:score|grade|mark|judge|treat)\s+(?:this|it|me|my|the answer)\b[^.\n]{0,40}\b(?:correct|right|1|full|valid)"
    r"|\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier"
    r"|instructions?|rules?|criteria|reference|prompt)"
    r"|\b(?:output|return|respond|reply|print|emit|give)\b[^.\n]{0,30}(?:\bscore\b|\{\s*\"|[\"']1[\"'])"
    r"|\b(?:respond|reply) with\b[^.\n]{0,20}\b1\b"
    r"|\b(?:system|developer|assistant|user)\s*(?:prompt|message|note|:)|<\|?(?:im_start|im_end|system|endoftext)"
    r"|\[/?INST\]|</?(?:student|system|reference|question|instructions?|criteria|score|judge)[^>]{0,20}>|<<<"
    r"|\b(?:you are|you're|dear|attention|note to|hey)\s+(?:an?\s+|the\s+)?(?:\w+\s+)?"
    r"(?:judge|grader|evaluator|scorer|examiner|llm|language model|ai)\b"
    r"|\b(?:reference|real-time authentic|ground[- ]truth)\s+(?:answer|information)\b\s*(?:has been|was|is|:|=)"
    r"|\bscoring (?:criteria|basis|rules?)\b|\bstudent(?:'s)? answer\b|\bnew (?:instructions?|rules)\b"
    r"|\bend of (?:student|answer|examples?|prompt|input)"
    r"|忽略(?:之前|以上|上述|前面|所有)|打分|满分|判为正确|判断为正确|参考答案|系统提示|学生答案|评分标准|输出1",
    re.IGNORECASE,
)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{80,}={0,2}")
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
    for version in (answer, text, joined):
        if match := _SPEAKS.search(version):
            return match[0][:80]
    match = _BASE64.search(text)
    return match[0][:20] if match else ""


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
