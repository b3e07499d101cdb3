"""The report on seasons, as ``openfingym rounds report`` finds it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.reports.seasons.report import SeasonReport


class SeasonReporter:
    """Reports on series whose questions state their track and level."""

    def knows(self, ledger: Path, series: str) -> bool:
        """See :class:`~openfingym.reports.series.SeriesReporter`."""
        from openfingym.reports.seasons.reading import is_season

        return is_season(ledger, series)

    def report(self, ledger: Path, series: str, *, title: str, folder: Path, isolated_only: bool) -> SeasonReport:
        """See :class:`~openfingym.reports.series.SeriesReporter`."""
        from openfingym.reports.seasons.report import season_report

        return season_report(ledger, series, title=title, folder=folder, isolated_only=isolated_only)

    def show(self, report: SeasonReport) -> None:
        """See :class:`~openfingym.reports.series.SeriesReporter`."""
        from openfingym.cli.season_report import print_season_report

        print_season_report(report)


REPORT = SeasonReporter()
