"""The benchmark of an account, step by step: its baseline, a symbol, equal weights, or prices from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import parse_csv, read_bytes
from openfingym.data.dataset import suggestion
from openfingym.errors import UsageError
from openfingym.metrics.risk import FLAT_STD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.trading.replay import Replay

EQUAL_WEIGHT = "equal-weight"
"""Name of the benchmark that is the mean of all symbols' returns: equal parts, restored at every close, without
costs."""


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A benchmark, by its returns over the steps of an account."""

    name: str
    """Name of the benchmark."""
    returns: NDArray[np.float64]
    """Simple returns over the steps of all episodes, in order, as fractions, float64[steps]."""
    note: str = ""
    """How the benchmark is computed, in words."""


@dataclass(frozen=True)
class Regression:
    """Least squares of an account's step returns on those of a benchmark, at a risk-free rate of 0."""

    benchmark: str
    """Name of the benchmark."""
    beta: float
    """The slope."""
    beta_error: float
    """Standard error of beta."""
    alpha: float
    """The constant times the bars in a year, as a fraction a year, not compounded."""
    alpha_error: float
    """Standard error of alpha, for independent residuals of equal variance."""
    correlation: float
    """Correlation of the account's returns with the benchmark's."""


def benchmark_of(choice: str, replays: Sequence[Replay]) -> Benchmark:
    """The benchmark that a user chose.

    Args:
        choice: a symbol of the task, ``equal-weight``, or the path of a CSV file with a column of times and one of
            closing prices.
        replays: the episodes of the account.

    Raises:
        UsageError: the choice is none of these, or the file does not cover the episodes.
        DataError: the file cannot be read as a CSV of prices.
    """
    symbols = replays[0].trace.symbols
    if choice in symbols:
        place = symbols.index(choice)
        returns = np.concatenate([_symbol_returns(episode)[:, place] for episode in replays])
        return Benchmark(choice, returns, "From close to close, dividends included, without costs.")
    if choice == EQUAL_WEIGHT:
        returns = np.concatenate([_symbol_returns(episode).mean(axis=1) for episode in replays])
        return Benchmark(choice, returns, "Equal parts of all symbols, restored at every close, without costs.")
    path = Path(choice)
    if not (path.suffix in {".csv", ".gz"} or path.exists()):
        raise UsageError(
            f"benchmark {choice!r} is neither a symbol of the task, nor {EQUAL_WEIGHT!r}, nor a CSV file"
            f"{suggestion(choice, (*symbols, EQUAL_WEIGHT))}"
        )
    return _from_file(path, [episode.trace.times for episode in replays])


def regression(returns: NDArray[np.float64], benchmark: Benchmark, periods_per_year: float) -> Regression | None:
    """Alpha and beta against a benchmark; None if account or benchmark never moves, or if there are fewer than three
    steps.

    Args:
        returns: simple returns of the account over its steps, float64[steps].
        benchmark: the benchmark, over the same steps.
        periods_per_year: how many bars a year has.
    """
    from scipy.stats import linregress

    if len(returns) < 3 or min(returns.std(), benchmark.returns.std()) < FLAT_STD:
        return None
    line = linregress(benchmark.returns, returns)
    return Regression(
        benchmark.name,
        float(line.slope),
        float(line.stderr),
        float(line.intercept) * periods_per_year,
        float(line.intercept_stderr) * periods_per_year,
        float(line.rvalue),
    )


def _symbol_returns(episode: Replay) -> NDArray[np.float64]:
    """Return of a unit held over each bar, splits and dividends included, float64[steps, symbols]."""
    bars, first = episode.tape.bars, episode.tape.first
    rows = slice(first + 1, first + len(episode.trace.record))
    # A split comes before the dividend, which is paid on each of the new units.
    worth = bars.split[rows] * (bars.close[rows] + bars.dividend[rows])
    returns: NDArray[np.float64] = worth / bars.close[first : rows.stop - 1] - 1.0
    return returns


def _from_file(path: Path, episodes: Sequence[NDArray[np.datetime64]]) -> Benchmark:
    """The benchmark of the prices in a file, over episodes whose bars have these times."""
    columns, times, values = parse_csv(read_bytes(path).decode("utf-8-sig", "replace"), str(path), measure="price")
    named = [place for place, name in enumerate(columns) if name.lower() == "close"]
    if len(columns) > 1 and len(named) != 1:
        raise UsageError(f"{path}: has the columns {', '.join(columns)}; expected one beside the time, or one 'close'")
    closes = values[:, named[0] if named else 0]
    first, last = min(stamps[0] for stamps in episodes), max(stamps[-1] for stamps in episodes)
    # The last bars may be on days on which the benchmark is not traded, such as a holiday.
    if times[0] > first or times[-1] < last - np.timedelta64(7, "D"):
        spans = [
            " to ".join(np.datetime_as_string([a, b], unit="D")) for a, b in ((times[0], times[-1]), (first, last))
        ]
        raise UsageError(f"{path}: has prices of {spans[0]}, but the episodes are of {spans[1]}; it must cover them")
    pieces, fresh = [], 0
    for stamps in episodes:
        # The last price that is not after the bar.
        rows = np.searchsorted(times, stamps, side="right") - 1
        pieces.append(closes[rows[1:]] / closes[rows[:-1]] - 1.0)
        fresh += int((np.diff(rows) > 0).sum())
    returns = np.concatenate(pieces)
    # Prices that stand still most of the time, as daily ones beside bars of a minute, make a meaningless regression.
    if 2 * fresh < len(returns):
        raise UsageError(
            f"{path}: only {fresh:,} of the {len(returns):,} bars have a new price in it; give more frequent prices"
        )
    missing = len(returns) - fresh
    note = (
        f"{missing:,} of {len(returns):,} bars have no price in the file, and keep the one before." if missing else ""
    )
    return Benchmark(path.name, returns, note)
