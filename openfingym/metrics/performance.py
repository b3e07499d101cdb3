"""The performance of an account over its episodes: profit, risk, and what trading cost.

Everything is computed from an *account record*, float64[episodes, steps + 1, 7] with the columns
of :class:`RecordColumn`; row 0 is the account at the start, row t the account at the close of bar t.
An account that is ruined stays at equity 0.

Conventions, the same for all: simple returns of equity from close to close; a step that follows
ruin returns 0, as nothing is left to lose; a risk-free rate of 0; standard deviations with ddof 1
(Sharpe 1994); annualised by ``periods_per_year``, the number of bars in a year. Statistics of
steps pool the steps of all episodes; a drawdown never crosses from one episode into the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.arrays import answer, first, number
from openfingym.metrics.risk import FLAT_STD
from openfingym.metrics.risk import sharpe_ratio as pooled_sharpe_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics.arrays import Numbers

WEALTH_FLOOR = 0.01
"""Share of the initial equity at which :func:`log_growth` holds the final one: the logarithm of 0 is not a number."""
RATIO_LIMIT = 1000.0
"""Sortino and Calmar ratios are held within plus and minus this: without a loss there is nothing to divide by."""


class RecordColumn(IntEnum):
    """Columns of an account record. Money is in the account's currency."""

    EQUITY = 0
    """Value of the account at the close of the row."""
    TRADED = 1
    """Notional traded during the row, two-way: the sum of quantity times price; 0 in row 0."""
    COST = 2
    """Fees, slippage and borrowing paid during the row; 0 in row 0."""
    LONG = 3
    """Market value of long positions at the close."""
    SHORT = 4
    """Market value of short positions at the close, positive."""
    CLOSED = 5
    """Number of fills during the row that reduced a position."""
    WON = 6
    """Number of these fills that made money after their fees."""


RECORD = tuple(column.name.lower() for column in RecordColumn)
"""Names of the columns, in order."""


def account_record(record: Numbers) -> NDArray[np.float64]:
    """An account record as float64, after checking that it is one.

    Raises:
        UsageError: the record is not an array [episodes, steps + 1, 7] of finite numbers with at least one step, a
            number is negative, an account begins without equity or has some after its ruin, or more fills made money
            than reduced a position.
    """
    values = answer("record", record, 3)
    if values.shape[2] != len(RECORD) or values.shape[1] < 2:
        raise UsageError(
            f"record has shape {values.shape}, expected [episodes, steps + 1, {len(RECORD)}] with at least one step"
        )
    if (values < 0.0).any():
        raise UsageError(f"record{first(values < 0.0)} is negative; an account that is ruined stays at equity 0")
    equity = values[:, :, RecordColumn.EQUITY]
    if not equity[:, 0].all():
        raise UsageError(f"record[{int(np.argmin(equity[:, 0]))}] starts without equity")
    revived = (equity[:, :-1] == 0.0) & (equity[:, 1:] > 0.0)
    if revived.any():
        raise UsageError(f"the account of record{first(revived)} is ruined and yet has equity in the next row")
    if (values[:, :, RecordColumn.WON] > values[:, :, RecordColumn.CLOSED]).any():
        raise UsageError("record has more fills that won than fills that closed")
    return values


def step_returns(record: Numbers) -> NDArray[np.float64]:
    """Simple return of each step, float64[episodes, steps], as fractions; 0 after ruin."""
    equity = account_record(record)[:, :, RecordColumn.EQUITY]
    before = equity[:, :-1]
    # After ruin there is nothing to divide by, and nothing left to lose.
    alive = before > 0.0
    with np.errstate(over="ignore"):
        returns: NDArray[np.float64] = np.where(alive, equity[:, 1:] / np.where(alive, before, 1.0) - 1.0, 0.0)
    if not np.isfinite(returns).all():
        raise UsageError("the account's returns are too large for float64")
    return returns


def drawdowns(record: Numbers) -> NDArray[np.float64]:
    """Fall from the highest equity so far in the episode, float64[episodes, steps + 1], fractions in [0, 1]."""
    equity = account_record(record)[:, :, RecordColumn.EQUITY]
    return np.asarray(1.0 - equity / np.maximum.accumulate(equity, axis=1), dtype=np.float64)


def pnl(record: Numbers) -> float:
    """Profit, mean over episodes, in cash. Higher is better."""
    equity = account_record(record)[:, :, RecordColumn.EQUITY]
    return number("the profit", float(np.mean(equity[:, -1] - equity[:, 0])))


def total_return(record: Numbers) -> float:
    """Final over initial equity minus one, mean over episodes; -1 is ruin. Higher is better."""
    equity = account_record(record)[:, :, RecordColumn.EQUITY]
    return number("the total return", float(np.mean(equity[:, -1] / equity[:, 0])) - 1.0)


def log_growth(record: Numbers) -> float:
    """Logarithm of final over initial equity, mean over episodes (Kelly 1956). Higher is better.

    Its expectation cannot be raised by scaling positions down, which tends to 0, nor by betting more than is
    known, and cash scores exactly 0. E_T / E_0 is held above :data:`WEALTH_FLOOR`, so ruin scores log(0.01) = -4.6
    an episode. The floor pays nobody: from equity E_0, no bet of expectation 0 has a mean above 0 (the concave hull
    of max(log w, log 0.01) is log w for all w above 0.028). It is not annualised: 200 hours would count 44-fold, and a
    fair bet that is ruined one time in ten would reach the bound on a ratio to the baseline in the other nine.
    """
    equity = account_record(record)[:, :, RecordColumn.EQUITY]
    return number("the log growth", float(np.log(np.maximum(equity[:, -1] / equity[:, 0], WEALTH_FLOOR)).mean()))


def annual_growth(record: Numbers, periods_per_year: float) -> float:
    """Growth a year that compounds to what all episodes, one after the other, made (CAGR by periods); -1 is ruin."""
    equity = account_record(record)[:, :, RecordColumn.EQUITY]
    final = equity[:, -1] / equity[:, 0]
    # One ruin ends the chain of all episodes.
    if not final.all():
        return -1.0
    years = final.size * (equity.shape[1] - 1) / _positive(periods_per_year)
    return number("the annual growth", math.expm1(min(float(np.log(final).sum()) / years, 700.0)))


def volatility(record: Numbers, periods_per_year: float) -> float:
    """Annualised standard deviation of step returns; 0 for a single step."""
    returns = step_returns(record)
    if returns.size == 1:
        return 0.0
    return number("the volatility", float(returns.std(ddof=1)) * math.sqrt(_positive(periods_per_year)))


def sharpe_ratio(record: Numbers, periods_per_year: float) -> float:
    """Annualised Sharpe ratio of step returns (Sharpe 1994); 0 for constant returns and for a single step. Higher is
    better.
    """
    return number("the Sharpe ratio", float(pooled_sharpe_ratio(step_returns(record).ravel(), periods_per_year)))


def sortino_ratio(record: Numbers, periods_per_year: float) -> float:
    """Annualised mean return over downside deviation (Sortino and van der Meer 1991). Higher is better.

    The target is 0; the downside deviation is the root of the mean over all steps of min(r, 0)^2.
    Held within :data:`RATIO_LIMIT`, which an account that gains and never loses has; 0 where nothing moves.
    """
    returns = step_returns(record)
    downside = math.sqrt(float(np.mean(np.minimum(returns, 0.0) ** 2)))
    return _ratio(float(returns.mean()) * math.sqrt(_positive(periods_per_year)), downside)


def max_drawdown(record: Numbers) -> float:
    """Largest fall from a peak within an episode, the start included, worst over episodes.

    A POSITIVE fraction in [0, 1]; 1 is ruin. Lower is better.
    """
    return float(drawdowns(record).max())


def calmar_ratio(record: Numbers, periods_per_year: float) -> float:
    """:func:`annual_growth` over :func:`max_drawdown` (Young 1991); a loss is multiplied by it. Higher is better.

    Divided by its drawdown, a loss would look the smaller the deeper the fall. As a product (Israelsen 2005, who mends
    the Sharpe ratio so), a deeper fall is worse whatever the sign, more growth is better, and any gain is above any
    loss: a loss lies in [-1, 0], ruin at -1. A gain is held within :data:`RATIO_LIMIT`, which an account that never
    falls has; 0 where nothing moves.
    """
    growth, fall = annual_growth(record, periods_per_year), max_drawdown(record)
    return growth * fall if growth <= -FLAT_STD else _ratio(growth, fall)


def turnover(record: Numbers, periods_per_year: float) -> float:
    """Notional traded a year over mean equity, two-way, mean over episodes: 2 is selling and buying everything once."""
    values = account_record(record)
    mean_equity = values[:, :, RecordColumn.EQUITY].mean(axis=1)
    years = (values.shape[1] - 1) / _positive(periods_per_year)
    return number("the turnover", float(np.mean(values[:, :, RecordColumn.TRADED].sum(axis=1) / mean_equity)) / years)


def hit_rate(record: Numbers) -> float:
    """Share of the fills that reduced a position which made money after fees, pooled; 0 where nothing was closed."""
    values = account_record(record)
    closed = float(values[:, :, RecordColumn.CLOSED].sum())
    return float(values[:, :, RecordColumn.WON].sum()) / closed if closed > 0.0 else 0.0


def exposure(record: Numbers) -> float:
    """Gross exposure, long plus short over equity, mean over the closes of all steps; a ruined account has none."""
    values = account_record(record)[:, 1:]
    equity = values[:, :, RecordColumn.EQUITY]
    gross = values[:, :, RecordColumn.LONG] + values[:, :, RecordColumn.SHORT]
    with np.errstate(over="ignore"):
        shares = np.where(equity > 0.0, gross / np.where(equity > 0.0, equity, 1.0), 0.0)
    return number("the exposure", float(shares.mean()))


def cost_paid(record: Numbers) -> float:
    """Fees, slippage and borrowing over initial equity, mean over episodes. Lower is better."""
    values = account_record(record)
    return number(
        "the cost paid", float(np.mean(values[:, :, RecordColumn.COST].sum(axis=1) / values[:, 0, RecordColumn.EQUITY]))
    )


@dataclass(frozen=True)
class Performance:
    """All figures of a record; each is computed by the function of its name."""

    episodes: int
    """Number of episodes."""
    steps: int
    """Number of steps of one episode."""
    pnl: float
    """Profit in cash, mean over episodes."""
    total_return: float
    """Return of an episode as a fraction, mean over episodes."""
    log_growth: float
    """Logarithm of final over initial equity, mean over episodes."""
    annual_growth: float
    """Growth a year as a fraction, compounded over all episodes."""
    volatility: float
    """Annualised standard deviation of step returns, as a fraction."""
    sharpe_ratio: float
    """Annualised Sharpe ratio of step returns."""
    sortino_ratio: float
    """Annualised Sortino ratio of step returns, within :data:`RATIO_LIMIT`."""
    max_drawdown: float
    """Largest fall from a peak as a positive fraction, worst over episodes."""
    calmar_ratio: float
    """Annual growth over the largest drawdown, within :data:`RATIO_LIMIT`; a loss times the drawdown."""
    turnover: float
    """Traded value in multiples of mean equity a year, two-way."""
    hit_rate: float
    """Share of the closing fills that made money."""
    exposure: float
    """Long plus short positions in multiples of equity, mean over steps."""
    cost_paid: float
    """Fees, slippage and borrowing as a fraction of initial equity, mean over episodes."""
    closed: int
    """Number of fills that reduced a position."""
    by_episode: tuple[Performance, ...] = ()
    """The figures of each episode alone, in order; empty for a single episode."""


def summary(record: Numbers, periods_per_year: float) -> Performance:
    """Everything there is to say about a record, pooled and for each episode.

    Args:
        record: the account record, float64[episodes, steps + 1, 7].
        periods_per_year: number of bars in a year, such as 252.

    Raises:
        UsageError: the record is not an account record, or ``periods_per_year`` is not positive.
    """
    values = account_record(record)
    several = len(values) > 1
    return Performance(
        episodes=len(values),
        steps=values.shape[1] - 1,
        pnl=pnl(values),
        total_return=total_return(values),
        log_growth=log_growth(values),
        annual_growth=annual_growth(values, periods_per_year),
        volatility=volatility(values, periods_per_year),
        sharpe_ratio=sharpe_ratio(values, periods_per_year),
        sortino_ratio=sortino_ratio(values, periods_per_year),
        max_drawdown=max_drawdown(values),
        calmar_ratio=calmar_ratio(values, periods_per_year),
        turnover=turnover(values, periods_per_year),
        hit_rate=hit_rate(values),
        exposure=exposure(values),
        cost_paid=cost_paid(values),
        closed=int(values[:, :, RecordColumn.CLOSED].sum()),
        by_episode=tuple(summary(episode[None], periods_per_year) for episode in values) if several else (),
    )


def _positive(periods_per_year: float) -> float:
    """The number of periods itself, or UsageError if it is not positive and finite."""
    if not 0.0 < periods_per_year < math.inf:
        raise UsageError(f"periods_per_year must be positive and finite, found {periods_per_year}; daily bars have 252")
    return periods_per_year


def _ratio(reward: float, risk: float) -> float:
    """``reward`` over ``risk``, within :data:`RATIO_LIMIT`; rounding noise counts as nothing."""
    if abs(reward) < FLAT_STD:
        return 0.0
    # Written as a product, so that a risk of 0 is a ratio beyond the limit too.
    if abs(reward) >= RATIO_LIMIT * risk:
        return math.copysign(RATIO_LIMIT, reward)
    return reward / risk
