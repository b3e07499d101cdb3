"""Where a paper says two things of one field, and where what it says cannot all be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from openfingym.forge.blueprint import Contradiction, Stated
from openfingym.forge.extraction.support import date_said
from openfingym.forge.vocabulary import FORMS

DECIDING = frozenset(
    {
        "family", "frequency", "data.target", "contract.horizon", "contract.lookback", "contract.value_semantics",
        "protocol.shuffled", "protocol.scaling", "split.train", "split.public", "split.private",
    }
)  # fmt: skip
"""Fields of which two readings refuse a paper: whoever chose one would make another task."""
ROWS_A_YEAR: Mapping[str, tuple[float, float]] = {"daily": (225, 366), "weekly": (50, 54), "monthly": (12, 12)}
_SLACK = 0.25
_SPLIT = ("split.train", "split.public", "split.private")
_SUM_SLACK = 0.011


def chosen(readings: Sequence[Stated]) -> Stated:
    """The reading that a blueprint holds, with the quotations of all that agree: of dates the most exact one, else the
    first.
    """
    first = readings[0]
    if isinstance(first.value, date):
        first = max(readings, key=_exactness)
    agreeing = [one for one in readings if one is not first and not differ(first, one)]
    quotations = list(dict.fromkeys([*first.quotations, *(each for one in agreeing for each in one.quotations)]))
    return Stated(value=first.value, quotations=quotations)


def contradictions(fields: Mapping[str, Sequence[Stated]]) -> list[Contradiction]:
    """All places in which a paper does not agree with itself, by field."""
    found: list[Contradiction] = []
    for name, readings in fields.items():
        form = FORMS[name]
        if form.type in {"text", "texts", "address"} or name in {"asset_class", "family"}:
            continue
        first = chosen(readings)
        others = [one for one in readings if differ(first, one)]
        if others:
            said = " and ".join(str(one.value) for one in [first, *_distinct(others)])
            found.append(
                Contradiction(field=name, readings=[first, *_distinct(others)], why=f"the paper says {said} of {name}")
            )
    held = {name: chosen(readings) for name, readings in fields.items()}
    return [*found, *_impossible(held, {one.field for one in found})]


def differ(one: Stated, other: Stated) -> bool:
    """Whether two readings cannot both be meant; dates are compared as exactly as the less exact one is said."""
    left, right = one.value, other.value
    if isinstance(left, date) and isinstance(right, date):
        exact = min(_exactness(one), _exactness(other))
        return (left.year, left.month, left.day)[:exact] != (right.year, right.month, right.day)[:exact]
    if isinstance(left, float | int) and isinstance(right, float | int):
        return abs(left - right) > 0.006 * max(abs(left), abs(right))
    return left != right


def _exactness(stated: Stated) -> int:
    value = stated.value
    return max((date_said(value, one.quote) for one in stated.quotations), default=3) if isinstance(value, date) else 3


def _distinct(readings: Sequence[Stated]) -> list[Stated]:
    kept: list[Stated] = []
    for one in readings:
        if all(differ(one, other) for other in kept):
            kept.append(one)
    return kept


def _impossible(held: Mapping[str, Stated], known: set[str]) -> list[Contradiction]:
    """What cannot all be: shares that do not add up, a first day behind the last, too many rows for a range."""
    found: list[Contradiction] = []
    shares = [held[name] for name in _SPLIT if name in held]
    total = sum(float(str(one.value)) for one in shares)
    if len(shares) == 3 and abs(total - 1) > _SUM_SLACK and not known & set(_SPLIT):
        found.append(
            Contradiction(field="split.train", readings=shares, why=f"the blocks add up to {total:.3g}, not 1")
        )
    if not {"data.start", "data.end"} <= held.keys():
        return found
    first, last = held["data.start"], held["data.end"]
    start, end = first.value, last.value
    if not isinstance(start, date) or not isinstance(end, date):
        return found
    if start >= end:
        why = f"the data begin {start} and end {end}"
        return [*found, Contradiction(field="data.start", readings=[first, last], why=why)]
    rows, frequency = held.get("data.observations"), held.get("frequency")
    bounds = ROWS_A_YEAR.get(str(frequency.value)) if frequency else None
    if rows is not None and bounds is not None:
        years = (end - start).days / 365.25
        low, high = bounds[0] * years * (1 - _SLACK), bounds[1] * years * (1 + _SLACK)
        if not low <= float(str(rows.value)) <= high:
            why = f"{rows.value} rows, where the range has between {low:.0f} and {high:.0f}"
            found.append(Contradiction(field="data.observations", readings=[rows, last], why=why))
    return found
