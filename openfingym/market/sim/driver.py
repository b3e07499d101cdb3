"""Running a simulated exchange by a clock, in real or in simulated time."""

from __future__ import annotations

from collections.abc import Callable

from openfingym.errors import VenueError
from openfingym.market.clock import Clock


async def drive(
    advance: Callable[[int], object], start: int, clock: Clock, *, speed: float = 1.0, step_s: float = 0.01
) -> None:
    """Advance an exchange, or a venue over it, as a clock's monotonic reading does, until it is cancelled.

    Args:
        advance: advances the exchange to a time, in nanoseconds of its own clock.
        start: the exchange's time now, in nanoseconds.
        clock: the clock by whose monotonic reading time passes.
        speed: how many seconds of the exchange pass in a second of the clock.
        step_s: seconds of the clock between two steps.

    Raises:
        VenueError: ``speed`` or ``step_s`` is not above zero.
    """
    if not (speed > 0 and step_s > 0):
        raise VenueError(f"an exchange cannot run at speed {speed} in steps of {step_s} s: expected both above zero")
    began = clock.monotonic()
    while True:
        await clock.sleep(step_s)
        # From the beginning each time, so that sleeping too long does not add up.
        advance(start + int((clock.monotonic() - began) * speed))
