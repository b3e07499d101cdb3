"""Cleaning an answer of markup, fullwidth signs and invisible characters, and finding the part of it that counts."""

from __future__ import annotations

import re

from openfingym.answers.reading.markup import lowered, without_html, without_latex, without_markdown

LONGEST = 20_000
"""How many characters of an answer are read; a longer one is a report."""
# The fullwidth forms of ASCII stand in Unicode in the same order as ASCII itself, 0xFEE0 later.
_SIGNS: dict[int, int | str] = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
"""What each sign is replaced by, by its code point: digits of other scripts, spaces, dashes and quotes by the plain
ones, arrows by words, Chinese punctuation by English."""
# Where the digits of other scripts begin: Arabic, Persian, Devanagari, Bengali, Thai and the like.
_ZEROS = (
    *(0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20, 0x1040),
    *(0x17E0, 0x1810, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6),
)
_SIGNS |= {zero + digit: ord("0") + digit for zero in _ZEROS for digit in range(10)}
_SIGNS |= {
    ord(char): " "
    for char in "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t"
}
# A hyphen, a minus and every dash: whether it is a sign depends on what stands around it. Raised and small ones too.
_SIGNS |= {ord(char): "-" for char in "\u2212\u2010\u2011\u2012\u2013\u2014\u2015\ufe58\ufe63\u2796\u02d7\u207b\u208b"}
_SIGNS |= {ord(char): "+" for char in "\ufe62\u2795\u207a\u208a"}
_SIGNS |= {ord(char): "'" for char in "\u2018\u2019\u2032\u02bc"}
_SIGNS |= {ord(char): '"' for char in "\u201c\u201d\u2033"}
_SIGNS |= {ord("。"): ". ", ord("、"): "; ", ord("∼"): "~", ord("٪"): "%", ord("﹪"): "%", ord("٫"): ".", ord("٬"): ","}
# A triangle that points up is a minus in Japanese accounts, and a rise elsewhere: it stays, and nothing knows it.
_SIGNS |= {ord(char): " down " for char in "▼▽↓⬇↘🔻📉⇩⇓▾⯆"}
_SIGNS |= {ord(char): " up " for char in "↑⬆↗🔺📈⇧⇑"}
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufe0e\ufe0f]")
# Unlike a hyphen, the sign of mathematics is a minus even where blanks follow it.
_MINUS = re.compile(r"[\u2212\ufe63\u2796]\s*(?=[\d.$€£¥(＄])")
_MARKED = re.compile(r"[*`#_]")
_SPACES = re.compile(" {2,}")
_MARKER = re.compile(
    r"<answer>|</?final_answer>|\bfinal\s+(?:answer|result)\b(?:\s+is\b)?\s*[:=]*"
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
    text = without_html(answer) if "&" in answer or "<" in answer else answer
    # Most answers are short ASCII without markup: they are spared the costlier steps.
    if text.isascii():
        text = text.replace("\t", " ").replace("\r", "\n")
    else:
        # Invisible characters within a number would let it be read as two, or not at all.
        text = _MINUS.sub("-", lowered(_INVISIBLE.sub("", text))).translate(_SIGNS).replace("\r", "\n")
    if "\\" in text or "{,}" in text or text.count("$") > 1:
        text = without_latex(text)
    if _MARKED.search(text):
        text = without_markdown(text)
    return _SPACES.sub(" ", text).strip()


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
    match = _AFTER.search(text)
    # A text that begins with its explanation is taken whole.
    if match is None or not text[: match.start()].strip():
        return text, ""
    return text[: match.start()].strip(), text[match.start() :]
