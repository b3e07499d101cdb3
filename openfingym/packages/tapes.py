"""Tapes: the hidden data of one rollout, which may differ from that of the next.

| tape | what is hidden |
|---|---|
| ``given`` | the package's own |
| ``fresh`` | drawn for the rollout from the simulator, given the training data everybody has |
| ``twin`` | resampled from the training rows of a real series |

A tape follows from its package and its seed. Training data are those of the package to the last byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.kinds import Array, Blocks, SequentialKind, kind_of, sequential_kind

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import TapeKind


@dataclass(frozen=True)
class Tape:
    """The hidden data of a rollout: its kind and seed."""

    kind: TapeKind = "given"
    seed: int = 0
    """Secret; of no meaning for a given tape."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """The arrays of a tape. All are read-only."""

    public: Mapping[str, Array]
    """Public arrays that take the place of the package's, of the same shape and type; those that are equal are left
    out."""
    hidden: Mapping[str, Array]
    """Every hidden array."""


def renewal(package: BuiltPackage) -> TapeKind:
    """The kind of tape that another rollout can have; ``given`` where there is none but the package's own."""
    task = package.task
    if package.manifest.data_kind != "real" and kind_of(task).renewable(task):
        return "fresh"
    kind = kind_of(task)
    return "twin" if isinstance(kind, SequentialKind) and kind.has_twins else "given"


def require_renewal(package: BuiltPackage) -> None:
    """Return if another rollout of the task can have another tape.

    Raises:
        UsageError: every rollout of the task has the same hidden data.
    """
    if renewal(package) == "given":
        raise UsageError(
            f"the hidden data of {package.manifest.name} cannot be drawn anew ({package.manifest.data_kind} data); run "
            "it without `fresh`"
        )


def choose(can_be: TapeKind, *, wanted: bool, played_before: bool) -> TapeKind:
    """The kind of tape that a rollout gets.

    Args:
        can_be: the tape that the task can have, from :func:`renewal`.
        wanted: whether another tape than the given one is wanted.
        played_before: whether whoever asks has played the given tape, or could still be playing it.
    """
    if not wanted:
        return "given"
    # A real series is played once; a simulated one has no tape that is more real than another.
    return "given" if can_be == "twin" and not played_before else can_be


def draw(package: BuiltPackage, tape: Tape, hidden: Mapping[str, Array]) -> Drawn:
    """The arrays of a tape.

    Args:
        package: the built package of the task.
        tape: the tape that is wanted.
        hidden: the package's own hidden arrays.

    Raises:
        DataError: the draw does not fit the package; the simulator is not the one it was built with.
        UsageError: the task has no tape of this kind.
    """
    if tape.kind == "given":
        return Drawn({}, hidden)
    if tape.kind != renewal(package):
        raise UsageError(
            f"{package.manifest.name}: hidden data cannot be {tape.kind!r}; they can be {renewal(package)!r}"
        )
    drawn = _fresh(package, tape.seed) if tape.kind == "fresh" else _twin(package, tape.seed, hidden)
    _require_same_form(package, {name: drawn.hidden[name] for name in hidden}, hidden)
    for array in (*drawn.public.values(), *drawn.hidden.values()):
        array.setflags(write=False)
    return drawn


def _twin(package: BuiltPackage, seed: int, hidden: Mapping[str, Array]) -> Drawn:
    spec = package.task.spec
    return Drawn({}, sequential_kind(spec.contract).twin(spec, package.array, hidden, seed))


def _fresh(package: BuiltPackage, seed: int) -> Drawn:
    task = package.task
    kind = kind_of(task)
    material = kind.shape(task, kind.renewed(task, seed))
    # What is made block by block is training data, which has streams of its own.
    made = {name: array for name, array in material.public.items() if not isinstance(array, Blocks)}
    known = {name: package.array(name) for name in made}
    _require_same_form(package, made, known)
    changed = {name: array for name, array in made.items() if not _equal(array, known[name])}
    wrong = sorted(name for name in changed if name.startswith("train_"))
    if wrong:
        raise DataError(
            f"{package.manifest.name}: a fresh tape has other training data ({', '.join(wrong)}) than the package; "
            f"{package.remedy}"
        )
    return Drawn(changed, material.hidden)


def _require_same_form(package: BuiltPackage, found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    for key, array in expected.items():
        if found[key].shape != array.shape or found[key].dtype != array.dtype:
            raise DataError(
                f"{package.manifest.name}: {key} of another tape is {found[key].dtype}{list(found[key].shape)}, "
                f"expected {array.dtype}{list(array.shape)}; {package.remedy}"
            )


def _equal(left: Array, right: Array) -> bool:
    return bool(np.array_equal(left, right))
