"""Answers as the verifier wants them, checked here first, where a refusal is quicker and clearer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openfingym_agent.transport import SubmissionRefused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def checked(predictions: ArrayLike, expected: tuple[int, ...], contract: dict[str, Any]) -> NDArray[np.float64]:
    """Predictions as an array that the verifier takes.

    Args:
        predictions: what a program wants to say.
        expected: shape that it must have.
        contract: content of ``contract.json``.

    Raises:
        SubmissionRefused: the values do not fit the contract.
    """
    import numpy as np

    try:
        given = np.asarray(predictions)
    except ValueError as error:
        raise SubmissionRefused(f"predictions are not one regular array ({error})", problem="wrong-shape") from error
    if given.dtype.kind not in "fiu":
        raise SubmissionRefused(f"expected real numbers (float64), found dtype {given.dtype}", problem="wrong-dtype")
    if given.shape != expected:
        axes = ", ".join(contract["submission_axes"])
        raise SubmissionRefused(f"expected shape {expected} ({axes}), found {given.shape}", problem="wrong-shape")
    values = np.ascontiguousarray(given, dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise SubmissionRefused(
            f"expected finite numbers, found {values[where]} at index {where}", problem="not-finite"
        )
    low, high = float(contract["low"]), float(contract["high"])
    outside = (values < low) | (values > high)
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        found = f"found {values[where]:g} at index {where}"
        raise SubmissionRefused(
            f"expected values in [{low:g}, {high:g}] {contract['unit']}, {found}", problem="out-of-range"
        )
    return values
