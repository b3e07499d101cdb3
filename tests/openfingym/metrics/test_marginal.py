"""Histogram distances against numpy.histogram."""

import numpy as np
import pytest

from openfingym.errors import DataError
from openfingym.metrics.marginal import marginal, marginal_total_variation


@pytest.mark.parametrize("bins", [3, 50])
@pytest.mark.parametrize("decimals", [1, 12])
def test_agrees_with_numpy_histograms(bins, decimals):
    rng = np.random.default_rng(bins)
    # rounding puts many values exactly on bin edges
    real, fake = (
        np.round(rng.standard_normal((80, 4, 2)), decimals),
        np.round(1.5 * rng.standard_normal((60, 4, 2)), decimals),
    )
    gaps, variations = [], []
    for t in range(4):
        for d in range(2):
            edges = np.linspace(real[:, t, d].min(), real[:, t, d].max(), bins + 1)
            shares = [np.histogram(x[:, t, d], edges)[0] / len(x) for x in (real, fake)]
            gaps.append(np.abs(shares[1] - shares[0]).mean() / (edges[1] - edges[0]))
            variations.append((np.abs(shares[1] - shares[0]).sum() + 1 - shares[1].sum()) / 2)
    assert marginal(real, fake, bins) == pytest.approx(np.mean(gaps), rel=1e-9)
    assert marginal_total_variation(real, fake, bins) == pytest.approx(np.mean(variations), rel=1e-9)


def test_units_and_bounds():
    real, fake = np.random.default_rng(0).standard_normal((2, 100, 3, 2))
    assert marginal(0.01 * real, 0.01 * fake) == pytest.approx(100 * marginal(real, fake), rel=1e-6)
    assert marginal_total_variation(8.0 * real, 8.0 * fake) == marginal_total_variation(real, fake)
    assert marginal_total_variation(real, real + 1e6) == 1.0
    assert marginal(real, real) == marginal_total_variation(real, real) == 0.0


def test_constant_real_cells_are_left_out():
    real, fake = np.random.default_rng(1).standard_normal((2, 50, 3, 2))
    shorter = marginal(real[:, 1:], fake[:, 1:])
    real[:, 0] = 0.0
    assert marginal(real, fake) == pytest.approx(shorter)
    with pytest.raises(DataError, match="constant"):
        marginal(np.zeros_like(real), fake)


def test_inputs_are_left_alone():
    one = np.random.default_rng(2).standard_normal((1, 3, 2))
    many = np.random.default_rng(3).standard_normal((9, 3, 2))
    before = one.copy()
    marginal(many, one)
    assert (one == before).all()
