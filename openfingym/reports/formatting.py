"""Figures, shares and intervals as text, the same in every table and on every page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.reports.groups import ALL

if TYPE_CHECKING:
    from openfingym.reports.cells import Cell, TaskCell
    from openfingym.reports.statistics import Estimate

TOO_FEW = "too few to say"
"""What stands for an interval or a verdict if nothing is known of the error."""
DASH = "-"
"""What stands for a figure that there is not."""


def family_name(family: str) -> str:
    """The name of a family as a heading."""
    return "all tasks" if family == ALL else family


def signed(value: float | None) -> str:
    """A figure with its sign and three decimals."""
    # "z" writes what rounds to zero without a minus.
    return DASH if value is None else f"{value:+z.3f}"


def strength(cell: Cell | TaskCell) -> str:
    """The skill of a cell, or why it has none."""
    return (
        signed(cell.skill.value)
        if cell.skill.value is not None
        else "never scored"
        if cell.counts.judged
        else "no run judged"
    )


def interval(estimate: Estimate, *, sign: bool = True) -> str:
    """The ends of an interval, or why there is none."""
    if estimate.low is None or estimate.high is None:
        return "" if estimate.value is None else TOO_FEW
    ends = f"{estimate.low:+z.3f} to {estimate.high:+z.3f}" if sign else f"{estimate.low:.3f} to {estimate.high:.3f}"
    return f"{ends}, these tasks alone" if estimate.over == "item" else ends


def penalized(cell: Cell) -> str:
    """The penalized total of a cell, with its interval where there is one."""
    estimate = cell.penalized
    ends = "" if estimate.low is None else f" [{figure(estimate.low)}, {figure(estimate.high)}]"
    return f"{figure(estimate.value)}{ends}"


def left_out(cell: Cell) -> str:
    """How many runs of a cell are in no figure, by state."""
    counts = {"error": cell.counts.error, "deferred": cell.counts.deferred, "void": cell.counts.void}
    texts = (
        f"{count} {state}{'s' if state == 'error' and count > 1 else ''}" for state, count in counts.items() if count
    )
    return ", ".join(texts)


def percent(value: float | None) -> str:
    """A share in whole percent, rounded to 100 % only if it is all, and to 0 % only if it is none."""
    if value is None:
        return DASH
    rounded = round(100.0 * value)
    return f"{min(rounded, 99) if value < 1.0 else 100}%" if rounded > 0 or value == 0.0 else "<1%"


def figure(value: float | None, unit: str = "") -> str:
    """A figure with three significant digits, after the sign of its unit."""
    if value is None:
        return DASH
    # From 999.5 on, three digits would be 1.00e+03.
    if abs(value) >= 999.5 or 0.0 < abs(value) < 1e-4:
        return f"{unit}{value:,.0f}" if 999.5 <= abs(value) < 1e9 else f"{unit}{value:.2e}"
    return f"{unit}{value:#.3g}".rstrip(".")


def whole(value: float | None) -> str:
    """A number without decimals."""
    return DASH if value is None else f"{value:,.0f}"
