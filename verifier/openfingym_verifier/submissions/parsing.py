"""Parsing a submission: from the bytes of a request to the float64 array that is scored, or to a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pydantic_core

from openfingym.verifiers.routes import JSON, MEDIA_TYPES, NPY, NPZ, ZIP, most_body_bytes
from openfingym_verifier.problems import Problem
from openfingym_verifier.submissions.columnar import KINDS as TABLES
from openfingym_verifier.submissions.columnar import read_table
from openfingym_verifier.submissions.npy import read_npy, read_npz

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym_verifier.scoring.truth import HiddenTask


def read_submission(media_type: str, body: bytes, task: HiddenTask) -> NDArray[np.float64]:
    """Parse and check a submission.

    Args:
        media_type: media type of the body, without parameters, in lower case.
        body: body of the request, at most ``task.max_body_bytes`` long.
        task: the task that is answered, whose shape and range the submission must have.

    Returns:
        Little-endian float64 of the task's shape, C-contiguous, every value finite and
        in [low, high]; possibly a read-only view of ``body``.

    Raises:
        Problem: the submission is refused; the slug is one of :data:`~openfingym_verifier.problems.REFUSALS`.
    """
    if media_type == NPY:
        raw = read_npy(body)
    elif media_type in {NPZ, ZIP}:
        raw = read_npz(body, most_body_bytes(task.cells))
    elif media_type == JSON:
        raw = read_json(body)
    elif media_type in TABLES:
        raw = read_table(media_type, body, task.shape, task.manifest.labels, task.package)
    else:
        accepted = ", ".join(MEDIA_TYPES)
        raise Problem("unsupported-media-type", f"Found Content-Type {media_type[:100]!r}; accepted are {accepted}.")
    return check(raw, task)


def read_json(body: bytes) -> NDArray[np.generic]:
    """The nested list under ``predictions`` of a JSON object; NaN and Infinity are read, to be refused by name later.

    Raises:
        Problem: ``malformed-submission``, ``wrong-shape`` for ragged lists, ``wrong-dtype`` for anything but numbers.
    """
    try:
        document = pydantic_core.from_json(body, allow_inf_nan=True, cache_strings=False)
    except (ValueError, RecursionError):
        raise Problem("malformed-submission", "The body is not valid JSON.") from None
    if not isinstance(document, dict) or set(document) != {"predictions"}:
        raise Problem(
            "malformed-submission",
            'Expected a JSON object with the single key "predictions", a nested list of numbers.',
        )
    try:
        # As objects first: NumPy would read texts, booleans and null as numbers without a word.
        cells = np.array(document["predictions"], dtype=object)
    except ValueError:
        raise Problem(
            "wrong-shape", "The lists under predictions are ragged; every one of a level must have the same length."
        ) from None
    # The exact type, since a boolean is an int by inheritance.
    kinds = set(map(type, cells.ravel().tolist()))
    if kinds <= {float, int}:
        try:
            return cells.astype(np.float64)
        except OverflowError:
            raise Problem("out-of-range", "An integer under predictions is beyond the range of float64.") from None
    if list in kinds:
        raise Problem(
            "wrong-shape", "The lists under predictions are ragged; every one of a level must have the same length."
        )
    names = ", ".join(sorted(kind.__name__ for kind in kinds - {float, int}))
    raise Problem("wrong-dtype", f"The predictions hold {names}; expected numbers only.")


def check(raw: NDArray[np.generic], task: HiddenTask) -> NDArray[np.float64]:
    """Check type, shape, finiteness and range, in this order, and convert to float64.

    Args:
        raw: the array as it was sent.
        task: the task that is answered.

    Raises:
        Problem: ``wrong-dtype``, ``wrong-shape``, ``not-finite`` or ``out-of-range``.
    """
    # Floats and integers; not booleans, complex numbers or dates, nor the long double, which differs by machine.
    if raw.dtype.kind not in "fiu" or raw.dtype.itemsize > 8:
        raise Problem(
            "wrong-dtype",
            f"Found an array of {raw.dtype.name}; expected float64 (float16, float32 and integers are converted).",
        )
    if raw.shape != task.shape:
        sent, expected = list(raw.shape[:8]), list(task.shape)
        raise Problem(
            "wrong-shape",
            f"Found shape {sent}; expected {expected}: "
            f"{', '.join(task.manifest.submission_axes)}.{_hint(raw.shape, task)}",
        )
    values: NDArray[np.float64] = np.ascontiguousarray(raw, dtype="<f8")
    low, high = task.low, task.spec.contract.high
    # NaN makes both comparisons false, so that one pass finds every kind of bad value.
    if not (values.min() >= low and values.max() <= high):
        raise _bad_value(values, low, high)
    return values


def _hint(shape: tuple[int, ...], task: HiddenTask) -> str:
    """A hint at the likely mistake behind a wrong shape, for the refusal."""
    if len(shape) > 1 and sorted(shape) == sorted(task.shape):
        return " The axes are in another order."
    if len(shape) > len(task.shape) and [n for n in shape if n > 1] == [n for n in task.shape if n > 1]:
        return " There is an axis of length 1 too many."
    if shape and shape[1:] == task.shape[1:] and shape[0] in {task.manifest.n_public, task.manifest.n_private}:
        return " Every hidden item is wanted, of both folds."
    return ""


def _bad_value(values: NDArray[np.float64], low: float, high: float) -> Problem:
    """The refusal of values that are not finite or not in [low, high], which names the first of them."""
    infinite = ~np.isfinite(values)
    if infinite.any():
        where = _first(infinite)
        return Problem(
            "not-finite",
            f"predictions{list(where)} is {values[where]}, one of {infinite.sum()} values that are not finite.",
        )
    outside = (values < low) | (values > high)
    where = _first(outside)
    return Problem(
        "out-of-range",
        f"predictions{list(where)} is {values[where]:g}, one of {outside.sum()} values outside the admissible range "
        f"[{low:g}, {high:g}].",
    )


def _first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Position of the first true cell."""
    return tuple(int(i) for i in np.unravel_index(int(mask.argmax()), mask.shape))
