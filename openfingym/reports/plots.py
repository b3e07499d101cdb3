"""Drawing the plots of a task's data, which its kind describes as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.plots.plot import Distribution, LinePlot, Plot, PlotCurve, Shares
from openfingym.reports.charts import BOX, COLUMNS, TICKS, Line, Scale, axes, histogram, moment, shown
from openfingym.reports.page import macro, minus

if TYPE_CHECKING:
    from markupsafe import Markup
    from numpy.typing import NDArray

TEMPLATE = "plots.html.jinja"
TONES = 8
"""How many colours there are."""
BINS, MOST_BINS = 41, 80
"""Bins of a histogram of many values; most bins of one with a bin for each value."""
ROUNDED = 0.01
"""Largest error of values at equal distances that are rounded, as a share of the distance."""
INSIDE = 0.002
"""Share of the values at either end that may be put into the outermost bars, if they would squeeze the histogram."""
WIDE = 3.0
"""The values at the ends squeeze a histogram if they make its range wider by this factor."""


def drawing(plot: Plot) -> Markup:
    """A plot as HTML of one ``<figure>`` element."""
    if isinstance(plot, LinePlot):
        return _lines(plot)
    return _distribution(plot) if isinstance(plot, Distribution) else _shares(plot)


def _lines(plot: LinePlot) -> Markup:
    """Lines over numbers or times."""
    timed = np.issubdtype(plot.x.dtype, np.datetime64)
    times = plot.x.astype("datetime64[ns]") if timed else None
    x = (plot.x if times is None else times.astype(np.int64)).astype(np.float64)
    low, width = float(x[0]), float(x[-1] - x[0]) or 1.0
    place = (x - low) / width
    finite = [curve.values[np.isfinite(curve.values)] for curve in plot.curves]
    scale = Scale.around(finite, zero=False)
    bands = []
    for span in plot.spans:
        left, right = (round(BOX * float(np.clip((end - low) / width, 0.0, 1.0))) for end in (span.first, span.last))
        bands.append((f"band {_tone(span.tone)}", f"M{left} 0H{right}V{BOX}H{left}Z"))
    paths = [(f"{_tone(curve.tone)} dense", _path(place, scale, curve)) for curve in plot.curves]
    spoken = f"{plot.title}. " + "; ".join(
        f"{curve.name}: {len(values)} points, lowest {_said(values.min())}, highest {_said(values.max())}"
        for curve, values in zip(plot.curves, finite, strict=True)
        if len(values)
    )
    return macro(
        TEMPLATE,
        "figure",
        title=plot.title,
        note=plot.note,
        # The legend names each band once, in the colour of its first span.
        bands=list({span.name: _tone(span.tone) for span in reversed(plot.spans)}.items())[::-1],
        keys=list(dict.fromkeys((curve.name, _tone(curve.tone)) for curve in plot.curves)),
        axes=axes(scale, "", _ticks(low, width) if times is None else _time_ticks(times), spoken),
        box=BOX,
        paths=[*bands, *(path for path in paths if path[1])],
    )


def _distribution(plot: Distribution) -> Markup:
    """A histogram of one or more samples."""
    values = np.concatenate(list(plot.samples.values()))
    low, high = (float(end) for end in np.quantile(values, (INSIDE, 1.0 - INSIDE)))
    note = plot.note
    # Otherwise a few far values would leave all others in one bar.
    if high > low and float(np.ptp(values)) > WIDE * (high - low):
        note = f"{note} Values beyond {_said(low)} and {_said(high)} are in the outermost bars.".lstrip()
    else:
        low, high = float(values.min()), float(values.max())
    samples = [
        Line(name, np.clip(sample, low, high), _tone(number))
        for number, (name, sample) in enumerate(plot.samples.items())
    ]
    return histogram(plot.title, samples, bins=_bins(np.clip(values, low, high)), unit="", note=note)


def _bins(values: NDArray[np.float64]) -> int:
    """How many bins a histogram has: one for each value if there are few at equal distances, as of ranks and counts."""
    distances = np.diff(np.unique(values))
    even = 0 < len(distances) < MOST_BINS and bool(np.ptp(distances) < ROUNDED * distances.max())
    return len(distances) + 1 if even else BINS


def _shares(plot: Shares) -> Markup:
    """A bar for each share."""
    # All shares may be 0, and a scale needs some height.
    scale = Scale(0.0, 1.1 * max(*plot.shares.values(), 1e-9))
    width = BOX / len(plot.shares)
    paths, ticks = [], []
    for number, (name, share) in enumerate(plot.shares.items()):
        left, right = round((number + 0.2) * width), round((number + 0.8) * width)
        top = round(BOX / 100.0 * scale.percent(share))
        paths.append((f"bar {_tone(number)}", f"M{left} {BOX}V{top}H{right}V{BOX}Z"))
        ticks.append((100.0 * (number + 0.5) / len(plot.shares), f"{name}: {shown(share, '%')}"))
    spoken = f"{plot.title}. " + "; ".join(text for _, text in ticks)
    return macro(
        TEMPLATE,
        "figure",
        title=plot.title,
        note=plot.note,
        bands=[],
        keys=[],
        axes=axes(scale, "%", ticks, spoken),
        box=BOX,
        paths=paths,
    )


def _path(place: NDArray[np.float64], scale: Scale, curve: PlotCurve) -> str:
    """The SVG path of a line through the finite values of a curve, with a gap where there are none.

    Every column of the chart is drawn by its lowest and highest value.

    Args:
        place: position of each point from the left, float64[points], from 0 to 1.
        scale: the scale of the vertical axis.
        curve: the curve to draw.
    """
    there = np.isfinite(curve.values)
    points = np.flatnonzero(there)
    if not len(points):
        return ""
    # Points between the same gaps have as many missing values before them.
    run = np.cumsum(~there)[points]
    column = np.minimum((place[points] * COLUMNS).astype(np.int64), COLUMNS - 1)
    begins = np.flatnonzero(np.diff(run, prepend=-1) | np.diff(column, prepend=-1))
    out, last = [], -1
    for group in np.split(points, begins[1:]):
        values = curve.values[group]
        # The first and the last point are kept too, so that a short stretch begins and ends where it should.
        kept = sorted({0, int(values.argmin()), int(values.argmax()), len(group) - 1})
        here = int(run[np.searchsorted(points, group[0])])
        for number in kept:
            x = round(BOX * float(place[group[number]]))
            y = round(BOX / 100.0 * scale.percent(float(values[number])))
            out.append(f"{'M' if here != last else ' '}{x} {y}")
            last = here
    return "".join(out)


def _time_ticks(times: NDArray[np.datetime64]) -> list[tuple[float, str]]:
    """Position from the left in percent, and text, of some times at equal distances."""
    first, last = times[0], times[-1]
    days = float((last - first) / np.timedelta64(1, "D"))
    parts = [number / (TICKS - 1) for number in range(TICKS)]
    return [(100.0 * part, moment(first + (last - first) * part, days)) for part in parts]


def _ticks(low: float, width: float) -> list[tuple[float, str]]:
    """Position from the left in percent, and text, of round numbers."""
    values, step = Scale(low, low + width).ticks()
    return [(100.0 * (value - low) / width, shown(value, "", step)) for value in values]


def _tone(number: int) -> str:
    return f"s{number % TONES}"


def _said(value: float) -> str:
    return minus(f"{value:.4g}")
