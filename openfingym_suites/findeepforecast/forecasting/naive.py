"""The naive forecaster: the next figure is the last one, and an event is as probable as similar ones were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from openfingym_suites.findeepforecast.problem import Figure

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.problem import ForecastProblem
    from openfingym_suites.findeepforecast.world.known import KnownWorld

NO = 0.0
"""The probability of an event of which nothing is known: most do not happen."""


class Naive:
    """The first print of a figure's last published period; the base rate that an event's question states, else NO.

    Attributes:
        name: name by which it is called.
        version: version of its rule, which changes with what it forecasts.
        uses_others: whether it is given the others' forecasts, and so is asked last.
    """

    name: ClassVar[str] = "naive"
    version: ClassVar[str] = "1"
    uses_others: ClassVar[bool] = False

    def forecast(
        self,
        problem: ForecastProblem,
        world: KnownWorld,
        others: Mapping[str, float],  # noqa: ARG002 - it looks at nobody's
    ) -> float | None:
        """See :class:`openfingym.rounds.forecaster.ForecastProgram`; None if nothing of the figure was published."""
        if isinstance(problem.about, Figure):
            return last_value(world, problem.about)
        return probability_of(problem)


def probability_of(problem: ForecastProblem) -> float:
    """The probability of an event by its base rate alone, from 0 to 1."""
    return NO if problem.base_rate is None else problem.base_rate


def last_value(world: KnownWorld, figure: Figure) -> float | None:
    """The first print of the newest earlier period; None if there is none."""
    # Two, since the newest print may be of the very period that is asked about.
    history = world.history(figure.subject, figure.measure, 2)
    earlier = [published for published in history if published.period < figure.period]
    return earlier[-1].value if earlier else None


PROGRAM = Naive()
