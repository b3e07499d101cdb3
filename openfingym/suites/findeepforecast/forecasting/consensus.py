"""What the others say, together: it is often better than any one of them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from openfingym.suites.findeepforecast.problem import Event

if TYPE_CHECKING:
    from openfingym.suites.findeepforecast.problem import ForecastProblem
    from openfingym.suites.findeepforecast.world.known import KnownWorld


class Consensus:
    """Of a figure the median of the others' forecasts, of an event the mean of their probabilities; nothing where
    nobody else forecast it.

    Attributes:
        name: name by which it is called.
        version: version of its rule, which changes with what it forecasts.
        uses_others: whether it is asked after the others.
    """

    name: ClassVar[str] = "consensus"
    version: ClassVar[str] = "1"
    uses_others: ClassVar[bool] = True

    def forecast(
        self,
        problem: ForecastProblem,
        world: KnownWorld,  # noqa: ARG002 - it looks at the others alone
        others: Mapping[str, float],
    ) -> float | None:
        """The value in the unit that is asked for, or the probability of the event; None where nobody forecast it.

        Args:
            problem: the figure or the event that is asked about.
            world: what is known at the time of the answer.
            others: forecasts of other agents, by their names.
        """
        values = [others[name] for name in sorted(others)]
        if not values:
            return None
        return statistics.fmean(values) if isinstance(problem.about, Event) else statistics.median(values)


PROGRAM = Consensus()
