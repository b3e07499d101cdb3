"""Correlation and covariance distances against NumPy and pandas."""

import numpy as np
import pandas as pd
import pytest

from openfingym.errors import DataError, UsageError
from openfingym.metrics.cases import drifting_paths
from openfingym.metrics.correlation import (
    correlation_l1,
    correlation_sigcwgan,
    correlation_tailgan,
    covariance_frobenius,
    covariance_paths,
    cross_correlation,
    cross_correlation_lag,
)


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return drifting_paths(rng, 40), rng.standard_normal((30, 12, 3))


def test_pooled_correlations_by_pandas(pair):
    real, fake = (pd.DataFrame(x.reshape(-1, 3)) for x in pair)
    gap = (fake.corr() - real.corr()).abs().to_numpy()
    assert correlation_l1(*pair) == pytest.approx(gap[~np.eye(3, dtype=bool)].mean())
    true, guess = (frame.corr().to_numpy() * (1 - 1 / len(frame)) for frame in (real, fake))
    assert correlation_sigcwgan(*pair) == pytest.approx(np.tril(np.abs(guess - true)).sum())
    covariance = (fake.cov() - real.cov()).to_numpy()
    assert covariance_frobenius(*pair) == pytest.approx(np.linalg.norm(covariance))


def test_variants_by_numpy(pair):
    real, fake = pair
    totals = np.corrcoef(fake.sum(axis=1).T) - np.corrcoef(real.sum(axis=1).T)
    assert correlation_tailgan(real, fake) == pytest.approx(np.abs(totals).sum())
    whole = np.cov(fake.reshape(30, -1).T) - np.cov(real.reshape(40, -1).T)
    assert covariance_paths(real, fake) == pytest.approx(np.abs(whole).mean())


def test_lagged_by_loops(pair):
    def lagged(x, k, i, j):
        z = (x - x.mean(axis=(0, 1))) / x.std(axis=(0, 1), ddof=1)
        return (z[:, k:, i] * z[:, : 12 - k, j]).mean()

    gaps = [
        abs(lagged(pair[1], k, i, j) - lagged(pair[0], k, i, j))
        for k in range(5)
        for i in range(3)
        for j in range(i + 1)
    ]
    assert cross_correlation(*pair) == pytest.approx(np.mean(gaps))


def test_units_do_not_matter_to_correlations(pair):
    real, fake = pair
    scale = np.array([1.0, 100.0, 0.01])
    for metric in (correlation_l1, correlation_sigcwgan, correlation_tailgan, cross_correlation):
        assert metric(scale * real + 3, scale * fake + 3) == pytest.approx(metric(real, fake), rel=1e-8)
    assert covariance_frobenius(5 * real, 5 * fake) == pytest.approx(25 * covariance_frobenius(real, fake))


def test_a_constant_channel(pair):
    real, fake = pair
    fake = fake.copy()
    fake[..., 1] = 0.1
    expected = pd.DataFrame(fake.reshape(-1, 3)).corr().to_numpy(copy=True)
    expected[1], expected[:, 1] = 0.0, 0.0
    gap = np.abs(expected - np.corrcoef(real.reshape(-1, 3).T))
    assert correlation_l1(real, fake) == pytest.approx(gap[~np.eye(3, dtype=bool)].mean())
    with pytest.raises(DataError, match="constant"):
        correlation_l1(fake, real)
    with pytest.raises(DataError, match="two channels"):
        correlation_l1(real[..., :1], fake[..., :1])


@pytest.mark.parametrize("lag", [0, 1, 5])
def test_one_lag_by_numpy(pair, lag):
    def correlations(paths):
        unit = (paths - paths.mean(axis=(0, 1))) / paths.std(axis=(0, 1))
        return [(unit[:, lag:, i] * unit[:, : paths.shape[1] - lag, j]).mean() for i in range(3) for j in range(i + 1)]

    real, fake = pair
    expected = np.abs(np.subtract(correlations(fake), correlations(real))).sum()
    assert cross_correlation_lag(real, fake, lag) == pytest.approx(expected)
    with pytest.raises(UsageError, match="between 0 and 11"):
        cross_correlation_lag(real, fake, 12)


def rough_paths(rng, count):
    """Three independent fractional Brownian motions of Hurst index 1/4 at 0, 0.1, ..., 1: the law of
    ``fbm-generation``."""
    t = np.arange(1, 11) / 10.0
    covariance = 0.5 * (np.sqrt(t)[:, None] + np.sqrt(t) - np.sqrt(np.abs(t[:, None] - t)))
    steps = np.einsum("ij,njd->nid", np.linalg.cholesky(covariance), rng.standard_normal((count, 10, 3)))
    return np.concatenate([np.zeros((count, 1, 3)), steps], axis=1)


@pytest.mark.parametrize("increments", [False, True])
def test_white_noise_is_worse_than_true_draws(increments):
    """Independent channels and rough steps: whoever leaves out a channel's own autocorrelation finds white noise better
    than the law."""
    rng = np.random.default_rng(0)
    real, true = rough_paths(rng, 2000), rough_paths(rng, 2000)
    if increments:
        real, true = np.diff(real, axis=1), np.diff(true, axis=1)
    noise = true.std(axis=(0, 1)) * rng.standard_normal(true.shape)
    assert cross_correlation(real, noise) > 4.0 * cross_correlation(real, true)
    if not increments:
        assert cross_correlation(real, noise) == pytest.approx(0.26, abs=0.01)
        assert cross_correlation_lag(real, noise, 5) > 4.0 * cross_correlation_lag(real, true, 5)
