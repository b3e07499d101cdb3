"""The drawings of a report on forecasts: reliability diagrams, and skill by week."""

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
"""Most forecasters that are drawn by week and in reliability diagrams, the best ones."""
LARGEST_DOT = 14.0
"""Radius in pixels of the dot of a bin that holds all forecasts."""


class Dot(NamedTuple):
    """A bin of a reliability diagram; positions are percents."""

    x: str
    """Position from the left."""
    y: str
    """Position from the top."""
    low: str
    """Position of the interval's lower end from the top."""
    high: str
    """Position of the interval's upper end from the top."""
    radius: str
    """Radius in pixels."""
    said: str
    """The figures of the bin in words."""


def diagrams(rows: Sequence[ForecasterRow], names: Mapping[ForecasterId, str]) -> list[Markup]:
    """Draw the reliability diagrams of the best forecasters, in their order."""
    return [
        reliability_diagram(names[row.forecaster], row.calibration, number)
        for number, row in enumerate([row for row in rows if row.calibration is not None][:MOST_DRAWN])
        if row.calibration is not None
    ]


def reliability_diagram(name: str, calibration: Calibration, number: int) -> Markup:
    """Draw a reliability diagram.

    Args:
        name: name of the forecaster.
        calibration: the calibration of its probabilities.
        number: number of its colour.
    """
    bins = [forecasts for forecasts in calibration.bins if forecasts is not None]
    total = sum(forecasts.count for forecasts in bins)
    scale = Scale(0.0, 1.0)
    # The area of a dot, and not its radius, is proportional to its forecasts.
    dots = [
        Dot(
            f"{100.0 * forecasts.forecast:.2f}%",
            f"{scale.percent(forecasts.frequency):.2f}%",
            f"{scale.percent(forecasts.low):.2f}%",
            f"{scale.percent(forecasts.high):.2f}%",
            f"{max(2.0, LARGEST_DOT * math.sqrt(forecasts.count / total)):.1f}",
            f"{forecasts.count:,.0f} forecasts of {forecasts.forecast:.0%} on average: "
            f"{forecasts.frequency:.0%} happened ({forecasts.low:.0%} to {forecasts.high:.0%})",
        )
        for forecasts in bins
    ]
    spoken = f"Reliability of {name}. " + "; ".join(dot.said for dot in dots)
    ticks = [(25.0 * part, f"{25 * part}%") for part in range(5)]
    note = f"{total:,.0f} forecasts, ECE {calibration.ece:.3f} ({calibration.by_chance:.3f} by chance)"
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
    """Plot the skill of the best forecasters by week; None if there is a single week.

    Args:
        track: the track whose forecasters are drawn.
        order: its forecasters, the best first.
        names: names of the forecasters.
    """
    # Without the part of other weeks, which has no date.
    skills = {
        (part.forecaster, part.value): part.figures.skill
        for part in track.slices
        if part.dimension == "week" and part.value[:4].isdigit() and part.figures.skill is not None
    }
    weeks = sorted({week for _, week in skills})
    if len(weeks) < 2:
        return None
    days = np.array([date.fromisocalendar(int(week[:4]), int(week[6:]), 1) for week in weeks], dtype="datetime64[ns]")
    curves = tuple(
        PlotCurve(names[who], np.array([skills.get((who, week)) for week in weeks], dtype=np.float64), number)
        for number, who in enumerate(order[:MOST_DRAWN])
    )
    return drawing(
        LinePlot("Skill by week of the deadline", days, curves, note="1 less the loss over the naive one's.")
    )
