"""What quotes and corporate actions must agree on before anything is computed from them; the same for panels and bars.

A publisher's faults are not repaired: a price that was adjusted by a wrong guess is worse than none. What contradicts
itself is refused by the symbol and the day, so that the symbol can be left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.sources.table import CorporateAction
    from openfingym.task.model import Frequency

SPLIT_SHARE = 0.25
"""A price falls by a split that was not applied if the log of its fall is within this share of the split's own log."""
SMALLEST_SPLIT = 1.2
"""Splits by less than this ratio, either way, cannot be told from a day's return."""
HUNDREDFOLD = (80.0, 125.0)
"""Factors from one price to the next, either way, that are a change between a currency and its hundredth."""


def row_of(times: NDArray[np.datetime64], day: date, frequency: Frequency) -> int:
    """The row on which a corporate action counts; the number of rows if it lies beyond the last.

    A bar of a week or a month is stamped with its first day, and an action within it counts there. Otherwise it is the
    first row on the day or after it.

    Args:
        times: datetime64[n], increasing.
        day: day from which shares trade without the dividend, or after the split.
        frequency: how long the bars are.
    """
    days, ex = times.astype("datetime64[D]"), np.datetime64(day, "D")
    after = int(np.searchsorted(days, ex))
    if frequency not in {"weekly", "monthly"} or (after < len(days) and days[after] == ex) or after == 0:
        return after
    begun = days[after - 1]
    ends = begun + 7 if frequency == "weekly" else (begun.astype("datetime64[M]") + 1).astype("datetime64[D]")
    return after - 1 if ex < ends else after


def cash_by_row(
    close: NDArray[np.float64],
    times: NDArray[np.datetime64],
    actions: Sequence[CorporateAction],
    *,
    frequency: Frequency = "daily",
    currency: str = "",
) -> dict[int, float]:
    """Cash per share of dividends and capital gains, by the row on which shares trade without it.

    Args:
        close: float64[n], split-adjusted, NaN where missing.
        times: datetime64[n], increasing, the time of each close.
        actions: corporate actions of one symbol, with cash per share as counted today. An ex-date without a price
            counts from the next row that has one.
        frequency: how long the bars are.
        currency: currency of the prices; empty where it is not known.

    Returns:
        Sums by row. What lies before the second price or after the last is left out: nobody holds a share there.

    Raises:
        DataError: a dividend is in another currency than the prices, or not below the price before it.
    """
    priced = np.flatnonzero(close > 0.0)
    paid: dict[int, float] = {}
    for action in actions:
        if action.kind == "split":
            continue
        position = row_of(times[priced], action.day, frequency)
        if not 0 < position < len(priced):
            continue
        if action.currency and currency and action.currency != currency:
            raise DataError(
                f"{action.symbol}, {action.day}: a {action.kind} in {action.currency}, and prices in {currency}; "
                "leave the symbol out, or take prices in the currency of its dividends"
            )
        row = int(priced[position])
        paid[row] = paid.get(row, 0.0) + action.value
        before = float(close[priced[position - 1]])
        if paid[row] >= before:
            raise DataError(
                f"{action.symbol}, {action.day}: a {action.kind} of {action.value:g} is not below the price of "
                f"{before:g} before it; one of them is in another unit or currency, or wrong: leave the symbol out"
            )
    return paid


def require_consistent(
    symbol: str,
    close: NDArray[np.float64],
    times: NDArray[np.datetime64],
    actions: Sequence[CorporateAction],
    *,
    frequency: Frequency,
) -> None:
    """Return if split-adjusted prices fit to their splits, and stay in one unit.

    Args:
        symbol: name of the instrument.
        close: float64[n], said to be adjusted for splits, NaN where missing.
        times: datetime64[n], increasing, the time of each close.
        actions: corporate actions of the symbol.
        frequency: how long the bars are.

    Raises:
        DataError: a split was not applied to the prices before it, or prices jump between a currency and its hundredth.
    """
    priced = np.flatnonzero(close > 0.0)
    prices, stamps = close[priced], times[priced]
    falls = np.log(prices[:-1] / prices[1:])
    for action in actions:
        row = row_of(stamps, action.day, frequency)
        size = math.log(action.value) if action.kind == "split" else 0.0
        if abs(size) < math.log(SMALLEST_SPLIT) or not 0 < row < len(prices):
            continue
        if abs(falls[row - 1] - size) < SPLIT_SHARE * abs(size):
            raise DataError(
                f"{symbol}, {action.day}: prices before its split by {action.value:g} are not adjusted for it (from "
                f"{prices[row - 1]:g} to {prices[row]:g}), although the publisher says that they are; pull it again "
                "later, or leave the symbol out"
            )
    low, high = (math.log(factor) for factor in HUNDREDFOLD)
    jumps = np.flatnonzero((np.abs(falls) > low) & (np.abs(falls) < high))
    if jumps.size:
        row = int(jumps[0]) + 1
        raise DataError(
            f"{symbol}, {stamps[row].astype('datetime64[D]')}: its price jumps from {prices[row - 1]:g} to "
            f"{prices[row]:g}, as between a currency and its hundredth (pounds, pence); leave the symbol "
            "out, or the days up to there"
        )


def one_currency(currencies: Mapping[str, str]) -> None:
    """Return if all symbols are quoted in one currency, as those of one account must be.

    Args:
        currencies: currency of each symbol, as far as it is known.

    Raises:
        DataError: there are two.
    """
    by_currency: dict[str, str] = {}
    for symbol, currency in currencies.items():
        by_currency.setdefault(currency, symbol)
    if len(by_currency) > 1:
        named = ", ".join(f"{symbol} in {currency}" for currency, symbol in by_currency.items())
        raise DataError(f"an account has one currency, and the prices are of {len(by_currency)}: {named}")
