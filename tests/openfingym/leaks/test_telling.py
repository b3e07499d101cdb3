"""The search's own order statistics are NumPy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from openfingym.leaks.telling import _medians, _quantile

floats = st.floats(-1e12, 1e12)


@given(st.lists(floats, min_size=1, max_size=40), st.sampled_from([0.5, 0.8]))
def test_quantiles(values: list[float], share: float) -> None:
    given_values = np.array(values)
    np.testing.assert_allclose(_quantile(given_values, share), np.quantile(given_values, share), rtol=1e-12, atol=1e-3)
    assert given_values.tolist() == values, "what is given stays as it is"


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(floats, min_size=n, max_size=n), min_size=1, max_size=5)))
def test_medians(rows: list[list[float]]) -> None:
    np.testing.assert_array_equal(_medians(np.array(rows)), np.median(rows, axis=1, keepdims=True))
