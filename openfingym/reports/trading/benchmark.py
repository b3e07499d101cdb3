"""What an account is compared with, step by step: its baseline, a symbol, equal weights, or prices from a file."""

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
"""The mean of all symbols' returns: equal parts, restored at every close, without costs."""


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Returns of the same steps as an account's."""

    name: str
    returns: NDArray[np.float64]
    """float64[steps], simple returns of the steps of all episodes, in order, as fractions."""
    note: str = ""
    """How it is made up."""


@dataclass(frozen=True)
class Regression:
    """Least squares of an account's step returns on a benchmark's, at a risk-free rate of 0."""

    benchmark: str
    beta: float
    beta_error: float
    """Standard error of beta."""
    alpha: float
    """The constant times the bars in a year: fraction a year, not compounded."""
    alpha_error: float
    """Standard error of alpha, for independent residuals of one variance."""
    correlation: float


def benchmark_of(choice: str, replays: Sequence[Replay]) -> Benchmark:
    """The benchmark that somebody chose.

    Args:
        choice: a symbol of the task, ``equal-weight``, or the path of a CSV with a time column and one of closes.
        replays: the episodes of the account.

    Raises:
        UsageError: it is none of these, or the file does not cover the episodes.
        DataError: the file cannot be read as a CSV of prices.
    """
    symbols = replays[0].trace.symbols
    if choice in symbols:
        place = symbols.index(choice)
        returns = np.concatenate([_symbol_returns(one)[:, place] for one in replays])
        return Benchmark(choice, returns, "From close to close, dividends included, without costs.")
    if choice == EQUAL_WEIGHT:
        returns = np.concatenate([_symbol_returns(one).mean(axis=1) for one in replays])
        return Benchmark(choice, returns, "Equal parts of all symbols, restored at every close, without costs.")
    path = Path(choice)
    if not (path.suffix in {".csv", ".gz"} or path.exists()):
        raise UsageError(
            f"benchmark {choice!r} is neither a symbol of the task, nor {EQUAL_WEIGHT!r}, nor a CSV file"
            f"{suggestion(choice, (*symbols, EQUAL_WEIGHT))}"
        )
    return _from_file(path, [one.trace.times for one in replays])


def regression(returns: NDArray[np.float64], benchmark: Benchmark, periods_per_year: float) -> Regression | None:
    """Alpha and beta against a benchmark; None where either of both never moves, or there are fewer than three steps.

    Args:
        returns: float64[steps], simple returns of the account's steps.
        benchmark: returns of the same steps.
        periods_per_year: bars in a year.
    """
    from scipy.stats import linregress

    if len(returns) < 3 or min(returns.std(), benchmark.returns.std()) < FLAT_STD:
        return None
    found = linregress(benchmark.returns, returns)
    return Regression(
        benchmark.name,
        float(found.slope),
        float(found.stderr),
        float(found.intercept) * periods_per_year,
        float(found.intercept_stderr) * periods_per_year,
        float(found.rvalue),
    )


def _symbol_returns(one: Replay) -> NDArray[np.float64]:
    """float64[steps, symbols]: what a unit held over each bar returns, its splits and dividends included."""
    bars, first = one.tape.bars, one.tape.first
    rows = slice(first + 1, first + len(one.trace.record))
    held = bars.split[rows] * (bars.close[rows] + bars.dividend[rows])
    returns: NDArray[np.float64] = held / bars.close[first : rows.stop - 1] - 1.0
    return returns


def _from_file(path: Path, episodes: Sequence[NDArray[np.datetime64]]) -> Benchmark:
    columns, times, values = parse_csv(read_bytes(path).decode("utf-8-sig", "replace"), str(path), measure="price")
    named = [place for place, name in enumerate(columns) if name.lower() == "close"]
    if len(columns) > 1 and len(named) != 1:
        raise UsageError(f"{path}: has the columns {', '.join(columns)}; expected one beside the time, or one 'close'")
    closes = values[:, named[0] if named else 0]
    first, last = min(stamps[0] for stamps in episodes), max(stamps[-1] for stamps in episodes)
    # The last bar may close on a day on which the benchmark was not traded.
    if times[0] > first or times[-1] < last - np.timedelta64(7, "D"):
        spans = [
            " to ".join(np.datetime_as_string([a, b], unit="D")) for a, b in ((times[0], times[-1]), (first, last))
        ]
        raise UsageError(f"{path}: has prices of {spans[0]}, but the episodes are of {spans[1]}; it must cover them")
    pieces, own = [], 0
    for stamps in episodes:
        rows = np.searchsorted(times, stamps, side="right") - 1
        pieces.append(closes[rows[1:]] / closes[rows[:-1]] - 1.0)
        own += int((np.diff(rows) > 0).sum())
    returns = np.concatenate(pieces)
    if 2 * own < len(returns):
        raise UsageError(
            f"{path}: only {own:,} of the {len(returns):,} bars have a new price in it; give more frequent prices"
        )
    missing = len(returns) - own
    note = (
        f"{missing:,} of {len(returns):,} bars have no price in the file, and keep the one before." if missing else ""
    )
    return Benchmark(path.name, returns, note)
