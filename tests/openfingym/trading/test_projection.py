"""Projection of target weights onto the admissible ones, against a solver of quadratic programmes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from openfingym.trading.market import MarketRules
from openfingym.trading.projection import project
from openfingym.trading.simulator import Simulator

CAPS = st.sampled_from([0.0, 0.3, 1.0, 2.0])


def admissible(weights: np.ndarray, max_short: float) -> bool:
    """What the market says."""
    account = Simulator(
        MarketRules(max_short=max_short), cash=1.0, closes=[1.0] * len(weights), volumes=[1.0] * len(weights)
    )
    return account.target(weights.tolist())


def rows(low: float, high: float) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.floats(low, high), min_size=1, max_size=6).map(np.array)


def by_quadratic_programme(weights: np.ndarray, max_short: float) -> np.ndarray:
    """Weights are longs less shorts, neither negative: with both as variables the caps are linear."""
    count = len(weights)
    ones, zeros = np.ones(count), np.zeros(count)

    def distance(parts: np.ndarray) -> tuple[float, np.ndarray]:
        gap = parts[:count] - parts[count:] - weights
        return float(gap @ gap), np.concatenate([2.0 * gap, -2.0 * gap])

    caps = [
        {
            "type": "ineq",
            "fun": lambda parts: 1.0 - parts[:count].sum(),
            "jac": lambda _: np.concatenate([-ones, zeros]),
        },
        {
            "type": "ineq",
            "fun": lambda parts: max_short - parts[count:].sum(),
            "jac": lambda _: np.concatenate([zeros, -ones]),
        },
    ]
    found = minimize(
        distance,
        np.zeros(2 * count),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, None)] * (2 * count),
        constraints=caps,
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x[:count] - found.x[count:]


@settings(max_examples=150)
@given(weights=rows(-3.0, 3.0), max_short=CAPS)
def test_the_nearest_admissible_weights(weights, max_short) -> None:
    found, solved = project(weights, max_short), by_quadratic_programme(weights, max_short)
    assert admissible(found, max_short)
    assert np.linalg.norm(found - weights) <= np.linalg.norm(solved - weights) + 1e-6
    np.testing.assert_allclose(found, solved, atol=1e-4)


@settings(max_examples=300)
@given(weights=rows(-1.5, 1.5), max_short=CAPS)
def test_admissible_weights_are_unchanged_and_no_others(weights, max_short) -> None:
    found = project(weights, max_short)
    assert (found.tobytes() == weights.tobytes()) == admissible(weights, max_short)
    assert project(found, max_short).tobytes() == found.tobytes()


@settings(max_examples=200)
@given(weights=rows(-1e308, 1e308), max_short=CAPS)
def test_any_finite_weights_become_admissible(weights, max_short) -> None:
    """However large: nothing overflows, or is lost beside a large number."""
    found = project(weights, max_short)
    assert admissible(found, max_short)
    for asked, side, most in ((weights, found, 1.0), (-weights, -found, max_short)):
        # Clipped for the sum not to overflow; above 2 it is beyond every cap anyhow.
        wanted = min(most, np.clip(asked, 0.0, 3.0).sum())
        assert np.maximum(side, 0.0).sum() == pytest.approx(wanted, abs=2e-6)


def test_what_is_not_finite_is_left_to_the_market() -> None:
    asked = np.array([[math.nan, 3.0], [math.inf, 0.0], [-math.inf, 2.0], [3.0, 0.0]])
    found = project(asked, 1.0)
    np.testing.assert_array_equal(found, [*asked[:3], [1.0, 0.0]])
    assert asked[3, 0] == 3.0, "the caller's array is not changed"


def test_many_rows_at_once() -> None:
    rng = np.random.default_rng(0)
    asked = 2.0 * rng.standard_normal((50, 4, 5))
    found = project(asked, 0.7)
    for row, moved in zip(asked.reshape(-1, 5), found.reshape(-1, 5), strict=True):
        assert project(row, 0.7).tobytes() == moved.tobytes()
