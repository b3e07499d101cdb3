"""Autocorrelation distances against statsmodels and plain loops."""

import numpy as np
import pytest
from statsmodels.tsa.stattools import acf

from openfingym.errors import DataError, UsageError
from openfingym.metrics.autocorrelation import (
    autocorrelation_lag,
    autocorrelation_non_stationary,
    autocorrelation_stationary,
    autocorrelation_tailgan,
)
from openfingym.metrics.cases import drifting_paths


def pooled_acf(x):
    """rho of one channel [n, t] by its definition."""
    u = x - x.mean()
    t = x.shape[1]
    return np.array([(u[:, : t - k] * u[:, k:]).mean() for k in range(t)]) / (u * u).mean()


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return drifting_paths(rng, 40), rng.standard_normal((30, 12, 3))


def test_stationary_by_definition(pair):
    real, fake = pair
    gaps = np.array([pooled_acf(fake[..., d]) - pooled_acf(real[..., d]) for d in range(3)])
    assert autocorrelation_stationary(real, fake) == pytest.approx(np.sqrt((gaps**2).sum(axis=1)).mean(), rel=1e-10)
    assert autocorrelation_stationary(real, fake, 4) == pytest.approx(
        np.sqrt((gaps[:, :4] ** 2).sum(axis=1)).mean(), rel=1e-10
    )
    for lag in (1, 5):
        assert autocorrelation_lag(real, fake, lag) == pytest.approx(np.abs(gaps[:, lag]).sum(), rel=1e-10)


def test_non_stationary_by_corrcoef(pair):
    real, fake = pair
    columns = [np.triu(np.corrcoef(fake[..., d].T) - np.corrcoef(real[..., d].T)) for d in range(3)]
    expected = np.mean([np.sqrt((gap**2).sum(axis=0)) for gap in columns])
    assert autocorrelation_non_stationary(real, fake) == pytest.approx(expected, rel=1e-10)


def test_tailgan_by_statsmodels(pair):
    real, fake = pair
    means = [
        np.array([[acf(x[:, d], nlags=10) for d in range(3)] for x in paths]).mean(axis=0) for paths in (real, fake)
    ]
    assert autocorrelation_tailgan(real, fake) == pytest.approx(np.abs(means[1] - means[0]).sum(), rel=1e-10)


def test_units_do_not_matter_and_the_law_of_an_ar_process_is_found(pair):
    real, fake = pair
    for metric in (
        autocorrelation_stationary,
        autocorrelation_lag,
        autocorrelation_non_stationary,
        autocorrelation_tailgan,
    ):
        assert metric(3.0 * real + 5.0, 3.0 * fake + 5.0) == pytest.approx(metric(real, fake), rel=1e-8)
    assert pooled_acf(drifting_paths(np.random.default_rng(1), 20_000)[..., 0])[1] == pytest.approx(0.7, abs=0.03)


def test_constant_cells(pair):
    real, fake = pair
    real, shorter = real.copy(), autocorrelation_non_stationary(real[:, 1:], fake[:, 1:])
    real[:, 0] = 0.25
    assert autocorrelation_non_stationary(real, fake) == pytest.approx(shorter)
    # the stationary one averages only products of cells that are kept
    first, later = autocorrelation_stationary(real, fake), autocorrelation_stationary(real[:, 1:], fake[:, 1:])
    assert first == pytest.approx(later)
    flat = autocorrelation_stationary(real, np.full_like(fake, 0.1))
    white = np.sqrt(np.array([(pooled_acf(real[:, 1:, d])[1:] ** 2).sum() for d in range(3)])).mean()
    assert flat == pytest.approx(white)
    for metric in (autocorrelation_stationary, autocorrelation_lag, autocorrelation_non_stationary):
        with pytest.raises(DataError, match="constant"):
            metric(np.ones_like(real), fake)


def test_faults(pair):
    real, fake = pair
    with pytest.raises(UsageError, match="lag must be"):
        autocorrelation_lag(real, fake, 12)
    with pytest.raises(DataError, match="two steps"):
        autocorrelation_tailgan(real[:, :1], fake[:, :1])
