"""The part of a report that is about questions with tools."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.reports.cells import Field, Row, kind_order, label, row_of
from openfingym.reports.questions.parts import Group, PartTable, Scene
from openfingym.reports.questions.played import PlayedRun, played_runs
from openfingym.reports.questions.sections import SECTIONS, steps_of

if TYPE_CHECKING:
    from openfingym.results import RolloutResult


@dataclass(frozen=True)
class Ways:
    """The tool-transition graph of a row."""

    data_kind: str
    row: Row
    shares: Mapping[tuple[str, str], float]
    """Share of each step, from one tool to the next, among all."""
    gains: Mapping[tuple[str, str], float]
    """How much more often it is on the way to a correct answer; empty where scores are withheld."""

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        steps = [
            {"from": first, "to": second, "share": share, "gain": self.gains.get((first, second))}
            for (first, second), share in self.shares.items()
        ]
        return {"data_kind": self.data_kind, "row": list(self.row), "steps": steps}


@dataclass(frozen=True)
class QuestionReport:
    """What is said of runs of questions."""

    sections: tuple[PartTable, ...]
    ways: tuple[Ways, ...]
    withheld: tuple[tuple[str, int], ...]
    """Why scores of parts of the questions are not there, and of how many runs."""
    with_hidden: bool
    """Whether scores are there that verifiers told nobody."""

    @property
    def remarks(self) -> list[str]:
        """What is to be known of the scores of parts, in sentences."""
        found = [
            f"Scores by class, by tool and of parts are left out of {count} run{'s' * (count > 1)}: {why}"
            for why, count in self.withheld
        ]
        if self.with_hidden:
            found.append(
                "Made with hidden answers, whatever the verifier told: for its operator, and for nobody who may ask "
                "these questions again"
            )
        return found

    def of(self, data_kind: str) -> list[PartTable]:
        """The tables on data of a kind."""
        return [one for one in self.sections if one.data_kind == data_kind]

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        return {
            "tables": [one.to_dict() for one in self.sections],
            "ways": [one.to_dict() for one in self.ways],
            "withheld": [{"reason": why, "runs": count} for why, count in self.withheld],
            "with_hidden": self.with_hidden,
        }


def question_report(
    results: Sequence[RolloutResult],
    by: Sequence[Field],
    cutoffs: Mapping[str, str],
    *,
    with_hidden: bool = False,
) -> QuestionReport | None:
    """What is said of the runs of questions among some results; None where there are none.

    Args:
        results: the results of a report.
        by: what makes a row.
        cutoffs: the last month, or day, that a model was trained on, by its name.
        with_hidden: see :func:`~openfingym.reports.questions.played.played_runs`.
    """
    runs = played_runs(results, with_hidden=with_hidden)
    if not runs:
        return None
    found: dict[str, dict[Row, list[PlayedRun]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        found[run.result.data_kind][row_of(run.result, by)].append(run)
    scenes = [
        Scene(kind, tuple(by), tuple(Group(row, tuple(mine)) for row, mine in sorted(rows.items())), cutoffs)
        for kind, rows in sorted(found.items(), key=lambda item: kind_order(item[0]))
    ]
    sections = [section for scene in scenes for make in SECTIONS if (section := make(scene)) is not None]
    ways = [
        Ways(scene.data_kind, group.row, *steps_of(group))
        for scene in scenes
        for group in scene.groups
        if any(asked.calls for asked in group.asked)
    ]
    withheld = Counter(run.withheld for run in runs if run.withheld)
    return QuestionReport(tuple(sections), tuple(ways), tuple(withheld.most_common()), with_hidden)


def way_names(found: QuestionReport, data_kind: str) -> list[tuple[str, Ways]]:
    """The graphs on data of a kind with the names of their rows, those of the most different steps first."""
    mine = sorted((one for one in found.ways if one.data_kind == data_kind), key=lambda one: -len(one.shares))
    return [(label(one.row), one) for one in mine]
