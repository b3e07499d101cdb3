"""Tables of a report about questions with tools, as values, and the runs from which they are made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from openfingym.reports.formatting import DASH, figure, whole
from openfingym.reports.groups import NONE, Row, label
from openfingym.reports.questions.analysis import Scored
from openfingym.reports.questions.played import PlayedQuestion, PlayedRun
from openfingym.reports.text_table import TextTable


@dataclass(frozen=True)
class Spread:
    """A mean over several runs, and their standard deviation."""

    mean: float
    """Mean over the runs."""
    deviation: float
    """Standard deviation of the runs."""


Value = str | int | float | Spread | None
"""A cell of a table; None if it is not known."""
Rows = list[tuple[Value, ...]]


@dataclass(frozen=True)
class PartTable:
    """A table of values."""

    data_kind: str
    """Kind of the data that the table is about."""
    key: str
    """Name of the table in the JSON."""
    title: str
    """Title of the table."""
    columns: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[tuple[Value, ...], ...]
    """The cells of each row, one for each column."""
    left: int
    """How many columns from the left hold names; the others hold figures."""
    note: str = ""
    """What the columns mean."""
    shares: frozenset[str] = frozenset()
    """Names of the columns whose values are from 0 to 1, and are shown in percent."""
    optional: tuple[str, ...] = ()
    """Columns that a narrow terminal leaves out, in the order in which they are left out."""

    def to_dict(self) -> dict[str, object]:
        """The table as plain values."""
        rows = [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows]
        return {"data_kind": self.data_kind, "key": self.key, "title": self.title, "note": self.note, "rows": rows}

    def text(self, *, joined: int = 0) -> TextTable:
        """The table as text.

        Args:
            joined: how many of the first columns, which name the row, are shown as one.
        """
        rows = [
            tuple(_text(value, share=name in self.shares) for name, value in zip(self.columns, row, strict=True))
            for row in self.rows
        ]
        columns, left = self.columns, self.left
        if joined > 1:
            columns, left = (" / ".join(columns[:joined]), *columns[joined:]), left - joined + 1
            rows = [(label(row[:joined]), *row[joined:]) for row in rows]
        return TextTable(self.title, columns, tuple(rows), left, self.note, self.optional)


@dataclass(frozen=True, eq=False)
class Group:
    """The runs of one row on data of one kind."""

    row: Row
    """The row of the runs."""
    runs: tuple[PlayedRun, ...]
    """The runs, of all tasks."""

    @property
    def asked(self) -> list[PlayedQuestion]:
        """Every question of every run."""
        return [question for run in self.runs for question in run.asked]

    @property
    def scored(self) -> list[Scored]:
        """Every question of every run with its score; None if the score is withheld."""
        return [pair for run in self.runs for pair in _scored(run)]

    @property
    def tasks(self) -> dict[str, list[PlayedRun]]:
        """The runs of each task, by the task's name."""
        by_task: dict[str, list[PlayedRun]] = defaultdict(list)
        for run in self.runs:
            by_task[task_of(run)].append(run)
        return dict(sorted(by_task.items()))


@dataclass(frozen=True)
class TableSource:
    """The runs of questions on one kind of data, from which tables are made."""

    data_kind: str
    """Kind of the data, such as ``real``."""
    by: tuple[str, ...]
    """The fields that make a row."""
    groups: tuple[Group, ...]
    """The runs of each row."""
    cutoffs: Mapping[str, str]
    """The last month or day that a model was trained on, by the model's name."""


def task_of(run: PlayedRun) -> str:
    """The task of a run as tables name it, in which a slice of a task is a task of its own."""
    return run.result.task + ("" if run.result.slice is None else f" questions {run.result.slice}")


def _scored(run: PlayedRun) -> Iterator[Scored]:
    """The questions of a run with their scores."""
    scores = [None] * len(run.asked) if run.scores is None else run.scores.tolist()
    yield from zip(run.asked, scores, strict=True)


def score_title(source: TableSource) -> str:
    """The name of the score of a question; ``score`` if suites name it differently, or have none."""
    titles = {run.breakdown.score_title for group in source.groups for run in group.runs if run.breakdown.score}
    return titles.pop() if len(titles) == 1 else "score"


def spread(values: Sequence[float | None]) -> float | Spread | None:
    """The mean of the values of several runs, with their standard deviation if there are several; None if one of them
    is not known.
    """
    known = [value for value in values if value is not None]
    # The mean of the runs whose value is known would pass for that of all.
    if len(known) < len(values) or not known:
        return None
    return known[0] if len(known) == 1 else Spread(fmean(known), stdev(known))


def _plain(value: Value) -> object:
    """A cell as a plain value."""
    return {"mean": value.mean, "standard_deviation": value.deviation} if isinstance(value, Spread) else value


def _text(value: Value, *, share: bool) -> str:
    """A cell as text; a share is in percent."""
    if value is None:
        return DASH
    if isinstance(value, Spread):
        return f"{_text(value.mean, share=share)} ±{_text(value.deviation, share=share)}"
    if isinstance(value, float):
        # With z, what is rounded to zero has no minus sign.
        return f"{100.0 * value:z.1f}" if share else figure(value)
    return whole(value) if isinstance(value, int) else value or NONE
