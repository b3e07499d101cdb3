"""The charts of an account over time, with those of a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.performance import RecordColumn
from openfingym.reports.charts import Line, Marker, TimeAxis, histogram, time_chart

if TYPE_CHECKING:
    from markupsafe import Markup
    from numpy.typing import NDArray

    from openfingym.reports.trading.benchmark import Benchmark
    from openfingym.reports.trading.risk import Rolling
    from openfingym.reports.trading.trace import Chain

SYMBOLS = 8
"""Most symbols that are drawn, those traded most: nobody reads a page of fifty charts."""
MARKERS = 120
"""Most fills that are marked on one chart, the largest."""


@dataclass(frozen=True)
class Charts:
    """Charts that share a cursor."""

    axis: dict[str, object]
    """The values from which the script of the page draws the cursor."""
    drawn: list[Markup]
    """The charts, one below the other."""


def account_charts(
    names: tuple[str, str], chain: Chain, beside: Chain | None, benchmark: Benchmark | None = None
) -> Charts:
    """Draw returns, drawdowns, exposure, positions, costs, the distribution of returns, and the price of each symbol.

    Args:
        names: names of the agent and of the baseline.
        chain: the episodes of the agent, in order of time.
        beside: the same episodes as the baseline traded them; None to draw no baseline.
        benchmark: a benchmark to draw in the first chart; None to draw none.
    """
    axis = TimeAxis(chain.times, chain.starts)
    growth, underwater, costs = (
        _both(names, chain, beside, what, shift)
        for what, shift in (("growth", 1.0), ("underwater", 0.0), ("costs", 0.0))
    )
    # A benchmark has a value for each step, and the axis one more for the start of each episode.
    if benchmark is not None:
        steps = np.insert(benchmark.returns, _gaps(chain), 0.0)
        grown: NDArray[np.float64] = np.asarray(np.cumprod(1.0 + steps) - 1.0, dtype=np.float64)
        growth.append(Line(benchmark.name, grown, "s1"))
    underwater[0] = Line(names[0], underwater[0].values, "agent", area=True)
    costs += [Line("of it fees", chain.paid("fee"), "s1"), Line("of it slippage", chain.paid("slippage"), "s2")]
    long, short = chain.share(RecordColumn.LONG), chain.share(RecordColumn.SHORT)
    sides = [
        Line("long", long, "long", area=True),
        Line("short", -short, "short", area=True),
        Line("net", long - short, "agent"),
    ]
    traded = _most_traded(chain)
    weights = [Line(chain.symbols[s], chain.weights[:, s], f"s{n}") for n, s in enumerate(traded)]
    rest = len(chain.symbols) - len(traded)
    left_out = f"The {len(traded)} symbols traded most; {rest} more are not drawn." if rest else ""
    several = len(chain.traces) > 1
    compounded, added = ("Compounded from one episode to the next.", "Added up over episodes.") if several else ("", "")
    drawn = [
        time_chart("Return on the account", axis, growth, unit="%", zero=True, note=compounded),
        time_chart("Drawdown", axis, underwater, unit="%", zero=True),
        time_chart("Exposure, multiple of equity", axis, sides, unit="x", zero=True),
        time_chart("Positions, share of equity", axis, weights, unit="%", zero=True, note=left_out),
        time_chart("Cost so far, of initial equity", axis, costs, unit="%", zero=True, note=added),
        histogram("Returns of a step, share of steps", _both(names, chain, beside, "returns")),
        *(_price(axis, chain, symbol) for symbol in traded),
    ]
    return Charts(axis.data(), drawn)


def rolling_charts(names: tuple[str, str], own: Rolling, other: Rolling | None) -> Charts:
    """Draw Sharpe ratio and volatility over a rolling window, on an axis of their own, which begins at the first full
    window.

    Args:
        names: names of the agent and of the baseline.
        own: the figures of the agent.
        other: the figures of the baseline; None to draw no baseline.
    """
    axis = TimeAxis(own.times, own.starts)
    kinds = ((names[0], "agent", own), (names[1], "baseline", other))

    def lines(what: str) -> list[Line]:
        return [Line(name, getattr(rolling, what), style) for name, style, rolling in kinds if rolling is not None]

    drawn = [
        time_chart("Sharpe ratio", axis, lines("sharpe_ratio"), zero=True),
        time_chart("Volatility, annualised", axis, lines("volatility"), unit="%", zero=True),
    ]
    return Charts(axis.data(), drawn)


def _gaps(chain: Chain) -> list[int]:
    """Indices among the steps of all episodes at which the steps of each episode begin."""
    # Each episode has one row more than steps.
    return [start - number for number, start in enumerate(chain.starts)]


def _both(names: tuple[str, str], chain: Chain, beside: Chain | None, what: str, shift: float = 0.0) -> list[Line]:
    """The lines of the account and of the baseline, if there is one, for a series of a chain, minus ``shift``."""
    chains = ((names[0], "agent", chain), (names[1], "baseline", beside))
    return [Line(name, getattr(account, what) - shift, style) for name, style, account in chains if account is not None]


def _most_traded(chain: Chain) -> list[int]:
    """Indices of the symbols with the largest notional traded, the largest first; in their own order without trades."""
    notional = np.zeros(len(chain.symbols))
    for _, event in chain.fills():
        notional[event.symbol] += event.quantity * event.price
    return [int(s) for s in np.argsort(-notional, kind="stable")[:SYMBOLS]]


def _price(axis: TimeAxis, chain: Chain, symbol: int) -> Markup:
    """Draw the price of a symbol, on which its largest fills are marked."""
    fills = [(row, event) for row, event in chain.fills() if event.symbol == symbol]
    largest = sorted(fills, key=lambda fill: -fill[1].quantity * fill[1].price)[:MARKERS]
    markers = [
        Marker(row, event.price, "buy" if event.side > 0 else "sell")
        for row, event in sorted(largest, key=lambda fill: fill[0])
    ]
    bought = sum(event.side > 0 for _, event in fills)
    note = f"{bought} buys ▲, {len(fills) - bought} sells ▼" + (
        f"; the {MARKERS} largest are marked" if len(fills) > MARKERS else ""
    )
    line = Line("close", np.ascontiguousarray(chain.prices[:, symbol]), "price")
    return time_chart(chain.symbols[symbol], axis, [line], markers=markers, note=note)
