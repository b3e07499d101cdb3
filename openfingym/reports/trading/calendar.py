"""Returns by the calendar: month by month in rows of years, or day by day where an account is younger than that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.reports.trading.trace import Chain

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FEWEST_MONTHS = 7
"""Of fewer months, days are shown."""
ROWS = 60
"""Rows shown, the last ones."""


@dataclass(frozen=True, eq=False)
class CalendarReturns:
    """Returns compounded over calendar months or days, UTC; a step belongs to where its bar's time is."""

    unit: Literal["month", "day"]
    """What a column is; a row is the year of months, and the month of days."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    returns: NDArray[np.float64]
    """float64[rows, columns], fractions; NaN where no step was."""
    totals: NDArray[np.float64]
    """float64[rows], fractions."""

    def to_dict(self) -> dict[str, object]:
        """Plain values; None where no step was."""
        cells = [[None if np.isnan(value) else value for value in row] for row in self.returns.tolist()]
        return {
            "unit": self.unit,
            "rows": list(self.rows),
            "columns": list(self.columns),
            "returns": cells,
            "totals": self.totals.tolist(),
        }


def calendar_returns(chain: Chain) -> CalendarReturns | None:
    """The account's returns by the calendar, over all episodes; None where all steps were on one day."""
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
