"""A table of a season: figures with what stands below them, in parts with headings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from openfingym.reports.forecasts.columns import ForecasterId
from openfingym.reports.seasons.clusters import ClusteredEstimate
from openfingym.reports.seasons.records import METHODS
from openfingym.reports.seasons.report import DataKindReport

DASH = "-"


class GridCell(NamedTuple):
    """A figure of a table."""

    text: str
    under: str = ""
    """What stands below it, smaller: its interval, or of how many it is."""
    mark: str = ""
    """``best`` or ``second`` of its column."""
    hover: str = ""
    """What is shown where it is pointed at."""


class GridRow(NamedTuple):
    """A row of a table."""

    name: str
    cells: tuple[GridCell, ...]


@dataclass(frozen=True)
class Grid:
    """A table whose rows may be in parts with headings of their own."""

    key: str
    """Its place on the page."""
    title: str
    columns: tuple[str, ...]
    """Headings, the first of the names."""
    parts: tuple[tuple[str, tuple[GridRow, ...]], ...]
    """Heading of each part, empty where it has none, and its rows."""
    note: str = ""
    legend: str = ""
    """What a page says of its marks, which a terminal does not have."""
    over: tuple[tuple[str, int], ...] = ()
    """Headings above those of the columns, each over how many; none of the names."""


class Names(NamedTuple):
    """How forecasters are called, and in which order."""

    short: Mapping[ForecasterId, str]
    parts: tuple[tuple[str, tuple[ForecasterId, ...]], ...]
    """Forecasters of each class of methods, in order of their ranks."""


def names_of(season: DataKindReport, short: Mapping[ForecasterId, str]) -> Names:
    """The forecasters of a season by their methods."""
    by_method = [
        (title, tuple(row.forecaster for row in season.rows if row.how.method == method))
        for method, title in METHODS.items()
    ]
    parts = tuple((title, people) for title, people in by_method if people)
    # One class that nobody stated needs no heading.
    return Names(short, (("", parts[0][1]),) if [title for title, _ in parts] == [METHODS[""]] else parts)


def answer_text(value: float, is_event: bool) -> str:
    """A truth or a forecast as the paper writes it; a probability between is a number."""
    if is_event and value in {0.0, 1.0}:
        return "YES" if value else "NO"
    return f"{value:.3g}" if is_event else f"{value:,.7g}"


def share(value: float | None) -> str:
    """A share in percent, without its sign."""
    return DASH if value is None else f"{100.0 * value:.1f}"


def accuracy_cell(found: ClusteredEstimate | None, *, said: bool = True) -> GridCell:
    """An accuracy in percent, with its interval below."""
    if found is None or found.value is None:
        return GridCell(DASH)
    ends = "" if found.low is None or found.high is None else f"{share(found.low)} to {share(found.high)}"
    return GridCell(share(found.value), ends if said else "")


def estimated_cell(found: ClusteredEstimate | None, shown: Callable[[float], str]) -> GridCell:
    """A figure with its interval below."""
    if found is None or found.value is None:
        return GridCell(DASH)
    ends = "" if found.low is None or found.high is None else f"{shown(found.low)} to {shown(found.high)}"
    return GridCell(shown(found.value), ends)


def parts_of(
    names: Names, cells: Callable[[ForecasterId], Iterable[GridCell]], marked: Iterable[int] = ()
) -> tuple[tuple[str, tuple[GridRow, ...]], ...]:
    """Rows of every forecaster by its method, with the two highest of some columns marked."""
    rows = {who: list(cells(who)) for _, people in names.parts for who in people}
    for column in marked:
        texts = sorted({float(row[column].text) for row in rows.values() if row[column].text != DASH}, reverse=True)
        for row in rows.values() if len(rows) > 1 else ():
            cell = row[column]
            place = texts.index(float(cell.text)) if cell.text != DASH else 2
            if place < 2:
                row[column] = cell._replace(mark=("best", "second")[place])
    return tuple(
        (title, tuple(GridRow(names.short[who], tuple(rows[who])) for who in people)) for title, people in names.parts
    )
