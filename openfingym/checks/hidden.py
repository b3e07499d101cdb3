"""Checks that the public half of a package tells nothing of the hidden values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openfingym.checks.finding import FailedCheckError
from openfingym.kinds import kind_of
from openfingym.kinds.material import Blocks
from openfingym.kinds.walk import SHOWN
from openfingym.leaks import find_leaks, suspicious_features
from openfingym.machine import one_blas_thread

if TYPE_CHECKING:
    from openfingym.kinds.material import Array
    from openfingym.packages.package import BuiltPackage
    from openfingym.task import Task

MAX_SHIFT = 24
"""Rows by which a feature may lead or lag a hidden value and still be compared with it."""


def independence(task: Task, package: BuiltPackage) -> str:
    """Check that replacing every hidden value by noise changes no public byte; returns what was found, as a sentence.

    So it catches scaling, imputation or feature selection that has seen the hidden rows, whose values a search for
    copies would not recognise.

    Args:
        task: the task, whose data are loaded again.
        package: the built package of the task.

    Raises:
        FailedCheckError: a public array changes with the hidden values.
    """
    import numpy as np

    kind = kind_of(task)
    source = kind.load(task)
    altered = kind.scramble(task, source, np.random.default_rng(0))
    if altered is None:
        return "not applicable: the public data is made from the hidden values, by definition of the task"
    material = kind.shape(task, altered)
    for name, array in material.public.items():
        if not _equal(package.array(name), array):
            raise FailedCheckError(f"{name} changes when the hidden values are replaced by noise")
    return f"replacing every hidden value by noise changes none of {len(material.public)} public arrays"


def _equal(stored: Array, made: Array | Blocks) -> bool:
    import numpy as np

    if not isinstance(made, Blocks):
        return bool(np.array_equal(stored, made))
    # Block by block, as the whole array may not fit into memory a second time.
    row = 0
    for block in made:
        if not np.array_equal(stored[row : row + len(block)], block):
            return False
        row += len(block)
    return row == len(stored)


def leak_search(package: BuiltPackage, hidden: Mapping[str, Array]) -> str:
    """Check that no public file holds hidden values; returns what was found, as a sentence.

    Args:
        package: the built package of a task.
        hidden: the hidden arrays by name.

    Raises:
        FailedCheckError: hidden values were found that ``task.toml`` does not waive, or it waives a finding that there
            is not.
    """
    numbers = kind_of(package.task).numbers
    # Times of hidden bars follow from those of the training bars, so that anybody could write them down. What windows
    # show is searched for as what is asked for in windows before.
    values = {
        name: _known(array) for name, array in hidden.items() if array.dtype.kind != "M" and not name.startswith(SHOWN)
    }
    ids = None if numbers is None else package.array(numbers)
    manifest, waivers = package.manifest, package.task.spec.waivers
    folds = (manifest.n_public, manifest.n_private)
    # Labels name the last axis of a submission, which need not be the last axis of the hidden arrays.
    named = all(array.ndim > 1 and array.shape[-1] == len(manifest.labels) for array in values.values())
    used: set[int] = set()
    with one_blas_thread():
        for leak in find_leaks(package.public, values, ids=ids, folds=folds, channels=manifest.labels if named else ()):
            waiving = {
                number
                for number, waiver in enumerate(waivers)
                if (waiver.file, waiver.finding) == (leak.file, leak.finding)
            }
            if not waiving:
                raise FailedCheckError(
                    f"hidden values may be in the public half: {leak}. If it is no leak, say so under "
                    "[[metadata.openfingym.waivers]] "
                    f"in task.toml: file = {json.dumps(leak.file)}, finding = {json.dumps(leak.finding)}, and a reason"
                )
            used |= waiving
    # A waiver that fits nothing today could hide a real leak of the same words tomorrow.
    unused = [f"{waiver.finding!r} in {waiver.file}" for number, waiver in enumerate(waivers) if number not in used]
    if unused:
        raise FailedCheckError(f"waivers in task.toml of what is not found: {'; '.join(unused)}; remove them")
    waived = "".join(f"; waived: {waiver.finding} in {waiver.file} ({waiver.reason})" for waiver in waivers)
    return f"no hidden values in any public file, in any common encoding, rounding, order or transform{waived}"


def _known(array: Array) -> Array:
    """A hidden array with 0 for what nobody knows, which is not scored: a search compares finite numbers."""
    import numpy as np

    return np.where(np.isnan(array), 0.0, array) if array.dtype.kind == "f" and np.isnan(array).any() else array


def features(package: BuiltPackage, hidden: Mapping[str, Array]) -> str:
    """Check that no input tells more of a hidden target than the same input tells of a training target.

    Args:
        package: the built package of a task.
        hidden: the hidden arrays by name.

    Returns:
        What was found, as a sentence.

    Raises:
        FailedCheckError: an input does tell more, as one does that was computed from the target.
    """
    arrays = package.contract["arrays"]
    if "targets" not in hidden or "train_targets" not in arrays:
        return "not applicable: no input belongs to a single hidden number"
    shape = package.manifest.submission_shape
    targets = _known(hidden["targets"])
    with one_blas_thread():
        found = suspicious_features(
            hidden["test_inputs"] if "test_inputs" in hidden else package.array("test_inputs"),
            targets,
            package.array("train_inputs"),
            package.array("train_targets"),
            max_shift=MAX_SHIFT,
        )
    if found:
        shown = "; ".join(map(str, found[:3]))
        raise FailedCheckError(f"{len(found)} input(s) say more of the hidden targets than of training ones: {shown}")
    return f"no input says more of the {shape[0]} hidden items than of training ones"
