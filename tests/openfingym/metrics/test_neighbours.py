"""Nearest-neighbour distances by brute force."""

import numpy as np
import pytest

from openfingym.metrics.neighbours import innd, nearest, onnd


@pytest.mark.parametrize("channels", [1, 3])
def test_brute_force(channels):
    rng = np.random.default_rng(0)
    real, fake = rng.standard_normal((23, 5, channels)), rng.standard_normal((31, 5, channels))
    distance = np.linalg.norm(real[:, None] - fake[None], axis=-1).mean(axis=-1)
    assert onnd(real, fake) == pytest.approx(distance.min(axis=1).mean())
    assert innd(real, fake) == pytest.approx(distance.min(axis=0).mean())
    assert onnd(real, real) == innd(real, real) == 0.0


def test_many_windows_are_searched_in_blocks():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((50, 2, 2)), rng.standard_normal((20_000, 2, 2))
    expected = np.array([np.linalg.norm(y - row, axis=-1).mean(axis=-1).min() for row in x])
    assert nearest(x, y) == pytest.approx(expected)


def test_of_very_many_windows_all_parts_are_looked_at():
    """Each of 100 contexts was given 200 futures; a real window is near those of its own context alone."""
    real = np.arange(100.0)[:, None, None] * np.ones((1, 3, 2))
    fake = np.repeat(real, 200, axis=0)
    assert onnd(real, fake) == innd(real, fake) == 0.0
