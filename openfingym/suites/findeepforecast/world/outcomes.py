"""Whether an event happened, by what the world records of its story."""

from __future__ import annotations

from datetime import date

from openfingym.errors import UsageError
from openfingym.suites.findeepforecast.problem import ForecastEvent

CONDITIONS = ("happens", "at_least", "at_most", "detail")
"""What may be asked of an event of the simulated world: that it happens; that its amount is at least, or at most,
so much; that a detail is part of it, which the record has as an amount of one."""


def decided(event: ForecastEvent, happened_on: date | None, amount: float | None) -> bool:
    """Whether an event happened as asked.

    Args:
        event: what was asked.
        happened_on: the day that the world records for its story; None where it did not happen.
        amount: the amount that it records; None where it has none.

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
    return amount >= (0.5 if event.condition == "detail" else event.threshold)
