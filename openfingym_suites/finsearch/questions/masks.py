"""Texts of questions with names, numbers and dates blotted out: equal for questions that differ by nothing else."""

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
    # The longest first: in "EUR/USD" the pair is one name, and not two currencies.
    ordered = sorted({name for name in names if name}, key=lambda name: (-len(name), name))
    return re.sub("|".join(map(re.escape, ordered)), "@", text) if ordered else text


def masked(text: str, names: Iterable[str]) -> str:
    """A text with marks in place of names, dates and numbers."""
    # Names before numbers, since some have digits; dates before numbers, so that one in words is one mark.
    return _NUMBERS.sub("#", _DATES.sub("#", without_names(text, names)))
