"""Reports on seasons: series of rounds whose questions state their track and level, as those of FinDeepForecast do."""

from __future__ import annotations

from openfingym_suites.seasons.reading import is_season
from openfingym_suites.seasons.report import SeasonReport, season_report

__all__ = ["SeasonReport", "is_season", "season_report"]
