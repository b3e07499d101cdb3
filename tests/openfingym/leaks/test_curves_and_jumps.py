"""What smooth curves leave of a block, and how small a window may be."""

from __future__ import annotations

import numpy as np

from openfingym.leaks.telling import _curved, _curves
from openfingym.metrics.copy_forms import whitening_of


def test_curves_that_begin_anew_and_one_far_value_leave_nothing() -> None:
    rising = np.linspace(0.0, 1.0, 49)
    anew = np.concatenate([rising**2, rising[:15] ** 2])
    spike = np.concatenate([np.linspace(0.0, 0.01, 19), [1.0]])
    for block in (anew, spike):
        basis = _curves(len(block))
        assert np.abs(block - basis @ (basis.T @ block)).max() > 0.05, "one curve alone leaves much of it"
        np.testing.assert_allclose(_curved(block[None]), 0.0, atol=1e-12)


def test_of_noise_as_much_is_left_as_before() -> None:
    noise = np.random.default_rng(0).standard_normal((200, 32))
    basis = _curves(32)
    np.testing.assert_allclose(_curved(noise), noise - (noise @ basis) @ basis.T)


def test_windows_without_a_step_are_decorrelated_to_numbers() -> None:
    for size in (0.0, 1e-40):
        cells = np.full((50, 3), size, np.float32) * np.arange(3, dtype=np.float32)
        assert np.isfinite(whitening_of(cells)).all()
