"""What honest data repeat is never taken for a leak: pegs, ticks, days without trade, smooth curves, walks of any
precision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from openfingym.leaks import find_leak
from openfingym.leaks.arrays import search_array
from openfingym.leaks.runs import build_tables
from tests.sweeps import ALL, fixed_part

Floats = NDArray[np.float64]


def _pegged(generator: np.random.Generator, n: int) -> Floats:
    """A rate that moves a tick now and then around its peg, beside one that never moves."""
    ticks = generator.choice([0.0, 0.0, 0.0, 1.0, -1.0], size=(n, 10))
    return np.stack([7.75 + 0.0001 * ticks, np.full((n, 10), 3.6725)], axis=2)


def _yields(generator: np.random.Generator, n: int) -> Floats:
    """Yields to two decimals that mostly stand still and move together."""
    steps = generator.choice([0.0, 0.0, 0.0, 0.01, -0.01], size=(n, 10, 1)).cumsum(axis=1)
    level = generator.integers(0, 30, size=(n, 1, 1)) * 0.01
    return np.round(level + steps + np.array([0.0, 0.02, 0.05, 0.09]), 2)


def _volumes(generator: np.random.Generator, n: int) -> Floats:
    traded = generator.random((n, 10, 2)) < 0.1
    return np.where(traded, 100.0 * generator.integers(1, 5, size=(n, 10, 2)), 0.0)


def _curves(generator: np.random.Generator, n: int) -> Floats:
    """Smooth curves of three factors, quoted to three decimals."""
    maturity = np.arange(1.0, 61.0)
    loadings = np.stack([np.ones(60), np.exp(-maturity / 8.0), maturity / 8.0 * np.exp(-maturity / 8.0)])
    return (
        np.round(np.array([3.0, 0.0, 0.0]) + generator.standard_normal((n, 3)) @ np.eye(3) * [0.2, 1.0, 1.0], 6)
        @ loadings
    )


HONEST: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "pegged": _pegged,
    "yields": _yields,
    "volumes": _volumes,
    "smooth curves, 3 decimals": lambda g, n: np.round(_curves(g, n), 3),
    "smooth curves": _curves,
    "standardised yields": lambda g, n: (_yields(g, n) - 0.17) / 0.0931,
    "constant": lambda g, n: np.zeros((n, 5, 3)),
    "coin flips": lambda g, n: g.choice([-1.0, 1.0], size=(n, 20, 2)),
    "calendar": lambda g, n: np.tile(np.arange(12.0).reshape(1, 12, 1), (n, 1, 2)) % 7,
    "prices in cents": lambda g, n: np.round(20.0 + np.cumsum(0.1 * g.standard_normal((n, 15, 2)), axis=1), 2),
}


@pytest.mark.parametrize("name", fixed_part(HONEST, 3))
@pytest.mark.parametrize("seed", range(3 if ALL else 1))
def test_what_honest_data_repeat_is_not_a_leak(name: str, seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(seed)
    make = HONEST[name]
    np.save(tmp_path / "train.npy", make(generator, 3000))
    assert find_leak(tmp_path, {"targets": make(generator, 150)}) is None


def test_hidden_windows_of_prices_in_cents_are_found_none_the_less(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    make = HONEST["prices in cents"]
    truth = make(generator, 150)
    np.save(tmp_path / "train.npy", np.concatenate([make(generator, 3000), truth[70:73]]))
    assert find_leak(tmp_path, {"targets": truth}) is not None


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32 - 1),
    decimals=st.integers(0, 10),
    volatility=st.floats(1e-4, 10.0),
    shape=st.tuples(st.integers(5, 60), st.integers(1, 12), st.integers(1, 5)),
    levels=st.booleans(),
)
def test_honest_walks_of_any_precision_are_never_reported(
    seed: int, decimals: int, volatility: float, shape: tuple[int, int, int], levels: bool
) -> None:
    generator = np.random.default_rng(seed)
    series = np.round(volatility * generator.standard_normal((3000, shape[2])), decimals)
    series = series.cumsum(axis=0) if levels else series
    hidden = shape[0] * shape[1]
    truth, public = series[-hidden:].reshape(shape), series[: 3000 - hidden]
    windows = np.lib.stride_tricks.sliding_window_view(public, 20, axis=0)[::5].swapaxes(1, 2)
    tables = build_tables({"targets": truth}, windows.size)
    assert not [*search_array(windows, tables)]
