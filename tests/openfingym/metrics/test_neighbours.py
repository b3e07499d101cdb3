"""Nearest-neighbour distances by brute force, and copies told from honest generators."""

import numpy as np
import pytest

from openfingym.data import load_panel
from openfingym.errors import DataError, UsageError
from openfingym.metrics.copying import detect_copies, memorised_excess, neighbour_ratios
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


def test_neighbour_ratios_by_brute_force():
    rng = np.random.default_rng(2)
    queries, base = rng.standard_normal((200, 6)), rng.standard_normal((90, 6))
    ratios, sources = neighbour_ratios(queries, base)
    distance = np.linalg.norm(queries[:, None] - base[None], axis=-1)
    ordered = np.sort(distance, axis=1)
    assert ratios == pytest.approx(ordered[:, 0] / ordered[:, 4])
    assert (sources == distance.argmin(axis=1)).all()


STEPS, CHANNELS = 20, 5


@pytest.fixture(scope="module")
def market():
    prices = load_panel("us-large-caps").values[:, :CHANNELS]
    returns = np.diff(np.log(prices), axis=0)
    cut = int(0.7 * len(returns))

    def windows(rows):
        return np.stack([rows[i : i + STEPS] for i in range(0, len(rows) - STEPS + 1, 2)])

    return returns[:cut], windows(returns[:cut]), windows(returns[cut + STEPS :])


def block_bootstrap(rows, length, count, rng):
    out = np.empty((count, STEPS, rows.shape[1]))
    for i in range(count):
        for at in range(0, STEPS, length):
            start = rng.integers(0, len(rows) - length)
            out[i, at : at + length] = rows[start : start + min(length, STEPS - at)]
    return out


@pytest.mark.parametrize("jitter", [0.0, 1e-6, 0.05, 0.2])
def test_exact_and_jittered_copies_are_flagged(market, jitter):
    _, train, held_out = market
    rng = np.random.default_rng(3)
    chosen = rng.integers(0, len(train), 400)
    fake = train[chosen] + jitter * train.std(axis=(0, 1)) * rng.standard_normal((400, STEPS, CHANNELS))
    report = detect_copies(train, held_out, fake)
    assert report.flagged
    assert report.memorised_share > (0.99 if jitter < 0.1 else 0.5)
    # Training windows start every second row: a part of one is a part of its neighbours too.
    assert (np.abs(report.sources - chosen[report.positions]) <= STEPS // 5 // 2).mean() > 0.99


@pytest.mark.parametrize("change", ["earlier", "later", "backward", "upside down"])
def test_copies_in_disguise_are_flagged(market, change):
    """One row of each window is new, or the whole of it turned around."""
    rows, train, held_out = market
    copies = train[:400].copy()
    other = rows[np.random.default_rng(6).integers(0, len(rows), 400)]
    fake = {
        "earlier": np.concatenate((other[:, None], copies[:, :-1]), axis=1),
        "later": np.concatenate((copies[:, 3:], other[:, None], other[:, None], other[:, None]), axis=1),
        "backward": copies[:, ::-1],
        "upside down": 2.0 * rows.mean(axis=0) - copies,
    }[change]
    report = detect_copies(train, held_out, fake)
    assert report.flagged
    assert report.memorised_share > 0.98


def test_large_sets_are_compared_in_full():
    """Copies of the last of many training windows of many cells are found."""
    rng = np.random.default_rng(7)
    train = rng.standard_normal((12_000, 30, 5))
    held_out, fresh = rng.standard_normal((2, 300, 30, 5))
    assert detect_copies(train, held_out, train[-300:] + 0.02 * fresh).memorised_share == 1.0
    assert not detect_copies(train, held_out, fresh).flagged


def test_windows_of_few_cells():
    """Twelve cells leave room for near misses, which held-out windows have as often."""
    rng = np.random.default_rng(8)
    train, held_out, fresh = (rng.standard_t(4, (n, 4, 3)) for n in (5000, 300, 300))
    assert detect_copies(train, held_out, train[:300] + 0.02 * fresh).memorised_share > 0.95
    assert not detect_copies(train, held_out, fresh).flagged


def test_a_tenth_of_copies_is_enough(market):
    _, train, held_out = market
    report = detect_copies(train, held_out, np.concatenate((train[:40], held_out[:360])))
    assert report.flagged
    assert sorted(report.positions) == list(range(40))
    assert memorised_excess(train, held_out, np.concatenate((train[:40], held_out[:360]))) == pytest.approx(0.1)


@pytest.mark.parametrize("length", [1, 5, 10, 13])
def test_an_honest_block_bootstrap_is_not(market, length):
    rows, train, held_out = market
    report = detect_copies(train, held_out, block_bootstrap(rows, length, 400, np.random.default_rng(4)))
    assert not report.flagged
    assert report.memorised_share < 0.02


def test_fitted_calm_and_wild_generators_are_not(market):
    rows, train, held_out = market
    rng = np.random.default_rng(5)
    gaussian = rng.multivariate_normal(rows.mean(axis=0), np.cov(rows.T), (400, STEPS))
    volatility = np.exp(0.6 * rng.standard_normal((400, 1, 1)))
    for fake in (gaussian, gaussian * volatility, 0.01 * gaussian, 5.0 * gaussian, np.zeros_like(gaussian), held_out):
        assert not detect_copies(train, held_out, fake).flagged


def test_repeated_training_windows_hide_nothing(market):
    _, train, held_out = market
    doubled = np.concatenate((train, train, train, train, train, train))
    assert detect_copies(doubled, held_out, train[:300]).memorised_share == 1.0


def test_faults(market):
    _, train, held_out = market
    with pytest.raises(DataError, match="distinct"):
        detect_copies(np.repeat(train[:1], 50, axis=0), held_out, train)
    with pytest.raises(UsageError, match="expected"):
        detect_copies(train, held_out, train[:, :-1])
