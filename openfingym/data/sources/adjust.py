"""Explicit adjustment of prices for splits and dividends.

Three series are kept apart: *raw* (what was paid on the day), *split-adjusted* (what Yahoo calls
``close``) and *adjusted* (dividends reinvested too). The first and the third are made from the
second and the events; nothing is adjusted silently. Adjusted history changes with every later
event, so it is not point-in-time: a backtest that needs what was known then takes raw prices and
the events up to then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.data.sources.consistency import cash_by_row
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.sources.table import CorporateAction
    from openfingym.task.model import Frequency

Reinvestment = Literal["prior-close", "ex-close"]
"""At which close a dividend is taken to be reinvested; see :func:`adjusted_prices`."""


def split_factors(times: NDArray[np.datetime64], actions: Sequence[CorporateAction]) -> NDArray[np.float64]:
    """Shares of today per share of each day: the product of the ratios of all later splits.

    Args:
        times: datetime64[n], increasing, the day of each row, at midnight.
        actions: corporate actions of one symbol, of which only splits count.

    Returns:
        float64[n], 1 from the last split on.
    """
    factors = np.ones(len(times))
    for action in actions:
        if action.kind == "split":
            factors[times.astype("datetime64[D]") < np.datetime64(action.day, "D")] *= action.value
    return factors


def raw_prices(
    prices: NDArray[np.float64], times: NDArray[np.datetime64], actions: Sequence[CorporateAction]
) -> NDArray[np.float64]:
    """Undo the split adjustment: what was paid on the day, float64[n]."""
    raw: NDArray[np.float64] = prices * split_factors(times, actions)
    return raw


def split_adjusted(
    raw: NDArray[np.float64], times: NDArray[np.datetime64], actions: Sequence[CorporateAction]
) -> NDArray[np.float64]:
    """Raw prices in shares of today, float64[n]."""
    adjusted: NDArray[np.float64] = raw / split_factors(times, actions)
    return adjusted


def adjusted_prices(
    close: NDArray[np.float64],
    times: NDArray[np.datetime64],
    actions: Sequence[CorporateAction],
    *,
    reinvested_at: Reinvestment = "prior-close",
    frequency: Frequency = "daily",
    currency: str = "",
) -> NDArray[np.float64]:
    """Close adjusted for dividends, so that its ratios are total returns.

    All rows before an ex-date are multiplied by one factor a dividend D (capital gains count as
    dividends; several on one day are added up), with P the close before the ex-date and Q the
    close on it:

    - ``prior-close``: 1 - D / P, as Yahoo and CRSP do;
    - ``ex-close``: Q / (Q + D), as the Quandl WIKI prices do: the return of the ex-date is (Q + D) / P.

    Args:
        close: float64[n], split-adjusted, NaN where missing.
        times: datetime64[n], increasing, the day of each close.
        actions: corporate actions of one symbol, with dividends in cash per share as counted today, as Yahoo gives
            them. An ex-date without a row counts from the next row that has a price.
        reinvested_at: the convention by which dividends are reinvested.
        frequency: how long the bars are: a dividend within a week or month counts in its bar.
        currency: currency of the prices; empty where it is not known.

    Returns:
        float64[n]; equal to ``close`` from the last ex-date on.

    Raises:
        DataError: the arrays do not fit together, or a dividend is in another currency or not below the price before
            it.
    """
    if close.shape != times.shape or close.ndim != 1:
        raise DataError(f"close and times must be of one length, found {list(close.shape)} and {list(times.shape)}")
    priced = np.flatnonzero(close > 0.0)
    factors = np.ones(len(close))
    for row, cash in cash_by_row(close, times, actions, frequency=frequency, currency=currency).items():
        before, ex = float(close[priced[np.searchsorted(priced, row) - 1]]), float(close[row])
        factors[:row] *= 1.0 - cash / before if reinvested_at == "prior-close" else ex / (ex + cash)
    adjusted: NDArray[np.float64] = close * factors
    return adjusted
