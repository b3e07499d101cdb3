"""Tail risk, coverage and strategy profits against scipy and by definition."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import xlogy

from openfingym.errors import DataError, UsageError
from openfingym.metrics.cases import drifting_paths
from openfingym.metrics.portfolios import kupiec_rejection, relative_tail_error, strategy_profits, strategy_weights
from openfingym.metrics.registry import METRICS
from openfingym.metrics.tail import kupiec, order_statistic_tail, order_statistic_var_gap, pooled_es_gap, pooled_var_gap


@pytest.mark.parametrize("breaches", [0, 1, 5, 30, 100])
def test_kupiec_agrees_with_the_likelihoods(breaches):
    returns = np.concatenate((np.full(breaches, -2.0), np.full(100 - breaches, 1.0)))
    found = kupiec(returns, -1.0)
    share = breaches / 100
    full = xlogy(breaches, share) + xlogy(100 - breaches, 1 - share)
    null = stats.binom.logpmf(breaches, 100, 0.05) - stats.binom.logpmf(breaches, 100, share) + full
    assert found.breaches == breaches
    assert found.statistic == pytest.approx(2 * (full - null), abs=1e-9)
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 1), rel=1e-9)


def test_a_return_at_the_var_is_no_breach():
    assert kupiec(np.array([-1.0, -1.0, 0.0]), -1.0).breaches == 0


def test_order_statistics_by_sorting():
    r = np.random.default_rng(0).standard_normal((57, 4, 2))
    for level in (0.01, 0.05, 0.5):
        k, ordered = int(level * 57), np.sort(r, axis=0)
        var, es = order_statistic_tail(r, level)
        assert (var == ordered[k]).all()
        assert es == pytest.approx(ordered[: k + 1].mean(axis=0))
    one, same = order_statistic_tail(r[:1])
    assert (one == r[0]).all()
    assert (same == r[0]).all()


def test_profits_are_those_of_running_prices():
    increments = 0.01 * np.random.default_rng(1).standard_normal((20, 7, 3))
    weights = strategy_weights(3)
    assert weights.shape == (53, 3)
    assert np.abs(weights).sum(axis=1) == pytest.approx(np.full(53, 10.0))
    assert (weights == strategy_weights(3)).all()
    price = 1.0 + np.cumsum(increments, axis=1)
    start = np.ones((20, 3))
    held = [[float(w @ (price[n, -1] - start[n])) for n in range(20)] for w in weights]
    assert strategy_profits(increments, weights) == pytest.approx(np.array(held))


def test_relative_error_by_definition_and_scale():
    real, fake = drifting_paths(np.random.default_rng(2), 300), drifting_paths(np.random.default_rng(3), 200)
    weights = strategy_weights(3)
    errors = []
    for w in weights:
        tails = []
        for sample in (real, fake):
            profit = sample.sum(axis=1) @ w
            var = np.quantile(profit, 0.05)
            tails.append((var, profit[profit <= var].mean()))
        errors += [abs(f - r) / abs(r) for r, f in zip(*tails, strict=True)]
    assert relative_tail_error(real, fake) == pytest.approx(np.mean(errors))
    assert relative_tail_error(7 * real, 7 * fake) == pytest.approx(np.mean(errors))
    assert relative_tail_error(real, 2 * real) == pytest.approx(1.0)
    with pytest.raises(DataError, match="zero"):
        relative_tail_error(np.zeros_like(real), fake)


def test_rejections_are_nominal_for_the_same_law_and_certain_for_another():
    rng = np.random.default_rng(4)
    real, same = drifting_paths(rng, 8000), drifting_paths(rng, 8000)
    rates = [kupiec_rejection(real, same, seed=seed) for seed in range(5)]
    assert 0.02 < np.mean(rates) < 0.15
    assert np.ptp(rates) < METRICS["kupiec_rejection"].noise
    assert kupiec_rejection(real, 0.5 + 0.5 * (same - 0.5)) == 1.0
    # the resampling by multiplicities is drawing with replacement: compare with the test itself
    weights = strategy_weights(3)[:1]
    profit, var = strategy_profits(real, weights)[0], float(np.quantile(strategy_profits(same, weights)[0], 0.05))
    drawn = [kupiec(profit[rng.integers(0, profit.size, 1000)], var).p_value < 0.05 for _ in range(400)]
    assert kupiec_rejection(real, same, weights=weights, resamples=400) == pytest.approx(np.mean(drawn), abs=0.06)


def test_pooled_gaps_by_numpy():
    real, fake = np.random.default_rng(5).standard_normal((2, 40, 6, 2))
    gap = [abs(np.quantile(fake[..., d], 0.05) - np.quantile(real[..., d], 0.05)) for d in range(2)]
    assert pooled_var_gap(real, fake) == pytest.approx(np.mean(gap))
    assert pooled_es_gap(real, real[::-1]) == pytest.approx(0.0, abs=1e-15)
    assert order_statistic_var_gap(real, real + 0.25) == pytest.approx(0.25)


def test_faults():
    with pytest.raises(UsageError, match="channels"):
        relative_tail_error(np.ones((5, 4, 2)), np.ones((5, 4, 3)))
    with pytest.raises(UsageError, match="VaR must be finite"):
        kupiec(np.ones(3), float("nan"))
