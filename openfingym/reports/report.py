"""A report about many rollouts, and its forms for programs: JSON and CSV."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.files.spreadsheet import not_a_formula
from openfingym.reports.cautions import Caution, cautions_of, left_out, left_outside, set_apart
from openfingym.reports.cells import Cell, TaskCell, cells_of, task_cells_of
from openfingym.reports.comparisons import RowComparison, compare
from openfingym.reports.endpoints import AskedModel, asked_models
from openfingym.reports.groups import Field, Row, RunGroup, families_of, grouped
from openfingym.reports.repeats import Samples, stored_sample
from openfingym.reports.runs import DamagedRun, FoundRuns
from openfingym.reports.statistics import FEWEST_UNITS, LEVEL, POWER
from openfingym.results.run_folder import QUESTIONS
from openfingym.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.reports.questions.report import QuestionReport

FORMAT = 3
"""Version of the JSON form of a report."""
REASON_LENGTH = 160
"""Most characters of the reason of a failure that are shown."""
UNSTATED = "not stated"
"""Boundary of a run that does not say which boundary its failure crossed."""


@dataclass(frozen=True)
class Failure:
    """The runs of a row that ended without a score in the same way."""

    data_kind: str
    """Kind of the data, such as ``real``."""
    row: Row
    """The row of the runs."""
    state: str
    """The state in which they ended, such as ``rejected``."""
    boundary: str
    """The boundary that the failure crossed, one of :data:`openfingym.results.result.Boundary` or :data:`UNSTATED`."""
    reason: str
    """The reason as the run states it, shortened."""
    runs: int
    """How many runs ended so."""


@dataclass(frozen=True)
class Report:
    """The figures of a set of runs."""

    by: tuple[Field, ...]
    """The fields by which rows are grouped."""
    cells: tuple[Cell, ...]
    """The figures of each kind of data, row and family."""
    tasks: tuple[TaskCell, ...]
    """The figures of each kind of data, row and task."""
    comparisons: tuple[RowComparison, ...]
    """The comparisons of every two rows."""
    failures: tuple[Failure, ...]
    """How runs failed, the most frequent way first."""
    cautions: tuple[Caution, ...]
    """What the figures do not show."""
    runs: int
    """How many runs the report is about, without damaged ones."""
    copies: int
    """How many folders were left out because they hold a rollout that another folder holds too."""
    damaged: tuple[DamagedRun, ...]
    """Folders of runs that could not be read; they are in no figure."""
    models: tuple[AskedModel, ...] = ()
    """Every model that was asked, at every endpoint."""
    folders: tuple[str, ...] = ()
    """Absolute paths of the folders that the runs are from."""
    made_at: str | None = None
    """When the runs were read, ISO 8601 in UTC; None if they were not read from folders."""
    versions: tuple[tuple[str, int], ...] = ()
    """Versions of this library with which the runs were made, and how many runs of each there are; runs that do not
    state their version are left out."""
    backed: int = 0
    """How many scored runs have a receipt in their folder that proves that the log of a verifier has their result."""
    replayed: tuple[TaskCell, ...] = ()
    """The figures, task by task, of rollouts whose agent may have known the hidden data from an earlier one
    (:attr:`openfingym.RolloutResult.may_know`); they are ranked nowhere."""
    questions: QuestionReport | None = None
    """The part of the report about runs of questions with tools; None if there are none."""

    @property
    def scored(self) -> int:
        """How many runs were scored."""
        return sum(cell.counts.scored for cell in self.tasks)

    def to_dict(self) -> dict[str, object]:
        """The report as plain values, as ``openfingym report RUN --json`` prints them and docs/reports.md describes."""
        return {
            "format": FORMAT,
            "by": list(self.by),
            "runs": self.runs,
            "copies": self.copies,
            "backed": self.backed,
            "damaged": [{"path": str(run.path), "reason": run.reason} for run in self.damaged],
            "method": {"level": LEVEL, "power": POWER, "fewest_units": FEWEST_UNITS},
            "folders": list(self.folders),
            "made_at": self.made_at,
            "openfingym": __version__,
            "versions": dict(self.versions),
            "models": [asdict(asked) for asked in self.models],
            "cells": [self._named(asdict(cell)) | {"success": cell.counts.success} for cell in self.cells],
            "tasks": [self._named(asdict(cell)) for cell in self.tasks],
            "replayed": [self._named(asdict(cell)) for cell in self.replayed],
            "comparisons": [
                asdict(pair) | {"a": list(pair.a), "b": list(pair.b), "sentence": pair.sentence}
                for pair in self.comparisons
            ],
            "failures": [self._named(asdict(failure)) for failure in self.failures],
            "cautions": [asdict(caution) for caution in self.cautions],
            "questions": None if self.questions is None else self.questions.to_dict(),
        }

    def _named(self, values: Mapping[str, object]) -> dict[str, object]:
        """A record in which the row is replaced by a value for each field that rows are grouped by."""
        row = values["row"]
        assert isinstance(row, tuple)
        names = dict(zip(self.by, row, strict=True))
        return {
            "data_kind": values["data_kind"],
            **names,
            **{name: value for name, value in values.items() if name != "row"},
        }

    def _repr_html_(self) -> str:
        """HTML for a notebook: the table of skill for each kind of data, and the comparisons in words."""
        from openfingym.reports.notebook import report_html

        return report_html(self)

    def to_csv(self) -> str:
        """The cells as CSV, one line for each: kind of data, row, family and figures."""
        stream = io.StringIO()
        # Names of agents and models may be a stranger's, and a spreadsheet runs what looks like a formula.
        lines = [
            self._flat(cell) | dict(zip(self.by, map(not_a_formula, cell.row), strict=True)) for cell in self.cells
        ]
        writer = csv.DictWriter(stream, list(lines[0]) if lines else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
        return stream.getvalue()

    def frame(self) -> pd.DataFrame:
        """The cells as a pandas DataFrame, with a row for each and the columns of :meth:`to_csv`."""
        import pandas as pd

        return pd.DataFrame.from_records([self._flat(cell) for cell in self.cells])

    def to_latex(self, *, each_task: bool = False) -> str:
        """The tables as LaTeX that needs the package booktabs; see :func:`openfingym.reports.latex.to_latex`."""
        from openfingym.reports.latex import to_latex

        return to_latex(self, each_task=each_task)

    def to_markdown(self, *, each_task: bool = False) -> str:
        """The tables as Markdown; see :func:`openfingym.reports.markdown.to_markdown`."""
        from openfingym.reports.markdown import to_markdown

        return to_markdown(self, each_task=each_task)

    def _flat(self, cell: Cell) -> dict[str, object]:
        """The figures of a cell, by the columns of the CSV."""
        return {
            "data_kind": cell.data_kind,
            **dict(zip(self.by, cell.row, strict=True)),
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
    cutoffs: Mapping[str, str] | None = None,
    with_hidden: bool = False,
) -> Report:
    """Make a report about ``runs``.

    Args:
        runs: the runs to report on.
        by: the fields that make a row; runs that agree in all of them are repetitions of each other.
        cutoffs: the last month (``2023-10``) or day that a model was trained on, by the model's name; it replaces what
            runs state.
        with_hidden: whether, for questions with tools, scores are computed that their verifier disclosed to nobody; for
            the eyes of its operator alone (docs/questions-with-tools.md).

    Raises:
        UsageError: ``by`` is empty or names a field twice.
    """
    if not by or len(set(by)) < len(by):
        raise UsageError(f"rows are grouped by at least one field and each once, found {', '.join(by) or 'none'}")
    groups, again = grouped(runs.results, by), grouped(runs.replayed, by)
    versions = Counter(config.version for config in runs.configs.values() if config.version is not None)
    families, samples = families_of(groups, runs.configs), Samples(stored_sample)
    return Report(
        by=tuple(by),
        cells=tuple(cells_of(groups, families, samples)),
        tasks=tuple(cell for group in groups for cell in task_cells_of(group, families)),
        replayed=tuple(cell for group in again for cell in task_cells_of(group, families_of(again, runs.configs))),
        comparisons=tuple(compare(groups, sample_of=samples.of)),
        failures=tuple(_failures(groups)),
        cautions=(
            *left_out(runs.slices),
            *left_outside(runs.outside),
            *set_apart(runs.replayed),
            *cautions_of(groups, runs.configs),
        ),
        runs=len(runs.results),
        copies=runs.copies,
        damaged=runs.damaged,
        models=tuple(asked_models(runs.results, runs.configs)),
        folders=tuple(map(str, runs.folders)),
        made_at=None if runs.read_at is None else runs.read_at.isoformat(),
        backed=sum(
            runs.configs[run.rollout_id].backed
            for run in runs.results
            if run.state == "scored" and run.rollout_id in runs.configs
        ),
        questions=_questions(runs, by, {**_cutoffs(runs), **(cutoffs or {})}, with_hidden=with_hidden),
        versions=tuple(sorted(versions.items())),
    )


def _questions(
    runs: FoundRuns, by: Sequence[Field], cutoffs: Mapping[str, str], *, with_hidden: bool
) -> QuestionReport | None:
    """The part of the report about runs of questions with tools; None if there are none."""
    if not any(run.path is not None and os.path.isfile(f"{run.path}/{QUESTIONS}") for run in runs.results):  # noqa: PTH113
        return None
    # Imported only here, since it takes time and most reports have no such runs.
    from openfingym.reports.questions.report import question_report

    return question_report(runs.results, by, cutoffs, with_hidden=with_hidden)


def _cutoffs(runs: FoundRuns) -> dict[str, str]:
    """The cut-off of each model by its name, as the last of its runs states it."""
    stated = (
        (run.model, runs.configs[run.rollout_id].cutoff) for run in runs.results if run.rollout_id in runs.configs
    )
    return {model: cutoff for model, cutoff in stated if model is not None and cutoff is not None}


def _failures(groups: Sequence[RunGroup]) -> list[Failure]:
    """The runs without a score, counted by how they ended, the most frequent way first."""
    counts: Counter[tuple[str, Row, str, str, str]] = Counter()
    for group in groups:
        for runs in group.tasks.values():
            for run in runs:
                if run.state != "scored":
                    reason = " ".join(str(run.reason or "").split())[:REASON_LENGTH]
                    counts[group.data_kind, group.row, run.state, str(run.boundary or UNSTATED), reason] += 1
    return [Failure(*key, runs=count) for key, count in counts.most_common()]
