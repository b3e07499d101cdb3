"""Random numbers from raw bits, and Gaussian vectors without LAPACK."""

import numpy as np
import pytest
from scipy import stats

from openfingym.data.processes.draws import chi_squares, geometrics, normals, permutation, stream, students, uniforms
from openfingym.data.processes.gaussian import cholesky, correlate
from openfingym.errors import DataError

N = 40_000


def test_a_stream_is_a_spawned_child():
    child = np.random.SeedSequence(9).spawn(3)[2].spawn(5)[4]
    assert stream(9, 2, 4).random_raw(8).tolist() == np.random.PCG64(child).random_raw(8).tolist()
    assert stream(9, 2, 3).random_raw() != stream(9, 2, 4).random_raw()


@pytest.mark.parametrize(
    ("draws", "law"),
    [
        (uniforms(stream(1), N), stats.uniform()),
        (normals(stream(2), N - 1), stats.norm()),
        (students(stream(3), 5.0, N), stats.t(5, scale=np.sqrt(3 / 5))),
        (chi_squares(stream(4), 5, N), stats.chi2(5)),
        (chi_squares(stream(5), 10, N), stats.chi2(10)),
    ],
    ids=["uniform", "normal", "student", "chi-square 5", "chi-square 10"],
)
def test_laws(draws, law):
    assert stats.kstest(draws, law.cdf).pvalue > 0.01


def test_geometric_law():
    counts = np.bincount(geometrics(stream(6), 0.4, N).astype(int), minlength=20)[:8]
    expected = N * 0.6 * 0.4 ** np.arange(8)
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected.max())


def test_normals_are_independent_along_the_array():
    """Box-Muller pairs share a radius: squares must not be correlated either."""
    draws = normals(stream(7), N)
    half = N // 2
    assert abs(np.corrcoef(draws[:half], draws[half:])[0, 1]) < 4 / np.sqrt(half)
    assert abs(np.corrcoef(draws[:half] ** 2, draws[half:] ** 2)[0, 1]) < 4 / np.sqrt(half)


def test_permutation():
    assert sorted(permutation(stream(8), 100).tolist()) == list(range(100))
    first = [permutation(stream(8, i), 4)[0] for i in range(4_000)]
    assert stats.chisquare(np.bincount(first, minlength=4)).pvalue > 0.01


def test_cholesky_is_that_of_lapack():
    matrix = np.cov(np.random.default_rng(0).standard_normal((12, 40)))
    assert cholesky(matrix) == pytest.approx(np.linalg.cholesky(matrix), abs=1e-13)
    white = np.random.default_rng(1).standard_normal((5, 3, 12))
    assert correlate(white, cholesky(matrix)) == pytest.approx(white @ np.linalg.cholesky(matrix).T, abs=1e-12)


def test_no_covariance():
    with pytest.raises(DataError, match="row 1"):
        cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
