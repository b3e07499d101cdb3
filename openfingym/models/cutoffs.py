"""Cut-offs of models: the last month or day that a model was trained on, and how it stands to what is asked."""

from __future__ import annotations

import calendar
import re
from datetime import date
from typing import Literal

from openfingym.errors import UsageError

_FORM = re.compile(r"\d{4}-\d{2}(-\d{2})?", re.ASCII)


def require_cutoff(text: str) -> str:
    """A cut-off as it was written: a day such as ``2023-10-15``, or a month such as ``2023-10``, which means its end.

    Raises:
        UsageError: the text is neither.
    """
    try:
        if not _FORM.fullmatch(text):
            raise ValueError
        date.fromisoformat(text if len(text) > 7 else f"{text}-01")
    except ValueError:
        raise UsageError(f"expected a cut-off such as 2023-10 or 2023-10-15; found {text[:60]!r}") from None
    return text


Standing = Literal["before", "within", "after"]
"""Where a cut-off is against a stretch of the past; see :func:`standing`."""


def last_day(cutoff: str) -> date:
    """The last day that a model was trained on: the day of the cut-off, or the last day of its month.

    Raises:
        UsageError: the text is no cut-off.

    Example:
        >>> last_day("2016-10"), last_day("2016-10-15")
        (datetime.date(2016, 10, 31), datetime.date(2016, 10, 15))
    """
    require_cutoff(cutoff)
    if len(cutoff) > len("2016-10"):
        return date.fromisoformat(cutoff)
    year, month = map(int, cutoff.split("-"))
    return date(year, month, calendar.monthrange(year, month)[1])


def standing(cutoff: str, first: date, last: date) -> Standing:
    """Where a model's cut-off is against a stretch of the past that it is asked about.

    Args:
        cutoff: the last month or day that the model was trained on.
        first: the first day whose events are asked about, such as the day after a season's first deadline.
        last: the last day whose events are asked about.

    Returns:
        ``before``: the model was trained on nothing of that stretch; ``within``: on a part of it; ``after``: perhaps on
        all of it, so that its forecasts may be memories.

    Raises:
        UsageError: the text is no cut-off, or the last day is before the first.

    Example:
        >>> standing("2016-06", date(2016, 7, 11), date(2017, 3, 31))
        'before'
    """
    if last < first:
        raise UsageError(f"the last day, {last}, is before the first, {first}; give them in their order")
    day = last_day(cutoff)
    if day < first:
        return "before"
    return "within" if day < last else "after"
