"""The tear sheet of an account: one HTML file with everything in it, which loads nothing from anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.performance import summary
from openfingym.reports.charts import shown
from openfingym.reports.page import document, kind_notice
from openfingym.reports.trading.account_charts import account_charts
from openfingym.reports.trading.heatmap import surface_values
from openfingym.reports.trading.sections import risk_values, round_trips
from openfingym.reports.trading.trace import Chain
from openfingym.results.result import ISOLATION_IN_WORDS
from openfingym.trading.orders import EventKind, Reason

if TYPE_CHECKING:
    from openfingym.metrics.performance import Performance
    from openfingym.reports.charts import Unit
    from openfingym.reports.trading.benchmark import Benchmark
    from openfingym.reports.trading.sections import Trades
    from openfingym.reports.trading.surface import Surface
    from openfingym.reports.trading.trace import EpisodeTrace
    from openfingym.results import RolloutResult

TRADES = 15
"""Most rows of the table of the largest fills."""
EPISODES = 50
"""Most rows of the table of episodes."""
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
"""The figures of the table: name, label and unit, and 1 if higher is better, -1 if lower is, 0 if neither is."""


@dataclass(frozen=True)
class Heading:
    """What the tear sheet of a run says at its top. All text is untrusted and escaped."""

    task: str
    """Name of the task."""
    agent: str
    """Name of the agent."""
    data_kind: str
    """Kind of the data: ``real``, ``simulated`` or ``specified``."""
    periods_per_year: float
    """How many bars a year has."""
    baseline: str = "baseline"
    """Name of the baseline."""
    state: str = "not verified"
    """How the run ended; ``not verified`` for an account that no verifier has scored."""
    relative_total: float | None = None
    """The verified relative total, lower is better and 1 is the baseline; None without a score."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Verified metrics by name, which replace those that are computed here."""
    baseline_metrics: Mapping[str, float] = field(default_factory=dict)
    """Verified metrics of the baseline by name."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Further lines of the heading by their names: digests, backend, seed."""
    relative_interval: tuple[float, float] | None = None
    """95 % interval of ``relative_total``; None if there is none."""
    total: float | None = None
    """The verified total, which is the task's loss, lower is better; None without a score."""
    total_interval: tuple[float, float] | None = None
    """95 % interval of ``total``; None if there is none."""

    @classmethod
    def of_run(cls, result: RolloutResult, periods_per_year: float) -> Heading:
        """The heading of a finished run, whose market has this many bars a year."""
        facts = {
            "Run": result.rollout_id,
            "Task digest": result.task_digest,
            "Log digest": result.log_head or "",
            "Backend": result.backend,
            "In isolation": ISOLATION_IN_WORDS[result.isolation],
            "Seed": str(result.seed),
            "Started": result.started_at,
            "Reason": result.reason or "",
        }
        return cls(
            result.task,
            result.agent_label,
            result.data_kind,
            periods_per_year,
            result.baseline or "baseline",
            result.state,
            result.relative_total,
            result.metrics,
            result.baseline_metrics,
            {name: text for name, text in facts.items() if text},
            result.relative_interval,
            result.total,
            result.total_interval,
        )


def render(
    heading: Heading,
    traces: Sequence[EpisodeTrace],
    baseline: Sequence[EpisodeTrace] = (),
    surface: Surface | None = None,
    *,
    benchmark: Benchmark | None = None,
    trades: Trades | None = None,
) -> str:
    """Render the tear sheet of a run.

    Args:
        heading: what the page says about the run at its top.
        traces: the episodes of the run. The page is about the private ones, with public ones in a section at its end.
        baseline: the same episodes as the baseline traded them, which are drawn as well; empty for none.
        surface: the decisions of the private episodes, scored again over costs and delays; None leaves it out.
        benchmark: the benchmark of the private episodes; None for the baseline, if there is one.
        trades: the round trips of the private episodes; None leaves them out.

    Returns:
        A self-contained HTML document, which loads nothing.

    Raises:
        UsageError: there are no episodes, or the baseline has other episodes.
    """
    groups = {
        fold: tuple(_of_fold(episodes, fold) for episodes in (traces, baseline)) for fold in ("private", "public")
    }
    main = "private" if groups["private"][0] else "public"
    chain, beside = _chains(*groups[main])
    own = _performance(chain, heading)
    other = _performance(beside, heading) if beside else None
    names = (heading.agent, heading.baseline)
    practice = _chains(*groups["public"]) if main == "private" and groups["public"][0] else None
    return document(
        "trading/page/tearsheet.html.jinja",
        f"{heading.agent} on {heading.task}",
        styles=("trading/page/tearsheet.css",),
        scripts=("trading/page/tearsheet.js",),
        notice=kind_notice(heading.data_kind),
        agent=heading.agent,
        task=heading.task,
        facts=_facts(heading, chain),
        tiles=_tiles(heading, own, other),
        charts_title=_charts_title(main, chain),
        charts=account_charts(names, chain, beside, benchmark),
        performance=_figures(heading, own, other),
        traded=_traded(chain) + round_trips(trades),
        trades_link=None if trades is None else trades.link,
        refusals=_refusals(chain),
        surface=surface_values(surface) if surface is not None else None,
        **risk_values(names, chain, beside, benchmark, heading.periods_per_year),
        episodes=_episodes(chain, own),
        largest=_largest(chain),
        practice=account_charts(names, *practice) if practice else None,
    )


def _of_fold(traces: Sequence[EpisodeTrace], fold: str) -> tuple[EpisodeTrace, ...]:
    """The episodes of a fold."""
    return tuple(trace for trace in traces if trace.fold == fold)


def _chains(own: Sequence[EpisodeTrace], other: Sequence[EpisodeTrace]) -> tuple[Chain, Chain | None]:
    """The episodes of the run and of the baseline, each as one account; None for no baseline."""
    chain = Chain(own)
    if not other:
        return chain, None
    beside = Chain(other)
    if beside.starts != chain.starts or beside.size != chain.size:
        raise UsageError(
            f"the baseline has {beside.size} rows in {len(other)} episodes, the run {chain.size} in {len(own)}: not "
            "the same episodes"
        )
    return chain, beside


def _performance(chain: Chain, heading: Heading) -> Performance | None:
    """The figures over all episodes; None if they have different lengths, and so no common record."""
    lengths = {len(trace.record) for trace in chain.traces}
    return (
        summary(np.stack([trace.record for trace in chain.traces]), heading.periods_per_year)
        if len(lengths) == 1
        else None
    )


def _facts(heading: Heading, chain: Chain) -> dict[str, str]:
    """What the heading says, by its names."""
    period = " to ".join(np.datetime_as_string(chain.times[[0, -1]], unit="D"))
    count = len(chain.traces)
    return {
        "Period": f"{period} (UTC)",
        "Episodes": f"{count}, {chain.size - count:,} steps in all" if count > 1 else f"1, {chain.size - 1:,} steps",
        "Symbols": ", ".join(chain.symbols[:20])
        + (f" and {len(chain.symbols) - 20} more" if len(chain.symbols) > 20 else ""),
        "State": heading.state,
        **({} if heading.total is None else {"Total": _total(heading.total, heading.total_interval)}),
        **heading.facts,
    }


def _total(total: float, interval: tuple[float, float] | None) -> str:
    """The verified total in words."""
    ends = "" if interval is None else "; 95 % interval {:.3g} to {:.3g}".format(*interval)
    return f"{total:.4g}, verified; lower is better{ends}"


def _tiles(heading: Heading, own: Performance | None, other: Performance | None) -> list[tuple[str, str, str]]:
    """Name, value and remark of the figures that matter most."""
    tiles = []
    if heading.relative_total is not None:
        # An advantage within the sampling error, which other days might not have shown, is none.
        low, high = heading.relative_interval or (heading.relative_total,) * 2
        better = "better than" if high < 1.0 else "worse than" if low > 1.0 else "level with"
        value = f"{heading.relative_total:.3g}"
        interval = (
            ""
            if heading.relative_interval is None
            else "; 95 % interval {:.3g} to {:.3g}".format(*heading.relative_interval)
        )
        tiles.append(
            ("Relative total", value, f"verified; {better} {heading.baseline}, which has 1; lower is better{interval}")
        )
    for name, label, unit, _ in (FIGURES[0], FIGURES[3], FIGURES[6]):
        values = _values(name, heading, own, other)
        if values[0] is not None:
            title, _, over = label.partition(", ")
            beside = "" if values[1] is None else f"{heading.baseline}: {shown(values[1], unit)}"
            # The plot below compounds the episodes: without these words, its end seems to contradict the tile.
            tiles.append((title, shown(values[0], unit), "; ".join(part for part in (over, beside) if part)))
    return tiles


def _values(
    name: str, heading: Heading, own: Performance | None, other: Performance | None
) -> tuple[float | None, float | None]:
    """A figure of the run and of the baseline, each the verified one if there is one; None if it is not known."""
    mine = heading.metrics.get(name, getattr(own, name, None))
    theirs = heading.baseline_metrics.get(name, getattr(other, name, None))
    return mine, theirs


def _charts_title(fold: str, chain: Chain) -> str:
    """Heading of the charts."""
    if len(chain.traces) == 1:
        return f"The {fold} episode"
    return f"{len(chain.traces)} {fold} episodes, one after the other"


def _figures(heading: Heading, own: Performance | None, other: Performance | None) -> dict[str, object]:
    """The table of figures: its columns, rows and note, and whether the baseline has any."""
    figures = [(*figure, *_values(figure[0], heading, own, other)) for figure in FIGURES]
    compared = any(theirs is not None for *_, theirs in figures)
    rows = [
        {
            "label": label,
            "mine": shown(mine, unit),
            "theirs": "–" if theirs is None else shown(theirs, unit),
            "ahead": theirs is not None and direction * (mine - theirs) > 0.0,
            "verified": name in heading.metrics,
        }
        for name, label, unit, direction, mine, theirs in figures
        if mine is not None
    ]
    notes = ["Ratios and volatility are of simple step returns, annualised."]
    notes += ["Bold: better than the baseline."] if compared else []
    notes += ["✓: the verifier's figure."] if heading.metrics else []
    columns = ("", heading.agent, *([heading.baseline] if compared else []))
    return {"columns": columns, "rows": rows, "note": " ".join(notes), "compared": compared}


def _traded(chain: Chain) -> list[tuple[str, str]]:
    """Names and values of the figures on all fills."""
    fills = [event for _, event in chain.fills()]
    notional = {side: sum(event.quantity * event.price for event in fills if event.side == side) for side in (1, -1)}
    lines: tuple[tuple[str, float], ...] = (
        ("Fills", len(fills)),
        ("Bought, cash", notional[1]),
        ("Sold, cash", notional[-1]),
        ("Fees, cash", sum(event.fee for event in fills)),
        ("Slippage, cash", sum(event.slippage for event in fills)),
    )
    return [(name, f"{value:,.2f}".removesuffix(".00")) for name, value in lines]


def _refusals(chain: Chain) -> list[dict[str, object]]:
    """How many orders were refused for each reason; the length of a bar is relative to the most frequent one."""
    ended = {EventKind.REJECTED: "rejected", EventKind.CANCELLED: "cancelled"}
    counts = Counter(
        (ended[event.kind], event.reason)
        for _, event in chain.events()
        if event.kind in ended and event.reason is not Reason.NONE
    )
    largest = max(counts.values(), default=1)
    return [
        {
            "reason": f"{what}: {reason.name.lower().replace('_', ' ')}",
            "count": count,
            "share": f"{100.0 * count / largest:.1f}%",
        }
        for (what, reason), count in counts.most_common()
    ]


def _episodes(chain: Chain, own: Performance | None) -> dict[str, object]:
    """The rows of the table of episodes, and its note."""
    rows = []
    # Not strict: the table is cut, and empty if there are no figures.
    for number, (trace, figures) in enumerate(
        zip(chain.traces[:EPISODES], own.by_episode if own else (), strict=False), start=1
    ):
        kinds = Counter(event.kind for event in trace.events)
        first, last = np.datetime_as_string(trace.times[[0, -1]], unit="D")
        rows.append(
            (
                str(number),
                f"{first} to {last}",
                shown(figures.total_return, "%"),
                shown(figures.sharpe_ratio, ""),
                shown(figures.max_drawdown, "%"),
                shown(figures.cost_paid, "%"),
                str(kinds[EventKind.FILLED]),
                str(kinds[EventKind.REJECTED]),
            )
        )
    return {
        "rows": rows,
        "note": f"The first {EPISODES} of {len(chain.traces)}." if len(chain.traces) > EPISODES else "",
    }


def _largest(chain: Chain) -> list[tuple[str, ...]]:
    """The rows of the table of the largest fills."""
    fills = sorted(chain.fills(), key=lambda fill: -fill[1].quantity * fill[1].price)[:TRADES]
    return [
        (
            np.datetime_as_string(chain.times[row], unit="m").replace("T", " "),
            chain.symbols[event.symbol],
            "buy" if event.side > 0 else "sell",
            f"{event.quantity:,.6g}",
            f"{event.price:,.6g}",
            f"{event.quantity * event.price:,.2f}",
            f"{event.fee:,.2f}",
            f"{event.slippage:,.2f}",
        )
        for row, event in fills
    ]
