"""An answer without what does not count: markup, signs of other widths, invisible characters; and its final part."""

from __future__ import annotations

import re

LONGEST = 20_000
"""Characters of an answer that are looked at; a longer one is a report."""
_SIGNS: dict[int, int | str] = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
"""Fullwidth signs, as their ordinary ones."""
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
    r"|(?:^|\n)\s*(?:answer|result)\s*[:=]|最终(?:答案|结果)(?:是|为)?\s*[:=]?|(?:正确)?答案(?:是|为)\s*:?|(?:^|\n)\s*答案?\s*:",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"</answer>|\n\s*(?:[-*>]\s*)?(?:sources?|notes?|explanation|reasoning|reasons?|calculations?|details?"
    r"|evidence|references?"
    r"|来源|说明|解释|计算|依据|理由|备注|注|参考)\s*(?::|\n)",
    re.IGNORECASE,
)
HEDGE = re.compile(
    r"\b(?:or|alternatively|either|might|may|could|perhaps|possibly|other\s+candidates?|another)\b|或|也可能|可能是|另一",
    re.IGNORECASE,
)


def cleaned(answer: str) -> str:
    """The answer with ordinary signs and digits, and without markup and invisible characters."""
    if answer.isascii():
        text = answer.replace("\t", " ").replace("\r", "\n")
    else:
        text = _INVISIBLE.sub("", answer).translate(_SIGNS).replace("\r", "\n")
    if "\\" in text:
        text = _BOXED.sub(r"\nFinal answer: \1\n", text)
    if "*" in text or "`" in text or "\\" in text or "#" in text or "_" in text:
        text = _MARKUP.sub(lambda found: found[1] or found[2] or "", text)
    return text.strip()


def final_parts(text: str) -> tuple[str, ...]:
    """What the answer says is its answer: the texts after ``Final answer:`` and the like, each up to the next; all of
    it where it says so nowhere.
    """
    lowered = text.casefold()
    marked = "answer" in lowered or "result" in lowered or "答" in text or "结果" in text
    found = list(_MARKER.finditer(text)) if marked else []
    ends = [match.start() for match in found[1:]] + [len(text)]
    parts = [text[match.end() : end].strip() for match, end in zip(found, ends, strict=True)] if found else []
    return tuple(part for part in parts if part) or (text,)


def answer_and_rest(text: str) -> tuple[str, str]:
    """A text up to where it begins to explain itself (``Source:``, ``Note:``), and the rest."""
    match = _AFTER.search(text) if "\n" in text or "<" in text else None
    if match is None or not text[: match.start()].strip():
        return text, ""
    return text[: match.start()].strip(), text[match.start() :]
