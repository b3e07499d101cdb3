"""Tapes: the hidden data of one rollout, which may differ from that of the next.

| tape | hidden data |
|---|---|
| ``given`` | those of the package |
| ``fresh`` | drawn for the rollout by the simulator, as a continuation of the training data, which all rollouts share |
| ``twin`` | resampled from the training rows of a real series |

A tape is determined by its package and its seed. Its training data are those of the package to the last byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.kinds import SequentialKind, kind_of, sequential_kind
from openfingym.kinds.material import Array, Blocks

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.results.result import TapeKind


@dataclass(frozen=True)
class Tape:
    """The hidden data of a rollout: its kind and seed."""

    kind: TapeKind = "given"
    seed: int = 0
    """The number from which the tape is drawn. It is secret: whoever knows it can draw the hidden data. Not used by a
    given tape."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """The arrays of a tape. All are read-only."""

    public: Mapping[str, Array]
    """Public arrays by name that differ from the package's, of the same shape and type."""
    hidden: Mapping[str, Array]
    """All hidden arrays by name."""


def renewal(package: BuiltPackage) -> TapeKind:
    """The kind of tape that another rollout can have; ``given`` where the package's own is the only one."""
    task = package.task
    kind = kind_of(task)
    if package.manifest.data_kind != "real" and kind.renewable(task):
        return "fresh"
    return "twin" if isinstance(kind, SequentialKind) and kind.has_twins else "given"


def require_renewal(package: BuiltPackage) -> None:
    """Check that rollouts of the task can have tapes other than the given one.

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
        can_be: the kind of tape that :func:`renewal` says the task can have.
        wanted: whether a tape other than the given one is asked for.
        played_before: whether the same principal has played the given tape, or could still be playing it.
    """
    if not wanted:
        return "given"
    # The first rollout on a real series gets the real one, which is worth more than a twin. Of a simulated series no
    # tape is more real than another.
    return "given" if can_be == "twin" and not played_before else can_be


def draw(package: BuiltPackage, tape: Tape, hidden: Mapping[str, Array]) -> Drawn:
    """The arrays of a tape.

    Args:
        package: the built package of the task.
        tape: the kind and the seed of the tape to draw.
        hidden: the package's own hidden arrays by name.

    Raises:
        DataError: the drawn data do not fit the package, because the simulator is not the one it was built with.
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
    # As the package's arrays are: a kind or a metric that wrote into them would change the truth of the rollout.
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
    # Arrays that are generated block by block are training data, drawn from random streams that the seed of a tape does
    # not touch: they are those of the package, and would be large.
    made = {name: array for name, array in material.public.items() if not isinstance(array, Blocks)}
    known = {name: package.array(name) for name in made}
    _require_same_form(package, made, known)
    changed = {name: array for name, array in made.items() if not _equal(array, known[name])}
    # The remaining training data must not differ by a bit, or results of two rollouts could not be compared.
    wrong = sorted(name for name in changed if name.startswith("train_"))
    if wrong:
        raise DataError(
            f"{package.manifest.name}: a fresh tape has other training data ({', '.join(wrong)}) than the package; "
            f"{package.remedy}"
        )
    return Drawn(changed, material.hidden)


def _require_same_form(package: BuiltPackage, found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    for key, array in expected.items():
        # Texts have the length of the longest among them as their type.
        typed = found[key].dtype.kind == array.dtype.kind == "U" or found[key].dtype == array.dtype
        if found[key].shape != array.shape or not typed:
            raise DataError(
                f"{package.manifest.name}: {key} of another tape is {found[key].dtype}{list(found[key].shape)}, "
                f"expected {array.dtype}{list(array.shape)}; {package.remedy}"
            )


def _equal(left: Array, right: Array) -> bool:
    return bool(np.array_equal(left, right))
