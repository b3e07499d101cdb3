"""Cells of an author's rows that have no value, and what may be done about them.

A gap is filled from earlier rows with the same id alone, and from later ones only where those are training rows too
(see :mod:`openfingym.data.own.gaps`). A target is never made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.own.gaps import emptiest, filling_steps, forward, interpolated, refusal
from openfingym.data.own.tables import DataTable
from openfingym.data.recipe import train_share
from openfingym.data.rows import starts_of
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.own.rows import OwnRows
    from openfingym.task.dataset import Fill


@dataclass(frozen=True, eq=False)
class FilledRows:
    """Rows without gaps."""

    rows: OwnRows
    filled: int = 0
    """Number of cells that were given a value."""
    interpolated_to: int | None = None
    """The last row whose value an interpolated cell was computed from; None where nothing was interpolated."""


def rows_without_gaps(rows: OwnRows, fill: Fill | None, train: float) -> FilledRows:
    """The rows with their gaps filled, or left out.

    Args:
        rows: the author's rows, in which a gap is NaN.
        fill: what to do about gaps; None or ``none`` to refuse them.
        train: share of the dates, counted from the first, that are in the training block.

    Raises:
        DataError: there are gaps and they are refused, no row is left, or no column says which rows of different dates
            belong together.
    """
    gaps = np.isnan(rows.values)
    if not gaps.any():
        return FilledRows(rows)
    if fill is None or fill == "none":
        raise DataError(refusal(DataTable(rows.times, rows.columns, rows.values), gaps))
    if fill == "drop":
        reason = f"a value is missing in them (drop), {emptiest(rows.columns, gaps)}"
        return FilledRows(rows.kept(np.asarray(~gaps.any(axis=1)), reason))
    if not rows.ids and rows.series.any():
        raise DataError(
            f"--fill {fill}: several rows have the same date, and no column says which row of another date is of the "
            "same; add a column 'id', or give --fill drop"
        )
    rows = rows.kept(
        ~gaps[:, -1], f"{rows.columns[-1]!r} is missing in them, and what is to be predicted is not filled"
    )
    # Before the first value of a feature within its series there is nothing to fill from.
    known = np.zeros(rows.values.shape, dtype=np.bool_)
    for own in _by_series(rows):
        known[own] = np.logical_or.accumulate(~np.isnan(rows.values[own]), axis=0)
    rows = rows.kept(np.asarray(known.all(axis=1)), f"a feature has no value yet, {emptiest(rows.columns, ~known)}")
    # The training block ends between two dates, never within one.
    starts = starts_of(rows.clock)
    first_hidden = int(starts[train_share(train, len(starts) - 1)])
    values, between, last = rows.values.copy(), 0, -1
    for own in _by_series(rows):
        values[own] = forward(rows.values[own])
        if fill == "interpolate":
            values[own], count, until = interpolated(rows.values[own], values[own], int((own < first_hidden).sum()))
            between += count
            last = max(last, -1 if until is None else int(own[until]))
    filled = int(np.isnan(rows.values).sum())
    rows = replace(rows, values=values, steps=(*rows.steps, *filling_steps(between, filled - between)))
    return FilledRows(rows, filled, last if last >= 0 else None)


def _by_series(rows: OwnRows) -> Iterator[NDArray[np.int64]]:
    """Places of the rows of each id, in order of time."""
    order = np.argsort(rows.series, kind="stable")
    yield from np.split(order, starts_of(rows.series[order])[1:-1])  # type: ignore[arg-type]  # numbers, as times are
