"""A report over many rollouts, and its form for programs: JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.files.spreadsheet import not_a_formula
from openfingym.reports.cautions import Caution, cautions_of, left_out
from openfingym.reports.cells import Cell, Field, Row, RunGroup, TaskCell, cells_of, families_of, grouped, task_cells_of
from openfingym.reports.comparisons import RowComparison, compare
from openfingym.reports.endpoints import AskedModel, asked_models
from openfingym.reports.runs import Damaged, FoundRuns
from openfingym.reports.statistics import FEWEST_UNITS, LEVEL, REPLICATES
from openfingym.results import QUESTIONS
from openfingym.version import __version__

if TYPE_CHECKING:
    from openfingym.reports.questions.report import QuestionReport

FORMAT = 2
REASON_LENGTH = 160
UNSTATED = "not stated"
"""Boundary of a run that does not say what its failure crossed."""


@dataclass(frozen=True)
class Failure:
    """Runs of a row that ended without a score in the same way."""

    data_kind: str
    row: Row
    state: str
    boundary: str
    """As in :data:`openfingym.results.Boundary`, or that it is not stated."""
    reason: str
    runs: int


@dataclass(frozen=True)
class Report:
    """The figures of a set of runs."""

    by: tuple[Field, ...]
    """What rows are grouped by."""
    cells: tuple[Cell, ...]
    """Cells by kind of data, row and family."""
    tasks: tuple[TaskCell, ...]
    """Cells by kind of data, row and task."""
    comparisons: tuple[RowComparison, ...]
    failures: tuple[Failure, ...]
    """The most frequent first."""
    cautions: tuple[Caution, ...]
    runs: int
    copies: int
    """Folders left out because they hold a rollout that is already there."""
    damaged: tuple[Damaged, ...]
    seed: int
    """Seed of the bootstrap and the tests."""
    models: tuple[AskedModel, ...] = ()
    """Every model at every endpoint."""
    folders: tuple[str, ...] = ()
    """Absolute paths of the folders that the runs are from."""
    made_at: str | None = None
    """When the runs were read, ISO 8601 in UTC."""
    versions: tuple[tuple[str, int], ...] = ()
    """Versions of this library that the runs were made with, and the number of runs of each; those that state none are
    left out."""
    backed: int = 0
    """Scored runs with a receipt in their folder which proves that the log of a verifier has their result."""
    questions: QuestionReport | None = None
    """What is said of runs of questions with tools; None where there are none."""

    @property
    def scored(self) -> int:
        """Number of scored runs."""
        return sum(cell.counts.scored for cell in self.tasks)

    def to_dict(self) -> dict[str, object]:
        """Plain values, as ``openfingym report RUN --json`` prints them; docs/reports.md describes them."""
        return {
            "format": FORMAT,
            "by": list(self.by),
            "runs": self.runs,
            "copies": self.copies,
            "backed": self.backed,
            "damaged": [{"path": str(one.path), "reason": one.reason} for one in self.damaged],
            "method": {"level": LEVEL, "replicates": REPLICATES, "seed": self.seed, "fewest_units": FEWEST_UNITS},
            "folders": list(self.folders),
            "made_at": self.made_at,
            "openfingym": __version__,
            "versions": dict(self.versions),
            "models": [asdict(one) for one in self.models],
            "cells": [self._named(asdict(cell)) | {"success": cell.counts.success} for cell in self.cells],
            "tasks": [self._named(asdict(cell)) for cell in self.tasks],
            "comparisons": [
                asdict(one) | {"a": list(one.a), "b": list(one.b), "sentence": one.sentence} for one in self.comparisons
            ],
            "failures": [self._named(asdict(failure)) for failure in self.failures],
            "cautions": [asdict(one) for one in self.cautions],
            "questions": None if self.questions is None else self.questions.to_dict(),
        }

    def _named(self, values: Mapping[str, object]) -> dict[str, object]:
        """A record with the values of its row under the names of the fields."""
        row = values["row"]
        assert isinstance(row, tuple)
        names = dict(zip(self.by, row, strict=True))
        return {
            "data_kind": values["data_kind"],
            **names,
            **{name: value for name, value in values.items() if name != "row"},
        }

    def _repr_html_(self) -> str:
        """What a notebook shows: the table of skill for each kind of data, and the comparisons in words."""
        from openfingym.reports.notebook import report_html

        return report_html(self)

    def to_csv(self) -> str:
        """One line a cell: kind of data, row, family, and the figures of both tables."""
        stream = io.StringIO()
        lines = [self._flat(cell) for cell in self.cells]
        writer = csv.DictWriter(stream, list(lines[0]) if lines else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
        return stream.getvalue()

    def _flat(self, cell: Cell) -> dict[str, object]:
        return {
            "data_kind": cell.data_kind,
            **dict(zip(self.by, map(not_a_formula, cell.row), strict=True)),
            "family": cell.family,
            "tasks": cell.tasks,
            **asdict(cell.counts),
            "reward": cell.reward,
            "success": cell.counts.success,
            "skill": cell.skill.value,
            "skill_low": cell.skill.low,
            "skill_high": cell.skill.high,
            "interval_over": cell.skill.over,
            "penalized_total": cell.penalized.value,
            "penalized_low": cell.penalized.low,
            "penalized_high": cell.penalized.high,
            "skill_scored": cell.skill_scored,
            "better_than_baseline": cell.better,
            "no_skill_shown": cell.no_skill,
            "usd_per_success": cell.cost.usd,
            "tokens_per_success": cell.cost.tokens,
            "seconds_per_success": cell.cost.seconds,
        }


def make_report(
    runs: FoundRuns,
    by: Sequence[Field] = ("agent", "model"),
    *,
    seed: int = 0,
    cutoffs: Mapping[str, str] | None = None,
    with_hidden: bool = False,
) -> Report:
    """Make a report about ``runs``.

    Args:
        runs: the runs to report on.
        by: what makes a row; runs that differ in nothing of it are repetitions of each other.
        seed: seed of the bootstrap and the tests; the same runs and seed give the same report.
        cutoffs: the last month (``2023-10``) or day that a model was trained on, by its name, beside those that runs
            state.
        with_hidden: whether, for questions with tools, scores are computed that their verifier told nobody, for its
            operator's own eyes (docs/questions-with-tools.md).

    Raises:
        UsageError: ``by`` is empty or names a field twice.
    """
    if not by or len(set(by)) < len(by):
        raise UsageError(f"rows are grouped by at least one field and each once, found {', '.join(by) or 'none'}")
    groups = grouped(runs.results, by)
    families = families_of(groups, runs.made)
    return Report(
        by=tuple(by),
        cells=tuple(cells_of(groups, families, seed)),
        tasks=tuple(cell for group in groups for cell in task_cells_of(group, families, seed)),
        comparisons=tuple(compare(groups, seed)),
        failures=tuple(_failures(groups)),
        cautions=(*left_out(runs.slices), *cautions_of(groups, runs.made)),
        runs=len(runs.results),
        copies=runs.copies,
        damaged=runs.damaged,
        seed=seed,
        models=tuple(asked_models(runs.results, runs.made)),
        folders=tuple(map(str, runs.folders)),
        made_at=None if runs.read_at is None else runs.read_at.isoformat(),
        backed=sum(one.backed for one in runs.made.values()),
        questions=_questions(runs, by, {**_cutoffs(runs), **(cutoffs or {})}, with_hidden=with_hidden),
        versions=tuple(sorted(Counter(one.version for one in runs.made.values() if one.version is not None).items())),
    )


def _questions(
    runs: FoundRuns, by: Sequence[Field], cutoffs: Mapping[str, str], *, with_hidden: bool
) -> QuestionReport | None:
    if not any(one.path is not None and (one.path / QUESTIONS).is_file() for one in runs.results):
        return None
    from openfingym.reports.questions.report import question_report

    return question_report(runs.results, by, cutoffs, with_hidden=with_hidden)


def _cutoffs(runs: FoundRuns) -> dict[str, str]:
    """Cut-offs of models as their runs state them."""
    stated = ((one.model, runs.made[one.rollout_id].cutoff) for one in runs.results if one.rollout_id in runs.made)
    return {model: cutoff for model, cutoff in stated if model is not None and cutoff is not None}


def _failures(groups: Sequence[RunGroup]) -> list[Failure]:
    found: Counter[tuple[str, Row, str, str, str]] = Counter()
    for group in groups:
        for runs in group.tasks.values():
            for run in runs:
                if run.state != "scored":
                    reason = " ".join(str(run.reason or "").split())[:REASON_LENGTH]
                    found[group.data_kind, group.row, run.state, str(run.boundary or UNSTATED), reason] += 1
    return [Failure(*key, runs=count) for key, count in found.most_common()]
