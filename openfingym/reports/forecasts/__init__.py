"""Reports on forecasts: figures, calibration, ranks and comparisons of all who answered the questions of a ledger."""

from __future__ import annotations

from openfingym.reports.forecasts.report import ForecastReport, forecast_report

__all__ = ["ForecastReport", "forecast_report"]
