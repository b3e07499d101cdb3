"""The risk of an account as its tear sheet shows it: tail losses, drawdowns one by one, and a rolling window."""

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
"""Most rows of the table of drawdowns."""
WINDOWS_PER_YEAR = 4.0
"""Rolling windows in a year: a window is a quarter of a year, or half an episode if that is shorter."""
SHORTEST = 10
"""Fewest steps of a window over which anything is estimated."""


@dataclass(frozen=True)
class TailLoss:
    """The loss of a bad step, by two measures."""

    level: float
    """Level of both measures, such as 0.95."""
    value_at_risk: float
    """Historical value at risk of one step: minus the interpolated quantile of the returns at 1 - level; positive for a
    loss."""
    expected_shortfall: float
    """Mean loss of the steps that lose at least the value at risk."""


@dataclass(frozen=True)
class Drawdown:
    """A fall below the highest equity so far of an episode, until that is reached again. Times are ISO 8601 in UTC."""

    episode: int
    """Number of the episode, from 1."""
    depth: float
    """The largest fall, as a positive fraction of the equity at the peak."""
    start: str
    """Time of the last close at the peak."""
    trough: str
    """Time of the lowest close."""
    end: str | None
    """Time of the first close that is as high as the peak; None if the episode ended before."""
    length: int
    """Bars from the peak to the end of the drawdown, or of the episode."""
    recovery: int | None
    """Bars from the trough to the end of the drawdown; None if the episode ended before."""


@dataclass(frozen=True, eq=False)
class Rolling:
    """Figures over rolling windows, each within one episode."""

    window: int
    """How many steps a window has."""
    times: NDArray[np.datetime64]
    """Time of the close at which each window ends, datetime64[ns][points]."""
    starts: tuple[int, ...]
    """Index of the first point of each episode that is long enough."""
    sharpe_ratio: NDArray[np.float64]
    """Annualised Sharpe ratio over each window, float64[points]."""
    volatility: NDArray[np.float64]
    """Annualised volatility over each window as a fraction, float64[points]."""


def tail_losses(returns: NDArray[np.float64]) -> list[TailLoss]:
    """VaR and ES of step returns, float64[steps]; a level beyond which less than one step is expected is left out."""
    losses = []
    for tail in TAILS:
        if len(returns) * tail >= 1.0:
            quantile, mean = tail_risk(returns, tail)
            # A difference from zero, since the negative of a zero return would be shown as -0.
            losses.append(TailLoss(1.0 - tail, 0.0 - float(quantile), 0.0 - float(mean)))
    return losses


def drawdown_list(chain: Chain) -> list[Drawdown]:
    """Every drawdown of every episode, the deepest first."""
    falls = [fall for number, trace in enumerate(chain.traces, start=1) for fall in _of_episode(number, trace)]
    return sorted(falls, key=lambda fall: -fall.depth)


def _of_episode(number: int, trace: EpisodeTrace) -> Iterator[Drawdown]:
    """The drawdowns of an episode, in order."""
    equity = trace.record[:, RecordColumn.EQUITY]
    times = np.datetime_as_string(trace.times.astype("datetime64[s]"))
    below = equity < np.maximum.accumulate(equity)
    # Rows at which a stretch below the peak begins, and rows after it, in turn.
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
    """How many steps a rolling window has; None if all episodes are too short for one."""
    longest = max(len(trace.record) - 1 for trace in chain.traces)
    window = min(round(periods_per_year / WINDOWS_PER_YEAR), longest // 2)
    return window if window >= SHORTEST else None


def rolling(chain: Chain, window: int, periods_per_year: float) -> Rolling:
    """Sharpe ratio and volatility over rolling windows, none of which crosses from one episode into the next.

    Args:
        chain: the episodes of an account, one of which has at least as many steps as a window.
        window: how many steps a window has.
        periods_per_year: how many bars a year has.
    """
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
