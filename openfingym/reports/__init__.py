"""Reports over many rollouts: what was achieved, how surely, at what cost, and where it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.reports.forecasts.report import forecast_report
    from openfingym.reports.html import render
    from openfingym.reports.report import make_report
    from openfingym.reports.runs import find_runs

__all__ = [
    "find_runs",
    "forecast_report",
    "make_report",
    "render",
]

_HOMES = {
    "find_runs": "runs",
    "forecast_report": "forecasts.report",
    "make_report": "report",
    "render": "html",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
