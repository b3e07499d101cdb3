"""Rewards and success by family, and the same beside what the source paper printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from openfingym.reports.cells import Cell
from openfingym.reports.formatting import DASH, figure, percent
from openfingym.reports.groups import ALL, Field, Row, family_order
from openfingym.reports.printed import PrintedTable, table_4
from openfingym.reports.text_table import TextTable, overall

if TYPE_CHECKING:
    from openfingym.reports.report import Report

ARROWS = {"forecasting": "↓", "generation": "↓", "trading": "↑", "fraud": "↑"}
"""Whether a low or a high reward is better, by family."""
MEANING = (
    "Reward: the mean over tasks of scored runs, on the tasks' scales: the paper's loss in forecasting and generation, "
    "AUROC + recall in fraud detection, minus our total in trading."
)
"""What a reward is."""


def reward_table(report: Report, data_kind: str) -> TextTable:
    """The table of reward and success of each family."""
    cells = {
        (cell.row, cell.family): cell for cell in report.cells if cell.data_kind == data_kind and cell.family != ALL
    }
    families = sorted({family for _, family in cells}, key=family_order)
    rows = tuple(
        (*cell.row, *(text for family in families for text in _figures(cells.get((cell.row, family)))))
        for cell in overall(report, data_kind)
    )
    return TextTable("Reward and success by family", (*report.by, *_columns(families)), rows, len(report.by), MEANING)


def paper_table(report: Report, data_kind: str) -> TextTable | None:
    """The source paper's Table 4: rows in the paper's setting, and below them what the paper printed.

    None unless a row is of the paper's agent, on tasks that the paper has and on no other of their family.
    """
    printed = table_4()
    families = _comparable(report, data_kind, printed)
    if not families:
        return None
    ours = [cell.row for cell in overall(report, data_kind) if _in_setting(cell.row, report.by, printed)]
    cells = {(cell.row, cell.family): cell for cell in report.cells if cell.data_kind == data_kind}
    rows = [(*row, *(text for family in families for text in _figures(cells.get((row, family))))) for row in ours]
    for model, figures in printed.rows:
        # With as many digits as the paper prints.
        texts = ((f"{figures[name].reward:.3f}", percent(figures[name].success)) for name in families)
        rows.append((*_named(model, report.by), *(text for pair in texts for text in pair)))
    compared = ", ".join(f"{count} of {printed.families[name].count} in {name}" for name, count in families.items())
    return TextTable(
        f"As in the paper's {printed.table}",
        (*report.by, *_columns(list(families))),
        tuple(rows),
        len(report.by),
        f"{MEANING} The last {len(printed.rows)} rows are the paper's own, as {printed.paper} prints them, on its own "
        f"data. Ours are on data of this kind, and on this many of the paper's tasks: {compared}. Losses of different "
        "tasks have different scales, so that means over other tasks do not compare.",
    )


def _in_setting(row: Row, by: Sequence[Field], printed: PrintedTable) -> bool:
    """Whether a row is of the agent of the paper's setting, as far as rows tell agents apart."""
    return "agent" not in by or row[by.index("agent")] == printed.agent


def _comparable(report: Report, data_kind: str, printed: PrintedTable) -> Mapping[str, int]:
    """The families in which rows in the paper's setting are on tasks of the paper's alone, with how many these are."""
    tasks: dict[str, set[str]] = {}
    for cell in report.tasks:
        if cell.data_kind == data_kind and _in_setting(cell.row, report.by, printed):
            tasks.setdefault(cell.family, set()).add(cell.task)
    return {
        name: len(tasks[name])
        for name in sorted(tasks.keys() & printed.families.keys(), key=family_order)
        if all(map(printed.families[name].has, tasks[name]))
    }


def _named(model: str, by: Sequence[Field]) -> tuple[str, ...]:
    """The names of a row of the paper's."""
    if "model" not in by:
        return (f"paper: {model}", *(DASH for _ in by[1:]))
    return tuple(model if name == "model" else "paper" if name == "agent" else DASH for name in by)


def _columns(families: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for family in families for text in (f"{family} reward {ARROWS.get(family, '↓')}", "success ↑"))


def _figures(cell: Cell | None) -> tuple[str, str]:
    """Reward and success of a cell, as text."""
    return (figure(cell.reward), percent(cell.counts.success)) if cell else (DASH, DASH)
