"""A forecaster that combines the forecasts of the others, which is often better than any one of them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from openfingym_suites.findeepforecast.problem import ForecastEvent

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.problem import ForecastProblem
    from openfingym_suites.findeepforecast.world.known import KnownWorld


class Consensus:
    """The median of the others' forecasts of a figure, or the mean of their probabilities of an event.

    Attributes:
        name: name by which it is called.
        version: version of its rule, which changes with what it forecasts.
        uses_others: whether it is given the others' forecasts, and so is asked last.
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
        """See :class:`openfingym.rounds.forecaster.ForecastProgram`; None if nobody else forecast it."""
        # In the order of names, so that a mean of floats is the same whoever answered first.
        values = [others[name] for name in sorted(others)]
        if not values:
            return None
        return statistics.fmean(values) if isinstance(problem.about, ForecastEvent) else statistics.median(values)


PROGRAM = Consensus()
