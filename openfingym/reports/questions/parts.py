"""Tables of a report about questions, as values, and the runs that they are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from openfingym.reports.cells import NONE, Row, label
from openfingym.reports.formatting import DASH, figure, whole
from openfingym.reports.questions.analysis import Scored
from openfingym.reports.questions.played import PlayedQuestion, PlayedRun
from openfingym.reports.tables import TextTable


@dataclass(frozen=True)
class Spread:
    """A mean over several runs, and how far they lie apart."""

    mean: float
    deviation: float


Value = str | int | float | Spread | None
Rows = list[tuple[Value, ...]]


@dataclass(frozen=True)
class PartTable:
    """A table of values."""

    data_kind: str
    key: str
    """Its name in the JSON."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    left: int
    """Columns from the left that hold names."""
    note: str = ""
    shares: frozenset[str] = frozenset()
    """Columns whose values are from 0 to 1, and are shown in percent."""
    optional: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        rows = [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows]
        return {"data_kind": self.data_kind, "key": self.key, "title": self.title, "note": self.note, "rows": rows}

    def text(self, *, joined: int = 0) -> TextTable:
        """As tables show it.

        Args:
            joined: how many of the first columns, those of a row, are shown as one.
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
    runs: tuple[PlayedRun, ...]

    @property
    def asked(self) -> list[PlayedQuestion]:
        """Every question of every run."""
        return [one for run in self.runs for one in run.asked]

    @property
    def scored(self) -> list[Scored]:
        """Every question with its score, None where it is withheld."""
        return [pair for run in self.runs for pair in _scored(run)]

    @property
    def tasks(self) -> dict[str, list[PlayedRun]]:
        """Its runs by task."""
        found: dict[str, list[PlayedRun]] = defaultdict(list)
        for run in self.runs:
            found[task_of(run)].append(run)
        return dict(sorted(found.items()))


@dataclass(frozen=True)
class Scene:
    """What the tables of a kind of data are made of."""

    data_kind: str
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    cutoffs: Mapping[str, str]
    """The last month, or day, that a model was trained on, by its name."""


def task_of(run: PlayedRun) -> str:
    """The task of a run, as tables name it: a slice is another one."""
    return run.result.task + ("" if run.result.slice is None else f" questions {run.result.slice}")


def _scored(run: PlayedRun) -> Iterator[Scored]:
    scores = [None] * len(run.asked) if run.scores is None else run.scores.tolist()
    yield from zip(run.asked, scores, strict=True)


def score_title(scene: Scene) -> str:
    """What the score of a question is called."""
    titles = {run.breakdown.score_title for group in scene.groups for run in group.runs if run.breakdown.score}
    return titles.pop() if len(titles) == 1 else "score"


def spread(values: Sequence[float | None]) -> float | Spread | None:
    """The mean of some values, one a run; None where one of them is not known."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None
    return known[0] if len(known) == 1 else Spread(fmean(known), stdev(known))


def _plain(value: Value) -> object:
    return {"mean": value.mean, "standard_deviation": value.deviation} if isinstance(value, Spread) else value


def _text(value: Value, *, share: bool) -> str:
    if value is None:
        return DASH
    if isinstance(value, Spread):
        return f"{_text(value.mean, share=share)} ±{_text(value.deviation, share=share)}"
    if isinstance(value, float):
        return f"{100.0 * value:z.1f}" if share else figure(value)
    return whole(value) if isinstance(value, int) else value or NONE
