"""Exact Gaussian vectors, in a fixed order of operations and so without BLAS or LAPACK.

Those reorder sums by machine, which would make the last digits of a path, and now and then a
rounded one, depend on where it was generated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def cholesky(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower triangular L with L L' = covariance, float64[k, k].

    Raises:
        DataError: the matrix is not positive definite; the row is named.
    """
    # Column by column, each subtracted from what is left of the matrix (the outer product form).
    rest = covariance.copy()
    lower = np.zeros_like(rest)
    for k in range(len(rest)):
        # Not "<= 0", which would let a NaN through.
        if not rest[k, k] > 0.0:
            raise DataError(
                f"a covariance must be positive definite, but its leading minor fails at row {k} (pivot "
                f"{rest[k, k]:.3g})"
            )
        lower[k:, k] = rest[k:, k] / np.sqrt(rest[k, k])
        rest[k + 1 :, k + 1 :] -= lower[k + 1 :, k, None] * lower[k + 1 :, k]
    return lower


def correlate(white: NDArray[np.float64], lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the last axis the covariance lower lower'.

    Args:
        white: float64[..., k], independent and of unit variance.
        lower: Cholesky factor of the correlations, float64[k, k], lower triangular.

    Returns:
        The correlated draws, float64[..., k].
    """
    coloured = np.zeros_like(white)
    for k in range(len(lower)):
        coloured[..., k:] += white[..., k, None] * lower[k:, k]
    return coloured
