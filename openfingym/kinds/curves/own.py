"""Starting a task from an author's own curves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.kinds.own_tables import edited, fitted_lookback, range_of, read_own_table, require_windows

if TYPE_CHECKING:
    from openfingym.kinds.start import Given, Start


def start_from_curves(start: Start, given: Given) -> Start:
    """The scaffold of a curves task that holds the author's curves, with a contract that fits them.

    Args:
        start: the scaffold of the kind.
        given: the author's files, and how they are to be read.

    Raises:
        UsageError: an option is given that is for other kinds.
        DataError: a file is malformed, has gaps and ``--fill`` is not given, or there are too few rows.
    """
    from openfingym.data.own.curves import grid_of, read_own_curves

    if given.measure not in {None, "yield"}:
        raise UsageError(f"--measure {given.measure}: curves hold yields; leave it out, or give --measure yield")
    own = read_own_table(replace(given, measure="yield"), start, read_own_curves)
    rows = len(own.table.values)
    require_windows(start, rows, 1)
    low, high = range_of(own)
    grid = grid_of(own.table.channels, ", ".join(given.names))
    count = len(grid.curves)
    each = "the curve" if count == 1 else f"each of {count} curves"
    return own.start(
        start,
        asset_class="rates",
        description=f"Forecast the next row of {each}, with an interval.",
        asks=f"Forecast the next row of {each}, with an interval around it.",
        panel=f"{rows} rows of {count} curve{'s'[: count > 1]}, {len(grid.maturities)} maturities",
        contract=edited(
            start.contract.replace("months of input", "rows of input"),
            **fitted_lookback(start, rows),
            unit='"as in the data; say it here"',
            low=low,
            high=high,
        ),
    )
