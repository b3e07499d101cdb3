"""Open, high, low, close and volume of several coins, bar by bar, in a market that never closes.

Closes are those of the panel simulator (:mod:`openfingym.data.simulate`). What lies between two of them::

    s^2 = (h + r^2) / 2                          a bar's own variance: what was expected, and what came
    r = gap + m moves                            Gaussian bridge of variance s^2; the gap has a share g of it
    open = last close x exp(gap)
    high, low                                    of Brownian bridges between the m + 1 prices after the gap
    log volume = log median + b log(s^2 / v^2) + u,    u AR(1)

with r the bar's log return, h the variance that the panel expected of it and v^2 its unconditional one. So low <=
open, close <= high holds by construction, volume is large where prices move, and stays so for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.book_bars import autoregression
from openfingym.data.simulate import (
    PERIODS_PER_YEAR,
    PanelSimulator,
    calendar_times,
    parse_simulator,
    paths,
    significant,
)
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.processes.draws import Bits, Branch

    Floats = NDArray[np.float64]

FIELDS = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True)
class CoinBars:
    """Parameters of simulated bars of several coins."""

    panel: PanelSimulator
    """Parameters of the simulator that makes the closes."""
    median_volume: tuple[float, ...]
    """Median volume of a bar in coins, one for each channel of the panel."""
    moves: int
    """m, number of moves of the price within a bar."""
    gap: float
    """g, share of a bar's variance between the last close and the open."""
    volume_elasticity: float
    """b, elasticity of a bar's volume with respect to its variance."""
    volume_ar: float
    """Autoregression of u, from 0 to below 1."""
    volume_sd: float
    """Stationary standard deviation of u."""

    def __post_init__(self) -> None:
        if len(self.median_volume) != len(self.panel.channels) or min(self.median_volume) <= 0.0:
            raise DataError(
                f"need a positive median volume for each of {len(self.panel.channels)} channels, found "
                f"{self.median_volume}"
            )
        if not (self.moves >= 1 and 0.0 <= self.gap < 1.0 and 0.0 <= self.volume_ar < 1.0 and self.volume_sd >= 0.0):
            raise DataError(
                f"need a move, 0 <= gap < 1, 0 <= volume_ar < 1 and no negative volume_sd, found {self.moves}, "
                f"{self.gap}, {self.volume_ar}"
            )

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels, five a coin."""
        return tuple(f"{name}_{field}" for name in self.panel.channel_names for field in FIELDS)

    def generate(self, branch: Branch | None = None) -> tuple[NDArray[np.datetime64], Floats]:
        """Make the bars: (times datetime64[ns][rows], the start of each; values float64[rows, 5 x coins])."""
        from openfingym.data.processes.draws import normals, stream

        # The order in which `bits` is drawn from is part of the dataset: another order makes other numbers.
        panel, made = self.panel, paths(self.panel, branch)
        rows, width = made.returns.shape
        usual = np.array([c.volatility for c in panel.channels]) ** 2 / PERIODS_PER_YEAR[panel.calendar]
        # What is expected of a bar is known at the bar before; of the first, only the unconditional variance is.
        expected = np.concatenate([usual[None], made.variances[:-1]])
        variance = 0.5 * (expected + made.returns**2)
        bits = stream(panel.seed, 1, branch=branch)
        log_prices = self._within(normals(bits, rows, width, self.moves + 1), made.returns, variance)
        start = np.log([c.price for c in panel.channels])
        # So far relative to the close before, which is the start and all returns before this one.
        log_prices += (start + np.add.accumulate(made.returns, axis=0) - made.returns)[:, :, None]
        inside = (1.0 - self.gap) / self.moves * variance
        # The lowest point is the highest of the mirrored path.
        high, low = _reach(bits, log_prices, inside), -_reach(bits, -log_prices, inside)
        prices = np.exp(np.stack([log_prices[:, :, 0], high, low, log_prices[:, :, -1]], axis=2))
        noise = [autoregression(normals(bits, rows), self.volume_ar) for _ in range(width)]
        level = self.volume_elasticity * np.log(variance / usual) + self.volume_sd * np.stack(noise, axis=1)
        volume = np.array(self.median_volume) * np.exp(level)
        values = significant(np.concatenate([prices, volume[:, :, None]], axis=2), panel.digits)
        return calendar_times(panel.calendar, panel.start, panel.rows), np.ascontiguousarray(values.reshape(rows, -1))

    def _within(self, drawn: Floats, returns: Floats, variance: Floats) -> Floats:
        """Log prices after the gap and after each move, over the last close, float64[rows, coins, 1 + moves].

        Independent moves tied down so that they add up to the bar's return: each gives up its share of the excess.
        """
        shares = np.concatenate([[self.gap], np.full(self.moves, (1.0 - self.gap) / self.moves)])
        flow = np.sqrt(shares) * drawn * np.sqrt(variance)[:, :, None]
        walk: Floats = np.add.accumulate(flow, axis=2)
        tied: Floats = walk + np.add.accumulate(shares) * (returns - walk[:, :, -1])[:, :, None]
        # The last one is the return itself, to the last bit, so that a close is followed by the next bar without a
        # step.
        tied[:, :, -1] = returns
        return tied


def parse_coin_bars(table: Mapping[str, Any]) -> CoinBars:
    """Parameters from a dataset's ``[simulator]`` table: those of the panel, ``[simulator.bars]`` and
    ``[simulator.bars.median_volume]``.

    Raises:
        KeyError, TypeError: the table has not the keys of the simulator.
        DataError: the parameters make no process.
    """
    panel = parse_simulator({key: value for key, value in table.items() if key != "bars"})
    own = dict(table["bars"])
    volumes = own.pop("median_volume")
    return CoinBars(panel, tuple(volumes[name] for name in panel.channel_names), **own)


def _reach(bits: Bits, values: Floats, variance: Floats) -> Floats:
    """Highest point of Brownian bridges through the last axis of ``values``, float64[rows, coins].

    The maximum of a bridge from x to y of variance s^2 has the law (x + y + sqrt((y - x)^2 - 2 s^2 ln U)) / 2, U
    uniform.
    """
    from openfingym.data.processes.draws import uniforms

    x, y = values[:, :, :-1], values[:, :, 1:]
    reach = np.sqrt((y - x) ** 2 - 2.0 * variance[:, :, None] * np.log(uniforms(bits, *x.shape)))
    highest: Floats = (0.5 * (x + y + reach)).max(axis=2)
    # In exact arithmetic no bridge stays below its ends; rounding could.
    out: Floats = np.maximum(highest, values.max(axis=2))
    return out
