"""The part of a report about questions with tools."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.reports.groups import Field, Row, kind_order, label, row_of
from openfingym.reports.questions.parts import Group, PartTable, TableSource
from openfingym.reports.questions.played import PlayedRun, played_runs
from openfingym.reports.questions.sections import SECTIONS, steps_of

if TYPE_CHECKING:
    from openfingym.results import RolloutResult


@dataclass(frozen=True)
class ToolGraph:
    """The tool-transition graph of a row."""

    data_kind: str
    """Kind of the data, such as ``real``."""
    row: Row
    """The row, such as an agent and a model."""
    shares: Mapping[tuple[str, str], float]
    """Share of each step from one tool to the next among all steps, the largest first."""
    gains: Mapping[tuple[str, str], float]
    """How much larger the share of each step is on the way to a correct answer than to a wrong one; empty if scores are
    withheld."""

    def to_dict(self) -> dict[str, object]:
        """The graph as plain values."""
        steps = [
            {"from": first, "to": second, "share": share, "gain": self.gains.get((first, second))}
            for (first, second), share in self.shares.items()
        ]
        return {"data_kind": self.data_kind, "row": list(self.row), "steps": steps}


@dataclass(frozen=True)
class QuestionReport:
    """The tables and graphs about runs of questions with tools."""

    sections: tuple[PartTable, ...]
    """The tables, by kind of data and in the order of the page."""
    ways: tuple[ToolGraph, ...]
    """The tool-transition graph of each row in which a tool was called."""
    withheld: tuple[tuple[str, int], ...]
    """Reasons for which scores of parts of the questions are withheld, and for how many runs each."""
    with_hidden: bool
    """Whether there are scores that verifiers disclosed to nobody."""

    @property
    def remarks(self) -> list[str]:
        """Cautions about the scores of parts, as sentences without a full stop."""
        remarks = [
            f"Scores by class, by tool and of parts are left out of {count} run{'s' * (count > 1)}: {why}"
            for why, count in self.withheld
        ]
        if self.with_hidden:
            remarks.append(
                "Made with hidden answers, whatever the verifier told: for its operator, and for nobody who may ask "
                "these questions again"
            )
        return remarks

    def of(self, data_kind: str) -> list[PartTable]:
        """The tables on data of a kind."""
        return [table for table in self.sections if table.data_kind == data_kind]

    def to_dict(self) -> dict[str, object]:
        """The tables and graphs as plain values."""
        return {
            "tables": [table.to_dict() for table in self.sections],
            "ways": [graph.to_dict() for graph in self.ways],
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
    """Report on the runs of questions among some results; None if there are none.

    Args:
        results: the results that a report is about.
        by: the fields that make a row.
        cutoffs: the last month or day that a model was trained on, by the model's name.
        with_hidden: whether scores of parts are also computed for runs whose verifier limits what it discloses; for the
            eyes of its operator alone.
    """
    runs = played_runs(results, with_hidden=with_hidden)
    if not runs:
        return None
    by_kind: dict[str, dict[Row, list[PlayedRun]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        by_kind[run.result.data_kind][row_of(run.result, by)].append(run)
    sources = [
        TableSource(kind, tuple(by), tuple(Group(row, tuple(mine)) for row, mine in sorted(rows.items())), cutoffs)
        for kind, rows in sorted(by_kind.items(), key=lambda item: kind_order(item[0]))
    ]
    sections = [section for source in sources for make in SECTIONS if (section := make(source)) is not None]
    ways = [
        ToolGraph(source.data_kind, group.row, *steps_of(group))
        for source in sources
        for group in source.groups
        if any(asked.calls for asked in group.asked)
    ]
    withheld = Counter(run.withheld for run in runs if run.withheld)
    return QuestionReport(tuple(sections), tuple(ways), tuple(withheld.most_common()), with_hidden)


def named_graphs(report: QuestionReport, data_kind: str) -> list[tuple[str, ToolGraph]]:
    """The graphs on data of a kind with the names of their rows, those with the most different steps first."""
    graphs = sorted(
        (graph for graph in report.ways if graph.data_kind == data_kind), key=lambda graph: -len(graph.shares)
    )
    return [(label(graph.row), graph) for graph in graphs]
