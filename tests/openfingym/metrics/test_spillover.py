"""Diebold-Yilmaz spillovers against statsmodels' VAR."""

import numpy as np
import pytest
from statsmodels.tsa.api import VAR

from openfingym.errors import DataError
from openfingym.metrics.spillover import spillover


def process(seed=0, n=400):
    rng = np.random.default_rng(seed)
    a = np.array([[0.5, 0.2, 0.0], [0.0, 0.4, 0.1], [0.3, 0.0, 0.3]])
    x = np.zeros((n, 3))
    shocks = rng.standard_normal((n, 3)) @ np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    for t in range(1, n):
        x[t] = a @ x[t - 1] + shocks[t]
    return x


@pytest.mark.parametrize(("lags", "horizon"), [(1, 10), (2, 10), (4, 3), (3, 1)])
def test_agrees_with_statsmodels(lags, horizon):
    x = process()
    fit = VAR(x).fit(lags)
    phi, sigma = fit.ma_rep(horizon - 1), fit.sigma_u
    theta = np.zeros((3, 3))
    for i in range(3):
        own = sum(p[i] @ sigma @ p[i] for p in phi)
        for j in range(3):
            theta[i, j] = sum((p[i] @ sigma[:, j]) ** 2 for p in phi) / sigma[j, j] / own
    theta /= theta.sum(axis=1, keepdims=True)
    found = spillover(x, lags, horizon)
    assert found.table == pytest.approx(theta, rel=1e-9)
    assert found.total == pytest.approx(100 * (theta.sum() - np.trace(theta)) / 3)


def test_order_of_channels_does_not_matter_and_independent_ones_spill_little():
    x = process()
    order = [2, 0, 1]
    assert spillover(x[:, order]).table == pytest.approx(spillover(x).table[np.ix_(order, order)])
    assert spillover(np.random.default_rng(1).standard_normal((5000, 4))).total < 2.0


def test_faults():
    x = process()
    for bad in (x[:, :1], x[:8], np.concatenate((x, x[:, :1]), axis=1)):
        with pytest.raises(DataError):
            spillover(bad)
