"""The tables of a season as data: figures with what stands below them, in parts with headings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from openfingym.reports.forecasts.columns import ForecasterId
from openfingym_suites.seasons.clusters import ClusteredEstimate
from openfingym_suites.seasons.records import METHODS
from openfingym_suites.seasons.report import DataKindReport

DASH = "-"


class GridCell(NamedTuple):
    """A cell of a table."""

    text: str
    """The figure as text."""
    under: str = ""
    """What stands below it in small letters: its interval, or how many questions it is over."""
    mark: str = ""
    """``best`` or ``second`` if it is that of its column; empty otherwise."""
    hover: str = ""
    """What is shown when the cell is pointed at."""


class GridRow(NamedTuple):
    """A row of a table."""

    name: str
    """Name of the row."""
    cells: tuple[GridCell, ...]
    """The cells, one for each column after that of names."""


@dataclass(frozen=True)
class Grid:
    """A table whose rows may be in parts with headings of their own."""

    key: str
    """Name by which the page places it."""
    title: str
    """Title of the table."""
    columns: tuple[str, ...]
    """Headings of the columns, the first of which is that of names."""
    parts: tuple[tuple[str, tuple[GridRow, ...]], ...]
    """Heading of each part, which may be empty, and its rows."""
    note: str = ""
    """What the columns mean."""
    legend: str = ""
    """What marks and intervals mean, which a terminal does not show."""
    over: tuple[tuple[str, int], ...] = ()
    """Headings above those of the columns, each with the number of columns that it is over, without that of names."""


class Names(NamedTuple):
    """The names of forecasters, and their order."""

    short: Mapping[ForecasterId, str]
    """The short name of each forecaster."""
    parts: tuple[tuple[str, tuple[ForecasterId, ...]], ...]
    """Heading of each class of methods, and its forecasters in the order of their ranks."""


def names_of(season: DataKindReport, short: Mapping[ForecasterId, str]) -> Names:
    """The forecasters of a season by their methods, with their short names."""
    by_method = [
        (title, tuple(row.forecaster for row in season.rows if row.how.method == method))
        for method, title in METHODS.items()
    ]
    parts = tuple((title, people) for title, people in by_method if people)
    # If nobody states a method, there is one class, which needs no heading.
    return Names(short, (("", parts[0][1]),) if [title for title, _ in parts] == [METHODS[""]] else parts)


def answer_text(value: float, is_event: bool) -> str:
    """A truth or a forecast as the paper writes it: YES or NO for an event, unless it is a probability in between."""
    if is_event and value in {0.0, 1.0}:
        return "YES" if value else "NO"
    return f"{value:.3g}" if is_event else f"{value:,.7g}"


def share(value: float | None) -> str:
    """A share in percent, without the sign %."""
    return DASH if value is None else f"{100.0 * value:.1f}"


def accuracy_cell(accuracy: ClusteredEstimate | None, *, interval: bool = True) -> GridCell:
    """An accuracy in percent, with its interval below unless that is to be left out."""
    if not interval and accuracy is not None and accuracy.value is not None:
        return GridCell(share(accuracy.value))
    return estimated_cell(accuracy, share)


def estimated_cell(estimate: ClusteredEstimate | None, shown: Callable[[float], str]) -> GridCell:
    """A figure in the format of a function, with its interval below; a dash if the figure is not known."""
    if estimate is None or estimate.value is None:
        return GridCell(DASH)
    low, high = estimate.low, estimate.high
    return GridCell(shown(estimate.value), "" if low is None or high is None else f"{shown(low)} to {shown(high)}")


def parts_of(
    names: Names, cells: Callable[[ForecasterId], Iterable[GridCell]], marked: Iterable[int] = ()
) -> tuple[tuple[str, tuple[GridRow, ...]], ...]:
    """The rows of a table: one for each forecaster, in the parts of their methods.

    Args:
        names: the names of the forecasters, and their order.
        cells: gives the cells of a forecaster.
        marked: indices of the cells whose two highest values in the column are marked.
    """
    rows = {who: list(cells(who)) for _, people in names.parts for who in people}
    for column in marked:
        # By the text and not the value: figures that look the same must be marked in the same way.
        texts = sorted({float(row[column].text) for row in rows.values() if row[column].text != DASH}, reverse=True)
        for row in rows.values() if len(rows) > 1 else ():
            cell = row[column]
            place = texts.index(float(cell.text)) if cell.text != DASH else 2
            if place < 2:
                row[column] = cell._replace(mark=("best", "second")[place])
    return tuple(
        (title, tuple(GridRow(names.short[who], tuple(rows[who])) for who in people)) for title, people in names.parts
    )
