"""Twins look like the bars they are made of, and knowing those bars does not tell what comes next."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arch import arch_model
from numpy.typing import NDArray

from openfingym.catalog import load_task
from openfingym.errors import DataError
from openfingym.packages.build import build
from openfingym.trading.twins import MIN_ROWS, fit, resample

Floats = NDArray[np.float64]
ROWS = 2000


@pytest.fixture(scope="module")
def known(store_home: Path) -> Floats:
    """Real training bars."""
    return np.array(build(load_task("equity-trading")).array("train_bars"))


def moves(bars: Floats) -> Floats:
    """Log prices of every bar over the close before it, float64[T - 1, S, 4]."""
    out: Floats = np.log(bars[1:, :, :4] / bars[:-1, :, 3, None])
    return out


def in_blocks(bars: Floats, rows: int, length: int, seed: int) -> Floats:
    """What a twin could have been: whole blocks of known moves, one after the other."""
    known, generator = moves(bars), np.random.default_rng(seed)
    starts = generator.integers(len(known) - length, size=rows // length)
    path = np.concatenate([known[start : start + length] for start in starts])
    before = np.concatenate([np.zeros((1, path.shape[1])), np.cumsum(path[:, :, 3], axis=0)[:-1]])
    return np.exp(before[:, :, None] + path)


def looked_up(bars: Floats, path: Floats) -> float:
    """Share of next moves whose sign is right for whoever finds the last bar among the known ones, whatever its scale,
    and bets that what followed it then follows now."""
    known, seen = moves(bars), moves(path)

    def shape(found: Floats) -> Floats:
        """Each symbol's moves of a bar, without their size."""
        return (found / np.linalg.norm(found, axis=2, keepdims=True)).reshape(len(found), -1)

    match = (shape(seen[:-1]) @ shape(known[:-1]).T).argmax(axis=1)
    bet, came = known[match + 1, :, 3], seen[1:, :, 3]
    return float((np.sign(bet) == np.sign(came))[came != 0.0].mean())


def test_the_next_bar_cannot_be_looked_up(known: Floats) -> None:
    path = resample(known, ROWS, seed=1)[:, :, :4]
    assert looked_up(known, in_blocks(known, ROWS, 20, seed=1)) > 0.85, "the attack must work where it can"
    assert abs(looked_up(known, path) - 0.5) < 0.04


def test_a_twin_has_the_tails_the_volatility_and_the_cross_section_of_its_market(known: Floats) -> None:
    real, found = (
        moves(known)[:, :, 3],
        np.concatenate([moves(resample(known, ROWS, seed))[:, :, 3] for seed in range(4)]),
    )
    np.testing.assert_allclose(found.std(axis=0) / real.std(axis=0), 1.0, atol=0.3)
    np.testing.assert_allclose(np.corrcoef(found.T), np.corrcoef(real.T), atol=0.12)
    standard = (found - found.mean(axis=0)) / found.std(axis=0)
    assert ((standard**4).mean(axis=0) > 4.0).all()

    def clustering(returns: Floats) -> float:
        size = np.abs(returns - returns.mean(axis=0))
        return float(np.mean([np.corrcoef(size[:-1, s], size[1:, s])[0, 1] for s in range(size.shape[1])]))

    assert clustering(found) > 0.5 * clustering(real) > 0.05


def test_bars_are_bars_that_go_on_from_the_last_close(known: Floats) -> None:
    path = resample(known, ROWS, seed=5)
    opens, highs, lows, closes, volumes = np.moveaxis(path, 2, 0)
    assert path.shape == (ROWS, known.shape[1], 5)
    assert ((lows <= np.minimum(opens, closes)) & (np.maximum(opens, closes) <= highs) & (lows > 0.0)).all()
    assert (np.abs(np.log(opens[0] / known[-1, :, 3])) < 0.25).all()
    # A row's symbols come from one known row.
    rows = {tuple(row) for row in known[1:, :, 4].tolist()}
    assert all(tuple(row) in rows for row in volumes.tolist())


def test_the_seed_is_all(known: Floats) -> None:
    one, same, other = (resample(known, 50, seed) for seed in (2**200, 2**200, 2**200 + 1))
    assert one.tobytes() == same.tobytes()
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("symbol", [1, 2])
def test_garch_parameters_are_near_those_of_an_independent_estimate(known: Floats, symbol: int) -> None:
    shocks = moves(known)[:, [symbol], 3]
    shocks = shocks - shocks.mean(axis=0)
    found = fit(shocks)
    estimate = (
        arch_model(100.0 * shocks[:, 0], mean="Zero", vol="GARCH", p=1, q=1, dist="normal").fit(disp="off").params
    )
    assert abs(found.reaction - estimate["alpha[1]"]) < 0.04
    assert abs(found.persistence - (estimate["alpha[1]"] + estimate["beta[1]"])) < 0.04


def test_too_little_to_resample(known: Floats) -> None:
    with pytest.raises(DataError, match=f"needs {MIN_ROWS} known rows"):
        resample(known[:MIN_ROWS], 10, 0)
    still = known.copy()
    still[:, 1, :4] = 5.0
    with pytest.raises(DataError, match="symbol 1 never moves"):
        resample(still, 10, 0)
