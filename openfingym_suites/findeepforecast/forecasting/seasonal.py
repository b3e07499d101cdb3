"""The seasonal forecaster: the next figure is that of a year before, moved as the newest figure moved in a year."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, ClassVar

from openfingym_suites.findeepforecast.forecasting.naive import last_value, probability_of
from openfingym_suites.findeepforecast.problem import Figure

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.problem import ForecastProblem
    from openfingym_suites.findeepforecast.world.known import KnownWorld, Published

YEAR = 365.25
"""Days of a year."""
APART = 20
"""Days by which the distance of two periods may differ from a year: fiscal years may have 53 weeks."""
LONGEST_STEP = 100
"""The most days between the periods of a figure that has seasons: a quarter."""
SHORTEST_STEP = 20
"""The fewest days between the periods of a figure that has seasons: daily figures have none."""
PERIODS = 18
"""How many periods are looked at: a year and a half of months, or more than four years of quarters."""
LARGEST_GROWTH = 4.0
"""A figure whose ratio to that of a year before is not below this, or that changed its sign, is moved by the difference
and not by the ratio.
"""


class Seasonal:
    """The value of a year before, moved as the newest value moved within a year.

    It is multiplied by the growth of the newest value over its year, or, if values are not positive or growth is
    fourfold, moved by its difference. A figure that has no value of a year before is forecast by its last value, and an
    event by its base rate, as by ``naive``.

    Attributes:
        name: name by which it is called.
        version: version of its rule, which changes with what it forecasts.
        uses_others: whether it is given the others' forecasts, and so is asked last.
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
        """See :class:`openfingym.rounds.forecaster.ForecastProgram`; None if nothing of the figure was published."""
        figure = problem.about
        if not isinstance(figure, Figure):
            return probability_of(problem)
        moved = moved_by_a_year(world.history(figure.subject, figure.measure, PERIODS), figure)
        return last_value(world, figure) if moved is None else moved


def moved_by_a_year(history: Sequence[Published], figure: Figure) -> float | None:
    """The value of a year before the figure's period, moved as the newest value moved within a year.

    Args:
        history: first prints of the figure, in any order.
        figure: the figure to forecast.

    Returns:
        The value, in the unit of the figure; None if there is none of a year before, or the figure has no seasons.
    """
    values = {published.period: published.value for published in history if published.period < figure.period}
    if len(values) < 2:
        return None
    # The last two periods tell how often it is published.
    newest, before = sorted(values)[-1], sorted(values)[-2]
    if not SHORTEST_STEP <= (newest - before).days <= LONGEST_STEP:
        return None
    base, past = _a_year_before(values, figure.period), _a_year_before(values, newest)
    if base is None:
        return None
    # The newest value has none of a year before: nothing says how to move the base.
    if past is None:
        return base
    # A ratio near 0, or of another sign, would say nothing about the base.
    if base > 0 and past > 0 and 1 / LARGEST_GROWTH < (growth := values[newest] / past) < LARGEST_GROWTH:
        return base * growth
    return base + values[newest] - past


def _a_year_before(values: Mapping[date, float], period: date) -> float | None:
    """The value of the period that is nearest to a year before; None if none is near enough."""
    near = [earlier for earlier in values if abs((period - earlier).days - YEAR) <= APART]
    return values[min(near, key=lambda earlier: abs((period - earlier).days - YEAR))] if near else None


PROGRAM = Seasonal()
