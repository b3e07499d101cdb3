"""The drawings of a report page: a forest of intervals, a heat map of tasks, and cost against skill."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from openfingym.reports.cells import Cell, TaskCell, family_order, label
from openfingym.reports.charts import Scale, frame
from openfingym.reports.tables import family_name, figure, interval, signed, strength

if TYPE_CHECKING:
    from openfingym.reports.cells import Row

LOWEST, HIGHEST = -1.0, 1.0
"""What is drawn of an interval of skill; one that goes on is cut, and its numbers are beside it."""
TINTS = (0.02, 0.1, 0.25, 0.5)
"""Sizes of the mean log relative loss from which a cell of the heat map is tinted more strongly."""
TONES = 8


def forest(cells: Sequence[Cell]) -> str:
    """Skill with its interval, a table a family, all on one scale.

    Args:
        cells: in the order to draw them within each family.
    """
    drawn = [value for cell in cells for value in (cell.skill.low, cell.skill.high) if value is not None]
    if not drawn:
        return ""
    low, high = (min(HIGHEST, max(LOWEST, value)) for value in (min(*drawn, 0.0), max(*drawn, 0.0)))
    scale = Scale.around([np.array([low, high])], zero=True)
    parts = []
    for family in sorted({cell.family for cell in cells if cell.skill.enough}, key=family_order):
        rows = "".join(_branch(cell, scale) for cell in cells if cell.family == family)
        head = (
            f'<thead><tr><th scope="col">{escape(family_name(family))}</th><td>{_ruler(scale)}</td><th scope="col">skill</th></tr></thead>'
        )
        parts.append(f'<table class="forest">{head}<tbody>{rows}</tbody></table>')
    note = "Dot: skill; line: 95 % interval; dashed: the baseline."
    return f'<section><h2>Skill with intervals</h2><p class="note">{note}</p><div class="trees">{"".join(parts)}</div></section>'


def heat_map(cells: Sequence[TaskCell], rows: Sequence[Row]) -> str:
    """Skill of every row in every task, tinted by the mean log of the relative loss.

    Args:
        cells: cells of one kind of data.
        rows: the rows, in the order of the columns.
    """
    found = {(cell.task, cell.row): cell for cell in cells}
    tasks = sorted({(family_order(cell.family), cell.family, cell.task) for cell in cells})
    heads = "".join(f'<th scope="col" title="{escape(label(row))}">{escape(label(row))}</th>' for row in rows)
    body, before = [], ""
    for _, family, task in tasks:
        if family != before:
            body.append(f'<tr class="family"><th scope="colgroup" colspan="{len(rows) + 1}">{escape(family)}</th></tr>')
            before = family
        inside = "".join(_tile(found.get((task, row))) for row in rows)
        body.append(f'<tr><th scope="row">{escape(task)}</th>{inside}</tr>')
    head = f"<thead><tr><td></td>{heads}</tr></thead>"
    table = scrolled("Skill in every task", f'<table class="heat">{head}<tbody>{"".join(body)}</tbody></table>')
    note = "Green: better than the baseline, red: worse; ×: never scored; empty: not run."
    return f'<section><h2>Skill in every task</h2><p class="note">{note}</p>{table}</section>'


def scrolled(name: str, table: str) -> str:
    """A table in a frame that scrolls where it is too narrow, by the keyboard too."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">{table}</div>'


def cost_scatter(cells: Sequence[Cell]) -> str:
    """Cost of a success against skill, a numbered point a cell; time stands for cost where no price is known."""
    priced = any(cell.cost.usd for cell in cells)
    of: Callable[[Cell], float | None] = (lambda cell: cell.cost.usd) if priced else (lambda cell: cell.cost.seconds)
    points = [(cell, cost, cell.skill.value) for cell in cells if (cost := of(cell)) and cell.skill.enough and cell.skill.value is not None]
    if len(points) < 2:
        return ""
    unit, name = ("$", "USD") if priced else ("", "Seconds")
    ticks, place = _log_axis([cost for _, cost, _ in points])
    scale = Scale.around([np.array([skill for _, _, skill in points])], zero=True)
    dots, keys = [], []
    for number, (cell, cost, skill) in enumerate(points, start=1):
        tone, x, y = f"s{(number - 1) % TONES}", place(cost), scale.percent(skill)
        said = f"{label(cell.row)}: {figure(cost, unit)} a success, skill {signed(skill)}"
        dots.append(
            f'<g class="dot {tone}"><title>{escape(said)}</title><circle cx="{x:.2f}%" cy="{y:.2f}%" r="9"/>'
            f'<text x="{x:.2f}%" y="{y:.2f}%" dy="0.34em">{number}</text></g>'
        )
        keys.append(f'<span class="number {tone}"><b>{number}</b>{escape(label(cell.row))}</span>')
    title = f"Skill against cost: {name} a success, logarithmic"
    axis = [(place(tick), figure(tick, unit)) for tick in ticks]
    plot = frame(scale, "", axis, "".join(dots), f"{title}. {len(points)} points; the same numbers are in the tables.")
    left = len(cells) - len(points)
    note = f'<p class="note">{left} more have no known cost, no success or no interval.</p>' if left else ""
    caption = f'<figcaption><h3>{title}</h3><div class="keys">{"".join(keys)}</div></figcaption>'
    return f'<section><h2>Cost and skill</h2><figure class="scatter">{caption}{plot}</figure>{note}</section>'


def _branch(cell: Cell, scale: Scale) -> str:
    name = f'<th scope="row">{escape(label(cell.row))}</th>'
    value, low, high = cell.skill.value, cell.skill.low, cell.skill.high
    zero = f'<line class="base" x1="{_across(scale, 0.0)}" x2="{_across(scale, 0.0)}" y2="100%"/>'
    if value is None or low is None or high is None:
        said = f'<td class="lacking">{strength(cell)}<small>{interval(cell.skill)}</small></td>'.replace("-", "−")
        return f'<tr>{name}<td><svg class="branch" aria-hidden="true">{zero}</svg></td>{said}</tr>'
    tone = "gain" if low > 0.0 else "loss" if high < 0.0 else "open"
    line = f'<line class="span" x1="{_across(scale, low)}" x2="{_across(scale, high)}" y1="50%" y2="50%"/>'
    dot = f'<circle cx="{_across(scale, value)}" cy="50%" r="4.5"/>' if scale.low <= value <= scale.high else ""
    drawing = f'<svg class="branch {tone}" aria-hidden="true">{zero}{line}{dot}</svg>'
    figures = f"{signed(value)}<small>{interval(cell.skill)}</small>".replace("-", "−")
    return f"<tr>{name}<td>{drawing}</td><td>{figures}</td></tr>"


def _ruler(scale: Scale) -> str:
    values, step = scale.ticks()
    digits = max(0, -math.floor(math.log10(step * 1.001)))
    styles = ("x", "x minor")
    texts = "".join(
        f'<text class="{styles[n % 2]}" x="{_across(scale, value)}" y="14" text-anchor="middle">{value + 0.0:.{digits}f}</text>'
        for n, value in enumerate(values)
    )
    return f'<svg class="ruler" aria-hidden="true">{texts}</svg>'.replace(">-", ">−")


def _across(scale: Scale, value: float) -> str:
    """Position from the left; a scale gives it from the top."""
    return f"{min(100.0, max(0.0, 100.0 - scale.percent(value))):.2f}%"


def _tile(cell: TaskCell | None) -> str:
    if cell is None:
        return "<td></td>"
    said = f"{label(cell.row)} in {cell.task}: {cell.counts.scored} of {cell.counts.judged} runs scored"
    skill = cell.skill.value
    if skill is None:
        return f'<td class="never" title="{escape(said)}">{"×" if cell.counts.judged else "–"}</td>'
    said += f", skill {signed(skill)} ({signed(cell.worst)} to {signed(cell.best)})"
    # The log treats half the loss and twice the loss alike, which skill does not.
    size = abs(math.log(1.0 - skill)) if skill < 1.0 else math.inf
    shade = sum(size >= limit for limit in TINTS)
    tint = f' class="{"gain" if skill > 0.0 else "loss"}-{shade}"' if shade else ""
    return f'<td{tint} title="{escape(said)}">{f"{skill:z.2f}".replace("-", "−")}</td>'


def _log_axis(values: Sequence[float]) -> tuple[list[float], Callable[[float], float]]:
    """Round ticks of a logarithmic axis around positive values, and a function to percent from the left."""
    low, high = math.log10(min(values)) - 0.15, math.log10(max(values)) + 0.15
    steps = [factor * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for factor in (1.0, 2.0, 5.0)]
    inside = [step for step in steps if low <= math.log10(step) <= high]
    tens = [step for step in inside if math.isclose(math.log10(step), round(math.log10(step)))]

    def place(value: float) -> float:
        return 100.0 * (math.log10(value) - low) / (high - low)

    return (tens if len(inside) > 8 else inside), place
