"""A report as tables of text, the same for the terminal and for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.reports.cells import ALL, Cell, Row, TaskCell, family_order, label
from openfingym.reports.comparisons import RowComparison
from openfingym.reports.statistics import FEWEST_UNITS, Estimate

if TYPE_CHECKING:
    from openfingym.reports.report import Report

TOO_FEW = "too few to say"
DASH = "-"
FAILED = ("rejected", "error")
"""States of a run that failed; the others wait, or do not count."""
REASONS = 10
ARROWS = {"forecasting": "↓", "generation": "↓", "trading": "↑", "fraud": "↑"}
"""Whether the paper's reward is better low or high."""
SHOWN_PAIRS = 300
"""Comparisons in the table."""
SHOWN_K = (1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100)


@dataclass(frozen=True)
class TextTable:
    """A table whose cells are plain text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int
    """Columns from the left that hold names; the rest are figures."""
    note: str = ""
    optional: tuple[str, ...] = ()
    """Columns that a narrow terminal does without, the first to go first."""


def kinds_of(report: Report) -> list[str]:
    """Kinds of data in the report, in its order."""
    return list(dict.fromkeys(cell.data_kind for cell in report.cells))


def overall(report: Report, data_kind: str) -> list[Cell]:
    """Of each row, the cell over all its tasks on data of a kind, the lowest penalized total first.

    Rows of too few tasks to stand for others come after those of enough, and rows without a skill last.
    """
    last = {cell.row: cell for cell in report.cells if cell.data_kind == data_kind}

    def rank(cell: Cell) -> tuple[bool, bool, float, Row]:
        return cell.skill.value is None, cell.skill.over != "task", cell.penalized.value or 0.0, cell.row

    return sorted(last.values(), key=rank)


def skill_table(report: Report, data_kind: str) -> TextTable:
    """The honest table: skill with its interval, and everything that is in no average."""
    rank = {cell.row: number for number, cell in enumerate(overall(report, data_kind))}
    cells = sorted(
        (cell for cell in report.cells if cell.data_kind == data_kind),
        key=lambda cell: (family_order(cell.family), rank[cell.row]),
    )
    rows = (
        (
            *cell.row,
            family_name(cell.family),
            str(cell.tasks),
            strength(cell),
            interval(cell.skill),
            penalized(cell),
            signed(cell.skill_scored),
            percent(cell.counts.success),
            f"{cell.counts.scored}/{cell.counts.judged}",
            percent(cell.better),
            percent(cell.no_skill),
            left_out(cell),
        )
        for cell in cells
    )
    return TextTable(
        "Skill by family",
        (
            *report.by,
            "family",
            "tasks",
            "skill",
            "95 % interval",
            "penalized total",
            "if scored",
            "success",
            "runs",
            "better",
            "no skill",
            "left out",
        ),
        tuple(rows),
        len(report.by) + 1,
        "Skill: 1 - geometric mean over tasks of the loss relative to the baseline's; 0 is the baseline, 1 perfect, "
        "higher is better. A rejected run counts as the baseline; 'if scored' leaves it out. Penalized total, by which "
        "rows are ranked: the geometric mean of the relative total itself, a rejected run counted as 100, so that "
        "failing never pays. Better: share of runs that beat the baseline, beyond their sampling error where they have "
        "an interval. No skill: share of scored runs whose advantage is within sampling error, or that an answer "
        "without skill reaches; a dash where what such answers reach is not recorded. Left out of everything: errors, "
        "which are ours, deferred and void runs. The interval is over tasks; of fewer than "
        f"{FEWEST_UNITS} it is over "
        f"the runs of each, where there are {FEWEST_UNITS}, and says nothing of other tasks.",
        ("if scored", "better", "no skill", "runs", "tasks"),
    )


def paper_table(report: Report, data_kind: str) -> TextTable:
    """The layout of the source paper's Table 4: reward and success of each family."""
    cells = {
        (cell.row, cell.family): cell for cell in report.cells if cell.data_kind == data_kind and cell.family != ALL
    }
    families = sorted({family for _, family in cells}, key=family_order)
    rows = []
    for row in (cell.row for cell in overall(report, data_kind)):
        found = [cells.get((row, family)) for family in families]
        figures = ((figure(cell.reward), percent(cell.counts.success)) if cell else (DASH, DASH) for cell in found)
        rows.append((*row, *(text for pair in figures for text in pair)))
    columns = tuple(text for family in families for text in (f"{family} reward {ARROWS.get(family, '↓')}", "success ↑"))
    note = (
        "The paper's own figures: mean over tasks of scored runs, on the tasks' scales. Reward: the paper's loss in "
        "forecasting and "
    )
    meant = "generation, AUROC + recall in fraud detection, minus our total in trading."
    return TextTable("As in the paper's Table 4", (*report.by, *columns), tuple(rows), len(report.by), note + meant)


def pass_table(report: Report, data_kind: str) -> TextTable | None:
    """pass@k over all tasks; None where no task was run twice."""
    cells = [cell for cell in overall(report, data_kind) if cell.pass_at]
    most = max((cell.pass_at[-1].k for cell in cells), default=0)
    if most < 2:
        return None
    shown = sorted({k for k in SHOWN_K if k < most} | {most})
    rows = []
    for cell in cells:
        by_k = {one.k: one for one in cell.pass_at}
        found = [by_k.get(k) for k in shown]
        rows.append((*cell.row, "scored", *(percent(one.scored) if one else DASH for one in found)))
        rows.append((*cell.row, "better than baseline", *(percent(one.better) if one else DASH for one in found)))
    note = (
        "Chance that one of k runs succeeds (Chen et al. 2021), averaged over tasks; k up to the fewest judged runs of "
        "any task."
    )
    return TextTable(
        "pass@k", (*report.by, "success means", *(f"k={k}" for k in shown)), tuple(rows), len(report.by) + 1, note
    )


def cost_table(report: Report, data_kind: str) -> TextTable:
    """Money, tokens and time of a success, over all tasks."""
    rows = []
    for cell in overall(report, data_kind):
        cost = (figure(cell.cost.usd, "$"), whole(cell.cost.tokens), figure(cell.cost.seconds))
        rows.append((*cell.row, str(cell.counts.scored), *cost))
    return TextTable(
        "Cost of a success",
        (*report.by, "scored", "USD", "tokens", "seconds"),
        tuple(rows),
        len(report.by),
        "All judged runs together, rejected ones included, over those that were scored; seconds are the agent's, "
        "without the verifier's. A dash: not known, or no success.",
    )


def model_table(report: Report) -> TextTable | None:
    """Every model and where it was asked; None of programs alone."""
    if not report.models:
        return None
    return TextTable(
        "Models",
        ("model", "endpoint", "runs"),
        tuple((one.model, one.where, str(one.runs)) for one in report.models),
        2,
        "Base URLs without credentials, as each run recorded them.",
    )


def boundary_table(report: Report, data_kind: str) -> TextTable | None:
    """Failed runs by the boundary their failure crossed; None where none failed."""
    found: dict[Row, Counter[str]] = {}
    for failure in report.failures:
        if failure.data_kind == data_kind and failure.state in FAILED:
            found.setdefault(failure.row, Counter())[f"{failure.state}: {failure.boundary}"] += failure.runs
    if not found:
        return None
    # Rejected before error: whose fault it was comes first.
    columns = sorted(
        {name for counts in found.values() for name in counts}, key=lambda name: (name.startswith("error"), name)
    )
    rows = tuple((*row, *(str(counts[name]) for name in columns)) for row, counts in sorted(found.items()))
    note = (
        "Runs by the boundary that their failure crossed. Rejected: the fault of agent or model; error: ours, or an "
        "endpoint was away."
    )
    return TextTable("Where runs failed", (*report.by, *columns), rows, len(report.by), note)


def reason_table(report: Report, data_kind: str) -> TextTable | None:
    """The most frequent reasons of runs without a score."""
    chosen = [failure for failure in report.failures if failure.data_kind == data_kind]
    if not chosen:
        return None
    rows = tuple((*one.row, one.state, one.boundary, one.reason or DASH, str(one.runs)) for one in chosen[:REASONS])
    note = f"The {REASONS} most frequent of {len(chosen)}." if len(chosen) > REASONS else ""
    return TextTable("Reasons", (*report.by, "state", "boundary", "reason", "runs"), rows, len(report.by) + 3, note)


def task_table(report: Report, data_kind: str) -> TextTable:
    """Every row in every task."""
    cells = sorted(
        (cell for cell in report.tasks if cell.data_kind == data_kind),
        key=lambda cell: (family_order(cell.family), cell.task, cell.row),
    )
    return TextTable(
        "Every task",
        (
            "task",
            *report.by,
            "runs",
            "success",
            "skill",
            "95 % interval",
            "worst",
            "best",
            "no skill",
            "total",
            "USD",
            "seconds",
        ),
        tuple(_task_row(cell) for cell in cells),
        1 + len(report.by),
        f"Interval over runs, from {FEWEST_UNITS} on; of one run, over other hidden rows of the same market. "
        "Total: the paper's loss, lower is better. USD and seconds, the agent's own: of a success.",
        ("seconds", "USD", "worst", "best", "success", "total"),
    )


def comparison_table(report: Report, data_kind: str) -> TextTable | None:
    """Paired comparisons, the clearest first; None where there is nothing to compare."""
    ordered = clearest(one for one in report.comparisons if one.data_kind == data_kind)
    if not ordered:
        return None
    rest = (
        f" The {SHOWN_PAIRS} clearest of {len(ordered):,}; all are in the JSON." if len(ordered) > SHOWN_PAIRS else ""
    )
    rows = (
        (
            label(one.a),
            label(one.b),
            str(one.tasks),
            figure(one.loss_ratio.value),
            interval(one.loss_ratio, sign=False),
            f"{one.scored[0]}/{one.judged[0]} {one.scored[1]}/{one.judged[1]}",
            figure(one.scored_ratio.value),
            signed(one.effect),
            f"{one.wins}-{one.losses}-{one.ties}",
            figure(one.p_value),
            figure(one.p_holm),
            TOO_FEW if one.verdict == "too few" else one.verdict,
        )
        for one in ordered[:SHOWN_PAIRS]
    )
    return TextTable(
        "Paired comparisons",
        (
            "a",
            "b",
            "tasks",
            "loss a/b",
            "95 % interval",
            "scored a, b",
            "a/b if both scored",
            "d_z",
            "wins-losses-ties",
            "p",
            "p (Holm)",
            "a is",
        ),
        tuple(rows),
        2,
        "On common tasks and seeds: two-sided sign-flip permutation test of task means of log relative total, a "
        "rejected run counted as 100, adjusted by Holm's method for "
        f"all comparisons on this kind of data. Of fewer than {FEWEST_UNITS} common tasks, over their seeds, "
        f"{FEWEST_UNITS} of each.{rest}",
    )


TABLES: Mapping[str, Callable[[Report, str], TextTable | None]] = {
    "skill": skill_table,
    "paper": paper_table,
    "pass": pass_table,
    "cost": cost_table,
    "boundaries": boundary_table,
    "comparisons": comparison_table,
    "reasons": reason_table,
    "tasks": task_table,
}
"""Every table of a report, which has one of each kind of data."""
ON_TERMINAL = ("skill", "paper", "pass", "cost", "boundaries")
OPEN_ON_PAGE = ("pass", "cost", "boundaries")
"""Those that the page shows as they are, beside the paper's; figures are in the place of the others."""
FOLDED_ON_PAGE = ("skill", "comparisons", "reasons", "tasks")
SENTENCES = 10
"""Comparisons said in words; all are in the JSON."""
DAMAGED = 20
"""Damaged runs named."""


def tables_of(report: Report, data_kind: str, names: Iterable[str]) -> list[TextTable]:
    """Some of :data:`TABLES`, those that have anything to say."""
    found = (TABLES[name](report, data_kind) for name in names)
    return [table for table in found if table is not None]


def clearest(comparisons: Iterable[RowComparison]) -> list[RowComparison]:
    """Comparisons by p-value, those with too few tasks last."""
    return sorted(
        comparisons,
        key=lambda one: (one.p_holm is None, one.p_holm or 0.0, one.p_value or 0.0, -one.tasks, one.a, one.b),
    )


def said(report: Report, data_kind: str, most: int = SENTENCES) -> tuple[list[str], str]:
    """Comparisons on data of a kind in words: the clearest that can be made, and a remark on the others."""
    ordered = clearest(one for one in report.comparisons if one.data_kind == data_kind)
    able = [one for one in ordered if one.verdict != "too few"]
    if not able:
        return [one.sentence for one in ordered[:1]], f"{len(ordered) - 1} more are {TOO_FEW}." if len(
            ordered
        ) > 1 else ""
    rest = [f"{len(able) - most} more"] if len(able) > most else []
    rest += [f"{len(ordered) - len(able)} {TOO_FEW}"] if len(ordered) > len(able) else []
    return [one.sentence for one in able[:most]], f"{', '.join(rest)}; all are in the JSON." if rest else ""


def family_name(family: str) -> str:
    """A family as a heading."""
    return "all tasks" if family == ALL else family


def signed(value: float | None) -> str:
    """A figure with its sign and three decimals."""
    return DASH if value is None else f"{value:+z.3f}"


def strength(cell: Cell | TaskCell) -> str:
    """The skill of a cell, or why it has none."""
    return (
        signed(cell.skill.value)
        if cell.skill.value is not None
        else "never scored"
        if cell.counts.judged
        else "no run judged"
    )


def interval(estimate: Estimate, *, sign: bool = True) -> str:
    """The ends of an interval, or why there is none."""
    if estimate.low is None or estimate.high is None:
        return "" if estimate.value is None else TOO_FEW
    ends = f"{estimate.low:+z.3f} to {estimate.high:+z.3f}" if sign else f"{estimate.low:.3f} to {estimate.high:.3f}"
    return f"{ends}, over runs" if estimate.over == "run" else ends


def penalized(cell: Cell) -> str:
    """The penalized total of a cell, with its interval where there is one."""
    found = cell.penalized
    ends = "" if found.low is None else f" [{figure(found.low)}, {figure(found.high)}]"
    return f"{figure(found.value)}{ends}"


def left_out(cell: Cell) -> str:
    """Runs of a cell that are in no figure, by state."""
    counts = {"error": cell.counts.error, "deferred": cell.counts.deferred, "void": cell.counts.void}
    texts = (
        f"{count} {state}{'s' if state == 'error' and count > 1 else ''}" for state, count in counts.items() if count
    )
    return ", ".join(texts)


def percent(value: float | None) -> str:
    """A share in whole percent; only all is 100 % and only none 0 %."""
    if value is None:
        return DASH
    rounded = round(100.0 * value)
    return f"{min(rounded, 99) if value < 1.0 else 100}%" if rounded > 0 or value == 0.0 else "<1%"


def figure(value: float | None, unit: str = "") -> str:
    """Three significant digits."""
    if value is None:
        return DASH
    if abs(value) >= 999.5 or 0.0 < abs(value) < 1e-4:
        return f"{unit}{value:,.0f}" if 999.5 <= abs(value) < 1e9 else f"{unit}{value:.2e}"
    return f"{unit}{value:#.3g}".rstrip(".")


def whole(value: float | None) -> str:
    """A number without decimals."""
    return DASH if value is None else f"{value:,.0f}"


def _task_interval(cell: TaskCell) -> str:
    """Over runs; of a single run, over hidden rows."""
    if cell.sampling is not None:
        return f"{cell.sampling[0]:+z.3f} to {cell.sampling[1]:+z.3f}, of one run"
    return interval(cell.skill).removesuffix(", over runs")


def _task_row(cell: TaskCell) -> tuple[str, ...]:
    runs: Sequence[str] = (f"{cell.counts.scored}/{cell.counts.judged}", percent(cell.counts.success))
    skills = (strength(cell), _task_interval(cell), signed(cell.worst), signed(cell.best), percent(cell.no_skill))
    return (
        cell.task,
        *cell.row,
        *runs,
        *skills,
        figure(cell.total),
        figure(cell.cost.usd, "$"),
        figure(cell.cost.seconds),
    )
