"""A table as plain text, from which every form of a report is made: terminal, page, LaTeX, Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openfingym.reports.cells import Cell
from openfingym.reports.groups import Row

if TYPE_CHECKING:
    from openfingym.reports.report import Report


@dataclass(frozen=True)
class TextTable:
    """A table whose cells are plain text."""

    title: str
    """Title of the table."""
    columns: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[tuple[str, ...], ...]
    """The cells of each row, one for each column."""
    left: int
    """How many columns from the left hold names; the others hold figures."""
    note: str = ""
    """What the columns mean."""
    optional: tuple[str, ...] = ()
    """Columns that a narrow terminal leaves out, in the order in which they are left out."""
    strong: frozenset[int] = frozenset()
    """Places of the rows that stand out where a form has bold type."""

    def without(self, columns: Iterable[str]) -> TextTable:
        """The table without the columns of these names; names that it does not have are passed over."""
        gone = set(columns)
        kept = [place for place, name in enumerate(self.columns) if name not in gone]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in kept),
            rows=tuple(tuple(row[place] for place in kept) for row in self.rows),
            left=sum(place < self.left for place in kept),
            optional=tuple(name for name in self.optional if name not in gone),
        )


def kinds_of(report: Report) -> list[str]:
    """The kinds of data in a report, in its order."""
    ranked, replayed = ([cell.data_kind for cell in cells] for cells in (report.cells, report.replayed))
    return list(dict.fromkeys(ranked + replayed))


def overall(report: Report, data_kind: str) -> list[Cell]:
    """The cell of each row over all its tasks on data of a kind, the lowest penalized total first.

    Rows of too few tasks to stand for others come after those of enough, and rows without a skill last.
    """
    # The cell over all families is the last of its row; if there is one family, its cell is over all tasks.
    last = {cell.row: cell for cell in report.cells if cell.data_kind == data_kind}

    def rank(cell: Cell) -> tuple[bool, bool, float, Row]:
        return cell.skill.value is None, cell.skill.over != "task", cell.penalized.value or 0.0, cell.row

    return sorted(last.values(), key=rank)
