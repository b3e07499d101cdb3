"""Returns by the calendar: by month in rows of years, or by day in rows of months for an account of a few months."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.trading.trace import Chain

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FEWEST_MONTHS = 7
"""Fewest months that are shown by month; with fewer, days are shown."""
ROWS = 60
"""Most rows that are shown, the last ones."""


@dataclass(frozen=True, eq=False)
class CalendarReturns:
    """Returns compounded over calendar months or days in UTC; a step counts where the time of its bar is."""

    unit: Literal["month", "day"]
    """What a column is: a month, with years as rows, or a day, with months as rows."""
    rows: tuple[str, ...]
    """Names of the rows, such as ``2024`` or ``2024-03``."""
    columns: tuple[str, ...]
    """Names of the columns, such as ``Jan`` or ``1``."""
    returns: NDArray[np.float64]
    """Return over each month or day as a fraction, float64[rows, columns]; NaN without a step."""
    totals: NDArray[np.float64]
    """Return over each row as a fraction, float64[rows]."""

    def to_dict(self) -> dict[str, object]:
        """The returns as plain values; None for a cell without a step."""
        cells = [[None if np.isnan(value) else value for value in row] for row in self.returns.tolist()]
        return {
            "unit": self.unit,
            "rows": list(self.rows),
            "columns": list(self.columns),
            "returns": cells,
            "totals": self.totals.tolist(),
        }


def calendar_returns(chain: Chain) -> CalendarReturns | None:
    """The account's returns by the calendar, over all episodes; None if all steps are on one day."""
    # The first row of an episode is its start, and no step.
    steps = np.ones(chain.size, dtype=bool)
    steps[list(chain.starts)] = False
    times, growth = chain.times[steps], 1.0 + chain.returns
    days, months = times.astype("datetime64[D]"), times.astype("datetime64[M]")
    if days.min() == days.max():
        return None
    if len(np.unique(months)) >= FEWEST_MONTHS:
        row, column = times.astype("datetime64[Y]"), (months - times.astype("datetime64[Y]")).astype(int)
        columns: tuple[str, ...] = MONTHS
        unit: Literal["month", "day"] = "month"
    else:
        row, column = months, (days - months.astype("datetime64[D]")).astype(int)
        columns, unit = tuple(str(day) for day in range(1, 32)), "day"
    names, place = np.unique(row, return_inverse=True)
    product = np.ones((len(names), len(columns)))
    # Unlike an assignment, this multiplies once for each step of a cell.
    np.multiply.at(product, (place, column), growth)
    seen = np.zeros_like(product, dtype=bool)
    seen[place, column] = True
    return CalendarReturns(
        unit,
        tuple(np.datetime_as_string(names).tolist()),
        columns,
        np.where(seen, product - 1.0, np.nan),
        product.prod(axis=1) - 1.0,
    )
