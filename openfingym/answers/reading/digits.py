"""The values of numbers in digits: grouped, in points and 32nds, as fractions, with an exponent."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

# Treasury futures are quoted in points, 32nds of a point, and eighths of a 32nd. Of the eighths only the first decimal
# is written: 3 for 0.375, 5 for 0.5, so that 4 and 9 do not occur; a + is a half as well.
_EIGHTHS = {
    "0": "0",
    "1": "0.125",
    "2": "0.25",
    "3": "0.375",
    "5": "0.5",
    "6": "0.625",
    "7": "0.75",
    "8": "0.875",
    "+": "0.5",
}
PLACES = tuple(Decimal(1).scaleb(-places) for places in range(21))
"""The sizes of one unit in the last place, for 0 to 20 decimals."""
_QUOTE = re.compile(r"[0-9]{2,3}'[0-3][0-9](?:['.]?[0-9+])?")
_FRACTION = re.compile(r"(?:([0-9]+) )?([0-9]+)(?:/|:|-for-| for )([0-9]+)", re.IGNORECASE)
_POINTS_THEN_COMMA = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+")
_POINTS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3}){2,}")


class Digits(NamedTuple):
    """The value of a number without its sign and its unit."""

    value: Decimal
    place: Decimal
    """The size of one unit in the last place as written: 0.01 for 62.57; 0 for a fraction, which is exact."""
    known: bool = True
    """Whether the digits have a value; a fraction by zero has none."""


def read_digits(body: str) -> Digits:
    """The value of a number in any form that :data:`~openfingym.answers.reading.number_patterns.BODIES` finds."""
    whole, _, rest = body.partition(".")
    if whole.isdigit() and rest.isdigit() and len(rest) <= 20:
        return Digits(Decimal(body), PLACES[len(rest)])
    if body.isdigit():
        return Digits(Decimal(body), PLACES[0])
    if "'" in body and _QUOTE.fullmatch(body) and (quote := _quote(body)):
        return quote
    if parts := _FRACTION.fullmatch(body):
        return _fraction(int(parts[1] or 0), int(parts[2]), int(parts[3]), mixed=bool(parts[1]))
    digits = body.replace(" ", "").replace("'", "")
    # A comma is a decimal point after grouping points, as in 1.234,56, or if it does not stand before three digits.
    if _POINTS_THEN_COMMA.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif _POINTS.fullmatch(digits):
        digits = digits.replace(".", "")
    elif digits.count(",") == 1 and len(digits) - digits.index(",") != 4 and "." not in digits:
        digits = digits.replace(",", ".")
    value = Decimal(digits.replace(",", ""))
    return Digits(value, Decimal(1).scaleb(int(value.as_tuple().exponent)))


def _quote(body: str) -> Digits | None:
    """Points and 32nds, of which there are at most 31; None if the quote mark groups thousands."""
    points, rest = body.split("'", 1)
    part = rest[2:].lstrip("'.") or "0"
    if part not in _EIGHTHS:
        return None
    ticks = Decimal(rest[:2]) + Decimal(_EIGHTHS[part])
    return Digits(Decimal(points) + ticks / 32, Decimal(0)) if ticks < 32 else None


def _fraction(whole: int, above: int, below: int, *, mixed: bool) -> Digits:
    """A fraction, or a whole number and a fraction, as 3 1/2."""
    # Behind a whole number an improper fraction is a number of its own, and which one is meant is not known.
    if not below or (mixed and above >= below):
        return Digits(Decimal(whole or above), Decimal(0), known=False)
    return Digits(whole + Decimal(above) / Decimal(below), Decimal(0))
