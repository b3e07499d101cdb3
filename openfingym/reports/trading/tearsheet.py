"""The tear sheet of an account: one HTML file with everything in it, which loads nothing from anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.performance import Column, summary
from openfingym.reports.charts import Line, Marker, TimeAxis, histogram, shown, time_chart
from openfingym.reports.page import document, kind_notice, table
from openfingym.reports.trading.heatmap import surface_section
from openfingym.reports.trading.trace import Chain
from openfingym.trading.orders import EventKind, Reason

if TYPE_CHECKING:
    from openfingym.metrics.performance import Performance
    from openfingym.reports.charts import Unit
    from openfingym.reports.trading.surface import Surface
    from openfingym.reports.trading.trace import EpisodeTrace
    from openfingym.results import RolloutResult

SYMBOLS = 8
"""Symbols drawn, those traded most; a page of fifty charts is read by nobody."""
MARKERS = 120
"""Fills marked on one chart, the largest."""
TRADES = 15
"""Rows of the table of the largest fills."""
EPISODES = 50
"""Rows of the table of episodes."""
KEYS = "Values: point at a chart, or focus it and use the arrow keys, with Shift for larger steps; Home, End and Escape work too."
FIGURES: tuple[tuple[str, str, Unit, int], ...] = (
    ("total_return", "Total return, mean over episodes", "%", 1),
    ("annual_growth", "Annual growth (CAGR)", "%", 1),
    ("volatility", "Volatility, annualised", "%", 0),
    ("sharpe_ratio", "Sharpe ratio", "", 1),
    ("sortino_ratio", "Sortino ratio", "", 1),
    ("calmar_ratio", "Calmar ratio", "", 1),
    ("max_drawdown", "Max drawdown, worst episode", "%", -1),
    ("pnl", "Profit, cash, mean over episodes", "", 1),
    ("turnover", "Turnover a year, two-way", "x", 0),
    ("exposure", "Gross exposure, mean", "x", 0),
    ("hit_rate", "Hit rate of closing fills", "%", 0),
    ("cost_paid", "Cost paid, of initial equity", "%", 0),
)
"""Name, label, unit, and 1 where higher is better, -1 where lower is, 0 where neither."""


@dataclass(frozen=True)
class Heading:
    """What a tear sheet says of the run before any figure. All text is untrusted and escaped."""

    task: str
    agent: str
    data_kind: str
    """``real``, ``simulated`` or ``specified``."""
    periods_per_year: float
    """Bars in a year."""
    baseline: str = "baseline"
    state: str = "not verified"
    """How the run ended; ``not verified`` for an account that no verifier has scored."""
    relative_total: float | None = None
    """The verified score: loss over the baseline's, lower is better, 1 is the baseline."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Verified metrics; they go before those computed here."""
    baseline_metrics: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    """Further lines of the header: digests, backend, seed."""
    relative_interval: tuple[float, float] | None = None
    """95 % interval of ``relative_total``; None where nothing can be said."""

    @classmethod
    def of_run(cls, result: RolloutResult, periods_per_year: float) -> Heading:
        """The heading of a finished run."""
        facts = {
            "Run": result.rollout_id,
            "Task digest": result.task_digest,
            "Log digest": result.log_head or "",
            "Backend": result.backend,
            "Seed": str(result.seed),
            "Started": result.started_at,
            "Reason": result.reason or "",
        }
        return cls(
            result.task,
            result.agent,
            result.data_kind,
            periods_per_year,
            result.baseline or "baseline",
            result.state,
            result.relative_total,
            result.metrics,
            result.baseline_metrics,
            {name: text for name, text in facts.items() if text},
            result.relative_interval,
        )


def render(heading: Heading, traces: Sequence[EpisodeTrace], baseline: Sequence[EpisodeTrace] = (), surface: Surface | None = None) -> str:
    """The page.

    Args:
        heading: what the run was, as the heading of the page.
        traces: its episodes; the private ones are the page, public ones a section at its end.
        baseline: the same episodes as the baseline traded them, to draw beside; empty for none.
        surface: the decisions of the private episodes, scored again over costs and delays; None leaves it out.

    Returns:
        A self-contained HTML document.

    Raises:
        UsageError: there are no episodes, or those of the baseline are others.
    """
    groups = {fold: tuple(_of_fold(episodes, fold) for episodes in (traces, baseline)) for fold in ("private", "public")}
    main = "private" if groups["private"][0] else "public"
    chain, beside = _chains(*groups[main])
    own = _performance(chain, heading)
    other = _performance(beside, heading) if beside else None
    sections = [
        _header(heading, chain),
        _tiles(heading, own, other),
        f'<section data-axis=""><h2>{_charts_title(main, chain)}</h2>{_charts(heading, chain, beside)}</section>',
        f'<section class="columns">{_figures(heading, own, other)}{_trading(chain)}</section>',
        surface_section(surface) if surface is not None else "",
        _episodes(chain, own),
        f"<section>{_largest(chain)}</section>",
    ]
    if main == "private" and groups["public"][0]:
        practice = _charts(heading, *_chains(*groups["public"]))
        sections.append(f'<details><summary>Practice on public episodes</summary><section data-axis="">{practice}</section></details>')
    return _page(f"{heading.agent} on {heading.task}", "".join(sections))


def _of_fold(traces: Sequence[EpisodeTrace], fold: str) -> tuple[EpisodeTrace, ...]:
    return tuple(trace for trace in traces if trace.fold == fold)


def _chains(own: Sequence[EpisodeTrace], other: Sequence[EpisodeTrace]) -> tuple[Chain, Chain | None]:
    chain = Chain(own)
    if not other:
        return chain, None
    beside = Chain(other)
    if beside.starts != chain.starts or beside.size != chain.size:
        raise UsageError(
            f"the baseline has {beside.size} rows in {len(other)} episodes, the run {chain.size} in {len(own)}: not the same episodes"
        )
    return chain, beside


def _performance(chain: Chain, heading: Heading) -> Performance | None:
    """Figures of all episodes; None where they have different lengths and so no common record."""
    lengths = {len(trace.record) for trace in chain.traces}
    return summary(np.stack([trace.record for trace in chain.traces]), heading.periods_per_year) if len(lengths) == 1 else None


def _header(heading: Heading, chain: Chain) -> str:
    period = " to ".join(np.datetime_as_string(chain.times[[0, -1]], unit="D"))
    count = len(chain.traces)
    facts = {
        "Period": f"{period} (UTC)",
        "Episodes": f"{count}, {chain.size - count:,} steps in all" if count > 1 else f"1, {chain.size - 1:,} steps",
        "Symbols": ", ".join(chain.symbols[:20]) + (f" and {len(chain.symbols) - 20} more" if len(chain.symbols) > 20 else ""),
        "State": heading.state,
        **heading.facts,
    }
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.items())
    return (
        f"<header>{kind_notice(heading.data_kind)}<h1>{escape(heading.agent)} <span>on {escape(heading.task)}</span></h1>"
        f'<dl class="facts">{rows}</dl></header>'
    )


def _tiles(heading: Heading, own: Performance | None, other: Performance | None) -> str:
    tiles = []
    if heading.relative_total is not None:
        # An advantage that other days would not have shown is none.
        low, high = heading.relative_interval or (heading.relative_total,) * 2
        better = "better than" if high < 1.0 else "worse than" if low > 1.0 else "level with"
        value = f"{heading.relative_total:.3g}"
        interval = "" if heading.relative_interval is None else "; 95 % interval {:.3g} to {:.3g}".format(*heading.relative_interval)
        tiles.append(("Verified score", value, f"{better} {heading.baseline}, which has 1; lower is better{interval}"))
    for name, label, unit, _ in (FIGURES[0], FIGURES[3], FIGURES[6]):
        values = _values(name, heading, own, other)
        if values[0] is not None:
            beside = "" if values[1] is None else f"{heading.baseline}: {shown(values[1], unit)}"
            tiles.append((label.partition(",")[0], shown(values[0], unit), beside))
    body = "".join(f"<div><span>{escape(a)}</span><strong>{escape(b)}</strong><small>{escape(c)}</small></div>" for a, b, c in tiles)
    return f'<section class="tiles">{body}</section>'


def _values(name: str, heading: Heading, own: Performance | None, other: Performance | None) -> tuple[float | None, float | None]:
    """(the run's, the baseline's) figure: the verified one where there is one."""
    mine = heading.metrics.get(name, getattr(own, name, None))
    theirs = heading.baseline_metrics.get(name, getattr(other, name, None))
    return mine, theirs


def _charts_title(fold: str, chain: Chain) -> str:
    if len(chain.traces) == 1:
        return f"The {fold} episode"
    return f"{len(chain.traces)} {fold} episodes, one after the other"


def _charts(heading: Heading, chain: Chain, beside: Chain | None) -> str:
    axis = TimeAxis(chain.times, chain.starts)
    growth, underwater, costs = (
        [Line(name, values - shift, style) for name, style, values in _both(heading, chain, beside, what)]
        for what, shift in (("growth", 1.0), ("underwater", 0.0), ("costs", 0.0))
    )
    underwater[0] = Line(heading.agent, underwater[0].values, "agent", area=True)
    costs += [Line("of it fees", chain.paid("fee"), "s1"), Line("of it slippage", chain.paid("slippage"), "s2")]
    long, short = chain.share(Column.LONG), chain.share(Column.SHORT)
    sides = [Line("long", long, "long", area=True), Line("short", -short, "short", area=True), Line("net", long - short, "agent")]
    returns = [Line(name, values, style) for name, style, values in _both(heading, chain, beside, "returns")]
    traded = _most_traded(chain)
    weights = [Line(chain.symbols[s], chain.weights[:, s], f"s{n}") for n, s in enumerate(traded)]
    rest = len(chain.symbols) - len(traded)
    left_out = f"The {len(traded)} symbols traded most; {rest} more are not drawn." if rest else ""
    several = len(chain.traces) > 1
    compounded, added = ("Compounded from one episode to the next.", "Added up over episodes.") if several else ("", "")
    charts = [
        time_chart("Return on the account", axis, growth, unit="%", zero=True, note=compounded),
        time_chart("Drawdown", axis, underwater, unit="%", zero=True),
        time_chart("Exposure, multiple of equity", axis, sides, unit="x", zero=True),
        time_chart("Positions, share of equity", axis, weights, unit="%", zero=True, note=left_out),
        time_chart("Cost so far, of initial equity", axis, costs, unit="%", zero=True, note=added),
        histogram("Returns of a step, share of steps", returns),
        *(_price(axis, chain, symbol) for symbol in traded),
    ]
    return axis.script() + "".join(charts)


def _both(
    heading: Heading, chain: Chain, beside: Chain | None, what: str
) -> list[tuple[str, str, np.ndarray[tuple[int], np.dtype[np.float64]]]]:
    """(name, style, values) of a series of the run and, where there is one, of the baseline."""
    found = [(heading.agent, "agent", getattr(chain, what))]
    if beside is not None:
        found.append((heading.baseline, "baseline", getattr(beside, what)))
    return found


def _most_traded(chain: Chain) -> list[int]:
    """Symbols by notional traded, the largest first; in their own order where nothing was."""
    notional = np.zeros(len(chain.symbols))
    for _, event in chain.fills():
        notional[event.symbol] += event.quantity * event.price
    return [int(s) for s in np.argsort(-notional, kind="stable")[:SYMBOLS]]


def _price(axis: TimeAxis, chain: Chain, symbol: int) -> str:
    fills = [(row, event) for row, event in chain.fills() if event.symbol == symbol]
    largest = sorted(fills, key=lambda fill: -fill[1].quantity * fill[1].price)[:MARKERS]
    markers = [Marker(row, event.price, "buy" if event.side > 0 else "sell") for row, event in sorted(largest, key=lambda fill: fill[0])]
    bought = sum(event.side > 0 for _, event in fills)
    note = f"{bought} buys ▲, {len(fills) - bought} sells ▼" + (f"; the {MARKERS} largest are marked" if len(fills) > MARKERS else "")
    line = Line("close", np.ascontiguousarray(chain.prices[:, symbol]), "price")
    return time_chart(chain.symbols[symbol], axis, [line], markers=markers, note=note)


def _figures(heading: Heading, own: Performance | None, other: Performance | None) -> str:
    figures = [(*figure, *_values(figure[0], heading, own, other)) for figure in FIGURES]
    compared = any(theirs is not None for *_, theirs in figures)
    rows = []
    for name, label, unit, direction, mine, theirs in figures:
        if mine is None:
            continue
        ahead = theirs is not None and direction * (mine - theirs) > 0.0
        value = f"<strong>{shown(mine, unit)}</strong>" if ahead else shown(mine, unit)
        verified = '<abbr title="verified">✓</abbr>' if name in heading.metrics else ""
        beside = ("<td>–</td>" if theirs is None else f"<td>{shown(theirs, unit)}</td>") if compared else ""
        rows.append(f'<tr><th scope="row">{escape(label)}</th><td>{value}{verified}</td>{beside}</tr>')
    notes = ["Ratios and volatility are of simple step returns, annualised."]
    notes += ["Bold: better than the baseline."] if compared else []
    notes += ["✓: the verifier's figure."] if heading.metrics else []
    return table("Performance", ("", heading.agent, *([heading.baseline] if compared else [])), rows, " ".join(notes))


def _trading(chain: Chain) -> str:
    """What was traded, and what was refused and why."""
    fills = [event for _, event in chain.fills()]
    notional = {side: sum(event.quantity * event.price for event in fills if event.side == side) for side in (1, -1)}
    lines: tuple[tuple[str, float], ...] = (
        ("Fills", len(fills)),
        ("Bought, cash", notional[1]),
        ("Sold, cash", notional[-1]),
        ("Fees, cash", sum(event.fee for event in fills)),
        ("Slippage, cash", sum(event.slippage for event in fills)),
    )
    rows = [f'<tr><th scope="row">{name}</th><td>{value:,.2f}</td></tr>'.replace(".00<", "<") for name, value in lines]
    done = table("Trading", ("", "all episodes"), rows)
    ended = {EventKind.REJECTED: "rejected", EventKind.CANCELLED: "cancelled"}
    counts = Counter(
        (ended[event.kind], event.reason) for _, event in chain.events() if event.kind in ended and event.reason is not Reason.NONE
    )
    largest = max(counts.values(), default=1)
    refused = [
        f'<tr><th scope="row">{what}: {reason.name.lower().replace("_", " ")}</th><td>{count}</td>'
        f'<td><svg class="share" role="presentation"><rect width="{100.0 * count / largest:.1f}%" height="100%"/></svg></td></tr>'
        for (what, reason), count in counts.most_common()
    ]
    none = "" if refused else "No order was refused."
    return f"<div>{done}{table('Refused orders by reason', ('', 'orders', ''), refused, none)}</div>"


def _episodes(chain: Chain, own: Performance | None) -> str:
    if own is None or not own.by_episode:
        return ""
    rows = []
    for number, (trace, one) in enumerate(zip(chain.traces[:EPISODES], own.by_episode, strict=False), start=1):
        kinds = Counter(event.kind for event in trace.events)
        first, last = np.datetime_as_string(trace.times[[0, -1]], unit="D")
        texts = (
            f"{first} to {last}",
            shown(one.total_return, "%"),
            shown(one.sharpe_ratio, ""),
            shown(one.max_drawdown, "%"),
            shown(one.cost_paid, "%"),
            str(kinds[EventKind.FILLED]),
            str(kinds[EventKind.REJECTED]),
        )
        rows.append(f'<tr><th scope="row">{number}</th>' + "".join(f"<td>{text}</td>" for text in texts) + "</tr>")
    note = f"The first {EPISODES} of {len(chain.traces)}." if len(chain.traces) > EPISODES else ""
    columns = ("", "period", "return", "Sharpe", "max drawdown", "cost", "fills", "rejected")
    return f"<section>{table('Episodes', columns, rows, note)}</section>"


def _largest(chain: Chain) -> str:
    fills = sorted(chain.fills(), key=lambda fill: -fill[1].quantity * fill[1].price)[:TRADES]
    rows = []
    for row, event in fills:
        notional = event.quantity * event.price
        texts = (
            escape(chain.symbols[event.symbol]),
            "buy" if event.side > 0 else "sell",
            f"{event.quantity:,.6g}",
            f"{event.price:,.6g}",
            f"{notional:,.2f}",
            f"{event.fee:,.2f}",
            f"{event.slippage:,.2f}",
        )
        time = np.datetime_as_string(chain.times[row], unit="m").replace("T", " ")
        rows.append(f'<tr><th scope="row">{time}</th>' + "".join(f"<td>{text}</td>" for text in texts) + "</tr>")
    columns = ("bar (UTC)", "symbol", "side", "quantity", "price", "notional", "fee", "slippage")
    return table("Largest trades", columns, rows, "" if rows else "Nothing was traded.")


def _page(title: str, body: str) -> str:
    folder = resources.files("openfingym") / "reports" / "trading" / "page"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("tearsheet.css", "tearsheet.js"))
    shapes = (
        '<svg class="shapes" aria-hidden="true"><defs><path id="buy" class="buy" d="M0 2 5 11H-5Z"/>'
        '<path id="sell" class="sell" d="M0-2 5-11H-5Z"/></defs></svg>'
    )
    main = f'{shapes}<main>{body}<footer class="note">{KEYS}</footer></main><output id="say" class="hidden"></output>'
    return document(title, main, style, script)
