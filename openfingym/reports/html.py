"""The page of a report: one HTML file with everything in it, which loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from openfingym.reports import tables
from openfingym.reports.cells import Cell
from openfingym.reports.figures import cost_scatter, forest, heat_map
from openfingym.reports.formatting import DASH, family_name, interval, penalized, percent, signed, strength
from openfingym.reports.groups import ALL, Row, family_order, label
from openfingym.reports.page import KINDS_OF_RUNS, document, kind_notice
from openfingym.reports.paper_table import paper_table, reward_table
from openfingym.reports.report import REASON_LENGTH, Report
from openfingym.reports.text_table import kinds_of, overall
from openfingym.reports.ties import BEST, ties_of, told_apart
from openfingym.results import RolloutResult
from openfingym.version import __version__

MODELS = 5
"""Most models that are named in the heading; all are in a table at the end."""
FAILED = 500
"""Most failed runs that are listed; the page folds all but the first of them."""
FIRST = ("classes", "tools")
"""Keys of the tables on questions that stand above the graphs; those with a row for every task come last."""


class RunEntry(NamedTuple):
    """A run in a list of the page."""

    page: str
    """Relative address of the run's own page; empty if it has none."""
    state: str
    """The state in which it ended."""
    task: str
    """Name of its task."""
    who: str
    """Its agent, model, seed and attempt."""
    said: str
    """Its skill, or why it failed."""


def render(report: Report, runs: Sequence[RolloutResult] = (), pages: Sequence[str] = ()) -> str:
    """Render the page of a report.

    Args:
        report: the report to show.
        runs: the runs of the report; those that failed are listed at the top.
        pages: relative address of the page of each of ``runs``; with them, runs that did not fail are listed too.

    Returns:
        A self-contained HTML document.
    """
    kinds = kinds_of(report)
    entries = [_entry(run, page) for run, page in zip(runs, pages or [""] * len(runs), strict=True)]
    failed = [entry for entry in entries if entry.state in tables.FAILED]
    # Without pages of the runs there is nothing to link to, and failures alone are worth a list.
    others = [entry for entry in entries if entry.state not in tables.FAILED] if pages else []
    return document(
        "report.html.jinja",
        "OpenFinGym report",
        styles=("report.css", "questions/questions.css"),
        subject=_subject(report),
        facts=_facts(report, kinds),
        summary=_summary(report, kinds),
        remarks=list(report.questions.remarks) if report.questions is not None else [],
        damaged=[run.reason for run in report.damaged],
        most_damaged=tables.DAMAGED,
        models=tables.model_table(report),
        failed=failed[:FAILED],
        more_failed=len(failed) - len(failed[:FAILED]),
        others=others,
        blocks=[_block(report, kind) for kind in kinds],
    )


def _entry(run: RolloutResult, page: str) -> RunEntry:
    """A run as the page lists it."""
    who = run.agent_label + (f" with {run.model}" if run.model else "") + f", seed {run.seed}"
    who += f", attempt {run.attempt}" if run.attempt else ""
    if run.state == "scored":
        outcome = f"skill {signed(run.skill)}"
    else:
        # A reason may be a traceback of many lines.
        outcome = " ".join(str(run.reason or "no reason was given").split())
        outcome = outcome if len(outcome) <= REASON_LENGTH else f"{outcome[:REASON_LENGTH]}…"
    return RunEntry(page, run.state, run.task, who, outcome)


def _subject(report: Report) -> str:
    """What the report compares, such as "3 combinations of agent and model"."""
    rows = len({cell.row for cell in report.cells})
    noun, fields = (report.by[0], "") if len(report.by) == 1 else ("combination", f" of {' and '.join(report.by)}")
    return f"{rows} {noun}{'s' * (rows != 1)}{fields}"


def _summary(report: Report, kinds: list[str]) -> str:
    """How many runs there are, how they ended, and on which data, in one sentence."""
    counts = [cell.counts for cell in report.tasks]
    rejected, errors = (sum(getattr(count, state) for count in counts) for state in ("rejected", "error"))
    tasks = len({cell.task for cell in report.tasks})
    return (
        f"{report.runs:,} runs on {tasks:,} task{'s' * (tasks != 1)}: {report.scored:,} scored, {rejected:,} rejected, "
        f"{errors:,} errors; {report.backed:,} scores backed by a receipt. Data: {', '.join(kinds) or 'none'}."
    )


def _facts(report: Report, kinds: list[str]) -> dict[str, str]:
    """What the heading says, by its names; the template leaves empty values out."""
    counts = [cell.counts for cell in report.tasks]
    return {
        "Rollouts": f"{report.runs:,}",
        "Scored": f"{report.scored:,}",
        "Backed by a receipt": f"{report.backed:,}",
        "Rejected": f"{sum(count.rejected for count in counts):,}",
        "Errors": f"{sum(count.error for count in counts):,}, ours or an endpoint's; in no figure",
        "Deferred": f"{sum(count.deferred for count in counts):,}",
        "Void": f"{sum(count.void for count in counts):,}",
        "Tasks": f"{len({cell.task for cell in report.tasks}):,}",
        "Data": ", ".join(kinds) or "none",
        "Folders": ", ".join(report.folders),
        "Made": report.made_at or "",
        "OpenFinGym": __version__,
        "Runs made with": ", ".join(f"{version} ({count:,})" for version, count in report.versions),
        "Models": ", ".join(f"{asked.model} ({asked.where})" for asked in report.models[:MODELS])
        + (f" and {len(report.models) - MODELS} more" if len(report.models) > MODELS else ""),
        "Copies": f"{report.copies:,}, left out" if report.copies else "",
    }


def _block(report: Report, kind: str) -> dict[str, object]:
    """The part of the page about one kind of data."""
    best = overall(report, kind)
    rank = {cell.row: number for number, cell in enumerate(best)}
    cells = sorted((cell for cell in report.cells if cell.data_kind == kind), key=lambda cell: rank[cell.row])
    sentences, rest = tables.comparisons_in_words(report, kind)
    return {
        "kind": kind,
        "name": f"{kind.capitalize()} data",
        "cautions": [caution.sentence for caution in report.cautions if caution.data_kind == kind],
        "notice": kind_notice(kind, KINDS_OF_RUNS),
        "headline": _headline(cells, best, ties_of(report, kind, [cell.row for cell in best])),
        "forest": forest(cells),
        "reward": reward_table(report, kind),
        "paper": paper_table(report, kind),
        "sentences": sentences,
        "rest": rest,
        "heat_map": heat_map([cell for cell in report.tasks if cell.data_kind == kind], [cell.row for cell in best]),
        "cost_scatter": cost_scatter(best),
        "shown": tables.tables_of(report, kind, tables.OPEN_ON_PAGE),
        "folded": tables.tables_of(report, kind, tables.FOLDED_ON_PAGE),
        "questions": _questions(report, kind),
    }


def _questions(report: Report, kind: str) -> dict[str, object] | None:
    """Tables and drawings of runs of questions with tools; None if there are none."""
    if report.questions is None or not report.questions.of(kind):
        return None
    from openfingym.reports.questions.figures import curves, graphs

    sections = report.questions.of(kind)
    return {
        "curves": [figure for section in sections if section.key == "axis" for figure in curves(section)],
        "graphs": graphs(report.questions, kind),
        "first": [section.text(joined=len(report.by)) for section in sections if section.key in FIRST],
        "ways": [section.text(joined=len(report.by)) for section in sections if section.key == "ways"],
        "tables": [section.text(joined=len(report.by)) for section in sections if section.key not in {*FIRST, "ways"}],
    }


def _headline(cells: list[Cell], best: list[Cell], ties: Mapping[Row, str]) -> dict[str, object]:
    """Skill by row and family, over all tasks first.

    Args:
        cells: the figures of each row and family.
        best: the cell of each row over all tasks, in the order of the rows.
        ties: the letters of each row that was compared.
    """
    by_place = {(cell.row, cell.family): cell for cell in cells}
    # Over all tasks first: it is what rows are ranked by, and a narrow screen shows the first columns.
    families = sorted({cell.family for cell in cells}, key=lambda family: (family != ALL, family_order(family)))
    apart = told_apart(ties)
    rows = [
        {
            "name": label(cell.row),
            "cells": [_skill(by_place.get((cell.row, family))) for family in families],
            "ties": ties.get(cell.row, DASH),
            "best": apart and BEST in ties.get(cell.row, ""),
        }
        for cell in best
    ]
    bold = "Bold: not told apart from the best. " if apart else ""
    shared = f"Ties: rows that share a letter were not told apart, and the best has the letter {BEST}. " if ties else ""
    legend = f"{bold}{shared}Grey: too few tasks or runs for an interval, or never scored."
    names = [family_name(family) for family in families]
    return {"families": names, "rows": rows, "tied": bool(ties), "legend": legend, "note": tables.SKILL_NOTE}


def _skill(cell: Cell | None) -> dict[str, object] | None:
    """What the headline says about a cell; None if there is no cell."""
    if cell is None:
        return None
    tasks = f"{cell.tasks} task{'' if cell.tasks == 1 else 's'}"
    runs = f"{percent(cell.counts.success)} of {cell.counts.judged} scored"
    if cell.counts.rejected:
        runs += f"; penalized total {penalized(cell)}"
    return {
        "skill": strength(cell),
        "enough": cell.skill.enough,
        "interval": f"{interval(cell.skill)}, {tasks}" if cell.skill.value is not None else tasks,
        "runs": runs + (f"; no skill shown in {percent(cell.no_skill)}" if cell.no_skill else ""),
    }
