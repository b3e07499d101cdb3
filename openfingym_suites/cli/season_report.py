"""Printing the report on a season, in the layout of the paper's tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.cli.printable import one_line, say
from openfingym.cli.render import print_table

if TYPE_CHECKING:
    from openfingym_suites.seasons import SeasonReport
    from openfingym_suites.seasons.grid import Grid
    from openfingym_suites.seasons.report import DataKindReport

LONGEST = 100
"""The most characters of a name that are shown."""


def print_season_report(report: SeasonReport) -> None:
    """Print the tables of each kind of data."""
    for season in report.seasons:
        _print_season(season)
    if report.damaged_records:
        say(f"{report.damaged_records:,} lines of records could not be read; costs may be incomplete.")


def _print_season(season: DataKindReport) -> None:
    """Print the tables of one kind of data, in the paper's order."""
    from openfingym_suites.seasons.accuracy_grids import market_grid, overall_grid, quadrant_grid, week_grid
    from openfingym_suites.seasons.grid import names_of
    from openfingym_suites.seasons.grids import (
        composition_grid,
        cost_grid,
        distribution_grid,
        mistake_grid,
        quality_grid,
        references_of,
        skill_grid,
        states_grid,
    )
    from openfingym_suites.seasons.page import KINDS, board_notes, labels, season_facts

    say(KINDS[season.data_kind])
    for name, text in season_facts(season).items():
        if text:
            say(f"  {name:<12} {one_line(text, 400)}")
    for sentence in board_notes(season):
        say(one_line(sentence, 1000))
    say()
    names = names_of(season, labels(season))
    _print_grid(overall_grid(season, names), ends=True)
    _print_grid(quadrant_grid(season, names))
    _print_grid(market_grid(season, names))
    _print_grid(week_grid(season, names))
    # The note is the same for each reference, and printed once.
    for number, reference in enumerate(references_of(season)):
        _print_grid(skill_grid(season, names, reference), ends=True, note=not number)
    _print_grid(quality_grid(season, names))
    if season.rows:
        best = season.rows[0].forecaster
        _print_grid(mistake_grid(season, best, names.short[best]))
    _print_grid(cost_grid(season, names))
    _print_grid(composition_grid(season))
    _print_grid(distribution_grid(season))
    _print_grid(states_grid(season))
    apart = sum(pair.verdict in {"better", "worse"} for pair in season.pairs)
    if season.pairs:
        say(
            f"{apart} of {len(season.pairs)} pairs can be told apart "
            "(variances clustered by week and subject, Holm-adjusted, 5 %)."
        )
    say()


def _print_grid(grid: Grid, *, ends: bool = False, note: bool = True) -> None:
    """Print a table, with a row for each heading inside of it.

    Args:
        grid: the table; nothing is printed where it has no rows.
        ends: whether intervals are printed, and whatever else stands below a figure.
        note: whether the table's note is printed.
    """
    if not grid.parts:
        return
    # A heading over several columns is put before the heading of each of them.
    over = [text for text, width in grid.over for _ in range(width)]
    columns = list(grid.columns)
    if over:
        columns[1:] = [f"{above} {text}" for above, text in zip(over, columns[1:], strict=True)]
    rows: list[tuple[str, ...]] = []
    for heading, part in grid.parts:
        if heading:
            rows.append((f"{heading}:", *[""] * (len(columns) - 1)))
        for row in part:
            cells = [f"{cell.text} [{cell.under}]" if ends and cell.under else cell.text for cell in row.cells]
            rows.append((f"{'  ' * bool(heading)}{one_line(row.name, LONGEST)}", *cells))
    # The last column of the table of mistakes has texts, all others have figures.
    texts = columns[-1:] if grid.key == "mistakes" else []
    print_table(grid.title, columns, rows, right=[heading for heading in columns[1:] if heading not in texts])
    if note and grid.note:
        say(grid.note)
    say()


class SeasonReporter:
    """Reports on series whose questions state their track and level."""

    def knows(self, ledger: Path, series: str) -> bool:
        """See :class:`~openfingym.reports.series.SeriesReporter`."""
        from openfingym_suites.seasons.reading import is_season

        return is_season(ledger, series)

    def report(self, ledger: Path, series: str, *, title: str, folder: Path, isolated_only: bool) -> SeasonReport:
        """See :class:`~openfingym.reports.series.SeriesReporter`."""
        from openfingym_suites.seasons.report import season_report

        return season_report(ledger, series, title=title, folder=folder, isolated_only=isolated_only)

    def show(self, report: SeasonReport) -> None:
        """See :class:`~openfingym.reports.series.SeriesReporter`."""
        print_season_report(report)


REPORT = SeasonReporter()
