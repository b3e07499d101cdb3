"""The cost-delay surface as a table whose cells are tinted by the return in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.reports.charts import shown

if TYPE_CHECKING:
    from openfingym.reports.trading.surface import Surface

SHADES = 4
"""How many tints there are for gains and for losses, such as the CSS classes ``gain-1`` to ``gain-4``."""


def surface_values(surface: Surface) -> dict[str, object]:
    """The values that the page shows: break-even figures in words, and the grid with the tint of each cell."""
    most = float(np.abs(surface.total_return).max())
    rows = [
        (f"{cost:g}", [(tint(value, most), shown(value, "%")) for value in earned.tolist()])
        for cost, earned in zip(surface.costs_bps, surface.total_return, strict=True)
    ]
    return {"sentence": sentence(surface), "delays": surface.delays, "rows": rows}


def sentence(surface: Surface) -> str:
    """The break-even figures of a surface in words."""
    played = (
        "Total return, mean over episodes, of the same decisions carried out later and at other costs; "
        f"as played {shown(surface.as_played, '%')}."
    )
    free = (
        float(surface.total_return[0, 0])
        if surface.costs_bps[0] == 0.0 and surface.delays[0] == 0
        else surface.as_played
    )
    if surface.break_even_cost_bps is not None:
        cost = f"Break-even cost: {surface.break_even_cost_bps:.1f} bps one way."
    else:
        cost = "No cost takes all of it." if free > 0.0 else "Nothing is earned even without costs."
    if surface.break_even_delay is not None:
        delay = f"Break-even delay: {surface.break_even_delay:.1f} bars."
    else:
        delay = "No delay up to 20 bars takes all of it." if surface.as_played > 0.0 else ""
    return " ".join(part for part in (played, cost, delay) if part)


def tint(value: float, most: float) -> str:
    """The CSS class of a cell, by the sign of its value and its size; empty for no tint.

    Args:
        value: the value of the cell.
        most: the largest size of a value in the table.
    """
    if most <= 0.0 or value == 0.0:
        return ""
    shade = max(1, round(SHADES * abs(value) / most))
    return f"{'gain' if value > 0.0 else 'loss'}-{shade}"
