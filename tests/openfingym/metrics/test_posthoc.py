"""Post-hoc scores: scikit-learn's ridge, known laws, and how much a seed matters."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from openfingym.errors import DataError, UsageError
from openfingym.metrics.cases import drifting_paths
from openfingym.metrics.posthoc import disc_fast, pred_fast
from openfingym.metrics.registry import METRICS


@pytest.mark.parametrize("steps", [4, 12, 25])
def test_pred_agrees_with_scikit_learn(steps):
    rng = np.random.default_rng(0)
    real, fake = drifting_paths(rng, 60, steps), 2 + 3 * drifting_paths(rng, 40, steps)
    cut = steps - max(1, steps // 10)
    z = [(x - real.mean(axis=(0, 1))) / real.std(axis=(0, 1)) for x in (fake, real)]
    model = Ridge(alpha=1.0).fit(z[0][:, :cut].reshape(40, -1), z[0][:, cut:].reshape(40, -1))
    expected = np.abs(model.predict(z[1][:, :cut].reshape(60, -1)) - z[1][:, cut:].reshape(60, -1)).mean()
    assert pred_fast(real, fake) == pytest.approx(expected, rel=1e-8)
    assert pred_fast(100 * real, 100 * fake) == pytest.approx(expected, rel=1e-8)


def test_pred_ranks_the_law_before_noise():
    rng = np.random.default_rng(1)
    real, same = drifting_paths(rng, 500), drifting_paths(rng, 500)
    assert pred_fast(real, same) < pred_fast(real, rng.permuted(same, axis=1)) - 0.05


def test_disc_tells_laws_apart_and_not_a_law_from_itself():
    rng = np.random.default_rng(2)
    real, same, near = drifting_paths(rng, 200), drifting_paths(rng, 200), 1.5 * drifting_paths(rng, 200)
    scores = [
        [disc_fast(real, fake, 1, seed=seed) for seed in range(2)] for fake in (same, near, rng.permuted(same, axis=1))
    ]
    noise = 2 * METRICS["disc_fast"].noise  # one repeat, where the record has two
    assert max(np.ptp(row) for row in scores) < noise
    assert max(scores[0]) < 0.1
    assert min(scores[1]) > max(scores[0])
    assert min(scores[2]) > 0.3
    assert disc_fast(real, real, 1) == 0.0


def test_faults():
    x = drifting_paths(np.random.default_rng(3), 30)
    with pytest.raises(UsageError, match="needs 20 windows"):
        disc_fast(x, x[:5])
    with pytest.raises(DataError, match="needs 20 real"):
        disc_fast(x[:5], x)
    with pytest.raises(DataError, match="two steps"):
        pred_fast(x[:, :1], x[:, :1])
    with pytest.raises(DataError, match="constant"):
        pred_fast(np.ones_like(x), x)


def test_two_dozen_windows_are_enough_to_see_a_crude_fake():
    rng = np.random.default_rng(5)
    real, same = (drifting_paths(rng, 24) for _ in range(2))
    assert disc_fast(real, rng.standard_normal(real.shape)) > 0.35
    assert disc_fast(real, same) < 0.2
