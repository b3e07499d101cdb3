"""Cleaning an answer of markup, fullwidth signs and invisible characters, and finding the part of it that counts."""

from __future__ import annotations

import re

LONGEST = 20_000
"""How many characters of an answer are read; a longer one is a report."""
# The fullwidth forms of ASCII stand in Unicode in the same order as ASCII itself, 0xFEE0 later.
_SIGNS: dict[int, int | str] = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
"""What each sign is replaced by, by its code point: spaces, dashes and quotes by the plain ones, Chinese punctuation by
English."""
_SIGNS |= {ord(char): " " for char in "\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000\t"}
_SIGNS |= {ord(char): "-" for char in "\u2212\u2010\u2011\ufe63"}
_SIGNS |= {ord(char): "'" for char in "\u2018\u2019\u2032\u02bc"}
_SIGNS |= {ord(char): '"' for char in "\u201c\u201d\u2033"}
_SIGNS |= {ord("。"): ". ", ord("、"): "; ", ord("∼"): "~"}
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufe0e\ufe0f]")
_MARKUP = re.compile(
    r"\*\*|__|`+|\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}|\\([$%_&#,; ])|^#{1,6}\s+", re.MULTILINE
)
_BOXED = re.compile(r"\\boxed\s*\{([^{}]*)\}")
_MARKER = re.compile(
    r"<answer>|</?final_answer>|\bfinal\s+(?:answer|result)\b(?:\s+is\b)?\s*[:=-]*"
    r"|\bthe\s+(?:correct\s+)?answer\s+is\b\s*:?"
    r"|(?:^|\n)\s*(?:answer|result)\s*[:=]"
    r"|最终(?:答案|结果)(?:是|为)?\s*[:=]?|(?:正确)?答案(?:是|为)\s*:?|(?:^|\n)\s*答案?\s*:",
    re.IGNORECASE,
)
"""What announces a final answer."""
_AFTER = re.compile(
    r"</answer>|\n\s*(?:[-*>]\s*)?(?:sources?|notes?|explanation|reasoning|reasons?|calculations?|details?"
    r"|evidence|references?"
    r"|来源|说明|解释|计算|依据|理由|备注|注|参考)\s*(?::|\n)",
    re.IGNORECASE,
)
"""What ends a final answer, and begins to explain it."""
HEDGE = re.compile(
    r"\b(?:or|alternatively|either|might|may|could|perhaps|possibly|other\s+candidates?|another)\b"
    r"|或|也可能|可能是|另一",
    re.IGNORECASE,
)
"""Words that make what follows another possible answer."""


def cleaned(answer: str) -> str:
    """The answer with plain signs and digits, and without markup and invisible characters."""
    # Most answers are short ASCII without markup: they are spared the costlier steps.
    if answer.isascii():
        text = answer.replace("\t", " ").replace("\r", "\n")
    else:
        # Invisible characters within a number would let it be read as two, or not at all.
        text = _INVISIBLE.sub("", answer).translate(_SIGNS).replace("\r", "\n")
    # By convention of mathematical tests, a box of LaTeX holds the final answer.
    if "\\" in text:
        text = _BOXED.sub(r"\nFinal answer: \1\n", text)
    if "*" in text or "`" in text or "\\" in text or "#" in text or "_" in text:
        text = _MARKUP.sub(lambda match: match[1] or match[2] or "", text)
    return text.strip()


def final_parts(text: str) -> tuple[str, ...]:
    """The texts that a cleaned answer announces as final, by ``Final answer:`` and the like, each up to the next one;
    the whole text if it announces none.
    """
    lowered = text.casefold()
    # Cheap words that every marker has, before the search for one.
    marked = "answer" in lowered or "result" in lowered or "答" in text or "结果" in text
    markers = list(_MARKER.finditer(text)) if marked else []
    ends = [match.start() for match in markers[1:]] + [len(text)]
    parts = [text[match.end() : end].strip() for match, end in zip(markers, ends, strict=True)] if markers else []
    return tuple(part for part in parts if part) or (text,)


def answer_and_rest(text: str) -> tuple[str, str]:
    """Split a text where it begins to explain itself (``Source:``, ``Note:``): the answer, and the rest."""
    match = _AFTER.search(text) if "\n" in text or "<" in text else None
    # A text that begins with its explanation is taken whole.
    if match is None or not text[: match.start()].strip():
        return text, ""
    return text[: match.start()].strip(), text[match.start() :]
