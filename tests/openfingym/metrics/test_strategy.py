"""The long-short portfolio against pandas and empyrical."""

import empyrical
import numpy as np
import pandas as pd
import pytest

from openfingym.errors import DataError, UsageError
from openfingym.metrics.strategy import (
    long_short_drawdown,
    long_short_returns,
    long_short_sharpe,
    long_short_t,
    long_short_worst_period,
    max_drawdown,
)


def panel(seed=0, months=24, stocks=35):
    rng = np.random.default_rng(seed)
    period = np.repeat(np.arange(months), stocks)
    order = rng.permutation(period.size)
    y = 0.05 * rng.standard_normal(period.size)
    return y, y + 0.1 * rng.standard_normal(period.size), period[order]


def by_pandas(y, f, period):
    frame = pd.DataFrame({"y": y, "f": f, "m": period})
    out = []
    for _, month in frame.groupby("m"):
        size = max(1, len(month) // 10)
        # The value of a place is the mean of all rows that could take it.
        ranked = month.sort_values("f", kind="stable")
        shared = ranked.groupby("f")["y"].transform("mean")
        out.append(shared.tail(size).mean() - shared.head(size).mean())
    return np.array(out)


@pytest.mark.parametrize("stocks", [5, 10, 35])
def test_agrees_with_pandas_and_empyrical(stocks):
    y, f, period = panel(stocks=stocks)
    expected = by_pandas(y, f, period)
    assert long_short_returns(y, f, period) == pytest.approx(expected, rel=1e-9, abs=1e-13)
    assert long_short_sharpe(y, f, period) == pytest.approx(
        empyrical.sharpe_ratio(expected, annualization=12), rel=1e-9
    )
    assert long_short_drawdown(y, f, period) == pytest.approx(-empyrical.max_drawdown(expected), rel=1e-9)
    assert long_short_worst_period(y, f, period) == pytest.approx(max(0.0, -expected.min()))
    assert long_short_t(y, f, period) * long_short_sharpe(y, f, period) > 0


def test_equal_predictions_share_their_places_so_the_order_of_rows_means_nothing():
    y, f = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.0, 0.0, 1.0, 1.0])
    assert long_short_returns(y, f, np.zeros(4, dtype=int)).tolist() == [6.0 - 1.5]
    y, f, period = panel(seed=3)
    coarse = np.round(4.0 * f)
    found = long_short_returns(y, coarse, period)
    assert found == pytest.approx(by_pandas(y, coarse, period), rel=1e-9, abs=1e-13)
    order = np.random.default_rng(0).permutation(y.size)
    assert long_short_returns(y[order], coarse[order], period[order]) == pytest.approx(found, rel=1e-9, abs=1e-13)
    # One row told from the rest: the other side is held in all of them equally, not in the first.
    single = np.zeros(y.size)
    single[np.unique(period, return_index=True)[1]] = 1e-9
    for month in np.unique(period):
        rows = period == month
        long = y[rows][single[rows] > 0.0]
        size = max(1, rows.sum() // 10)
        rest = y[rows][single[rows] == 0.0].mean()
        top = (long.sum() + (size - 1) * rest) / size
        assert long_short_returns(y[rows], single[rows], period[rows]) == pytest.approx([top - rest])


def test_flat_forecasts_and_single_rows_take_no_position():
    y, _, period = panel()
    assert not long_short_returns(y, np.full_like(y, 0.3), period).any()
    assert long_short_sharpe(y, np.zeros_like(y), period) == 0.0
    assert long_short_returns(y, y, np.arange(y.size)).tolist() == [0.0] * y.size


@pytest.mark.parametrize(
    ("returns", "expected"),
    [([0.1, 0.2], 0.0), ([-0.5], 0.5), ([1.0, -0.75, 1.0], 0.75), ([0.1, -1.0, 3.0], 1.0), ([-2.0], 1.0)],
)
def test_drawdown_is_a_positive_fraction(returns, expected):
    assert max_drawdown(np.array(returns)) == pytest.approx(expected)


def test_faults():
    y, f, period = panel()
    with pytest.raises(DataError, match="integers or dates"):
        long_short_returns(y, f, period.astype(float))
    with pytest.raises(UsageError, match="shape"):
        long_short_returns(y, f[:-1], period)
