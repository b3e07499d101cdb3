"""Windows that are compared many at a time are the same as each by itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.leaks.readings import FORMS, Form
from openfingym.leaks.telling import directed

GENERATOR = np.random.default_rng(0)
VALUES: dict[str, NDArray[np.float64]] = {
    "all different": GENERATOR.standard_normal(700),
    "many equal": np.round(GENERATOR.standard_normal(700), 1),
    "stretches that stand still": np.repeat(GENERATOR.integers(0, 3, 70), 10) * 1.0,
    "small steps far from zero": 1e9 + GENERATOR.standard_normal(700),
    "of any size": GENERATOR.standard_normal(700) * 10.0 ** GENERATOR.integers(-9, 30, 700),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name or "as they are")
@pytest.mark.parametrize("length", [12, 30, 511, 700])
def test_windows_at_a_time_are_those_by_themselves(name: str, form: Form, length: int) -> None:
    windows = np.lib.stride_tricks.sliding_window_view(VALUES[name], length)
    alone = directed(form.public(windows))
    np.testing.assert_allclose(form.sliding(VALUES[name], length).T, alone, atol=1e-6)
