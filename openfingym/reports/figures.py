"""The drawings of a report page: a forest of intervals, a heat map of tasks, and cost against skill."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.reports.cells import Cell, TaskCell, family_order, label
from openfingym.reports.charts import Scale, axes, shown
from openfingym.reports.page import macro
from openfingym.reports.tables import family_name, figure, interval, signed, strength

if TYPE_CHECKING:
    from markupsafe import Markup

    from openfingym.reports.cells import Row

LOWEST, HIGHEST = -1.0, 1.0
"""What is drawn of an interval of skill at most; one that goes on is cut, and its numbers are beside it."""
SQUASHED = 0.25
"""Share of an axis that all others would be left with, from which an outlier is cut off."""
OUTLIERS = 0.25
"""Share of rows that may be outliers; one of three rows at least."""
TINTS = (0.02, 0.1, 0.25, 0.5)
"""Sizes of the mean log relative total from which a cell of the heat map is tinted more strongly."""
TONES = 8
TEMPLATE = "figures.html.jinja"


def forest(cells: Sequence[Cell]) -> Markup | None:
    """Skill with its interval, a table a family, all on one scale; None where there is no interval.

    Args:
        cells: the results to draw, in their order within each family.
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
    return macro(TEMPLATE, "forest", zero=_across(scale, 0.0), ruler=_ruler(scale), trees=trees)


def heat_map(cells: Sequence[TaskCell], rows: Sequence[Row]) -> Markup:
    """Skill of every row in every task, tinted by the mean log of the relative total.

    Args:
        cells: cells of one kind of data.
        rows: the rows, in the order of the columns.
    """
    found = {(cell.task, cell.row): cell for cell in cells}
    tasks = sorted({(family_order(cell.family), cell.family, cell.task) for cell in cells})
    blocks = [
        (family, [(task, [_tile(found.get((task, row))) for row in rows]) for _, _, task in block])
        for family, block in groupby(tasks, key=lambda place: place[1])
    ]
    return macro(TEMPLATE, "heat_map", names=[label(row) for row in rows], blocks=blocks)


def cost_scatter(cells: Sequence[Cell]) -> Markup | None:
    """Cost of a success against skill, a numbered point a cell; time stands for cost where no price is known; None for
    less than two.
    """
    priced = any(cell.cost.usd for cell in cells)
    of: Callable[[Cell], float | None] = (lambda cell: cell.cost.usd) if priced else (lambda cell: cell.cost.seconds)
    points = [
        (cell, cost, cell.skill.value)
        for cell in cells
        if (cost := of(cell)) and cell.skill.enough and cell.skill.value is not None
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
    """A point of the scatter; positions are percents from the left and from the top."""

    name: str
    tone: str
    x: str
    y: str
    said: str
    beyond: str
    """Skill of a point that is outside of what is drawn, with an arrow towards it."""
    side: str
    """Where there is room for it: ``before`` or ``behind`` the point."""


class _Branch(NamedTuple):
    """A row of the forest; positions are percents from the left."""

    name: str
    skill: str
    interval: str
    tone: str = ""
    """``gain``, ``loss`` or ``open``; empty where there is no interval."""
    low: str = ""
    high: str = ""
    dot: str = ""
    """Empty where it is outside of what is drawn."""
    left: bool = False
    """Whether the interval goes on to the left of what is drawn."""
    right: bool = False
    """Whether it goes on to the right."""
    runs: str = ""
    """Scored and judged runs."""


class _Tile(NamedTuple):
    """A cell of the heat map."""

    text: str
    said: str
    tint: str = ""


def _branch(cell: Cell, scale: Scale) -> _Branch:
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
    """Ends of an axis that holds zero and the spans, but for outliers that would squash all others.

    Args:
        spans: (low, high) of each row, one at least.
    """

    def ends(kept: Sequence[tuple[float, float]]) -> tuple[float, float]:
        return min(0.0, *(low for low, _ in kept)), max(0.0, *(high for _, high in kept))

    def size(kept: Sequence[tuple[float, float]]) -> float:
        low, high = ends(kept)
        return high - low

    kept = whole = sorted(spans)
    for _ in range(max(1, int(OUTLIERS * len(spans)))):
        if len(kept) < 3:
            break
        highest = max(range(len(kept)), key=lambda place: kept[place][1])
        kept = min(kept[1:], [*kept[:highest], *kept[highest + 1 :]], key=size)
        # Two outliers side by side hide one another, so each is weighed against all that were left out before it.
        if size(kept) <= SQUASHED * size(whole):
            whole = kept
    low, high = ends(whole)
    # An arrow at zero would stand on the line of the baseline.
    room = 0.1 * (high - low)
    left, right = any(span[0] < low for span in spans), any(span[1] > high for span in spans)
    return (low - room if left else low), (high + room if right else high)


def _ruler(scale: Scale) -> list[tuple[str, str]]:
    """(from the left, text) of each round value."""
    values, step = scale.ticks()
    return [(_across(scale, value), shown(value, "", step)) for value in values]


def _across(scale: Scale, value: float) -> str:
    """Position from the left; a scale gives it from the top."""
    return f"{min(100.0, max(0.0, 100.0 - scale.percent(value))):.2f}%"


def _down(scale: Scale, value: float) -> float:
    """Percent from the top; of what is outside of the scale, a place just inside."""
    return scale.percent(value) if scale.low <= value <= scale.high else 97.0 if value < scale.low else 3.0


def _tile(cell: TaskCell | None) -> _Tile | None:
    if cell is None:
        return None
    said = f"{label(cell.row)} in {cell.task}: {cell.counts.scored} of {cell.counts.judged} runs scored"
    skill = cell.skill.value
    if skill is None:
        return _Tile("×" if cell.counts.judged else "–", said, "never")
    said += f", skill {signed(skill)} ({signed(cell.worst)} to {signed(cell.best)})"
    # The log treats half the loss and twice the loss alike, which skill does not.
    size = abs(math.log(1.0 - skill)) if skill < 1.0 else math.inf
    shade = sum(size >= limit for limit in TINTS)
    return _Tile(f"{skill:z.2f}", said, f"{'gain' if skill > 0.0 else 'loss'}-{shade}" if shade else "")


def _log_axis(values: Sequence[float]) -> tuple[list[float], Callable[[float], float]]:
    """Round ticks of a logarithmic axis around positive values, and a function to percent from the left."""
    low, high = math.log10(min(values)) - 0.15, math.log10(max(values)) + 0.15
    steps = [
        factor * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for factor in (1.0, 2.0, 5.0)
    ]
    inside = [step for step in steps if low <= math.log10(step) <= high]
    tens = [step for step in inside if math.isclose(math.log10(step), round(math.log10(step)))]

    def place(value: float) -> float:
        return 100.0 * (math.log10(value) - low) / (high - low)

    return (tens if len(inside) > 8 else inside), place
