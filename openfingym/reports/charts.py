"""Charts as inline SVG that need nothing but a browser, scale with the page, and stay crisp.

Lines are drawn in a box that is stretched to the width of the page, while their strokes are not; text and
markers are placed by percent and keep their size in pixels. A series of any length is drawn with a
bounded number of points that keep its extremes. ``trading/page/tearsheet.js`` adds a cursor; the charts are
complete without it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.reports.page import macro, minus

if TYPE_CHECKING:
    from datetime import datetime

    from markupsafe import Markup
    from numpy.typing import NDArray

Unit = Literal["%", "x", ""]
"""``%`` shows a fraction as percent, ``x`` a multiple, the empty unit a plain number."""

TEMPLATE = "charts.html.jinja"

COLUMNS = 600
"""Most columns into which a chart is divided; a series is drawn by its lowest and highest value in each."""
BOX = 10_000
"""Side of the stretched box, in its own integer units."""
TICKS = 5
"""How many times the horizontal axis names."""
SEPARATORS = 60
"""Most episodes that are separated by lines where each begins."""


@dataclass(frozen=True, eq=False)
class Line:
    """One series of a chart."""

    name: str
    """Name of the series."""
    values: NDArray[np.float64]
    """The finite values of the series, float64[points]."""
    style: str
    """CSS class that gives the line its colour."""
    area: bool = False
    """Whether the area between the line and zero is filled."""


@dataclass(frozen=True)
class Marker:
    """A point that is marked in a chart, such as a fill."""

    at: int
    """Index of the point on the time axis."""
    value: float
    """Value at which the point is drawn."""
    style: Literal["buy", "sell"]
    """CSS class of the marker."""


@dataclass(frozen=True)
class Axes:
    """The axes around a drawing; positions are percents from the left and from the top."""

    spoken: str
    """What a screen reader says in the place of the drawing."""
    values: tuple[tuple[str, str, str], ...]
    """Position from the top, CSS class and text of each grid line."""
    ticks: tuple[tuple[str, str, str, str], ...]
    """Position from the left, CSS class, text anchor and text of each mark of the horizontal axis."""


class TimeAxis:
    """The horizontal axis that the charts of a group share: the points of one episode after those of the other."""

    def __init__(self, times: NDArray[np.datetime64], starts: Sequence[int]) -> None:
        """Lay out an axis.

        Args:
            times: time of each point, datetime64[ns][points].
            starts: index of the first point of each episode, increasing from 0.
        """
        self.size = len(times)
        self.starts = tuple(starts)
        self.dense = self.size > 2 * COLUMNS
        """Whether a column may hold more than one point."""
        self.columns = tuple(_columns(self.size, self.starts, dense=self.dense))
        """The columns of each episode, each by the index of its first point and the index after its last."""
        self.shown = np.array([end - 1 for episode in self.columns for _, end in episode])
        """Indices of the points whose values the cursor reads, the last of each column."""
        # Without times of day if there are none.
        midnight = bool((times == times.astype("datetime64[D]")).all())
        stamps = np.datetime_as_string(times[self.shown], unit="D" if midnight else "m")
        self.labels = tuple(stamp.replace("T", " ") for stamp in stamps.tolist())
        span = float((times.max() - times.min()) / np.timedelta64(1, "D"))
        where = np.unique(np.linspace(0, self.size - 1, TICKS).astype(int)).tolist()
        self.ticks = tuple((point, moment(times[point], span)) for point in where)

    def percent(self, point: float) -> float:
        """Position of a point from the left, in percent."""
        return 100.0 * point / max(self.size - 1, 1)

    def data(self) -> dict[str, object]:
        """The values from which the script of the page draws the cursor."""
        return {"last": self.size - 1, "points": self.shown.tolist(), "labels": self.labels}


@dataclass(frozen=True)
class Scale:
    """A vertical axis from ``low`` to ``high``."""

    low: float
    """Value at the bottom of the axis."""
    high: float
    """Value at the top of the axis."""

    @classmethod
    def around(cls, values: Sequence[NDArray[np.float64]], *, zero: bool) -> Scale:
        """A scale that holds all values, with a little room at both ends.

        Args:
            values: the values of each series, float64[points].
            zero: whether the scale must hold zero, which then needs no room beyond it.
        """
        low = min((float(series.min()) for series in values if series.size), default=0.0)
        high = max((float(series.max()) for series in values if series.size), default=0.0)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        size = max(abs(low), abs(high))
        # Values that differ by rounding alone are drawn as a flat line, and not as noise that fills the chart.
        room = 0.05 * (high - low if high - low > 1e-6 * size else size) or 1.0
        return cls(
            low - (0.0 if zero and low == 0.0 else room), high + (0.0 if zero and high == 0.0 and low < 0.0 else room)
        )

    def percent(self, value: float) -> float:
        """Position of a value from the top, in percent."""
        return 100.0 * (self.high - value) / (self.high - self.low)

    def ticks(self) -> tuple[list[float], float]:
        """Three to six round values on the scale, and the distance between them."""
        rough = (self.high - self.low) / 5.0
        power = 10.0 ** math.floor(math.log10(rough))
        # A little less than the rough distance is enough, lest rounding jumps to the next round one.
        step = next(power * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= rough * 0.999)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        # Multiples and not sums, which would add up their rounding.
        return [step * count for count in range(first, last + 1)], step


def time_chart(
    title: str,
    axis: TimeAxis,
    lines: Sequence[Line],
    *,
    unit: Unit = "",
    zero: bool = False,
    markers: Sequence[Marker] = (),
    note: str = "",
) -> Markup:
    """A chart over time.

    Args:
        title: heading of the chart, plain text.
        axis: the horizontal axis, which all charts of the group share.
        lines: the series, each with a value for each point of the axis.
        unit: unit of the values, for the vertical axis.
        zero: whether the vertical axis must hold zero.
        markers: points that are marked over the lines.
        note: a remark below the title, plain text.

    Returns:
        HTML of one ``<figure>`` element.
    """
    levels = np.array([marker.value for marker in markers])
    scale = Scale.around([*(line.values for line in lines), levels], zero=zero)
    spoken = f"{title}. " + "; ".join(
        f"{line.name}: from {shown(line.values[0], unit)} to {shown(line.values[-1], unit)}, "
        f"lowest {shown(line.values.min(), unit)}, highest {shown(line.values.max(), unit)}"
        for line in lines
    )
    return macro(
        TEMPLATE,
        "time_chart",
        title=title,
        note=note,
        lines=lines,
        axes=axes(scale, unit, [(axis.percent(point), text) for point, text in axis.ticks], spoken),
        breaks=[_percent(axis.percent(point - 0.5)) for point in axis.starts[1:]]
        if len(axis.starts) <= SEPARATORS
        else [],
        box=BOX,
        paths=[path for line in lines for path in _drawn(axis, scale, line)],
        markers=[
            (_percent(axis.percent(marker.at)), _percent(scale.percent(marker.value)), marker.style)
            for marker in markers
        ],
        data={"unit": unit, "values": [_compact(line.values[axis.shown]) for line in lines]},
    )


def histogram(title: str, samples: Sequence[Line], *, bins: int = 41, unit: Unit = "%", note: str = "") -> Markup:
    """A chart of how often values occur, as shares of each sample in percent.

    Args:
        title: heading of the chart, plain text.
        samples: the samples; the first is drawn as bars, the others as outlines.
        bins: number of equal bins over the range of all samples.
        unit: unit of the values.
        note: a remark below the title, plain text.

    Returns:
        HTML of one ``<figure>`` element.
    """
    low = min(float(sample.values.min()) for sample in samples)
    high = max(float(sample.values.max()) for sample in samples)
    # Equal values need a range of some width, in the middle of which they stand.
    if high - low < 1e-12 * max(1.0, abs(low)):
        low, high = low - 0.005 * max(1.0, abs(low)), high + 0.005 * max(1.0, abs(low))
    edges = np.linspace(low, high, bins + 1)
    shares = [np.histogram(sample.values, edges)[0] / sample.values.size for sample in samples]
    scale = Scale(0.0, 1.08 * max(float(share.max()) for share in shares))
    paths = [
        _bars(scale, share, sample.style, outline=bool(n))
        for n, (share, sample) in enumerate(zip(shares, samples, strict=True))
    ]
    values, step = Scale(low, high).ticks()
    ticks = [(100.0 * (value - low) / (high - low), shown(value, unit, step)) for value in values]
    fine = None if unit else step / 10.0
    spoken = f"{title}. " + "; ".join(
        f"{sample.name}: {sample.values.size} values, mean {shown(sample.values.mean(), unit, fine)}, lowest "
        f"{shown(sample.values.min(), unit, fine)}, highest {shown(sample.values.max(), unit, fine)}"
        for sample in samples
    )
    drawn_axes = axes(scale, "%", ticks, spoken)
    return macro(TEMPLATE, "histogram", title=title, note=note, samples=samples, axes=drawn_axes, box=BOX, paths=paths)


def shown(value: float, unit: Unit, step: float | None = None) -> str:
    """A value as text.

    Args:
        value: the value, a fraction for the unit ``%``.
        unit: unit of the value.
        step: distance between values that must be told apart, which gives the number of decimals; None for two
            decimals, or none for a large number without a unit.
    """
    factor = 100.0 if unit == "%" else 1.0
    if step is None:
        digits = 2 if unit in {"%", "x"} or abs(value) < 1000.0 else 0
    else:
        digits = max(0, -math.floor(math.log10(step * factor * 1.001)) + (0 if _round_step(step * factor) else 1))
    text = f"{factor * value:,.{digits}f}"
    # Rounding must not leave the minus of a negative zero.
    text = text.lstrip("-") if not text.strip("-0.,") else text
    return minus(text) + {"%": "%", "x": "×", "": ""}[unit]


def axes(scale: Scale, unit: Unit, ticks: Sequence[tuple[float, str]], spoken: str) -> Axes:
    """The axes around a drawing.

    Args:
        scale: scale of the vertical axis.
        unit: unit of the values on the vertical axis.
        ticks: position in percent from the left, and text, of each mark of the horizontal axis.
        spoken: description of the chart for screen readers.
    """
    values, step = scale.ticks()
    # Marks at the ends are aligned inwards, and every other one gives way on a narrow page.
    lines = (
        (_percent(scale.percent(value)), "grid zero" if abs(value) < 1e-9 * step else "grid", shown(value, unit, step))
        for value in values
    )
    anchors = ("start" if percent < 2.0 else "end" if percent > 98.0 else "middle" for percent, _ in ticks)
    texts = (
        (_percent(percent), "x minor" if number % 2 else "x", anchor, text)
        for number, ((percent, text), anchor) in enumerate(zip(ticks, anchors, strict=True))
    )
    return Axes(spoken, tuple(lines), tuple(texts))


def _round_step(step: float) -> bool:
    """Whether a step has a single digit other than zero: 2.5 needs one decimal more than 2 and 5."""
    mantissa = step / 10.0 ** math.floor(math.log10(step * 1.001))
    return abs(mantissa - round(mantissa)) < 1e-6


def _columns(size: int, starts: Sequence[int], *, dense: bool) -> Iterator[list[tuple[int, int]]]:
    """The columns of each episode, which share the width by their lengths; a column holds points of one episode."""
    for first, end in zip(starts, (*starts[1:], size), strict=True):
        length = end - first
        pieces = min(length, max(2, round(COLUMNS * length / size))) if dense else length
        edges = (first + np.arange(pieces + 1) * length // pieces).tolist()
        yield list(itertools.pairwise(edges))


def _drawn(axis: TimeAxis, scale: Scale, line: Line) -> Iterator[tuple[str, str]]:
    """CSS class and SVG path of a line, and before it those of its area, over which the line is drawn."""
    strokes = [" ".join(f"{x} {y}" for x, y in points) for points in _points(axis, scale, line)]
    if line.area:
        base = round(BOX / 100.0 * scale.percent(0.0))
        yield f"area {line.style}", "".join(f"M{text.partition(' ')[0]} {base} {text}V{base}Z" for text in strokes)
    yield f"{line.style} dense" if axis.dense else line.style, f"M{'M'.join(strokes)}"


def _points(axis: TimeAxis, scale: Scale, line: Line) -> Iterator[list[tuple[int, int]]]:
    """The points of each episode in units of the box: the lowest and the highest value of every column, in the order of
    time.
    """
    for episode in axis.columns:
        points: list[tuple[int, int]] = []
        for first, end in episode:
            piece = line.values[first:end]
            for offset in sorted({int(piece.argmin()), int(piece.argmax())}):
                x, y = axis.percent(first + offset), scale.percent(float(piece[offset]))
                points.append((round(BOX / 100.0 * x), round(BOX / 100.0 * y)))
        yield points


def _bars(scale: Scale, shares: NDArray[np.float64], style: str, *, outline: bool) -> tuple[str, str]:
    """CSS class and SVG path of the bars of a histogram, or of their outline."""
    width = BOX / len(shares)
    tops = [round(BOX / 100.0 * scale.percent(float(share))) for share in shares]
    if outline:
        steps = "".join(f"V{top}H{round((n + 1) * width)}" for n, top in enumerate(tops))
        return style, f"M0 {BOX}{steps}V{BOX}"
    gap = round(0.1 * width)
    body = "".join(
        f"M{round(n * width) + gap} {BOX}V{top}H{round((n + 1) * width) - gap}V{BOX}Z"
        for n, top in enumerate(tops)
        if top < BOX
    )
    return f"bar {style}", body


def _percent(value: float) -> str:
    return f"{value:.2f}%"


def moment(time: np.datetime64, span: float) -> str:
    """A time as an axis of ``span`` days names it: a month, a day, or a time of day."""
    when: datetime = time.astype("datetime64[s]").item()
    if span > 120.0:
        return f"{when:%b %Y}"
    return f"{when.day} {when:%b}" if span > 2.0 else f"{when:%H:%M}"


def _compact(values: NDArray[np.float64]) -> list[float]:
    """Values with six significant digits, as many as the cursor shows, which keep the page small."""
    return [float(f"{value:.6g}") for value in values.tolist()]
