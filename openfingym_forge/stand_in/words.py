"""Numbers, shares, durations and dates as papers write them."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date

# Not shared with openfingym_forge.extraction.support, which checks the claims that are read with these: a mistake in a
# list of both would never be seen.
_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = {
    word: 10 * number
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)  # noqa: SIM905
}
_VALUES = {word: number for number, word in enumerate(_SMALL)} | _TENS
_WORD = "|".join(sorted([*_VALUES, "hundred", "thousand"], key=len, reverse=True))
NUMBER = rf"(?:\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?|(?:(?:{_WORD})(?:[\s-](?:and[\s-])?)?)+(?<![\s-])\b)"
"""A number in digits or in words."""
UNIT = (
    r"(?:(?:trading|business|working|calendar|publication|banking|market|time|"
    r"consecutive|successive|daily|weekly|monthly)"
    r"[\s-]){0,3}(?:day|week|fortnight|month|quarter|year|hour|minute|observation|"
    r"step|period|row|point|bar|session|fixing|curve|"
    r"value|close|lag|return|rate|price)s?"
)
_ROWS = {
    "daily": {"week": 5, "fortnight": 10, "month": 21, "quarter": 63, "year": 252},
    "weekly": {"month": 4, "quarter": 13, "year": 52},
    "monthly": {"quarter": 3, "year": 12},
    "hourly": {"day": 24, "week": 168},
    "intraday": {"hour": 60, "day": 1440},
}
"""Rows that a unit of time has at a frequency; days are trading days, except by the hour and the minute."""
_FRACTIONS = {
    "half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "tenth": 10,
    "twentieth": 20,
}  # fmt: skip
SHARE = (
    rf"(?:\d+(?:\.\d+)?|(?:{_WORD})(?:-(?:{_WORD}))?)\s?\\?(?:%|per\s?cent)|0?\.\d+|"
    rf"(?:(?:{'|'.join(_SMALL)})[\s-])?\b(?:{'|'.join(_FRACTIONS)})s?\b"
)
"""A share: in percent, as a decimal, or in words."""
_NAMES_OF_MONTHS = "january february march april may june july august september october november december"
_MONTHS = _NAMES_OF_MONTHS.split()
_MONTH = "(?:" + "|".join(rf"{name[:3]}(?:{name[3:]}|t)?\.?" for name in _MONTHS) + ")"
_YEAR = r"(?:19|20)\d\d"
DATE = (
    rf"(?:{_YEAR}-\d\d-\d\d|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+{_YEAR}|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?"
    rf"{_MONTH},?\s+{_YEAR}|{_MONTH},?\s+(?:of\s+)?{_YEAR}|{_YEAR})(?!\d)"
)
"""A date, to the day, the month or the year."""


def number_of(text: str) -> float:
    """The value of a text that matches :data:`NUMBER`."""
    if text[0].isdigit():
        return float(text.replace(",", ""))
    total = 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word == "hundred":
            total = max(total, 1) * 100
        elif word == "thousand":
            total = max(total, 1) * 1000
        else:
            total += _VALUES.get(word, 0)
    return float(total)


def rows_of(count: float, unit: str, frequency: str) -> int:
    """Rows that a duration has at a frequency, such as 10 of two weeks of daily data."""
    # Of "trading days" or "business-day", the noun at the end counts.
    base = unit.lower().split()[-1].split("-")[-1].rstrip("s")
    return round(count * _ROWS.get(frequency, {}).get(base, 1))


def share_of(text: str) -> float:
    """The value of a text that matches :data:`SHARE`."""
    lowered = text.lower().replace("\\", "")
    percent = re.fullmatch(rf"({NUMBER})\s?(?:%|per\s?cent)", lowered)
    if percent:
        return number_of(percent[1]) / 100
    if re.fullmatch(r"0?\.\d+", lowered):
        return float(lowered)
    words = re.findall(r"[a-z]+", lowered)
    part = _FRACTIONS.get(words[-1]) or _FRACTIONS[words[-1].removesuffix("s")] if words[-1] != "halves" else 2
    return (_VALUES.get(words[0], 1) if len(words) > 1 else 1) / part


@dataclass(frozen=True)
class StatedDate:
    """A date as a text states it: to the day, to the month or to the year."""

    first: date
    """The first day that may be meant."""
    last: date
    """The last day that may be meant; equal to the first where the date was stated to the day."""


def day_of(text: str) -> StatedDate | None:
    """The date of a text that matches :data:`DATE`; None where there is no such day."""
    lowered = text.lower()
    year = int(re.findall(_YEAR, lowered)[-1])
    month = next((number for number, name in enumerate(_MONTHS, 1) if name[:3] in lowered), 0)
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", lowered):
            day = date.fromisoformat(lowered)
            return StatedDate(day, day)
        day_match = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b(?!\d)", lowered.replace(str(year), ""))
        if month and day_match:
            day = date(year, month, int(day_match[1]))
            return StatedDate(day, day)
    except ValueError:
        return None
    if month:
        return StatedDate(date(year, month, 1), date(year, month, monthrange(year, month)[1]))
    return StatedDate(date(year, 1, 1), date(year, 12, 31))
