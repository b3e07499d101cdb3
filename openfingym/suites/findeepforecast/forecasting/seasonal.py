"""What is published next is what was published a year before, moved as the newest figure moved in a year."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, ClassVar

from openfingym.suites.findeepforecast.forecasting.naive import NO, last_value
from openfingym.suites.findeepforecast.problem import Event

if TYPE_CHECKING:
    from openfingym.suites.findeepforecast.problem import Figure, ForecastProblem
    from openfingym.suites.findeepforecast.world.known import KnownWorld, Published

YEAR = 365.25
APART = 20
"""Days by which two periods a year apart may be further apart, or nearer: fiscal years may have 53 weeks."""
LONGEST_STEP = 100
"""Days between periods, at most, of a figure that has seasons: a quarter."""
SHORTEST_STEP = 20
"""Days between periods, at least, of a figure that has seasons: those of each day have none."""
PERIODS = 18
"""Periods that are looked at: of a month a year and a half, of a quarter more than four years."""
LARGEST_GROWTH = 4.0
"""A figure that grew more in a year, or changed its sign, is moved by the difference and not by the ratio."""


class Seasonal:
    """Of a figure of a month or a quarter that has a value a year before: this one, times the growth over a year of the
    newest value that has one, or plus its difference where the values are not positive or it grew fourfold. Of every
    other figure the last value, and of an event the base rate, as ``naive``.

    Attributes:
        name: name by which it is called.
        version: version of its rule, which changes with what it forecasts.
        uses_others: whether it is asked after the others.
    """

    name: ClassVar[str] = "seasonal"
    version: ClassVar[str] = "1"
    uses_others: ClassVar[bool] = False

    def forecast(
        self,
        problem: ForecastProblem,
        world: KnownWorld,
        others: Mapping[str, float],  # noqa: ARG002 - it looks at nobody's
    ) -> float | None:
        """The value in the unit that is asked for, or the probability of the event; None where nothing was published.

        Args:
            problem: the figure or the event that is asked about.
            world: what is known at the time of the answer.
            others: forecasts of other agents, by their names.
        """
        if isinstance(problem.about, Event):
            return NO if problem.base_rate is None else problem.base_rate
        found = moved_by_a_year(world.history(problem.about.subject, problem.about.measure, PERIODS), problem.about)
        return last_value(world, problem.about) if found is None else found


def moved_by_a_year(history: Sequence[Published], figure: Figure) -> float | None:
    """The value of a year before the figure's period, moved as the newest value moved within a year; None where there
    is no such value, or the figure has no seasons.
    """
    values = {one.period: one.value for one in history if one.period < figure.period}
    if len(values) < 2:
        return None
    newest, before = sorted(values)[-1], sorted(values)[-2]
    if not SHORTEST_STEP <= (newest - before).days <= LONGEST_STEP:
        return None
    base, past = _a_year_before(values, figure.period), _a_year_before(values, newest)
    if base is None:
        return None
    if past is None:
        return base
    if base > 0 and past > 0 and 1 / LARGEST_GROWTH < (growth := values[newest] / past) < LARGEST_GROWTH:
        return base * growth
    return base + values[newest] - past


def _a_year_before(values: Mapping[date, float], period: date) -> float | None:
    near = [one for one in values if abs((period - one).days - YEAR) <= APART]
    return values[min(near, key=lambda one: abs((period - one).days - YEAR))] if near else None


PROGRAM = Seasonal()
