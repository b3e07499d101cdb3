"""Contradictions of a paper: two values of one field that differ, and values of several that cannot all be true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from openfingym_forge.blueprint import Contradiction, Stated
from openfingym_forge.extraction.support import date_said
from openfingym_forge.vocabulary import FORMS

DECIDING = frozenset(
    {
        "family", "frequency", "data.target", "contract.horizon", "contract.lookback", "contract.value_semantics",
        "protocol.shuffled", "protocol.scaling", "split.train", "split.public", "split.private",
    }
)  # fmt: skip
"""Fields of which two readings refuse a paper: whoever chose one would make another task."""
ROWS_A_YEAR: Mapping[str, tuple[float, float]] = {"daily": (225, 366), "weekly": (50, 54), "monthly": (12, 12)}
"""Fewest and most rows of a year, by frequency: markets with many holidays, and those without."""
_SLACK = 0.25
"""Share by which a number of rows may lie outside: a paper may leave rows out, or count them roughly."""
_SPLIT = ("split.train", "split.public", "split.private")
_SUM_SLACK = 0.011
"""By how much shares may miss 1: three that are each rounded to a percent."""


def chosen(readings: Sequence[Stated]) -> Stated:
    """The reading that a blueprint holds, with the quotations of all readings that agree with it: the first one, or the
    most exact one of dates.
    """
    best = readings[0]
    if isinstance(best.value, date):
        best = max(readings, key=_exactness)
    agreeing = [reading for reading in readings if reading is not best and not differ(best, reading)]
    more = (quotation for reading in agreeing for quotation in reading.quotations)
    return Stated(value=best.value, quotations=list(dict.fromkeys([*best.quotations, *more])))


def contradictions(fields: Mapping[str, Sequence[Stated]]) -> list[Contradiction]:
    """All contradictions of a paper.

    Args:
        fields: every reading of a field that was quoted, by the name of the field.
    """
    listed: list[Contradiction] = []
    for name, readings in fields.items():
        # Two texts may say one thing in other words, and a paper may speak of several families and asset classes.
        if FORMS[name].type in {"text", "texts", "address"} or name in {"asset_class", "family"}:
            continue
        best = chosen(readings)
        others = _distinct([reading for reading in readings if differ(best, reading)])
        if others:
            said = " and ".join(str(reading.value) for reading in [best, *others])
            why = f"the paper says {said} of {name}"
            listed.append(Contradiction(field=name, readings=[best, *others], why=why))
    stated = {name: chosen(readings) for name, readings in fields.items()}
    return [*listed, *_impossible(stated, {each.field for each in listed})]


def differ(one: Stated, other: Stated) -> bool:
    """Whether two readings cannot both be meant. Dates are compared to the day, the month or the year: as exactly as
    the less exact of the two is stated.
    """
    left, right = one.value, other.value
    if isinstance(left, date) and isinstance(right, date):
        exact = min(_exactness(one), _exactness(other))
        return (left.year, left.month, left.day)[:exact] != (right.year, right.month, right.day)[:exact]
    # A number may be rounded in one place and not in another: 0.333 and a third.
    if isinstance(left, float | int) and isinstance(right, float | int):
        return abs(left - right) > 0.006 * max(abs(left), abs(right))
    return left != right


def _exactness(stated: Stated) -> int:
    """How exactly a date is stated by its best quotation: 3 to the day, 2 to the month, 1 to the year."""
    value = stated.value
    if not isinstance(value, date):
        return 3
    return max((date_said(value, quotation.quote) for quotation in stated.quotations), default=3)


def _distinct(readings: Sequence[Stated]) -> list[Stated]:
    """The readings without those that agree with an earlier one."""
    distinct: list[Stated] = []
    for reading in readings:
        if all(differ(reading, other) for other in distinct):
            distinct.append(reading)
    return distinct


def _impossible(stated: Mapping[str, Stated], known: set[str]) -> list[Contradiction]:
    """Values that cannot all be true: shares that do not add up, a first day behind the last, rows that a range of days
    cannot have.

    Args:
        stated: the chosen reading of each field.
        known: fields whose own readings differ, of which nothing more has to be said.
    """
    listed: list[Contradiction] = []
    shares = [stated[name] for name in _SPLIT if name in stated]
    total = sum(float(str(share.value)) for share in shares)
    if len(shares) == 3 and abs(total - 1) > _SUM_SLACK and not known & set(_SPLIT):
        why = f"the blocks add up to {total:.3g}, not 1"
        listed.append(Contradiction(field="split.train", readings=shares, why=why))
    if not {"data.start", "data.end"} <= stated.keys():
        return listed
    first, last = stated["data.start"], stated["data.end"]
    start, end = first.value, last.value
    if not isinstance(start, date) or not isinstance(end, date):
        return listed
    if start >= end:
        why = f"the data begin {start} and end {end}"
        return [*listed, Contradiction(field="data.start", readings=[first, last], why=why)]
    rows, frequency = stated.get("data.observations"), stated.get("frequency")
    bounds = ROWS_A_YEAR.get(str(frequency.value)) if frequency else None
    if rows is not None and bounds is not None:
        years = (end - start).days / 365.25
        low, high = bounds[0] * years * (1 - _SLACK), bounds[1] * years * (1 + _SLACK)
        if not low <= float(str(rows.value)) <= high:
            why = f"{rows.value} rows, where the range has between {low:.0f} and {high:.0f}"
            listed.append(Contradiction(field="data.observations", readings=[rows, last], why=why))
    return listed
