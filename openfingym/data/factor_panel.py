"""A simulated panel of unlike columns: prices, an implied volatility and indicators of the first price.

The prices come from :mod:`openfingym.data.simulate`. Of the first of them::

    volatility index = 100 premium exp(u) sqrt(252 mean over the next 21 rows of E[h])     percent a year
                       u(t+1) = noise_ar u(t) + noise sqrt(1 - noise_ar^2) N(0, 1)
    macd, rsi        of the prices as rounded (see :mod:`openfingym.data.indicators`)

where E[h] k rows ahead is v^2 + persistence^k (h(t+1) - v^2) with persistence alpha + gamma / 2 + beta
(Glosten, Jagannathan and Runkle 1993), so the index is what an option market would quote at that premium.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.indicators import macd, rsi
from openfingym.data.simulate import PERIODS_PER_YEAR, PanelSimulator, calendar_times, parse_simulator, paths, prices
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.processes.draws import Branch

MONTH = 21
"""Rows ahead that the volatility index looks: a month of trading days."""


@dataclass(frozen=True)
class FactorPanel:
    """Parameters of a panel of prices, a volatility index and two indicators."""

    simulator: PanelSimulator
    """Parameters of the simulator that makes the prices."""
    warm_up: int
    """Rows before the first one of the panel, over which the indicators forget where they began; dropped."""
    volatility_index: str
    """Name of the channel of the volatility index; ``macd`` and ``rsi`` follow it."""
    premium: float
    """Implied volatility divided by the expected one."""
    noise: float
    """Stationary standard deviation of u."""
    noise_ar: float
    """Autoregression of u, from 0 to below 1."""

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels."""
        return (*self.simulator.channel_names, self.volatility_index, "macd", "rsi")

    def generate(self, branch: Branch | None = None) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
        """Make the panel: (times datetime64[ns][rows], values float64[rows, channels])."""
        longer = replace(self.simulator, rows=self.simulator.rows + self.warm_up)
        made = paths(longer, branch)
        levels = prices(longer, made.returns)
        first = levels[:, 0]
        extra = (self._implied(made.variances[:, 0], branch).round(2), macd(first).round(4), rsi(first).round(4))
        values = np.column_stack([levels, *extra])[self.warm_up :]
        return calendar_times(longer.calendar, longer.start, self.simulator.rows), values

    def _implied(self, variances: NDArray[np.float64], branch: Branch | None) -> NDArray[np.float64]:
        simulator = self.simulator
        periods = PERIODS_PER_YEAR[simulator.calendar]
        mean = simulator.channels[0].volatility ** 2 / periods
        persistence = simulator.alpha + simulator.gamma / 2 + simulator.beta
        # The mean of persistence^k over k = 0 to 20, a geometric series; `variances` is of the next row, k = 0.
        weight = (1.0 - persistence**MONTH) / (MONTH * (1.0 - persistence))
        expected = mean + weight * (variances - mean)
        return 100.0 * self.premium * np.exp(self._noise(len(variances), branch)) * np.sqrt(periods * expected)

    def _noise(self, rows: int, branch: Branch | None) -> NDArray[np.float64]:
        from openfingym.data.processes.book import stationary_autoregression
        from openfingym.data.processes.draws import normals, stream

        # A stream of its own, place 1 of the seed: the prices are drawn from the seed's stream itself.
        return self.noise * stationary_autoregression(
            normals(stream(self.simulator.seed, 1, branch=branch), rows), self.noise_ar
        )


def parse_factor_panel(table: Mapping[str, Any]) -> FactorPanel:
    """A factor panel from its table: ``prices`` is the simulator's, the other keys are its own.

    Raises:
        KeyError, TypeError: the table has not those keys.
        DataError: the parameters make no process, or the indicators have too few rows to start from.
    """
    panel = FactorPanel(
        parse_simulator(table["prices"]), **{key: value for key, value in table.items() if key != "prices"}
    )
    if panel.warm_up <= MONTH or not 0.0 <= panel.noise_ar < 1.0:
        raise DataError(
            f"need more than {MONTH} rows of warm-up and 0 <= noise_ar < 1, found {panel.warm_up} and {panel.noise_ar}"
        )
    return panel
