"""The page of a season: a self-contained HTML document, which loads nothing and runs no script."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.kinds.plots.plot import LinePlot, PlotCurve
from openfingym.reports.charts import Scale, shown
from openfingym.reports.forecasts.columns import ForecasterId, short_names
from openfingym.reports.forecasts.drawings import MOST_DRAWN, reliability_diagram
from openfingym.reports.forecasts.isolation import isolation_notes, with_marks
from openfingym.reports.page import document, kind_notice
from openfingym.reports.plots import drawing
from openfingym.version import __version__
from openfingym_suites.seasons.accuracy_grids import (
    horizon_grid,
    market_grid,
    overall_grid,
    quadrant_grid,
    subtype_grid,
    week_grid,
)
from openfingym_suites.seasons.grid import Grid, Names, names_of, share
from openfingym_suites.seasons.grids import (
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
from openfingym_suites.seasons.report import DataKindReport, SeasonReport

if TYPE_CHECKING:
    from markupsafe import Markup

    from openfingym.results import Isolation

KINDS = {
    "real": "Real questions, asked and answered before anybody knew their truth.",
    "replayed": "REPLAYED: the clock was moved through the past. Truths are real, and a model may have read them.",
    "simulated": "SIMULATED: the clock was moved as told, and the truths are made up, not observed.",
}
"""Notice at the top of a season, by its kind of data."""
LONG = 12
"""Number of pairs above which their table is folded."""


class AccuracyBar(NamedTuple):
    """A forecaster's bar in the figure of accuracies."""

    name: str
    """Short name of the forecaster."""
    tone: str
    """CSS class of its color."""
    width: str
    """Length of the bar, as a CSS percentage."""
    low: str
    """Position of the lower end of the interval, as a CSS percentage from the left; empty if there is no interval."""
    high: str
    """Position of the upper end of the interval; empty if there is no interval."""
    text: str
    """The accuracy as text."""
    interval: str
    """The interval as text; empty if there is none."""


def render(report: SeasonReport) -> str:
    """The page of a report, as a self-contained HTML document."""
    return document(
        "seasons.html.jinja",
        f"OpenFinGym season: {report.title}",
        "openfingym_suites.seasons",
        styles=("report.css", "forecasts/forecasts.css", "seasons.css"),
        title_text=report.title,
        facts=_facts(report),
        seasons=[_season(season) for season in report.seasons],
        damaged=report.damaged_records,
    )


def labels(season: DataKindReport) -> dict[ForecasterId, str]:
    """The names of a season's forecasters, no longer than is needed to distinguish them."""
    return with_marks(short_names([row.forecaster for row in season.rows]), _isolations(season))


def board_notes(season: DataKindReport) -> tuple[str, ...]:
    """What the board of a season says about the isolation of its forecasters."""
    return isolation_notes(_isolations(season), season.left_out)


def _isolations(season: DataKindReport) -> dict[ForecasterId, Isolation | None]:
    """What is stated of the isolation of each forecaster."""
    return {row.forecaster: row.isolation for row in season.rows}


def _facts(report: SeasonReport) -> dict[str, str]:
    """The facts at the top of the page, by their names."""
    return {"Series": report.series, "OpenFinGym": __version__}


def season_facts(season: DataKindReport) -> dict[str, str]:
    """The facts about a season, by their names: rounds, dates, questions, forecasters, vault and models."""
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
    """What the template shows of the questions of one kind of data, by the template's names."""
    short = labels(season)
    names = names_of(season, short)
    order = [who for _, people in names.parts for who in people]
    pairs = pair_grid(season, names)
    skills = [skill_grid(season, names, reference) for reference in references_of(season)]
    grids = [make(season, names) for make in (overall_grid, quadrant_grid, market_grid, horizon_grid, quality_grid)]
    folded = [week_grid(season, names), subtype_grid(season, names)]
    mistakes = [mistake_grid(season, row.forecaster, short[row.forecaster]) for row in season.rows]
    tones = {who: f"s{number % MOST_DRAWN}" for number, who in enumerate(order)}
    values: dict[str, object] = {
        "id": season.data_kind,
        "notice": kind_notice(season.data_kind, KINDS),
        "facts": season_facts(season),
        "isolation": board_notes(season),
        "bars": _bars(season, names, tones),
        "ruler": [(f"{place}%", f"{place}%") for place in (0, 25, 50, 75, 100)],
        "grids": {grid.key: _unless_empty(grid) for grid in grids},
        "skills": skills,
        "weeks": _weeks(season, names, order),
        "folded": [grid for grid in folded if grid.parts],
        "reliability": _reliability(season, short, order),
        "pairs": pairs if pairs.parts else None,
        "pairs_folded": sum(len(rows) for _, rows in pairs.parts) > LONG,
        "mistakes": [grid for grid in mistakes if grid.parts],
        "cost": _unless_empty(cost_grid(season, names)),
        "made_of": [composition_grid(season), distribution_grid(season), states_grid(season)],
    }
    # Of a season without forecasts only the questions are shown.
    sections = {"composition", "distribution", "states"} | {
        name for name in ("reliability", "pairs", "cost", "skills") if values[name]
    }
    if season.rows:
        sections |= {"accuracy", "weeks", "mistakes", *(grid.key for grid in grids if grid.parts)}
    return values | {"sections": sections}


def _unless_empty(grid: Grid) -> Grid | None:
    """The table; None if it has no rows."""
    return grid if grid.parts else None


def _bars(
    season: DataKindReport, names: Names, tones: Mapping[ForecasterId, str]
) -> list[tuple[str, list[AccuracyBar]]]:
    """The bars of accuracies, with the heading of each class of methods."""
    rows = {row.forecaster: row for row in season.rows}
    scale = Scale(0.0, 1.0)

    def across(value: float | None) -> str:
        """A position as a CSS percentage from the left; ``scale.percent`` is from the top, where the greatest is."""
        return "" if value is None else f"{100.0 - scale.percent(value):.2f}%"

    def bar(who: ForecasterId) -> AccuracyBar:
        """The bar of a forecaster."""
        accuracy = rows[who].accuracy
        value, low, high = accuracy.value or 0.0, accuracy.low, accuracy.high
        return AccuracyBar(
            names.short[who],
            tones[who],
            across(value),
            across(low),
            across(high),
            # To a tenth of a percent, as in the tables.
            shown(value, "%", 0.01 / 5),
            "" if low is None or high is None else f"{share(low)} to {share(high)}",
        )

    return [(title, [bar(who) for who in forecasters]) for title, forecasters in names.parts]


def _weeks(season: DataKindReport, names: Names, order: list[ForecasterId]) -> Markup | None:
    """Accuracy by week (Figure 4); None if there is a single week."""
    accuracies = {
        (part.forecaster, part.value): part.accuracy.value for part in season.slices if part.dimension == "week"
    }
    weeks = [week.week for week in season.states if week.scored]
    # Rounds whose names are not of the form 2025-W44 have no date to be drawn at.
    if len(weeks) < 2 or any(len(week) != len("2025-W44") for week in weeks):
        return None
    # A round is generated on the Thursday of its week.
    days = np.array([date.fromisocalendar(int(week[:4]), int(week[6:]), 4) for week in weeks], dtype="datetime64[ns]")

    def percents(who: ForecasterId) -> list[float]:
        values = [accuracies.get((who, week)) for week in weeks]
        return [np.nan if value is None else 100.0 * value for value in values]

    # The first by rank are drawn, in the order and with the colors of the tables.
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
    """A reliability diagram for each forecaster that gives probabilities."""
    rows = {row.forecaster: row.calibration for row in season.rows}
    diagrams = []
    for number, who in enumerate(order):
        calibration = rows[who]
        # A forecaster that gives only 0 and 1 has points at the two ends alone, which say no more than its accuracy.
        if calibration is not None and any(
            point is not None and 0.0 < point.forecast < 1.0 for point in calibration.bins
        ):
            diagrams.append(reliability_diagram(short[who], calibration, number % MOST_DRAWN))
    return diagrams[:MOST_DRAWN]
