"""Signatures against their algebra and esig; the kernel against its definition."""

import itertools
import math

import numpy as np
import pytest

from openfingym.errors import UsageError
from openfingym.metrics import signature_kernel, signature_kernel_numba
from openfingym.metrics.signature import sig_w1, signature, with_time
from openfingym.metrics.signature_kernel import kernel_levels, mmd_squared, sig_mmd, with_origin


def tensors(row, d, depth):
    starts = np.cumsum([0, *(d**k for k in range(1, depth + 1))])
    return [np.ones(()), *(row[starts[k - 1] : starts[k]].reshape((d,) * k) for k in range(1, depth + 1))]


def test_a_straight_line_has_the_exponential_as_signature():
    v = np.array([0.5, -2.0, 1.5])
    line = np.array([0.0, 0.1, 0.7, 1.0])[None, :, None] * v
    levels = tensors(signature(line, 4)[0], 3, 4)
    for k in range(1, 5):
        power = v
        for _ in range(k - 1):
            power = np.multiply.outer(power, v)
        assert levels[k] == pytest.approx(power / math.factorial(k), abs=1e-12)


def test_chens_identity_and_the_shuffle_product():
    x = np.cumsum(np.random.default_rng(0).standard_normal((1, 9, 2)), axis=1)
    a, b, whole = (tensors(signature(part, 4)[0], 2, 4) for part in (x[:, :5], x[:, 4:], x))
    for k in range(1, 5):
        product = sum(np.multiply.outer(a[j], b[k - j]) for j in range(k + 1))
        assert whole[k] == pytest.approx(product, abs=1e-10)
    assert np.multiply.outer(whole[1], whole[1]) == pytest.approx(whole[2] + whole[2].T, abs=1e-10)


def test_many_paths_are_each_on_their_own():
    x = np.random.default_rng(1).standard_normal((700, 6, 3))
    together = signature(x, 4)
    assert together.shape == (700, 3 + 9 + 27 + 81)
    for i in (0, 616, 617, 699):
        assert together[i] == pytest.approx(signature(x[i : i + 1], 4)[0], abs=1e-12)


def test_agrees_with_esig():
    esig = pytest.importorskip("esig")
    x = np.random.default_rng(2).standard_normal((4, 8, 2))
    expected = np.array([esig.stream2sig(path, 4)[1:] for path in x])
    assert signature(x, 4) == pytest.approx(expected, abs=1e-10)


def test_sig_w1_by_hand():
    real, fake = np.array([[[0.0], [1.0]]]), np.array([[[0.0], [3.0]], [[0.0], [1.0]]])
    # levels of (1, a): 1, a, 1/2, a/2, a/2, a^2/2; fake means: a -> 2, a^2 -> 5
    assert sig_w1(real, fake) == pytest.approx(math.sqrt(1 + 2 * 0.5**2 + 2**2))
    assert sig_w1(real, real) == 0.0
    assert with_time(fake)[:, :, 0].tolist() == [[0.0, 1.0]] * 2


def test_sig_w1_ignores_where_a_path_starts_and_a_signature_too_large_is_refused():
    rng = np.random.default_rng(3)
    real, fake = rng.standard_normal((2, 20, 6, 2))
    assert sig_w1(real + 5.0, fake - 3.0) == pytest.approx(sig_w1(real, fake))
    with pytest.raises(UsageError, match="terms"):
        signature(np.zeros((2, 3, 30)), 5)


def by_definition(x, y, depth, rate):
    """Sum over increasing indices of products of second differences of the static kernel."""
    static = np.exp(-rate * ((x[:, None] - y[None]) ** 2).sum(axis=-1))
    second = np.diff(np.diff(static, axis=0), axis=1)
    n, m = second.shape
    return [
        sum(
            math.prod(second[i, j] for i, j in zip(rows, columns, strict=True))
            for rows in itertools.combinations(range(n), k)
            for columns in itertools.combinations(range(m), k)
        )
        for k in range(1, depth + 1)
    ]


def test_kernel_by_definition():
    rng = np.random.default_rng(4)
    x, y = with_origin(rng.standard_normal((3, 5, 2))), with_origin(rng.standard_normal((4, 5, 2)))
    found = kernel_levels(x, y, 4, 0.5)
    for a in range(3):
        for b in range(4):
            assert found[:, a, b] == pytest.approx(by_definition(x[a], y[b], 4, 0.5), rel=1e-9, abs=1e-12)
    assert kernel_levels(x, x, 4, 0.5) == pytest.approx(kernel_levels(x, x.copy(), 4, 0.5), abs=1e-12)


@pytest.mark.parametrize("law", ["normalised", "compat"])
def test_mmd_by_definition(law):
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((4, 4, 1)), rng.standard_normal((3, 4, 1))
    rate = 0.5 if law == "normalised" else 1.0

    def kernel(p, q):
        u, v = with_origin(p[None])[0], with_origin(q[None])[0]
        levels = by_definition(u, v, 3, rate)
        if law == "compat":
            return 1.0 + sum(levels)
        own = [
            math.sqrt(a * b) for a, b in zip(by_definition(u, u, 3, rate), by_definition(v, v, 3, rate), strict=True)
        ]
        return (1.0 + sum(level / scale for level, scale in zip(levels, own, strict=True))) / 4

    within = [np.mean([kernel(p, q) for p, q in itertools.permutations(s, 2)]) for s in (x, y)]
    across = np.mean([kernel(p, q) for p in x for q in y])
    assert mmd_squared(x, y, 3, law) == pytest.approx(sum(within) - 2 * across, rel=1e-9)


@pytest.mark.parametrize("cells", [1, 30, 100])
def test_many_blocks_give_what_one_gives(monkeypatch, cells):
    rng = np.random.default_rng(6)
    x, y = with_origin(rng.standard_normal((9, 6, 1))), with_origin(rng.standard_normal((7, 6, 1)))
    whole, own = kernel_levels(x, y, 3, 0.5), kernel_levels(x, x, 3, 0.5)
    monkeypatch.setattr(signature_kernel, "BLOCK_CELLS", cells)
    assert kernel_levels(x, y, 3, 0.5) == pytest.approx(whole, abs=1e-13)
    assert kernel_levels(x, x, 3, 0.5) == pytest.approx(own, abs=1e-13)


def test_numba_gives_the_same_numbers():
    rng = np.random.default_rng(7)
    x, y = rng.standard_normal((9, 6, 2)), rng.standard_normal((8, 6, 2))
    for law in ("normalised", "compat"):
        assert mmd_squared(x, y, 5, law, "numba") == pytest.approx(
            mmd_squared(x, y, 5, law, "numpy"), rel=1e-9, abs=1e-12
        )


@pytest.mark.parametrize(("n", "m", "t", "d"), [(1, 1, 2, 1), (3, 17, 9, 3), (8, 16, 30, 1), (9, 7, 5, 2)])
def test_numba_gives_the_same_levels_however_paths_fill_the_lanes(n, m, t, d):
    rng = np.random.default_rng(9)
    x, y = (with_origin(rng.standard_normal((count, t, d)).cumsum(axis=1)) for count in (n, m))
    for depth, rate, left, right in ((1, 0.5, x, y), (5, 0.5, x, y), (5, 1.0, y, y)):
        expected = kernel_levels(left, right, depth, rate)
        found = signature_kernel_numba.levels(left, right, depth, rate)
        for level, reference in zip(found, expected, strict=True):
            np.testing.assert_allclose(level, reference, rtol=1e-12, atol=1e-13 * np.abs(reference).max())


@pytest.mark.parametrize("size", [1e-9, 1.0, 37.6, 37.7, 1e3, 1e200])
def test_numba_takes_exponentials_of_every_size(size):
    # Of paths of two rows the first level is made of four exponentials, from 1 down to what float64 cannot hold.
    x, y = np.zeros((1, 2, 1)), np.zeros((3, 2, 1))
    y[:, 1, 0] = size, -size, size / 2
    with np.errstate(over="ignore"):
        expected = kernel_levels(x, y, 1, 0.5), kernel_levels(y, y, 1, 0.5)
    assert signature_kernel_numba.levels(x, y, 1, 0.5) == pytest.approx(expected[0], rel=1e-15, abs=1e-300)
    assert signature_kernel_numba.levels(y, y, 1, 0.5) == pytest.approx(expected[1], rel=4e-15, abs=1e-300)


def test_real_paths_among_themselves_are_computed_once_for_a_fold_and_its_groups(monkeypatch):
    made = []
    levels = signature_kernel.kernel_levels
    monkeypatch.setattr(
        signature_kernel, "kernel_levels", lambda x, y, *rest: made.append(x is y) or levels(x, y, *rest)
    )
    rng = np.random.default_rng(10)
    real, first, second = rng.standard_normal((3, 9, 4, 3, 1))
    one, other = (
        [mmd_squared(x, y, 2, backend="numpy") for x, y in zip(real, fake, strict=True)] for fake in (first, second)
    )
    assert one != other
    assert sum(made) == 9 + 2 * 9  # those of the answers are computed each time
    assert len(made) - sum(made) == 2 * 9


def test_the_score_is_floored_and_depends_on_the_task_seed_alone():
    rng = np.random.default_rng(8)
    real, fake = rng.standard_normal((40, 5, 1)), rng.standard_normal((40, 5, 1))
    assert mmd_squared(real, real, 3) < 0.0
    assert sig_mmd(real, real, 3) == 0.0
    assert sig_mmd(real, fake, 3, paths=10, seed=1) == sig_mmd(real, fake, 3, paths=10, seed=1)
    assert sig_mmd(real, 3 * fake, 3) > 0.02
    with pytest.raises(UsageError, match="two paths"):
        sig_mmd(real, fake[:1])


def test_long_paths_are_thinned_to_the_last_step():
    rng = np.random.default_rng(6)
    real, fake = rng.standard_normal((2, 12, 31, 2)).cumsum(axis=2)
    assert sig_mmd(real, fake, 3, steps=11) == sig_mmd(real[:, ::3], fake[:, ::3], 3, steps=None)
    assert sig_mmd(real, fake, 3, steps=11) != sig_mmd(real, fake, 3, steps=None)
