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
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from openfingym.task.dataset import Fill


@dataclass(frozen=True, eq=False)
class Filled:
    """A table without gaps."""

    table: DataTable
    cells: NDArray[np.bool_] | None = None
    """bool[n, channels], True for the cells that were given a value; None for none."""
    interpolated_to: int | None = None
    """The last row whose value an interpolated cell was computed from; None where nothing was interpolated."""

    @property
    def count(self) -> int:
        """Number of cells that were given a value."""
        return 0 if self.cells is None else int(self.cells.sum())


def without_gaps(table: DataTable, fill: Fill | None, train: float) -> Filled:
    """The table with its gaps filled, or their rows left out.

    Args:
        table: the author's table, in which a gap is NaN.
        fill: what to do about gaps; None or ``none`` to refuse them.
        train: share of the rows, counted from the first, that are in the training block.

    Raises:
        DataError: there are gaps and they are refused, or no row is left.
    """
    gaps = np.isnan(table.values)
    if not gaps.any():
        return Filled(table)
    if fill is None or fill == "none":
        raise DataError(refusal(table, gaps))
    if fill == "drop":
        reason = f"a value is missing in them (drop), {emptiest(table.channels, gaps)}"
        return Filled(_kept(table, np.asarray(~gaps.any(axis=1)), reason))
    # Before the first value of a channel there is nothing to fill its gaps from: those rows go.
    known = np.asarray(np.logical_or.accumulate(~gaps, axis=0).all(axis=1))
    if not known.all():
        table = _kept(table, known, latest(table.channels, gaps))
        gaps = np.isnan(table.values)
    values, between, last = forward(table.values), 0, None
    if fill == "interpolate":
        values, between, last = interpolated(table.values, values, train_share(train, len(values)))
    filled = int(gaps.sum())
    steps = (*table.steps, *filling_steps(between, filled - between))
    return Filled(replace(table, values=values, steps=steps), gaps, last)


def emptiest(names: Sequence[str], gaps: NDArray[np.bool_]) -> str:
    """How many gaps the columns with most of them have, as a phrase; ``gaps`` is bool[n, columns]."""
    counts = gaps.sum(axis=0)
    most = [place for place in np.argsort(-counts, kind="stable").tolist() if counts[place]]
    more = f" and gaps in {len(most) - LISTED} more columns" if len(most) > LISTED else ""
    return ", ".join(f"{counts[place]} of {names[place]!r}" for place in most[:LISTED]) + more


def latest(names: Sequence[str], gaps: NDArray[np.bool_]) -> str:
    """Which columns begin last, and so cost rows, as a clause: that they have no value yet.

    Args:
        names: names of the columns.
        gaps: bool[n, columns], True where a column has no value.
    """
    begins = np.logical_and.accumulate(gaps, axis=0).sum(axis=0)
    last = [name for name, row in zip(names, begins, strict=True) if row == begins.max()]
    more = f" and {len(last) - LISTED} more" if len(last) > LISTED else ""
    has = "has" if len(last) == 1 else "have"
    before = np.sort(begins)[: len(begins) - len(last)].max(initial=0)
    without = f" ({before or 'no'} rows would go without {'it' if len(last) == 1 else 'them'})"
    cost = without if len(last) < len(names) else ""
    return f"{', '.join(map(repr, last[:LISTED]))}{more} {has} no value yet in them{cost}"


def refusal(table: DataTable, gaps: NDArray[np.bool_]) -> str:
    """The message to an author whose table has gaps, bool[n, channels], and who did not say what to do about them."""
    cells = np.argwhere(gaps)
    shown = ", ".join(f"{table.channels[column]!r} at {table.label(row)}" for row, column in cells[:LISTED].tolist())
    more = f" and {len(cells) - LISTED} more" if len(cells) > LISTED else ""
    return (
        f"values are missing: {shown}{more}. Say what to do: --fill forward (the last value before the gap), --fill "
        "interpolate (a line to the value behind it; among training rows alone, since elsewhere it would show a hidden "
        "value: there forward is used), or --fill drop (leave out every row with a gap)"
    )


def filling_steps(interpolated: int, carried: int) -> list[str]:
    """What is recorded about filled cells: how many lie on a line, and how many have the value before them."""
    steps = []
    if interpolated:
        steps.append(f"{interpolated} cells interpolated between training rows, which show no hidden value")
    if carried:
        steps.append(f"{carried} cells filled with the last value before them (forward)")
    return steps


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
    """Fill every gap with the last value above it; the first row must have no gap."""
    # The row of the newest value so far, for every cell: a running maximum of the rows that have one.
    rows = np.arange(len(values))[:, None]
    newest = np.maximum.accumulate(np.where(np.isnan(values), 0, rows), axis=0)
    return np.take_along_axis(values, newest, axis=0)


def interpolated(
    values: NDArray[np.float64], carried: NDArray[np.float64], train: int
) -> tuple[NDArray[np.float64], int, int | None]:
    """Fill gaps between two training rows with points of the line between them, by row.

    Args:
        values: float64[n, channels], in which a gap is NaN.
        carried: the same values with every gap filled from above it, which stays where no line is drawn.
        train: number of training rows, counted from the first.

    Returns:
        (values without gaps; number of cells that lie on a line; the last row whose value one was computed from, None
        where there is none).
    """
    out, count, last = carried.copy(), 0, None
    for column in range(values.shape[1]):
        known = np.flatnonzero(~np.isnan(values[:train, column]))
        if not len(known):
            continue
        # Up to the last value within the training rows: behind it, the other end of the line would be hidden.
        gaps = np.flatnonzero(np.isnan(values[: known[-1] + 1, column]))
        if len(gaps):
            out[gaps, column] = np.interp(gaps, known, values[known, column])
            behind = int(known[np.searchsorted(known, gaps[-1])])
            count, last = count + len(gaps), max(behind, -1 if last is None else last)
    return out, count, last
