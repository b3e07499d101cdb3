"""The joint score of VaR and ES, its test, and the generalization gaps."""

import numpy as np
import pytest
from scipy import optimize, stats

from openfingym.errors import DataError, UsageError
from openfingym.metrics.cases import drifting_paths
from openfingym.metrics.portfolios import strategy_profits, strategy_weights
from openfingym.metrics.risk import tail_risk
from openfingym.metrics.tail_score import generalization_dq, generalization_ds, joint_score, score_test_rejection
from openfingym.metrics.threshold_strategies import threshold_profits


def test_the_score_is_that_of_fissler_and_ziegel_written_out():
    x = np.random.default_rng(0).standard_normal(50)
    v, e, a, w = -1.6, -2.1, 0.05, 10.0

    def by_hand(x):
        inside = float(x <= v)
        g1 = -w * v * v / 2 + w * x * x / 2
        g2, integral = a * e, a * e * e / 2
        return (inside - a) * g1 + g2 * inside * (v - x) / a + g2 * (e - v) - integral

    got = joint_score(x[None], np.array([v]), np.array([e]), a)[0]
    assert got == pytest.approx([by_hand(value) for value in x], rel=1e-12)


def test_its_mean_is_smallest_at_the_samples_own_var_and_es():
    profits = np.random.default_rng(1).standard_t(5, (1, 20_000))
    var, es = tail_risk(profits, 0.05)
    found = optimize.minimize(
        lambda p: joint_score(profits, p[:1], p[1:], 0.05).mean(), [var[0] * 1.1, es[0] * 0.9], method="Nelder-Mead"
    )
    assert found.x == pytest.approx([var[0], es[0]], rel=0.01)
    own = joint_score(profits, var, es, 0.05).mean()
    for dv, de in ((0.2, 0.0), (-0.2, 0.0), (0.0, 0.3), (0.0, -0.3)):
        assert joint_score(profits, var + dv, es + de, 0.05).mean() > own


def test_the_share_of_rejections_is_welchs_test_by_scipy():
    rng = np.random.default_rng(2)
    real, fake = drifting_paths(rng, 3000, 30), 1.6 * drifting_paths(rng, 3000, 30)
    weights = strategy_weights(3)
    dynamic = threshold_profits(real, fake)
    true, guess = (
        np.concatenate((strategy_profits(side, weights), more))
        for side, more in zip((real, fake), dynamic, strict=True)
    )
    mean = true.mean(axis=1, keepdims=True)
    own, other = (joint_score(true - mean, *tail_risk(p - mean, 0.05), 0.05) for p in (true, guess))
    rejected = []
    for _ in range(60):
        rows = rng.integers(0, len(real), 1000)
        rejected.append(stats.ttest_ind(own[:, rows], other[:, rows], axis=1, equal_var=False).pvalue < 0.05)
    assert score_test_rejection(real, fake) == pytest.approx(np.mean(rejected), abs=0.03)
    assert 0.3 < np.mean(rejected) < 1.0


def test_a_perfect_generator_is_hardly_ever_rejected_and_a_far_one_always():
    rng = np.random.default_rng(3)
    real, same = drifting_paths(rng, 4000, 30), drifting_paths(rng, 4000, 30)
    assert score_test_rejection(real, real) == 0.0
    assert score_test_rejection(real, same) < 0.01
    assert score_test_rejection(real, 4.0 * same) > 0.85
    assert score_test_rejection(1e-3 * real, 1e-3 * same) == score_test_rejection(real, same)


@pytest.mark.parametrize("metric", [generalization_dq, generalization_ds])
def test_one_who_repeats_the_training_windows_generalizes_worse(metric):
    gaps = {"copy": [], "fresh": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        train, held_out, fresh = (drifting_paths(rng, n, 30) for n in (150, 4000, 4000))
        gaps["copy"].append(metric(train, held_out, np.repeat(train, 3, axis=0)))
        gaps["fresh"].append(metric(train, held_out, fresh))
        assert metric(train, train, fresh) == 0.0
    assert min(gaps["copy"]) > 0.0
    assert np.mean(gaps["copy"]) > 10 * np.mean(gaps["fresh"])


def test_the_quantile_gap_by_numpy():
    rng = np.random.default_rng(4)
    train, held_out, fake = (drifting_paths(rng, n) for n in (100, 120, 90))
    weights = strategy_weights(3, seed=2606_26351)[3:]
    levels = 0.05 * (np.arange(20) + 0.5) / 20

    def distance(real):
        total = 0.0
        for w in weights:
            ours, theirs = real.sum(axis=1) @ w, fake.sum(axis=1) @ w
            ours, theirs = ours - ours.mean(), theirs - ours.mean()
            size = abs(ours[ours <= np.quantile(ours, 0.05)].mean())
            total += np.abs(np.quantile(ours, levels) - np.quantile(theirs, levels)).mean() / size
        return total / len(weights)

    assert distance(held_out) != distance(train)
    one, other = generalization_dq(train, held_out, fake), generalization_dq(held_out, train, fake)
    assert max(one, other) == pytest.approx(abs(distance(held_out) - distance(train)))
    assert generalization_dq(train, held_out, fake) == pytest.approx(max(distance(held_out) - distance(train), 0.0))


def test_profits_in_every_tail_are_judged_like_losses():
    rng = np.random.default_rng(6)
    real, same = drifting_paths(rng, 3000, 30), drifting_paths(rng, 3000, 30)
    for drift in (-5.0, 0.0, 5.0):
        assert score_test_rejection(real + drift, same + drift) < 0.01
        assert score_test_rejection(real + drift, same + drift + 2.0) > 0.5
        assert score_test_rejection(real + drift, same + drift - 2.0) > 0.5


def test_faults():
    good = np.random.default_rng(5).standard_normal((50, 10, 2))
    with pytest.raises(DataError, match="held_out"):
        generalization_dq(good, good[:, :9], good)
    with pytest.raises(UsageError, match=r"expected \[10, 2\]"):
        generalization_ds(good, good, good[:, :9])
    with pytest.raises(DataError, match="no scale"):
        score_test_rejection(np.zeros_like(good), good)
    with pytest.raises(UsageError, match="too large"):
        score_test_rejection(good, 1e200 * good)
