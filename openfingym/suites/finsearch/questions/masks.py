"""Whether two questions are the same but for names, numbers and dates: their texts with those blotted out."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATES = re.compile(
    rf"(?:(?:{_MONTHS})\s+)?(?:\d{{1,2}},\s*)?\b(?:19|20)\d\d\b|\d+年(?:\d+月)?(?:\d+日)?|\b(?:{_MONTHS})\b"
)
_NUMBERS = re.compile(r"[-+]?\d[\d,.]*")


def without_names(text: str, names: Iterable[str]) -> str:
    """A text with a mark in place of every name."""
    found = sorted({name for name in names if name}, key=lambda name: (-len(name), name))
    return re.sub("|".join(map(re.escape, found)), "@", text) if found else text


def masked(text: str, names: Iterable[str]) -> str:
    """A text with marks in place of names, dates and numbers."""
    return _NUMBERS.sub("#", _DATES.sub("#", without_names(text, names)))
