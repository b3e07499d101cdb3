"""What is drawn on the page of a report on forecasts: reliability diagrams, and skill by week."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.kinds.plots.plot import LinePlot, PlotCurve
from openfingym.reports.charts import Scale, axes
from openfingym.reports.forecasts.calibration import Calibration
from openfingym.reports.forecasts.columns import ForecasterId
from openfingym.reports.forecasts.report import ForecasterRow, Track
from openfingym.reports.page import macro
from openfingym.reports.plots import drawing

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATE = "forecasts/figures.html.jinja"
MOST_DRAWN = 8
"""Forecasters that are drawn by week and in reliability diagrams: the best."""
LARGEST_DOT = 14.0
"""Radius in pixels of the dot of a bin that holds all forecasts."""


class Dot(NamedTuple):
    """A bin of a reliability diagram; positions are percents."""

    x: str
    y: str
    low: str
    high: str
    radius: str
    said: str


def diagrams(rows: Sequence[ForecasterRow], names: Mapping[ForecasterId, str]) -> list[Markup]:
    """Reliability diagrams of the best forecasters, in their order."""
    return [
        reliability_diagram(names[row.forecaster], row.calibration, number)
        for number, row in enumerate([one for one in rows if one.calibration is not None][:MOST_DRAWN])
        if row.calibration is not None
    ]


def reliability_diagram(name: str, found: Calibration, number: int) -> Markup:
    """How often what was forecast happened, of one forecaster in the tone of its number."""
    total = sum(one.count for one in found.bins if one is not None)
    scale = Scale(0.0, 1.0)
    dots = [
        Dot(
            f"{100.0 * one.forecast:.2f}%",
            f"{scale.percent(one.frequency):.2f}%",
            f"{scale.percent(one.low):.2f}%",
            f"{scale.percent(one.high):.2f}%",
            f"{max(2.0, LARGEST_DOT * math.sqrt(one.count / total)):.1f}",
            f"{one.count:,.0f} forecasts of {one.forecast:.0%} on average: {one.frequency:.0%} happened "
            f"({one.low:.0%} to {one.high:.0%})",
        )
        for one in found.bins
        if one is not None
    ]
    spoken = f"Reliability of {name}. " + "; ".join(dot.said for dot in dots)
    ticks = [(25.0 * part, f"{25 * part}%") for part in range(5)]
    note = f"{total:,.0f} forecasts, ECE {found.ece:.3f} ({found.by_chance:.3f} by chance)"
    return macro(
        TEMPLATE,
        "reliability",
        title=name,
        note=note,
        tone=f"s{number}",
        axes=axes(scale, "%", ticks, spoken),
        dots=dots,
    )


def skill_by_week(track: Track, order: Sequence[ForecasterId], names: Mapping[ForecasterId, str]) -> Markup | None:
    """A plot of the skill of the best forecasters by week; None of a single week."""
    found = {
        (one.forecaster, one.value): one.figures.skill
        for one in track.slices
        if one.dimension == "week" and one.value[:4].isdigit() and one.figures.skill is not None
    }
    weeks = sorted({week for _, week in found})
    if len(weeks) < 2:
        return None
    days = np.array([date.fromisocalendar(int(week[:4]), int(week[6:]), 1) for week in weeks], dtype="datetime64[ns]")
    curves = tuple(
        PlotCurve(names[who], np.array([found.get((who, week)) for week in weeks], dtype=np.float64), number)
        for number, who in enumerate(order[:MOST_DRAWN])
    )
    return drawing(
        LinePlot("Skill by week of the deadline", days, curves, note="1 less the loss over the naive one's.")
    )
