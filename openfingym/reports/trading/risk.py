"""Risk of an account as its tear sheet shows it: losses in the tail, drawdowns one by one, and a rolling window."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.performance import RecordColumn
from openfingym.metrics.risk import sharpe_ratio, tail_risk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.trading.trace import Chain, EpisodeTrace

TAILS = (0.05, 0.01)
"""Tail probabilities of VaR and ES: 95 % and 99 %."""
DRAWDOWNS = 10
"""Rows of the table of drawdowns."""
WINDOWS_PER_YEAR = 4.0
"""A rolling window is a quarter of a year, if episodes are twice as long."""
SHORTEST = 10
"""Steps of the shortest window over which anything is estimated."""


@dataclass(frozen=True)
class TailLoss:
    """What is lost in a bad step."""

    level: float
    """Such as 0.95."""
    value_at_risk: float
    """Historical, of one step: minus the interpolated quantile of the returns at 1 - level; positive for a loss."""
    expected_shortfall: float
    """Mean loss of the steps that lose at least as much."""


@dataclass(frozen=True)
class Drawdown:
    """A fall from the highest equity so far of an episode, until it is reached again. Times are ISO 8601, UTC."""

    episode: int
    """Counts from 1."""
    depth: float
    """Positive fraction of the equity at its start."""
    start: str
    """The last close at the peak."""
    trough: str
    end: str | None
    """The first close that is as high as the peak; None where the episode ended before."""
    length: int
    """Bars from the peak to the end, or to the episode's."""
    recovery: int | None
    """Bars from the trough to the end."""


@dataclass(frozen=True, eq=False)
class Rolling:
    """Figures over the last ``window`` steps of the same episode, wherever there are so many."""

    window: int
    times: NDArray[np.datetime64]
    """datetime64[ns][points]: the close at which each window ends."""
    starts: tuple[int, ...]
    """First point of each episode."""
    sharpe_ratio: NDArray[np.float64]
    """float64[points], annualised."""
    volatility: NDArray[np.float64]
    """float64[points], annualised, a fraction."""


def tail_losses(returns: NDArray[np.float64]) -> list[TailLoss]:
    """VaR and ES of step returns, float64[steps]; a level of which fewer than one step is expected is left out."""
    found = []
    for tail in TAILS:
        if len(returns) * tail >= 1.0:
            quantile, mean = tail_risk(returns, tail)
            # Adding zero turns the minus zero of an account at rest into zero.
            found.append(TailLoss(1.0 - tail, 0.0 - float(quantile), 0.0 - float(mean)))
    return found


def drawdown_list(chain: Chain) -> list[Drawdown]:
    """Every drawdown of every episode, the deepest first."""
    found = [one for number, trace in enumerate(chain.traces, start=1) for one in _of_episode(number, trace)]
    return sorted(found, key=lambda one: -one.depth)


def _of_episode(number: int, trace: EpisodeTrace) -> Iterator[Drawdown]:
    equity = trace.record[:, RecordColumn.EQUITY]
    times = np.datetime_as_string(trace.times.astype("datetime64[s]"))
    below = equity < np.maximum.accumulate(equity)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], below, [False]]).astype(int)))
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        start = first - 1
        trough = first + int(np.argmin(equity[first:end]))
        over = end < len(equity)
        yield Drawdown(
            number,
            1.0 - float(equity[trough] / equity[start]),
            str(times[start]),
            str(times[trough]),
            str(times[end]) if over else None,
            (end if over else len(equity) - 1) - start,
            end - trough if over else None,
        )


def rolling_window(chain: Chain, periods_per_year: float) -> int | None:
    """Steps of the rolling window; None where episodes are too short for any."""
    longest = max(len(trace.record) - 1 for trace in chain.traces)
    window = min(round(periods_per_year / WINDOWS_PER_YEAR), longest // 2)
    return window if window >= SHORTEST else None


def rolling(chain: Chain, window: int, periods_per_year: float) -> Rolling:
    """Sharpe ratio and volatility over a window that never crosses from one episode into the next."""
    times, sharpe, volatility, starts, at = [], [], [], [], 0
    returns = iter(np.split(chain.returns, np.cumsum([len(trace.record) - 1 for trace in chain.traces])[:-1]))
    for trace, own in zip(chain.traces, returns, strict=True):
        if len(own) < window:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(own, window)
        starts.append(at)
        times.append(trace.times[window:])
        sharpe.append(sharpe_ratio(windows, periods_per_year))
        volatility.append(windows.std(axis=1, ddof=1) * math.sqrt(periods_per_year))
        at += len(windows)
    joined = (np.concatenate(pieces) for pieces in (sharpe, volatility))
    return Rolling(window, np.concatenate(times).astype("datetime64[ns]"), tuple(starts), *joined)
