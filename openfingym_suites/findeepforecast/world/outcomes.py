"""Whether an event happened as asked, by what the simulated world records of its story."""

from __future__ import annotations

from datetime import date, time

from openfingym.errors import UsageError
from openfingym_suites.findeepforecast.problem import ForecastEvent

CONDITIONS = ("happens", "at_least", "at_most", "detail")
"""What may be asked of an event of the simulated world: that it happens; that its amount is at least, or at most, the
threshold; that a detail is part of it, for which the record has an amount of 1, and 0 if it is not.
"""
RECORDED_AT = time(6)
"""Time of day, in UTC, at which the world records what happened on the day before."""


def decided(event: ForecastEvent, happened_on: date | None, amount: float | None) -> bool:
    """Whether an event happened as asked.

    Args:
        event: the event that was asked about.
        happened_on: the day on which it happened, as the world records it; None if it did not happen.
        amount: the amount that the world records; None if it records none.

    Raises:
        UsageError: the condition is none of :data:`CONDITIONS`.

    Example:
        >>> event = ForecastEvent("US", "A1", "US00001", "at_least", 25.0, date(2025, 12, 19))
        >>> decided(event, date(2025, 12, 18), 30.0), decided(event, date(2025, 12, 22), 30.0)
        (True, False)
    """
    if event.condition not in CONDITIONS:
        raise UsageError(f"{event.condition!r} is no condition of an event; expected one of {', '.join(CONDITIONS)}")
    if happened_on is None or happened_on > event.by:
        return False
    if event.condition == "happens":
        return True
    if amount is None:
        return False
    if event.condition == "at_most":
        return amount <= event.threshold
    # The amount of a detail is 0 or 1, whatever the threshold.
    return amount >= (0.5 if event.condition == "detail" else event.threshold)
