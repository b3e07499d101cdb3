"""Proper scores against scikit-learn, integrals and closed forms."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mean_pinball_loss

from openfingym.errors import DataError, UsageError
from openfingym.metrics.probabilistic import crps_quantiles, crps_samples, pinball

LEVELS = np.array([0.05, 0.3, 0.5, 0.9])


def test_pinball_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.standard_normal((20, 3))
    q = np.sort(rng.standard_normal((20, 3, 4)), axis=-1)
    expected = np.mean([mean_pinball_loss(y.ravel(), q[..., i].ravel(), alpha=a) for i, a in enumerate(LEVELS)])
    assert pinball(y, q, LEVELS) == pytest.approx(expected)


def test_samples_agree_with_both_definitions():
    rng = np.random.default_rng(1)
    y, x = rng.standard_normal((5, 2)), rng.standard_normal((5, 2, 7))
    pairs = np.abs(x[..., :, None] - x[..., None, :]).mean(axis=(-2, -1))
    assert crps_samples(y, x) == pytest.approx((np.abs(x - y[..., None]).mean(axis=-1) - pairs / 2).mean())
    grid = np.linspace(-8.0, 8.0, 200_001)
    steps = [((x[i, j][:, None] <= grid).mean(axis=0) - (y[i, j] <= grid)) ** 2 for i in range(5) for j in range(2)]
    assert crps_samples(y, x) == pytest.approx(np.mean([step.sum() for step in steps]) * (grid[1] - grid[0]), abs=1e-3)


def test_both_tend_to_the_closed_form_of_a_normal_law():
    y = np.array([-1.5, 0.0, 0.4, 2.0])
    pdf, cdf = stats.norm.pdf(y), stats.norm.cdf(y)
    exact = (y * (2 * cdf - 1) + 2 * pdf - 1 / np.sqrt(np.pi)).mean()
    levels = (np.arange(2000) + 0.5) / 2000
    q = np.broadcast_to(stats.norm.ppf(levels), (4, 2000))
    assert crps_quantiles(y, q, levels) == pytest.approx(exact, rel=2e-4)
    assert crps_samples(y, q) == pytest.approx(exact, rel=2e-3)
    uneven = np.unique(np.round(stats.beta(2, 2).ppf(levels), 6))
    assert crps_quantiles(y, np.broadcast_to(stats.norm.ppf(uneven), (4, uneven.size)), uneven) == pytest.approx(
        exact, rel=2e-3
    )


def test_one_value_is_the_absolute_error():
    y = np.array([1.0, -2.0])
    assert crps_samples(y, np.array([[3.0], [3.0]])) == pytest.approx(3.5)
    assert crps_samples(y, np.full((2, 9), 3.0)) == pytest.approx(3.5)
    assert crps_quantiles(y, np.full((2, 1), 3.0), np.array([0.5])) == pytest.approx(3.5)
    assert crps_samples(y, np.repeat(y[:, None], 9, axis=1)) == 0.0


def test_faults():
    y = np.zeros(2)
    with pytest.raises(UsageError, match=r"quantiles\[1, 0\] is above the next"):
        pinball(y, np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.1, 0.9]))
    with pytest.raises(UsageError, match="expected"):
        pinball(y, np.zeros((2, 3)), np.array([0.1, 0.9]))
    for levels in ([0.9, 0.1], [0.0, 0.5], [0.5, 1.0]):
        with pytest.raises(DataError, match="levels"):
            pinball(y, np.zeros((2, 2)), np.array(levels))
    with pytest.raises(UsageError, match="one more axis"):
        crps_samples(y, np.zeros(2))
