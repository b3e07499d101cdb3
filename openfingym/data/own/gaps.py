"""Cells of an author's table that have no value, and what may be done about them.

A gap may be filled from what was known before it, and never from what came after. ``interpolate`` looks at the value
behind the gap; in the hidden rows, or across their beginning, it would put a hidden value into what agents see. So it
is used where the value behind the gap is a training row, and ``forward`` everywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.own.cells import LISTED, left_out
from openfingym.data.own.tables import DataTable
from openfingym.data.recipe import train_share
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.task.dataset import Fill


@dataclass(frozen=True, eq=False)
class Filled:
    """A table without gaps."""

    table: DataTable
    filled: int = 0
    """Cells that were given a value."""
    interpolated_to: int | None = None
    """The last row on which an interpolated cell rests; None for none."""


def without_gaps(table: DataTable, fill: Fill | None, train: float) -> Filled:
    """The table with its gaps filled, or their rows left out.

    Args:
        table: the author's table.
        fill: what to do; None or ``none`` to refuse gaps.
        train: share of the rows, from the first on, that are in the training block.

    Raises:
        DataError: there are gaps and nothing is to be done, or nothing is left.
    """
    gaps = np.isnan(table.values)
    if not gaps.any():
        return Filled(table)
    if fill is None or fill == "none":
        raise DataError(refusal(table, gaps))
    if fill == "drop":
        return Filled(_kept(table, np.asarray(~gaps.any(axis=1)), "a value is missing in them (drop)"))
    # Before the first value of a channel nothing is known of it.
    known = np.asarray(np.logical_or.accumulate(~gaps, axis=0).all(axis=1))
    if not known.all():
        table = _kept(table, known, "a channel has no value yet")
        gaps = np.isnan(table.values)
    values, last = forward(table.values), None
    steps = []
    if fill == "interpolate":
        values, between, last = interpolated(table.values, values, train_share(train, len(values)))
        steps.append(f"{between} cells interpolated between training rows, which show no hidden value")
    else:
        between = 0
    if rest := int(gaps.sum()) - between:
        steps.append(f"{rest} cells filled with the last value before them (forward)")
    return Filled(replace(table, values=values, steps=(*table.steps, *steps)), int(gaps.sum()), last)


def refusal(table: DataTable, gaps: NDArray[np.bool_]) -> str:
    """What an author is told whose table has gaps, bool[n, channels], and who said nothing of them."""
    cells = np.argwhere(gaps)
    shown = ", ".join(f"{table.channels[column]!r} at {table.label(row)}" for row, column in cells[:LISTED].tolist())
    more = f" and {len(cells) - LISTED} more" if len(cells) > LISTED else ""
    return (
        f"values are missing: {shown}{more}. Say what to do: --fill forward (the last value before the gap), --fill "
        "interpolate (a line to the value behind it; among training rows alone, since elsewhere it would show a hidden "
        "value: there forward is used), or --fill drop (leave out every row with a gap)"
    )


def _kept(table: DataTable, rows: NDArray[np.bool_], reason: str) -> DataTable:
    gone, step = left_out(rows, reason)
    if not gone:
        return table
    return replace(
        table,
        times=None if table.times is None else table.times[rows],
        values=table.values[rows],
        steps=(*table.steps, step),
        dropped=table.dropped + gone,
    )


def forward(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every gap with the last value above it; the first row has none."""
    rows = np.arange(len(values))[:, None]
    newest = np.maximum.accumulate(np.where(np.isnan(values), 0, rows), axis=0)
    return np.take_along_axis(values, newest, axis=0)


def interpolated(
    values: NDArray[np.float64], carried: NDArray[np.float64], train: int
) -> tuple[NDArray[np.float64], int, int | None]:
    """Gaps between two training rows on a line by row, the others as in ``carried``; how many lie on a line; and the
    last row on which one rests.
    """
    out, count, last = carried.copy(), 0, None
    for column in range(values.shape[1]):
        known = np.flatnonzero(~np.isnan(values[:train, column]))
        if not len(known):
            continue
        gaps = np.flatnonzero(np.isnan(values[: known[-1] + 1, column]))
        if len(gaps):
            out[gaps, column] = np.interp(gaps, known, values[known, column])
            behind = int(known[np.searchsorted(known, gaps[-1])])
            count, last = count + len(gaps), max(behind, -1 if last is None else last)
    return out, count, last
