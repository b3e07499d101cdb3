"""Features that know the label are reported; honest predictive power and persistence are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from openfingym.leaks import Suspicion, suspicious_features

Floats = NDArray[np.float64]


def _autoregressive(generator: np.random.Generator, n: int, persistence: float, d: int) -> Floats:
    """float64[n, d], stationary, with Student noise of six degrees of freedom."""
    noise = generator.standard_t(6, size=(n + 200, d))
    series = np.zeros_like(noise)
    for t in range(1, n + 200):
        series[t] = persistence * series[t - 1] + noise[t]
    return series[200:]


def _rows(generator: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Persistent features, two of which explain a fifth of the target; and the target."""
    features = _autoregressive(generator, n, 0.9, 12)
    signal = features[:, 0] / features[:, 0].std() + np.sign(features[:, 1])
    return features, signal + 2.8 * generator.standard_normal(n)


def _windows(series: Floats, lookback: int, horizon: int, stride: int) -> tuple[Floats, Floats]:
    view = np.lib.stride_tricks.sliding_window_view(series, lookback + horizon, axis=0)[::stride].swapaxes(1, 2)
    return view[:, :lookback].copy(), view[:, lookback:].copy()


def _parts(persistence: float, seed: int, horizon: int = 5) -> tuple[Floats, Floats, Floats, Floats]:
    series = _autoregressive(np.random.default_rng(seed), 4000, persistence, 4)
    train = _windows(series[:2500], 20, horizon, 1)
    test = _windows(series[2500:], 20, horizon, 20 + horizon)
    return test[0], test[1], train[0], train[1]


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("n", [120, 600])
def test_the_label_with_a_tenth_of_noise_is_reported(n: int, everywhere: bool) -> None:
    generator = np.random.default_rng(n)
    train, train_targets = _rows(generator, 2000)
    test, targets = _rows(generator, n)
    test[:, 7] = targets + 0.1 * targets.std() * generator.standard_normal(n)
    if everywhere:
        train[:, 7] = train_targets + 0.1 * train_targets.std() * generator.standard_normal(2000)
    found = suspicious_features(test, targets, train, train_targets, max_shift=3)
    assert {(one.feature, one.lag) for one in found} == {(7, 0)}
    assert {one.statistic for one in found} == {"Pearson", "rank"}
    assert all(one.hidden > 0.98 and one.hidden > one.limit for one in found)
    assert "input 7 at lag 0" in str(found[0])


@pytest.mark.parametrize("shift", [-2, 1, 3])
def test_the_label_in_another_row_is_reported(shift: int) -> None:
    generator = np.random.default_rng(0)
    train, train_targets = _rows(generator, 1500)
    test, targets = _rows(generator, 300)
    test[:, 4] = np.roll(targets, shift)
    found = suspicious_features(test, targets, train, train_targets, max_shift=4)
    assert (4, shift) in {(one.feature, one.lag) for one in found}
    assert {one.feature for one in found} == {4}
    assert suspicious_features(test, targets, train, train_targets, max_shift=abs(shift) - 1) == []


@pytest.mark.parametrize("persistence", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("everywhere", [False, True])
def test_the_label_in_a_window_is_reported(persistence: float, everywhere: bool) -> None:
    test, targets, train, train_targets = _parts(persistence, seed=1)
    generator = np.random.default_rng(2)
    for inputs, own in ((test, targets), (train, train_targets))[: 1 + everywhere]:
        inputs[:, 11, 2] = own[:, 3, 1] * (1.0 + 0.02 * generator.standard_normal(len(own)))
    found = suspicious_features(test, targets, train, train_targets, max_shift=20)
    assert Suspicion in {type(one) for one in found}
    assert found[0].feature == 2
    assert found[0].lag == 9
    assert found[0].target[1] == 1
    assert {(one.feature, one.lag) for one in found} == {(2, 9)}


def test_a_monotone_function_of_the_label_is_reported_by_rank() -> None:
    generator = np.random.default_rng(3)
    train, train_targets = _rows(generator, 1500)
    test, targets = _rows(generator, 300)
    test[:, 2] = np.exp(4.0 * targets)
    found = suspicious_features(test, targets, train, train_targets, max_shift=0)
    assert [(one.feature, one.statistic) for one in found] == [(2, "rank")]
    assert found[0].hidden == pytest.approx(spearmanr(test[:, 2], targets).statistic, abs=1e-9)
    assert found[0].train == pytest.approx(spearmanr(train[:, 2], train_targets).statistic, abs=1e-9)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(20, 400))
def test_honest_predictive_power_is_not_suspicious(seed: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    train, test = _rows(generator, 1200), _rows(generator, n)
    assert suspicious_features(*test, *train, max_shift=3) == []


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), persistence=st.floats(0.0, 0.99), horizon=st.sampled_from([1, 5]))
def test_honest_persistence_is_not_suspicious(seed: int, persistence: float, horizon: int) -> None:
    assert suspicious_features(*_parts(persistence, seed, horizon), max_shift=10) == []


@pytest.mark.parametrize("horizon", [1, 5])
def test_random_walks_are_not_suspicious(horizon: int) -> None:
    for seed in range(5):
        series = np.cumsum(np.random.default_rng(seed).standard_normal((4000, 3)), axis=0)
        train, test = _windows(series[:2500], 20, horizon, 1), _windows(series[2500:], 20, horizon, 20 + horizon)
        assert suspicious_features(*test, *train, max_shift=10) == []


def test_constant_features_and_few_rows_say_nothing() -> None:
    generator = np.random.default_rng(0)
    train, train_targets = _rows(generator, 500)
    test, targets = _rows(generator, 100)
    train[:, 0], test[:, 0] = 1.1, 1.1
    assert suspicious_features(test, targets, train, train_targets, max_shift=1) == []
    assert suspicious_features(targets[:19, None], targets[:19], train[:, :1], train_targets, max_shift=1) == []
