"""What is published next is what was published last, and what happens is what happens mostly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from openfingym.suites.findeepforecast.problem import Event

if TYPE_CHECKING:
    from openfingym.suites.findeepforecast.problem import Figure, ForecastProblem
    from openfingym.suites.findeepforecast.world.known import KnownWorld

NO = 0.0
"""An event of which nothing is known: most do not happen."""


class Naive:
    """Of a figure the value of the last period that was published, as it was published first; of an event the base rate
    that the question states, else NO.

    Attributes:
        name: name by which it is called.
        version: version of its rule, which changes with what it forecasts.
        uses_others: whether it is asked after the others.
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
        """The value in the unit that is asked for, or the probability of the event; None where nothing was published.

        Args:
            problem: the figure or the event that is asked about.
            world: what is known at the time of the answer.
            others: forecasts of other agents, by their names.
        """
        if isinstance(problem.about, Event):
            return NO if problem.base_rate is None else problem.base_rate
        return last_value(world, problem.about)


def last_value(world: KnownWorld, figure: Figure) -> float | None:
    """The first print of the newest earlier period that has one; None where there is none."""
    earlier = [one for one in world.history(figure.subject, figure.measure, 2) if one.period < figure.period]
    return earlier[-1].value if earlier else None


PROGRAM = Naive()
