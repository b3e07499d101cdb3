"""The tables of a report as text, the same for the terminal and for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from openfingym.reports.cells import TaskCell
from openfingym.reports.comparisons import RowComparison
from openfingym.reports.formatting import (
    DASH,
    TOO_FEW,
    family_name,
    figure,
    interval,
    left_out,
    penalized,
    percent,
    signed,
    strength,
    whole,
)
from openfingym.reports.groups import Row, family_order, label
from openfingym.reports.paper_table import paper_table, reward_table
from openfingym.reports.statistics import FEWEST_UNITS, POWER
from openfingym.reports.text_table import TextTable, overall
from openfingym.reports.ties import BEST, ties_of, told_apart

if TYPE_CHECKING:
    from openfingym.reports.report import Report

FAILED = ("rejected", "error")
"""States of a run that failed; runs in other states wait, or do not count."""
REASONS = 10
"""How many reasons of failures are listed."""
SKILL_NOTE = (
    "Skill: 1 - geometric mean over tasks of the loss relative to the baseline's; 0 is the baseline, 1 perfect, higher "
    "is better. A rejected run counts as the baseline; 'if scored' leaves it out. Penalized total, by which rows are "
    "ranked: the geometric mean of the relative total itself, a rejected run counted as 100, so that failing never "
    f"pays. Ties: rows that share a letter were not told apart by the comparisons; the best has the letter {BEST}, and "
    "a dash is too few to say. Better: share of runs that beat the baseline, beyond their sampling error where they "
    "have an interval. No skill: share of scored runs whose advantage over the baseline, or over an answer without "
    "skill, is within sampling error; a dash where what such answers reach is not recorded. Left out of everything: "
    "errors, which are ours, deferred and void runs. The interval is for other tasks; with fewer than "
    f"{FEWEST_UNITS} datasets it is of these tasks alone, on other items of the same markets."
)
"""What the columns of the table of skill mean."""
TIES = "ties"
"""Name of the column of letters that rows share if they were not told apart."""
SHOWN_PAIRS = 300
"""Most comparisons in the table."""
SHOWN_K = (1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100)
"""Values of k that the table of pass@k shows, as far as there are runs."""


def skill_table(report: Report, data_kind: str) -> TextTable:
    """The table of skill by family, with intervals and with everything that is in no average."""
    best = overall(report, data_kind)
    rank = {cell.row: number for number, cell in enumerate(best)}
    cells = sorted(
        (cell for cell in report.cells if cell.data_kind == data_kind),
        key=lambda cell: (family_order(cell.family), rank[cell.row]),
    )
    # Rows are compared over all their tasks, so that the letters belong to these cells alone.
    ties, last = ties_of(report, data_kind, list(rank)), {cell.row: cell for cell in best}
    tied = [ties.get(cell.row, DASH) if cell is last[cell.row] else "" for cell in cells]
    strong = (place for place, text in enumerate(tied) if told_apart(ties) and BEST in text)
    rows = (
        (
            *cell.row,
            family_name(cell.family),
            str(cell.tasks),
            strength(cell),
            interval(cell.skill),
            penalized(cell),
            letters,
            signed(cell.skill_scored),
            percent(cell.counts.success),
            f"{cell.counts.scored}/{cell.counts.judged}",
            percent(cell.better),
            percent(cell.no_skill),
            left_out(cell),
        )
        for cell, letters in zip(cells, tied, strict=True)
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
            TIES,
            "if scored",
            "success",
            "runs",
            "better",
            "no skill",
            "left out",
        ),
        tuple(rows),
        len(report.by) + 1,
        SKILL_NOTE,
        ("if scored", "better", "no skill", "runs", "tasks"),
        frozenset(strong),
    )


def pass_table(report: Report, data_kind: str) -> TextTable | None:
    """The table of pass@k over all tasks; None unless some row has two runs of every task."""
    cells = [cell for cell in overall(report, data_kind) if cell.pass_at]
    most = max((cell.pass_at[-1].k for cell in cells), default=0)
    if most < 2:
        return None
    shown = sorted({k for k in SHOWN_K if k < most} | {most})
    rows = []
    for cell in cells:
        by_k = {chance.k: chance for chance in cell.pass_at}
        chances = [by_k.get(k) for k in shown]
        rows.append((*cell.row, "scored", *(percent(chance.scored) if chance else DASH for chance in chances)))
        rows.append(
            (*cell.row, "better than baseline", *(percent(chance.better) if chance else DASH for chance in chances))
        )
    note = (
        "Chance that one of k runs succeeds (Chen et al. 2021), averaged over tasks; k up to the fewest judged runs of "
        "any task."
    )
    return TextTable(
        "pass@k", (*report.by, "success means", *(f"k={k}" for k in shown)), tuple(rows), len(report.by) + 1, note
    )


def cost_table(report: Report, data_kind: str) -> TextTable:
    """The table of what a success costs in money, tokens and time, over all tasks."""
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
    """The table of models and the endpoints at which they were asked; None if no model was asked."""
    if not report.models:
        return None
    return TextTable(
        "Models",
        ("model", "endpoint", "runs"),
        tuple((asked.model, asked.where, str(asked.runs)) for asked in report.models),
        2,
        "Base URLs without credentials, as each run recorded them.",
    )


def boundary_table(report: Report, data_kind: str) -> TextTable | None:
    """The table of failed runs by the boundary that their failure crossed; None if none failed."""
    failed: dict[Row, Counter[str]] = {}
    for failure in report.failures:
        if failure.data_kind == data_kind and failure.state in FAILED:
            failed.setdefault(failure.row, Counter())[f"{failure.state}: {failure.boundary}"] += failure.runs
    if not failed:
        return None
    # Rejections, the agent's own failures, come before errors.
    columns = sorted(
        {name for counts in failed.values() for name in counts}, key=lambda name: (name.startswith("error"), name)
    )
    rows = tuple((*row, *(str(counts[name]) for name in columns)) for row, counts in sorted(failed.items()))
    note = (
        "Runs by the boundary that their failure crossed. Rejected: the fault of agent or model; error: ours, or an "
        "endpoint was away."
    )
    return TextTable("Where runs failed", (*report.by, *columns), rows, len(report.by), note)


def reason_table(report: Report, data_kind: str) -> TextTable | None:
    """The table of the most frequent reasons of runs without a score; None if all have a score."""
    chosen = [failure for failure in report.failures if failure.data_kind == data_kind]
    if not chosen:
        return None
    rows = tuple(
        (*failure.row, failure.state, failure.boundary, failure.reason or DASH, str(failure.runs))
        for failure in chosen[:REASONS]
    )
    note = f"The {REASONS} most frequent of {len(chosen)}." if len(chosen) > REASONS else ""
    return TextTable("Reasons", (*report.by, "state", "boundary", "reason", "runs"), rows, len(report.by) + 3, note)


def task_table(report: Report, data_kind: str) -> TextTable:
    """The table of every row in every task."""
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
        "Interval over other hidden items of the same task, and over repeats. "
        "Total: the paper's loss, lower is better. USD and seconds, the agent's own: of a success.",
        ("seconds", "USD", "worst", "best", "success", "total"),
    )


def comparison_table(report: Report, data_kind: str) -> TextTable | None:
    """The table of paired comparisons, the clearest first; None if there is nothing to compare."""
    ordered = clearest(pair for pair in report.comparisons if pair.data_kind == data_kind)
    if not ordered:
        return None
    rest = (
        f" The {SHOWN_PAIRS} clearest of {len(ordered):,}; all are in the JSON." if len(ordered) > SHOWN_PAIRS else ""
    )
    rows = (
        (
            label(pair.a),
            label(pair.b),
            str(pair.tasks),
            str(pair.datasets),
            figure(pair.loss_ratio.value),
            interval(pair.loss_ratio, sign=False),
            f"{pair.scored[0]}/{pair.judged[0]} {pair.scored[1]}/{pair.judged[1]}",
            figure(pair.scored_ratio.value),
            signed(pair.effect),
            f"{pair.wins}-{pair.losses}-{pair.ties}",
            figure(pair.p_value),
            figure(pair.p_holm),
            percent(pair.detectable),
            TOO_FEW if pair.verdict == "too few" else pair.verdict,
        )
        for pair in ordered[:SHOWN_PAIRS]
    )
    return TextTable(
        "Paired comparisons",
        (
            "a",
            "b",
            "tasks",
            "datasets",
            "loss a/b",
            "95 % interval",
            "scored a, b",
            "a/b if both scored",
            "d_z",
            "wins-losses-ties",
            "p",
            "p (Holm)",
            "told from",
            "a is",
        ),
        tuple(rows),
        2,
        "On common tasks and seeds: the log relative total, a rejected run counted as 100; a two-sided t-test "
        f"over datasets, or with fewer than {FEWEST_UNITS} over items of these tasks alone, adjusted by Holm's method "
        "for all comparisons on this kind of data. The interval is for the pair alone. Told from: a loss that is lower "
        f"by so much is told with a chance of {POWER:.0%}, of a pair alone.{rest}",
    )


def replayed_table(report: Report, data_kind: str) -> TextTable | None:
    """The table of runs whose agents may have known the hidden data; None if there are none."""
    cells = [cell for cell in report.replayed if cell.data_kind == data_kind]
    if not cells:
        return None
    return TextTable(
        "Replayed, not ranked",
        (*report.by, "task", "skill", "95 % interval", "runs"),
        tuple(
            (*cell.row, cell.task, strength(cell), interval(cell.skill), f"{cell.counts.scored}/{cell.counts.judged}")
            for cell in cells
        ),
        len(report.by) + 1,
        "Their party had been shown the hidden data in an earlier rollout, and the agent was neither filed before that "
        "nor ran in isolation: what it shows may be memory. It is in no other table.",
    )


TABLES: Mapping[str, Callable[[Report, str], TextTable | None]] = {
    "skill": skill_table,
    "reward": reward_table,
    "paper": paper_table,
    "pass": pass_table,
    "cost": cost_table,
    "boundaries": boundary_table,
    "comparisons": comparison_table,
    "reasons": reason_table,
    "tasks": task_table,
    "replayed": replayed_table,
}
"""The tables of a report by name; a report has each of them for each kind of data."""
ON_TERMINAL = ("skill", "reward", "paper", "pass", "cost", "boundaries", "replayed")
"""Names of the tables that the terminal shows."""
OPEN_ON_PAGE = ("pass", "cost", "boundaries", "replayed")
"""Names of the tables that the page shows unfolded, besides the paper's; it has drawings of the others."""
FOLDED_ON_PAGE = ("skill", "comparisons", "reasons", "tasks")
"""Names of the tables that the page has folded."""
SENTENCES = 10
"""Most comparisons that are put in words; all are in the JSON."""
DAMAGED = 20
"""Most damaged runs that are named."""


def tables_of(report: Report, data_kind: str, names: Iterable[str]) -> list[TextTable]:
    """Those of the named :data:`TABLES` that have any rows."""
    tables = (TABLES[name](report, data_kind) for name in names)
    return [table for table in tables if table is not None]


def clearest(comparisons: Iterable[RowComparison]) -> list[RowComparison]:
    """Comparisons by rising p-value, those of which nothing is known last."""
    return sorted(
        comparisons,
        key=lambda pair: (pair.p_holm is None, pair.p_holm or 0.0, pair.p_value or 0.0, -pair.tasks, pair.a, pair.b),
    )


def comparisons_in_words(report: Report, data_kind: str, most: int = SENTENCES) -> tuple[list[str], str]:
    """Put comparisons on data of a kind in words.

    Args:
        report: the report that has the comparisons.
        data_kind: the kind of data.
        most: how many sentences there are at most.

    Returns:
        A sentence for each of the clearest comparisons that can be made, and a remark on the others, which may be
        empty.
    """
    ordered = clearest(pair for pair in report.comparisons if pair.data_kind == data_kind)
    decided = [pair for pair in ordered if pair.verdict != "too few"]
    # Each sentence would say that there is too little to say: one is enough.
    if not decided:
        remark = f"{len(ordered) - 1} more are {TOO_FEW}." if len(ordered) > 1 else ""
        return [pair.sentence for pair in ordered[:1]], remark
    rest = [f"{len(decided) - most} more"] if len(decided) > most else []
    rest += [f"{len(ordered) - len(decided)} {TOO_FEW}"] if len(ordered) > len(decided) else []
    return [pair.sentence for pair in decided[:most]], f"{', '.join(rest)}; all are in the JSON." if rest else ""


def _task_row(cell: TaskCell) -> tuple[str, ...]:
    runs: Sequence[str] = (f"{cell.counts.scored}/{cell.counts.judged}", percent(cell.counts.success))
    skills = (
        strength(cell),
        interval(cell.skill).partition(",")[0],
        signed(cell.worst),
        signed(cell.best),
        percent(cell.no_skill),
    )
    return (
        cell.task,
        *cell.row,
        *runs,
        *skills,
        figure(cell.total),
        figure(cell.cost.usd, "$"),
        figure(cell.cost.seconds),
    )
