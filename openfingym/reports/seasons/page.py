"""The page of a season: one HTML file with everything in it, which loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.kinds.plots.plot import LinePlot, PlotCurve
from openfingym.reports.charts import Scale, shown
from openfingym.reports.forecasts.columns import ForecasterId, short_names
from openfingym.reports.forecasts.drawings import MOST_DRAWN, reliability_diagram
from openfingym.reports.page import document, kind_notice
from openfingym.reports.plots import drawing
from openfingym.reports.seasons.accuracy_grids import (
    horizon_grid,
    market_grid,
    overall_grid,
    quadrant_grid,
    subtype_grid,
    week_grid,
)
from openfingym.reports.seasons.grid import Grid, Names, names_of, share
from openfingym.reports.seasons.grids import (
    composition_grid,
    cost_grid,
    distribution_grid,
    mistake_grid,
    pair_grid,
    quality_grid,
    references_of,
    skill_grid,
    states_grid,
)
from openfingym.reports.seasons.report import DataKindReport, SeasonReport
from openfingym.version import __version__

if TYPE_CHECKING:
    from markupsafe import Markup

KINDS = {
    "real": "Real questions, asked and answered before anybody knew their truth.",
    "replayed": "REPLAYED: the clock was moved through the past. Truths are real, and a model may have read them.",
    "simulated": "SIMULATED: the clock was moved as told, and the truths are made up, not observed.",
}
LONG = 12
"""Pairs from which their table is folded."""


class AccuracyBar(NamedTuple):
    """A forecaster's bar in the figure of accuracies; positions are percents from the left."""

    name: str
    tone: str
    width: str
    low: str
    high: str
    text: str
    interval: str


def render(report: SeasonReport) -> str:
    """The page of a report: a self-contained HTML document."""
    return document(
        "seasons/seasons.html.jinja",
        f"OpenFinGym season: {report.title}",
        styles=("report.css", "forecasts/forecasts.css", "seasons/seasons.css"),
        title_text=report.title,
        facts=_facts(report),
        seasons=[_season(season) for season in report.seasons],
        damaged=report.damaged_records,
    )


def labels(season: DataKindReport) -> dict[ForecasterId, str]:
    """Names of a season's forecasters, no longer than it takes to tell them apart."""
    return short_names([row.forecaster for row in season.rows])


def _facts(report: SeasonReport) -> dict[str, str]:
    return {"Series": report.series, "OpenFinGym": __version__}


def season_facts(season: DataKindReport) -> dict[str, str]:
    """What a season is of, by names."""
    rounds = len(season.weeks)
    models = {
        f"{model} ({', '.join(row.how.endpoints)})" if row.how.endpoints else model
        for row in season.rows
        for model in row.how.models
    }
    return {
        "Rounds": f"{rounds}, {season.weeks[0]}" + (f" to {season.weeks[-1]}" if rounds > 1 else ""),
        "Dates": f"{season.first[:10]} to {season.last[:10]}",
        "Questions": f"{season.questions:,}, {season.scored:,} scored",
        "Forecasters": f"{len(season.rows):,}" if season.rows else "",
        "Vault": ", ".join(season.vaults),
        "Models": "; ".join(sorted(models)),
    }


def _season(season: DataKindReport) -> dict[str, object]:
    short = labels(season)
    names = names_of(season, short)
    order = [who for _, people in names.parts for who in people]
    pairs = pair_grid(season, names)
    told = [horizon_grid(season, names), quality_grid(season, names)]
    skills = [skill_grid(season, names, one) for one in references_of(season)]
    grids = [overall_grid(season, names), quadrant_grid(season, names), market_grid(season, names), *told]
    folded = [week_grid(season, names), subtype_grid(season, names)]
    mistakes = [mistake_grid(season, row.forecaster, short[row.forecaster]) for row in season.rows]
    tones = {who: f"s{number % MOST_DRAWN}" for number, who in enumerate(order)}
    values: dict[str, object] = {
        "id": season.data_kind,
        "notice": kind_notice(season.data_kind, KINDS),
        "facts": season_facts(season),
        "bars": _bars(season, names, tones),
        "ruler": [(f"{place}%", f"{place}%") for place in (0, 25, 50, 75, 100)],
        "grids": {one.key: _there(one) for one in grids},
        "skills": skills,
        "weeks": _weeks(season, names, order),
        "folded": [one for one in folded if one.parts],
        "reliability": _reliability(season, short, order),
        "pairs": pairs if pairs.parts else None,
        "pairs_folded": sum(len(rows) for _, rows in pairs.parts) > LONG,
        "mistakes": [one for one in mistakes if one.parts],
        "cost": _there(cost_grid(season, names)),
        "made_of": [composition_grid(season), distribution_grid(season), states_grid(season)],
    }
    there = {"composition", "distribution", "states"} | {
        name for name in ("reliability", "pairs", "cost", "skills") if values[name]
    }
    if season.rows:
        there |= {"accuracy", "weeks", "mistakes", *(one.key for one in grids if one.parts)}
    return values | {"sections": there}


def _there(grid: Grid) -> Grid | None:
    return grid if grid.parts else None


def _bars(
    season: DataKindReport, names: Names, tones: Mapping[ForecasterId, str]
) -> list[tuple[str, list[AccuracyBar]]]:
    """The accuracy of every forecaster, by its method."""
    rows = {row.forecaster: row for row in season.rows}
    scale = Scale(0.0, 1.0)

    def across(value: float | None) -> str:
        return "" if value is None else f"{100.0 - scale.percent(value):.2f}%"

    made = []
    for title, people in names.parts:
        bars = []
        for who in people:
            found = rows[who].accuracy
            ends = "" if found.low is None or found.high is None else f"{share(found.low)} to {share(found.high)}"
            bars.append(
                AccuracyBar(
                    names.short[who],
                    tones[who],
                    across(found.value or 0.0),
                    across(found.low),
                    across(found.high),
                    shown(found.value or 0.0, "%", 0.01 / 5),
                    ends,
                )
            )
        made.append((title, bars))
    return made


def _weeks(season: DataKindReport, names: Names, order: list[ForecasterId]) -> Markup | None:
    """Accuracy by week (Figure 4); None of a single week."""
    found = {(one.forecaster, one.value): one.accuracy.value for one in season.slices if one.dimension == "week"}
    weeks = [one.week for one in season.states if one.scored]
    if len(weeks) < 2 or any(len(week) != 8 for week in weeks):
        return None
    days = np.array([date.fromisocalendar(int(week[:4]), int(week[6:]), 4) for week in weeks], dtype="datetime64[ns]")

    def percents(who: ForecasterId) -> list[float]:
        values = [found.get((who, week)) for week in weeks]
        return [np.nan if value is None else 100.0 * value for value in values]

    ranked = [row.forecaster for row in season.rows][:MOST_DRAWN]
    curves = tuple(
        PlotCurve(names.short[who], np.array(percents(who)), number)
        for number, who in enumerate(order)
        if who in ranked
    )
    left = len(order) - len(curves)
    note = "In percent, by the day of generation." + (f" The first {len(curves)} by rank." if left else "")
    return drawing(LinePlot("Accuracy by week", days, curves, note=note))


def _reliability(season: DataKindReport, short: Mapping[ForecasterId, str], order: list[ForecasterId]) -> list[Markup]:
    rows = {row.forecaster: row.calibration for row in season.rows}
    found = []
    for number, who in enumerate(order):
        calibration = rows[who]
        # Who says yes and no alone is on the two ends, of which accuracy tells already.
        if calibration is not None and any(one is not None and 0.0 < one.forecast < 1.0 for one in calibration.bins):
            found.append(reliability_diagram(short[who], calibration, number % MOST_DRAWN))
    return found[:MOST_DRAWN]
