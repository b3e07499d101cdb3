"""The drawings of a report page: a forest of intervals, a heat map of tasks, and cost against skill."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.reports.cells import Cell, TaskCell
from openfingym.reports.charts import Scale, axes, shown
from openfingym.reports.formatting import family_name, figure, interval, signed, strength
from openfingym.reports.groups import family_order, label
from openfingym.reports.page import macro

if TYPE_CHECKING:
    from markupsafe import Markup

    from openfingym.reports.groups import Row

LOWEST, HIGHEST = -1.0, 1.0
"""The range of skill that is drawn at most; an interval that goes beyond it is cut, and its numbers stand beside it."""
SQUASHED = 0.25
"""Share of an axis: an outlier is cut off if it would leave less than this share to all other rows."""
OUTLIERS = 0.25
"""Largest share of rows that may be cut off as outliers; of three rows it is one."""
TINTS = (0.02, 0.1, 0.25, 0.5)
"""Sizes of the mean log relative total from which on a cell of the heat map is tinted more strongly."""
TONES = 8
"""How many colours there are for points."""
RULER_PX, NARROW_RULER_PX = 160.0, 90.0
"""The least widths of a ruler of the forest plot, on a screen of more than 480 pixels and on a narrower one."""
LETTER_PX, GAP_PX = 7.0, 8.0
"""The width of a letter on a ruler, and the room between two texts."""
TEMPLATE = "figures.html.jinja"


def forest(cells: Sequence[Cell]) -> Markup | None:
    """A forest plot of skill with its intervals: a table for each family, all on one scale; None if there are none.

    Args:
        cells: the figures to draw, in their order within each family.
    """
    drawn = [(cell.skill.low, cell.skill.high) for cell in cells if cell.skill.low is not None]
    spans = [(low, high) for low, high in drawn if low is not None and high is not None]
    if not spans:
        return None
    low, high = (min(HIGHEST, max(LOWEST, value)) for value in _limits(spans))
    scale = Scale.around([np.array([low, high])], zero=True)
    families = sorted({cell.family for cell in cells if cell.skill.enough}, key=family_order)
    trees = [
        (family_name(family), [_branch(cell, scale) for cell in cells if cell.family == family]) for family in families
    ]
    return macro(TEMPLATE, "forest", zero=_across(scale, 0.0), ruler=ruler(scale), trees=trees)


def heat_map(cells: Sequence[TaskCell], rows: Sequence[Row]) -> Markup:
    """A heat map of the skill of every row in every task, tinted by the mean log of the relative total.

    Args:
        cells: the figures of each row and task on one kind of data.
        rows: the rows, in the order in which they are the columns of the map.
    """
    by_place = {(cell.task, cell.row): cell for cell in cells}
    tasks = sorted({(family_order(cell.family), cell.family, cell.task) for cell in cells})
    blocks = [
        (family, [(task, [_tile(by_place.get((task, row))) for row in rows]) for _, _, task in block])
        for family, block in groupby(tasks, key=lambda place: place[1])
    ]
    return macro(TEMPLATE, "heat_map", names=[label(row) for row in rows], blocks=blocks)


def cost_scatter(cells: Sequence[Cell]) -> Markup | None:
    """A scatter plot of the cost of a success against skill; None if there are less than two points.

    If no price is known, the seconds of a success stand for its cost.

    Args:
        cells: the figures of each row over all tasks; those without an interval are left out.
    """
    priced = any(cell.cost.usd for cell in cells)
    cost_of: Callable[[Cell], float | None] = (
        (lambda cell: cell.cost.usd) if priced else (lambda cell: cell.cost.seconds)
    )
    # The axis is logarithmic: what costs nothing has no place on it.
    points = [
        (cell, cost, cell.skill.value)
        for cell in cells
        if (cost := cost_of(cell)) and cell.skill.enough and cell.skill.value is not None
    ]
    if len(points) < 2:
        return None
    unit, name = ("$", "USD") if priced else ("", "Seconds")
    ticks, place = _log_axis([cost for _, cost, _ in points])
    scale = Scale.around([np.array(_limits([(skill, skill) for _, _, skill in points]))], zero=True)
    dots = [
        _Dot(
            label(cell.row),
            f"s{number % TONES}",
            f"{place(cost):.2f}%",
            f"{_down(scale, skill):.2f}%",
            f"{label(cell.row)}: {figure(cost, unit)} a success, skill {signed(skill)}",
            "" if scale.low <= skill <= scale.high else f"{'↓' if skill < scale.low else '↑'} {signed(skill)}",
            "before" if place(cost) > 70.0 else "behind",
        )
        for number, (cell, cost, skill) in enumerate(points)
    ]
    title = f"Skill against cost: {name} a success, logarithmic"
    spoken = f"{title}. {len(points)} points; the same numbers are in the tables."
    marks = axes(scale, "", [(place(tick), figure(tick, unit)) for tick in ticks], spoken)
    return macro(TEMPLATE, "cost_scatter", title=title, axes=marks, points=dots, left=len(cells) - len(points))


class _Dot(NamedTuple):
    """A point of the scatter plot; positions are percents from the left and from the top."""

    name: str
    """Name of the row."""
    tone: str
    """CSS class that gives the point its colour."""
    x: str
    """Position from the left."""
    y: str
    """Position from the top."""
    said: str
    """The figures of the point in words."""
    beyond: str
    """For a point outside of the range that is drawn, its skill with an arrow towards it; empty otherwise."""
    side: str
    """On which side of the point there is room for its name: ``before`` or ``behind``."""


class _Branch(NamedTuple):
    """A row of the forest plot; positions are percents from the left."""

    name: str
    """Name of the row."""
    skill: str
    """The skill as text."""
    interval: str
    """The interval as text."""
    tone: str = ""
    """``gain``, ``loss`` or ``open`` for an interval above, below or around 0; empty without an interval."""
    low: str = ""
    """Position of the lower end."""
    high: str = ""
    """Position of the upper end."""
    dot: str = ""
    """Position of the skill; empty if it is outside of the range that is drawn."""
    left: bool = False
    """Whether the interval goes on to the left of the range that is drawn."""
    right: bool = False
    """Whether the interval goes on to the right of the range that is drawn."""
    runs: str = ""
    """How many runs were scored, of how many that were judged."""


class _Tile(NamedTuple):
    """A cell of the heat map."""

    text: str
    """What stands in the cell."""
    said: str
    """The figures of the cell in words."""
    tint: str = ""
    """CSS class that gives the cell its colour; empty for none."""


def _branch(cell: Cell, scale: Scale) -> _Branch:
    """The row of the forest plot for a cell."""
    name, value, low, high = label(cell.row), cell.skill.value, cell.skill.low, cell.skill.high
    runs = f"{cell.counts.scored}/{cell.counts.judged} scored" if cell.counts.judged else ""
    if value is None or low is None or high is None:
        return _Branch(name, strength(cell), interval(cell.skill), runs=runs)
    return _Branch(
        name,
        signed(value),
        interval(cell.skill),
        tone="gain" if low > 0.0 else "loss" if high < 0.0 else "open",
        low=_across(scale, low),
        high=_across(scale, high),
        dot=_across(scale, value) if scale.low <= value <= scale.high else "",
        left=low < scale.low,
        right=high > scale.high,
        runs=runs,
    )


def _limits(spans: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The ends of an axis that holds zero and the intervals, except outliers that would squash all others.

    Args:
        spans: lower and upper end of each row's interval, of one row at least.
    """

    def ends(kept: Sequence[tuple[float, float]]) -> tuple[float, float]:
        return min(0.0, *(low for low, _ in kept)), max(0.0, *(high for _, high in kept))

    def size(kept: Sequence[tuple[float, float]]) -> float:
        low, high = ends(kept)
        return high - low

    # Leave out the lowest or the highest row, whichever shortens the axis more, one after another.
    kept = whole = sorted(spans)
    for _ in range(max(1, int(OUTLIERS * len(spans)))):
        if len(kept) < 3:
            break
        highest = max(range(len(kept)), key=lambda place: kept[place][1])
        kept = min(kept[1:], [*kept[:highest], *kept[highest + 1 :]], key=size)
        # To leave out one of two outliers side by side shortens the axis little: so what is left is compared with the
        # axis before all that were left out, and not with that before the last.
        if size(kept) <= SQUASHED * size(whole):
            whole = kept
    low, high = ends(whole)
    # Without room, the arrow of an outlier might stand at zero, on the line of the baseline.
    room = 0.1 * (high - low)
    left, right = any(span[0] < low for span in spans), any(span[1] > high for span in spans)
    return (low - room if left else low), (high + room if right else high)


def ruler(scale: Scale) -> list[tuple[str, str, bool]]:
    """Position from the left and text of each round value, and whether a narrow screen has no room for it."""
    values, step = scale.ticks()
    texts = [shown(value, "", step) for value in values]
    wide, narrow = (_fitting(scale, values, texts, width) for width in (RULER_PX, NARROW_RULER_PX))
    return [(_across(scale, values[n]), texts[n], n not in narrow) for n in wide]


def _fitting(scale: Scale, values: Sequence[float], texts: Sequence[str], width: float) -> list[int]:
    """Places of the values, evenly spaced, whose texts have room beside each other on a ruler of this width in pixels;
    zero is one of them if it is on the scale.
    """
    needed = LETTER_PX * max(map(len, texts), default=0) + GAP_PX
    apart = abs(scale.percent(values[0]) - scale.percent(values[1])) / 100.0 * width if len(values) > 1 else width
    every = max(1, math.ceil(needed / apart))
    start = min(range(len(values)), key=lambda n: abs(values[n]), default=0) % every
    return list(range(start, len(values), every))


def _across(scale: Scale, value: float) -> str:
    """Position of a value from the left, at the ends of the scale if it is outside."""
    # A scale gives positions from the top.
    return f"{min(100.0, max(0.0, 100.0 - scale.percent(value))):.2f}%"


def _down(scale: Scale, value: float) -> float:
    """Position of a value from the top in percent; just inside of the scale if it is outside."""
    return scale.percent(value) if scale.low <= value <= scale.high else 97.0 if value < scale.low else 3.0


def _tile(cell: TaskCell | None) -> _Tile | None:
    """The cell of the heat map for a row in a task; None if it has no runs there."""
    if cell is None:
        return None
    said = f"{label(cell.row)} in {cell.task}: {cell.counts.scored} of {cell.counts.judged} runs scored"
    skill = cell.skill.value
    if skill is None:
        return _Tile("×" if cell.counts.judged else "–", said, "never")
    said += f", skill {signed(skill)} ({signed(cell.worst)} to {signed(cell.best)})"
    # The log of the relative total tints half the loss and twice the loss alike, which skill would not.
    size = abs(math.log(1.0 - skill)) if skill < 1.0 else math.inf
    shade = sum(size >= limit for limit in TINTS)
    return _Tile(f"{skill:z.2f}", said, f"{'gain' if skill > 0.0 else 'loss'}-{shade}" if shade else "")


def _log_axis(values: Sequence[float]) -> tuple[list[float], Callable[[float], float]]:
    """Lay out a logarithmic axis around positive values.

    Returns:
        The round values that the axis names, and a function from a value to its position from the left in percent.
    """
    # With room at both ends, by a factor of 1.4.
    low, high = math.log10(min(values)) - 0.15, math.log10(max(values)) + 0.15
    steps = [
        factor * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for factor in (1.0, 2.0, 5.0)
    ]
    inside = [step for step in steps if low <= math.log10(step) <= high]
    tens = [step for step in inside if math.isclose(math.log10(step), round(math.log10(step)))]

    def place(value: float) -> float:
        return 100.0 * (math.log10(value) - low) / (high - low)

    return (tens if len(inside) > 8 else inside), place
