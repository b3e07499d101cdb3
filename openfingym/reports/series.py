"""Reports on a series of rounds by what asks its questions, in the place of the report on its forecasts.

A distribution brings one by an entry point of the group ``openfingym.series_reports``, whose object has the members of
:class:`SeriesReporter`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, cast

from openfingym.plugins import Plugins

ENTRY_POINT_GROUP = "openfingym.series_reports"
_PLUGINS = Plugins("report on series", ENTRY_POINT_GROUP, {})


class SeriesReport(Protocol):
    """A report on a series of rounds."""

    @property
    def forecasts(self) -> int:
        """How many forecasts are scored."""

    def to_dict(self) -> dict[str, Any]:
        """The report in plain values, for JSON."""

    def html(self) -> str:
        """The page of the report, as a self-contained HTML document."""


class SeriesReporter(Protocol):
    """Reports on the series that it knows."""

    def knows(self, ledger: Path, series: str) -> bool:
        """Whether this is the report for a series.

        Args:
            ledger: the state folder of a verifier, or its ``ledger.db``; it is only read.
            series: name of the series.
        """

    def report(self, ledger: Path, series: str, *, title: str, folder: Path, isolated_only: bool) -> SeriesReport:
        """Report on a series.

        Args:
            ledger: the state folder of a verifier, or its ``ledger.db``; it is only read.
            series: name of the series.
            title: title of the series.
            folder: folder of the series, with the records of its agents.
            isolated_only: whether to leave out forecasters that did not run in isolation, but for the references.
        """

    def show(self, report: Any) -> None:
        """Print a report that :meth:`report` made, as tables for people."""


def find_reporter(ledger: Path, series: str) -> SeriesReporter | None:
    """The first of the installed reporters that knows a series; None if none does.

    Args:
        ledger: the state folder of a verifier, or its ``ledger.db``; it is only read.
        series: name of the series.

    Raises:
        UsageError: a reporter cannot be loaded; the message names the distribution.
    """
    reporters = (cast("SeriesReporter", _PLUGINS.load(name)) for name in _PLUGINS.names())
    return next((reporter for reporter in reporters if reporter.knows(ledger, series)), None)
