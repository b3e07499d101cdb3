"""The sections of a tear sheet on risk and trades, as plain values for its template."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from openfingym.reports.charts import shown
from openfingym.reports.page import minus
from openfingym.reports.trading.account_charts import rolling_charts
from openfingym.reports.trading.benchmark import Benchmark, regression
from openfingym.reports.trading.calendar import ROWS, calendar_returns
from openfingym.reports.trading.heatmap import tint
from openfingym.reports.trading.risk import DRAWDOWNS, drawdown_list, rolling, rolling_window, tail_losses
from openfingym.reports.trading.trace import Chain

if TYPE_CHECKING:
    from openfingym.reports.trading.trace import EpisodeTrace
    from openfingym.reports.trading.trades import RoundTrip

EMPTY = "–"
"""What stands for a figure that there is not."""


@dataclass(frozen=True)
class Trades:
    """The round trips of an account, and the file that has them."""

    trades: Sequence[RoundTrip]
    """The round trips, in order of their exits."""
    link: str | None = None
    """Address of their CSV file relative to the page; None if there is no file."""


def risk_values(
    names: tuple[str, str], chain: Chain, beside: Chain | None, benchmark: Benchmark | None, periods_per_year: float
) -> dict[str, object]:
    """The values of the sections on risk.

    Args:
        names: names of the agent and of the baseline.
        chain: the episodes of the account.
        beside: the episodes of the baseline, which are as many and over the same bars; None for no baseline.
        benchmark: the benchmark that a user chose; None for the baseline.
        periods_per_year: how many bars a year has.
    """
    window = rolling_window(chain, periods_per_year)
    rolled = [
        rolling(account, window, periods_per_year) if window is not None and account is not None else None
        for account in (chain, beside)
    ]
    own, other = rolled
    if benchmark is None and beside is not None:
        benchmark = _of_baseline(names[1], beside)
    return {
        "tail": _tail(names, chain, beside),
        "against": _against(names[0], chain, benchmark, periods_per_year),
        "calendar": _calendar(chain),
        "rolling": None if own is None else rolling_charts(names, own, other),
        "rolling_title": f"Rolling over {window} bars, within each episode",
        "falls": _falls(chain),
    }


def risk_figures(
    baseline: str,
    own: Sequence[EpisodeTrace],
    other: Sequence[EpisodeTrace],
    benchmark: Benchmark | None,
    periods_per_year: float,
) -> dict[str, object]:
    """The figures on risk for programs, as plain values: fractions, times in ISO 8601, None for what is not known.

    Args:
        baseline: name of the baseline.
        own: the episodes of the account.
        other: the same episodes as the baseline traded them.
        benchmark: the benchmark that a user chose; None for the baseline.
        periods_per_year: how many bars a year has.
    """
    chain = Chain(own)
    against = regression(chain.returns, benchmark or _of_baseline(baseline, Chain(other)), periods_per_year)
    calendar = calendar_returns(chain)
    return {
        "tail": [asdict(loss) for loss in tail_losses(chain.returns)],
        "drawdowns": [asdict(fall) for fall in drawdown_list(chain)[:DRAWDOWNS]],
        "regression": None if against is None else asdict(against),
        "calendar": None if calendar is None else calendar.to_dict(),
    }


def link_between(page: Path, file: Path) -> str:
    """Address of a file relative to a page, which stays right if both are moved together."""
    return quote(Path(os.path.relpath(file.absolute(), page.absolute().parent)).as_posix())


def round_trips(trades: Trades | None) -> list[tuple[str, str]]:
    """Names and values of the figures on closed round trips; none if there are no such round trips."""
    closed = [] if trades is None else [trade for trade in trades.trades if trade.status == "closed"]
    if not closed:
        return []
    won = sum(trade.pnl for trade in closed if trade.pnl > 0.0)
    lost = -sum(trade.pnl for trade in closed if trade.pnl < 0.0)
    return [
        ("Round trips", f"{len(closed):,}"),
        ("of them with a profit", shown(sum(trade.pnl > 0.0 for trade in closed) / len(closed), "%")),
        ("Profit factor, gains over losses", shown(won / lost, "x") if lost > 0.0 else EMPTY),
        ("Bars held, median", f"{np.median([trade.bars for trade in closed]):,.0f}"),
    ]


def _of_baseline(name: str, chain: Chain) -> Benchmark:
    """The baseline as a benchmark."""
    return Benchmark(name, chain.returns, "The task's baseline, its costs included.")


def _tail(names: tuple[str, str], chain: Chain, beside: Chain | None) -> dict[str, object]:
    """The table of VaR and ES."""
    # Both have as many steps, so that the same levels are left out of both.
    own, other = tail_losses(chain.returns), tail_losses(beside.returns) if beside is not None else None
    rows = [
        (f"{label} {loss.level:.0%}", shown(getattr(loss, what), "%"))
        + (() if other is None else (shown(getattr(other[number], what), "%"),))
        for what, label in (("value_at_risk", "VaR"), ("expected_shortfall", "ES"))
        for number, loss in enumerate(own)
    ]
    note = (
        f"Historical, of one bar, over {len(chain.returns):,} steps. VaR: the loss that 5 % (1 %) of the steps exceed, "
        "an interpolated quantile. ES: the mean loss of these steps. Positive is a loss."
    )
    if len(own) < 2:
        note += " A level needs a step on average beyond it; what has none is left out."
    return {"columns": ("", names[0], *(() if other is None else (names[1],))), "rows": rows, "note": note}


def _against(agent: str, chain: Chain, benchmark: Benchmark | None, periods_per_year: float) -> dict[str, object]:
    """The table of alpha and beta against the benchmark."""
    if benchmark is None:
        return {"columns": (), "rows": [], "note": "There is no benchmark."}
    line = regression(chain.returns, benchmark, periods_per_year)
    if line is None:
        note = f"{agent} or {benchmark.name} never moves, or there are fewer than three steps: no alpha and no beta."
        return {"columns": (), "rows": [], "note": note}
    rows = [
        ("Beta", f"{shown(line.beta, '')} ± {shown(line.beta_error, '')}"),
        ("Alpha a year", f"{shown(line.alpha, '%')} ± {shown(line.alpha_error, '%')}"),
        ("Correlation", shown(line.correlation, "")),
    ]
    note = (
        "Least squares of step returns, risk-free rate 0, ± a standard error. Alpha: the constant times the bars in a "
        f"year. {benchmark.note}"
    )
    return {"columns": ("", benchmark.name), "rows": rows, "note": note}


def _calendar(chain: Chain) -> dict[str, object]:
    """The table of returns by month or by day."""
    returns = calendar_returns(chain)
    if returns is None:
        note = "All steps are on one day, so there is no table of months or days."
        return {"title": "Returns by the calendar", "rows": [], "note": note}
    most = float(np.nanmax(np.abs(returns.returns)))
    rows = [
        (name, [_tile(value, most) for value in values], _tenths(total))
        for name, values, total in zip(returns.rows, returns.returns.tolist(), returns.totals.tolist(), strict=True)
    ]
    note = "In UTC, compounded within each cell and over the row; empty where the account had no step."
    if returns.unit == "day":
        note += " Days instead of months: the account is of few months."
    if len(rows) > ROWS:
        note += f" The last {ROWS} of {len(rows)} rows."
    title = f"{'Monthly' if returns.unit == 'month' else 'Daily'} returns, percent"
    return {"title": title, "unit": returns.unit, "columns": returns.columns, "rows": rows[-ROWS:], "note": note}


def _tile(value: float, most: float) -> tuple[str, str]:
    """CSS class and text of a cell; both are empty for a cell without a step."""
    return ("", "") if np.isnan(value) else (tint(value, most), _tenths(value))


def _tenths(value: float) -> str:
    """A fraction in percent with one decimal."""
    text = f"{100.0 * value:.1f}"
    return "0.0" if text == "-0.0" else minus(text)


def _falls(chain: Chain) -> dict[str, object]:
    """The table of the deepest drawdowns."""
    falls = drawdown_list(chain)
    # Without times of day if there are none.
    midnight = bool((chain.times == chain.times.astype("datetime64[D]")).all())

    def moment(text: str | None) -> str:
        return "not" if text is None else text[:10] if midnight else text[:16].replace("T", " ")

    rows = [
        (
            str(number),
            shown(fall.depth, "%"),
            moment(fall.start),
            moment(fall.trough),
            moment(fall.end),
            f"{fall.length:,}",
            EMPTY if fall.recovery is None else f"{fall.recovery:,}",
            str(fall.episode),
        )
        for number, fall in enumerate(falls[:DRAWDOWNS], start=1)
    ]
    note = (
        f"The deepest {len(rows)} of {len(falls)}, from the peak to the first close that is as high (bars), or to the "
        "end of the episode. No drawdown crosses from one episode into the next."
        if rows
        else "The account never fell below an earlier close."
    )
    return {"rows": rows, "note": note}
