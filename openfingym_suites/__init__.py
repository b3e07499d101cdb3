"""The library's suites of questions, each with its world, rounds and reports: MIRAI, FinSearchComp, FinDeepForecast.

The library finds them by entry points, as it finds those of any package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym_suites.seasons.frame import read_season
    from openfingym_suites.seasons.report import season_report

__all__ = ["read_season", "season_report"]

__getattr__, __dir__ = names_of(__name__, {"read_season": "seasons.frame", "season_report": "seasons.report"})
