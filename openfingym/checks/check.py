"""``openfingym task check``: free proofs that a task is sound.

The package is built twice into temporary folders and looked at from both sides; no verifier is
started. :func:`smoke` runs the task as an agent would meet it, and is asked for separately.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.adversarial.promise import reader_of
from openfingym.errors import OpenFinGymError
from openfingym.kinds import Blocks, Material, is_sequential, kind_of, score_fold
from openfingym.leaks import find_leaks, suspicious_features
from openfingym.packages.build import write_package
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.adversarial.pooled import SkilllessOutcome
    from openfingym.adversarial.record import Reached
    from openfingym.kinds import Array

MAX_SHIFT = 24
"""Rows by which a feature may lead or lag a hidden value and still be looked at."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class CheckReport:
    """All findings about one task."""

    task: str
    findings: tuple[Finding, ...]
    reached: Reached | None = None
    """What answers without skill reach, if that was looked at."""
    outcomes: tuple[SkilllessOutcome, ...] = ()
    """What each of them got that the task does not refuse."""

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(finding.passed for finding in self.findings)

    def to_dict(self) -> dict[str, object]:
        """Plain values for ``--json``."""
        rows = [{"name": f.name, "passed": f.passed, "detail": f.detail} for f in self.findings]
        found: dict[str, object] = {"task": self.task, "passed": self.passed, "findings": rows}
        if self.reached is not None:
            found |= {"skillless": asdict(self.reached), "outcomes": [asdict(one) for one in self.outcomes]}
        return found


class _FailedError(Exception):
    """A check did not hold; the message says how."""


def check_task(
    task: Task, *, backend: str | None = None, adversarial: bool = False, on_all: bool = False
) -> CheckReport:
    """Run every check.

    Args:
        task: the task; nothing of it is left in the store by the checks themselves.
        backend: where to run the naive program, as a smoke test through the real gate and verifier; None
            leaves that one out.
        adversarial: score the answers without skill too, none of which may be better than the baseline.
        on_all: score the best of them on the whole private fold, where the others are compared on a sample of it.

    Raises:
        DataError: the task is to be checked on real data, which have not been pulled.
        TaskError: no real data are known for it.
    """
    if task.real:
        # Data that are not here are no defect of the task, so that this is an error and not a finding.
        kind_of(task).source_key(task)
    surveyed: list[tuple[Reached, tuple[SkilllessOutcome, ...]]] = []
    with tempfile.TemporaryDirectory(prefix="openfingym-check-") as folder:
        findings = tuple(_findings(task, Path(folder)))
        if adversarial and all(finding.passed for finding in findings):
            package = BuiltPackage(Path(folder) / "a" / "public", Path(folder) / "a" / "truth")
            findings += (_run("skill", lambda: _skill(task, package, surveyed, on_all)),)
    if backend is not None and all(finding.passed for finding in findings):
        findings += (_run("smoke", lambda: smoke(task, backend)),)
    return CheckReport(task.name, findings, *surveyed[0]) if surveyed else CheckReport(task.name, findings)


def check_package(package: BuiltPackage, hidden: Mapping[str, Array]) -> Iterator[Finding]:
    """Look at a built package as it lies there, whoever built it: time, hidden values, and inputs that tell of them.

    Args:
        package: the package; its digests are not looked at.
        hidden: the hidden arrays by name.
    """
    yield _run("time", lambda: _time(package, hidden))
    yield _run("leak", lambda: _leak(package, hidden))
    yield _run("features", lambda: _features(package, hidden))


def _findings(task: Task, folder: Path) -> Iterator[Finding]:
    package = BuiltPackage(folder / "a" / "public", folder / "a" / "truth")
    built: list[Material] = []
    build = _run("build", lambda: _build(task, package, built))
    yield build
    if not build.passed:
        return
    hidden = package.read_truth()
    yield _run("structure", lambda: _structure(package))
    yield _run("contract", lambda: _contract(task, package, built[0], hidden))
    yield _run("determinism", lambda: _determinism(task, package, folder / "b"))
    yield _run("time", lambda: _time(package, hidden))
    yield _run("hidden values", lambda: _independence(task, package))
    yield _run("leak", lambda: _leak(package, hidden))
    yield _run("features", lambda: _features(package, hidden))
    yield _run("ordering", lambda: _ordering(package, hidden))


def _run(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except (_FailedError, OpenFinGymError) as error:
        return Finding(name, False, str(error))


def _build(task: Task, package: BuiltPackage, built: list[Material]) -> str:
    built.append(write_package(task, package.public, package.truth))
    manifest = package.manifest
    package.read_truth()
    return (
        f"{manifest.n_train} train, {manifest.n_public} public, {manifest.n_private} private; digest "
        f"{manifest.digest[:16]}"
    )


def _structure(package: BuiltPackage) -> str:
    package.verify_public()
    for name in ("task.toml", "instruction.md", "environment/Dockerfile", "environment/interface.py", "tests/test.sh"):
        if not (package.public / name).is_file():
            raise _FailedError(f"{name} is missing from the built package")
    if package.truth.stat().st_mode & 0o077:
        raise _FailedError(f"the truth half is readable by others (mode {package.truth.stat().st_mode & 0o777:o})")
    return f"{len(package.manifest.files)} public files, all as digested; truth half 0700"


def _contract(task: Task, package: BuiltPackage, material: Material, hidden: Mapping[str, Array]) -> str:
    """Every array is what the contract says, and the best answer is an admissible one."""
    import numpy as np

    stated, contract, shape = package.contract, package.task.spec.contract, package.manifest.submission_shape
    if tuple(stated["submission_shape"]) != shape:
        raise _FailedError(f"contract.json says {stated['submission_shape']}, package.json {list(shape)}")
    for name, array in material.public.items():
        found = package.array(name)
        if list(found.shape) != stated["arrays"][name]["shape"] or len(found.shape) != len(
            stated["arrays"][name]["axes"]
        ):
            raise _FailedError(f"{name} has shape {list(found.shape)}, contract.json says {stated['arrays'][name]}")
        if found.dtype.kind == "f" and not _finite(found):
            raise _FailedError(f"{name} holds non-finite values")
        if not isinstance(array, Blocks) and found.dtype != array.dtype:
            raise _FailedError(f"{name} is {found.dtype}, was {array.dtype}")
    best = kind_of(task).oracle(contract, hidden, shape)
    if best.shape != shape or best.dtype != np.float64:
        raise _FailedError(f"the best answer is {best.dtype}{list(best.shape)}, expected float64{list(shape)}")
    if kind_of(task).is_record:
        return (
            f"record float64[{', '.join(map(str, shape))}] ({', '.join(package.manifest.submission_axes)}), of which "
            "no range is asked"
        )
    outside = (best < contract.low) | (best > contract.high)
    if outside.any():
        raise _FailedError(
            f"{int(outside.sum())} hidden values lie outside [{contract.low:g}, {contract.high:g}]: no answer could "
            "match them"
        )
    return (
        f"submission float64{list(shape)} ({', '.join(package.manifest.submission_axes)}) within [{contract.low:g}, "
        f"{contract.high:g}]"
    )


def _finite(array: NDArray[np.float64]) -> bool:
    import numpy as np

    return all(bool(np.isfinite(array[start : start + 4096]).all()) for start in range(0, len(array), 4096))


def _determinism(task: Task, package: BuiltPackage, folder: Path) -> str:
    again = BuiltPackage(folder / "public", folder / "truth")
    write_package(task, again.public, again.truth)
    if again.manifest != package.manifest:
        differing = [
            name for name, digest in again.manifest.files.items() if package.manifest.files.get(name) != digest
        ]
        raise _FailedError(f"two builds differ: {', '.join(differing) or 'the hidden arrays'}")
    return "two builds give the same bytes"


def _time(package: BuiltPackage, hidden: Mapping[str, Array]) -> str:
    """Rows are in order, training ends before the hidden part begins, and hidden windows of one series do not
    overlap.
    """
    import numpy as np

    if is_sequential(package.task.spec.contract):
        from openfingym.checks.episodes import check_episodes

        return check_episodes(package, hidden)
    if "test_times" not in package.contract["arrays"]:
        return "no clock: items are independent of each other"
    train, test = (np.atleast_2d(package.array(f"{part}_times").T).T for part in ("train", "test"))
    for name, times in (("train_times", train), ("test_times", test)):
        if (np.diff(times.astype(np.int64), axis=1) <= 0).any():
            raise _FailedError(f"{name}: a window's rows are not in time order")
    if train.max() >= test.min():
        raise _FailedError("a training window reaches into the hidden part")
    series = (
        package.array("test_series")
        if "test_series" in package.contract["arrays"]
        else np.zeros(len(test), dtype=np.int64)
    )
    for number in np.unique(series):
        own = test[series == number]
        if (own[1:, 0] <= own[:-1, -1]).any():
            raise _FailedError("hidden windows overlap: one window's inputs would show another's targets")
    return (
        f"training ends {str(train.max())[:10]}, hidden windows run {str(test.min())[:10]} to {str(test.max())[:10]} "
        "without overlap"
    )


def _independence(task: Task, package: BuiltPackage) -> str:
    """Replacing every hidden value by noise changes no public byte."""
    import numpy as np

    kind = kind_of(task)
    source = kind.load(task)
    altered = kind.scramble(task, source, np.random.default_rng(0))
    if altered is None:
        return "not applicable: the public data is made from the hidden values, by definition of the task"
    material = kind.shape(task, altered)
    for name, array in material.public.items():
        if not _equal(package.array(name), array):
            raise _FailedError(f"{name} changes when the hidden values are replaced by noise")
    return f"replacing every hidden value by noise changes none of {len(material.public)} public arrays"


def _equal(stored: Array, made: Array | Blocks) -> bool:
    import numpy as np

    if not isinstance(made, Blocks):
        return bool(np.array_equal(stored, made))
    row = 0
    for block in made:
        if not np.array_equal(stored[row : row + len(block)], block):
            return False
        row += len(block)
    return row == len(stored)


def _leak(package: BuiltPackage, hidden: Mapping[str, Array]) -> str:
    numbers = kind_of(package.task).numbers
    # Times of hidden bars follow from those of training; they are not what is to be hidden.
    values = {name: array for name, array in hidden.items() if array.dtype.kind != "M"}
    ids = None if numbers is None else package.array(numbers)
    manifest, waivers = package.manifest, package.task.spec.waivers
    folds = (manifest.n_public, manifest.n_private)
    # Labels name the last axis of a submission, which need not be that of what is hidden.
    named = all(array.ndim > 1 and array.shape[-1] == len(manifest.labels) for array in values.values())
    used: set[int] = set()
    for leak in find_leaks(package.public, values, ids=ids, folds=folds, channels=manifest.labels if named else ()):
        waiving = {
            number
            for number, waiver in enumerate(waivers)
            if (waiver.file, waiver.finding) == (leak.file, leak.finding)
        }
        if not waiving:
            raise _FailedError(
                f"hidden values may be in the public half: {leak}. If it is no leak, say so under "
                "[[metadata.openfingym.waivers]] "
                f"in task.toml: file = {json.dumps(leak.file)}, finding = {json.dumps(leak.finding)}, and a reason"
            )
        used |= waiving
    unused = [f"{waiver.finding!r} in {waiver.file}" for number, waiver in enumerate(waivers) if number not in used]
    if unused:
        raise _FailedError(f"waivers in task.toml of what is not found: {'; '.join(unused)}; remove them")
    waived = "".join(f"; waived: {waiver.finding} in {waiver.file} ({waiver.reason})" for waiver in waivers)
    return f"no hidden values in any public file, in any common encoding, rounding, order or transform{waived}"


def _features(package: BuiltPackage, hidden: Mapping[str, Array]) -> str:
    """No input tells more of a hidden target than the same input tells of a training target."""
    arrays = package.contract["arrays"]
    if "targets" not in hidden or "train_targets" not in arrays:
        return "not applicable: no input belongs to a single hidden number"
    shape = package.manifest.submission_shape
    targets = hidden["targets"]
    found = suspicious_features(
        package.array("test_inputs"),
        targets,
        package.array("train_inputs"),
        package.array("train_targets"),
        max_shift=MAX_SHIFT,
    )
    if found:
        shown = "; ".join(map(str, found[:3]))
        raise _FailedError(f"{len(found)} input(s) say more of the hidden targets than of training ones: {shown}")
    return f"no input says more of the {shape[0]} hidden items than of training ones"


def _ordering(package: BuiltPackage, hidden: Mapping[str, Array]) -> str:
    """The truth scores best, and the baseline beats the worst answer; what a look at the next window would give."""
    import numpy as np

    from openfingym.metrics import relative

    manifest, spec = package.manifest, package.task.spec
    kind, contract, shape = kind_of(package.task), spec.contract, manifest.submission_shape
    public, private = kind.folds(spec, package.array, hidden, (manifest.n_public, manifest.n_private), 0)
    answers = {
        "oracle": kind.oracle(contract, hidden, shape),
        "baseline": kind.naive(contract, reader_of(package, hidden), shape),
        "worst": kind.worst(contract, hidden, shape),
    }
    for name in ("oracle", "baseline"):
        kind.check(contract, public, answers[name])
    ends = kind.ends(contract, package.array)
    if ends is not None:
        answers["line"] = answers["baseline"].copy()
        answers["line"][ends.windows] = np.clip(ends.lines, contract.low, contract.high)
    scores = {name: score_fold(contract, spec.scoring, private, answer) for name, answer in answers.items()}
    # Feedback is given on the other fold, which must be scoreable too.
    score_fold(contract, spec.scoring, public, answers["oracle"])
    ranks = {name: relative(spec.scoring, found.metrics, scores["baseline"].metrics) for name, found in scores.items()}
    shown = ", ".join(f"{name} {found.total:.4g} (relative {ranks[name]:.3g})" for name, found in scores.items())
    if not ranks["oracle"] < ranks["baseline"] < ranks["worst"]:
        raise _FailedError(
            f"expected oracle < {spec.scoring.baseline} baseline < worst in relative total, found {shown}"
        )
    if ends is not None:
        shown += "; the line from a window's last input to the next one's first, which nobody could draw in time"
    return shown


def _skill(
    task: Task, package: BuiltPackage, surveyed: list[tuple[Reached, tuple[SkilllessOutcome, ...]]], on_all: bool
) -> str:
    """No answer without skill is better than the baseline, beyond chance; what they reach is added to ``surveyed``."""
    from openfingym.adversarial.pooled import outcomes_of
    from openfingym.adversarial.promise import survey
    from openfingym.adversarial.record import reached_by

    found = survey(package, package.read_truth(), on_all=on_all)
    row = reached_by(task, package, found)
    surveyed.append((row, tuple(outcomes_of(package.manifest.dataset, row, found))))
    refused = f", {found.refused} refused" if found.refused else ""
    if found.breaks:
        shown = "; ".join(map(str, found.breaks[:3]))
        raise _FailedError(
            f"{len(found.breaks)} of {len(found.trials)} answers without skill are better than the baseline: {shown}"
        )
    best = "every one is refused" if found.best is None else f"the best has a relative total of {found.best}"
    return (
        f"none of {len(found.trials)} answers without skill{refused} is better than the baseline beyond chance; {best}"
    )


def smoke(task: Task, backend: str) -> str:
    """Run the naive program, which must be scored, and a program that does nothing, which must be rejected.

    Raises:
        _FailedError: one of the two programs ended otherwise.
    """
    from openfingym.agents import resolve
    from openfingym.rollouts.launcher import Launcher

    with Launcher.for_tasks([task], backend=backend) as launcher:
        results = {name: launcher.run(launcher.packages[0], resolve(name)) for name in ("naive", "nop")}
    wanted = {"naive": "scored", "nop": "rejected"}
    for name, result in results.items():
        if result.state != wanted[name]:
            raise _FailedError(f"the {name} program ended {result.state}, expected {wanted[name]}: {result.reason}")
    return (
        f"naive scored {results['naive'].total:.4g} in {results['naive'].wall_s:.1f} s ({results['naive'].backend}), "
        "nop rejected"
    )
