"""``openfingym task check``: free proofs that a task is sound.

The package is built twice into temporary folders, and both its halves are examined; no verifier is started.
:func:`smoke` runs the task as an agent would meet it, and is asked for separately.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.adversarial.promise import reader_of
from openfingym.checks.calendars import cautions, check_calendar
from openfingym.checks.finding import FailedCheckError, Finding, Progress, run, silent
from openfingym.checks.hidden import features, independence, leak_search
from openfingym.checks.look_ahead import look_ahead
from openfingym.kinds import Material, asks_questions, is_sequential, kind_of, score_fold, walks
from openfingym.kinds.material import Blocks
from openfingym.kinds.walk import Walk
from openfingym.packages.build import write_package
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.adversarial.pooled import SkilllessOutcome
    from openfingym.adversarial.record import Reached
    from openfingym.kinds.material import Array


@dataclass(frozen=True)
class CheckReport:
    """All findings about one task."""

    task: str
    findings: tuple[Finding, ...]
    reached: Reached | None = None
    """What answers without skill reach on the task; None if they were not tried."""
    outcomes: tuple[SkilllessOutcome, ...] = ()
    """The result of each answer without skill that the task does not refuse; empty if they were not tried."""
    oddities: tuple[str, ...] = ()
    """What is odd about the data, which fails no check; see :func:`openfingym.data.plausibility.oddities`."""

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(finding.passed for finding in self.findings)

    def to_dict(self) -> dict[str, object]:
        """Plain values for ``--json``."""
        rows = [{"name": f.name, "passed": f.passed, "detail": f.detail} for f in self.findings]
        report: dict[str, object] = {"task": self.task, "passed": self.passed, "findings": rows}
        report["odd"] = list(self.oddities)
        if self.reached is not None:
            report |= {"skillless": asdict(self.reached), "outcomes": [asdict(outcome) for outcome in self.outcomes]}
        return report


def check_task(
    task: Task,
    *,
    backend: str | None = None,
    adversarial: bool = False,
    on_all: bool = False,
    progress: Progress = silent,
) -> CheckReport:
    """Run every check.

    Args:
        task: the task to check; except for the smoke test, nothing is written to the store.
        backend: name of the backend on which the naive program is run as a smoke test, through the real gate and
            verifier; None to leave the smoke test out.
        adversarial: whether to score the answers without skill as well, none of which may be better than the baseline.
        on_all: whether to score the best of them on the whole private fold as well, where heavy metrics are computed on
            a sample of it.
        progress: called with what is being done.

    Raises:
        DataError: the task is to be checked on real data, which have not been pulled.
        TaskError: the task is to be checked on real data, and none are known for it.
    """
    if task.real:
        # Raises here, outside of all checks: data that were not pulled are no defect of the task, and so no finding.
        kind_of(task).source_key(task)
    surveyed: list[tuple[Reached, tuple[SkilllessOutcome, ...]]] = []
    with tempfile.TemporaryDirectory(prefix="openfingym-check-") as folder:
        findings = tuple(_findings(task, Path(folder), progress))
        # Of a task that fails a free check, the scores of answers say nothing.
        if adversarial and all(finding.passed for finding in findings):
            package = BuiltPackage(Path(folder) / "a" / "public", Path(folder) / "a" / "truth")
            progress("skill: answers without skill")
            findings += (run("skill", lambda: _skill(task, package, surveyed, on_all)),)
    if backend is not None and all(finding.passed for finding in findings):
        progress(f"smoke: two programs on the backend {backend}")
        findings += (run("smoke", lambda: smoke(task, backend)),)
    # Of data that cannot be built, the first finding says why.
    odd = kind_of(task).oddities(task) if findings[0].passed else ()
    if findings[0].passed:
        odd += cautions(task)
    reached, outcomes = surveyed[0] if surveyed else (None, ())
    return CheckReport(task.name, findings, reached, outcomes, odd)


def check_package(package: BuiltPackage, hidden: Mapping[str, Array]) -> Iterator[Finding]:
    """Check a package as it is on the disk, whoever built it: order of time, leaks, and inputs that tell too much.

    Args:
        package: the built package; its digests are not checked.
        hidden: the hidden arrays by name.
    """
    yield run("time", lambda: _time(package, hidden))
    yield run("leak", lambda: leak_search(package, hidden))
    yield run("features", lambda: features(package, hidden))


def _findings(task: Task, folder: Path, progress: Progress) -> Iterator[Finding]:
    package = BuiltPackage(folder / "a" / "public", folder / "a" / "truth")
    built: list[Material] = []
    progress("build")
    build = run("build", lambda: _build(task, package, built))
    yield build
    if not build.passed:
        return
    hidden = package.read_truth()

    # Once: three checks ask for it, and of long episodes it takes a minute.
    @cache
    def oracle() -> NDArray[np.float64]:
        progress("the best answer")
        return kind_of(task).oracle(task.spec.contract, hidden, package.manifest.submission_shape)

    def episodes(text: str) -> None:
        progress(f"time: {text}")

    checks: dict[str, Callable[[], str]] = {
        "structure": lambda: _structure(package),
        "contract": lambda: _contract(package, built[0], oracle),
        "determinism": lambda: _determinism(task, package, folder / "b"),
        "time": lambda: _time(package, hidden, oracle, episodes),
        "calendar": lambda: check_calendar(task),
        "hidden values": lambda: independence(task, package),
        "leak": lambda: leak_search(package, hidden),
        "features": lambda: features(package, hidden),
        "ordering": lambda: _ordering(package, hidden, oracle, progress),
    }
    if asks_questions(task.spec.contract):
        from openfingym.checks.tools import unanswered_truths

        checks["tools"] = lambda: unanswered_truths(package, hidden, lambda text: progress(f"tools: {text}"))
    for name, check in checks.items():
        progress(name)
        yield run(name, check)


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
            raise FailedCheckError(f"{name} is missing from the built package")
    if package.truth.stat().st_mode & 0o077:
        raise FailedCheckError(f"the truth half is readable by others (mode {package.truth.stat().st_mode & 0o777:o})")
    return f"{len(package.manifest.files)} public files, all as digested; truth half 0700"


def _contract(package: BuiltPackage, material: Material, oracle: Callable[[], NDArray[np.float64]]) -> str:
    """Check that every array is as the contract states it, and that the best answer is admissible."""
    import numpy as np

    stated, contract, shape = package.contract, package.task.spec.contract, package.manifest.submission_shape
    if tuple(stated["submission_shape"]) != shape:
        raise FailedCheckError(f"contract.json says {stated['submission_shape']}, package.json {list(shape)}")
    for name, array in material.public.items():
        found = package.array(name)
        if list(found.shape) != stated["arrays"][name]["shape"] or len(found.shape) != len(
            stated["arrays"][name]["axes"]
        ):
            raise FailedCheckError(f"{name} has shape {list(found.shape)}, contract.json says {stated['arrays'][name]}")
        if found.dtype.kind == "f" and not _finite(found):
            raise FailedCheckError(f"{name} holds non-finite values")
        if not isinstance(array, Blocks) and found.dtype != array.dtype:
            raise FailedCheckError(f"{name} is {found.dtype}, was {array.dtype}")
    # If the truth itself would be refused, no agent could give the best answer.
    best = oracle()
    if best.shape != shape or best.dtype != np.float64:
        raise FailedCheckError(f"the best answer is {best.dtype}{list(best.shape)}, expected float64{list(shape)}")
    if kind_of(package.task).is_record:
        return (
            f"record float64[{', '.join(map(str, shape))}] ({', '.join(package.manifest.submission_axes)}), of which "
            "no range is asked"
        )
    outside = (best < contract.low) | (best > contract.high)
    if outside.any():
        raise FailedCheckError(
            f"{int(outside.sum())} hidden values lie outside [{contract.low:g}, {contract.high:g}]: no answer could "
            "match them"
        )
    return (
        f"submission float64{list(shape)} ({', '.join(package.manifest.submission_axes)}) within [{contract.low:g}, "
        f"{contract.high:g}]"
    )


def _finite(array: NDArray[np.float64]) -> bool:
    import numpy as np

    # In parts: the array is memory-mapped, and may be larger than memory.
    return all(bool(np.isfinite(array[start : start + 4096]).all()) for start in range(0, len(array), 4096))


def _determinism(task: Task, package: BuiltPackage, folder: Path) -> str:
    again = BuiltPackage(folder / "public", folder / "truth")
    write_package(task, again.public, again.truth)
    if again.manifest != package.manifest:
        differing = [
            name for name, digest in again.manifest.files.items() if package.manifest.files.get(name) != digest
        ]
        raise FailedCheckError(f"two builds differ: {', '.join(differing) or 'the hidden arrays'}")
    return "two builds give the same bytes"


def _time(
    package: BuiltPackage,
    hidden: Mapping[str, Array],
    oracle: Callable[[], NDArray[np.float64]] | None = None,
    progress: Progress = silent,
) -> str:
    """Training ends before the hidden part begins, and what is shown of that is in the order of time, or tells nothing
    of what comes later.
    """
    if is_sequential(package.task.spec.contract):
        from openfingym.checks.episodes import check_episodes

        return check_episodes(package, hidden, None if oracle is None else oracle(), progress)
    if walks(package.task.spec.contract):
        return _walk(package, hidden)
    if "test_times" not in package.contract["arrays"]:
        return "no clock: items are independent of each other"
    arrays = [tuple(package.array(f"train_{name}") for name in ("inputs", "targets", "times"))]
    arrays.append((package.array("test_inputs"), hidden["targets"], package.array("test_times")))
    train, asked = ((known, answers, times.reshape(len(times), -1)[:, 0]) for known, answers, times in arrays)
    if train[2].max() >= asked[2].min():
        raise FailedCheckError("a training item is not before the hidden part")
    return f"training ends {str(train[2].max())[:10]}; {look_ahead(train, asked)}"


def _walk(package: BuiltPackage, hidden: Mapping[str, Array]) -> str:
    """Training ends before the hidden windows, which are in the order of time."""
    import numpy as np

    kind, read = kind_of(package.task), reader_of(package, hidden)
    walk = Walk.of(kind.due(package.task.spec.contract, read), (package.manifest.n_public, package.manifest.n_private))
    # One row a window, [n, steps]; where a window has one time, [n] becomes [n, 1].
    train, test = (np.atleast_2d(read(f"{part}_times").T).T for part in ("train", "test"))
    for name, times in (("train_times", train), ("test_times", test)):
        if (np.diff(times.astype(np.int64), axis=1) <= 0).any():
            raise FailedCheckError(f"{name}: a window's rows are not in time order")
    if train.max() >= test.min():
        raise FailedCheckError("a training window reaches into the hidden part")
    return (
        f"training ends {str(train.max())[:10]}; {walk.n_public} public and {walk.n_private} private windows run "
        f"{str(test.min())[:10]} to {str(test.max())[:10]}, each shown after the one before was answered"
    )


def _ordering(
    package: BuiltPackage,
    hidden: Mapping[str, Array],
    oracle: Callable[[], NDArray[np.float64]],
    progress: Progress,
) -> str:
    """Check that the truth scores best, and that the baseline beats the worst answer."""
    from openfingym.metrics import relative

    manifest, spec = package.manifest, package.task.spec
    kind, contract, shape = kind_of(package.task), spec.contract, manifest.submission_shape
    read = reader_of(package, hidden)
    public, private = kind.folds(spec, read, hidden, (manifest.n_public, manifest.n_private), 0)
    answers = {"oracle": oracle(), "baseline": kind.naive(contract, read, shape)}
    progress("ordering: the worst answer")
    answers["worst"] = kind.worst(contract, hidden, shape)
    progress("ordering: scores")
    for name in ("oracle", "baseline"):
        kind.check(contract, public, answers[name])
    scores = {name: score_fold(contract, spec.scoring, private, answer) for name, answer in answers.items()}
    # Feedback is given on the public fold, which must be scoreable too.
    score_fold(contract, spec.scoring, public, answers["oracle"])
    ranks = {name: relative(spec.scoring, score.metrics, scores["baseline"].metrics) for name, score in scores.items()}
    shown = ", ".join(f"{name} {score.total:.4g} (relative {ranks[name]:.3g})" for name, score in scores.items())
    if not ranks["oracle"] < ranks["baseline"] < ranks["worst"]:
        raise FailedCheckError(
            f"expected oracle < {spec.scoring.baseline} baseline < worst in relative total, found {shown}"
        )
    return shown


def _skill(
    task: Task, package: BuiltPackage, surveyed: list[tuple[Reached, tuple[SkilllessOutcome, ...]]], on_all: bool
) -> str:
    """Check that no answer without skill beats the baseline beyond chance; adds what they reach to ``surveyed``."""
    from openfingym.adversarial.pooled import outcomes_of
    from openfingym.adversarial.promise import EXPLOITS, survey
    from openfingym.adversarial.record import reached_by

    outcome = survey(package, package.read_truth(), on_all=on_all)
    row = reached_by(task, package, outcome)
    # Before the check can fail: what they reach is recorded in any case.
    surveyed.append((row, tuple(outcomes_of(package.manifest.dataset, row, outcome))))
    refused = f", {outcome.refused} refused" if outcome.refused else ""
    tried = len(outcome.trials)
    if outcome.breaks:
        shown = "; ".join(map(str, outcome.breaks[:3]))
        faults = "".join(f". {EXPLOITS[trial.name]}" for trial in outcome.breaks if trial.name in EXPLOITS)
        raise FailedCheckError(
            f"{len(outcome.breaks)} of {tried} answers without skill are better than the baseline: {shown}{faults}"
        )
    best = "every one is refused" if outcome.best is None else f"the best has a relative total of {outcome.best}"
    return f"none of {tried} answers without skill{refused} is better than the baseline beyond chance; {best}"


def smoke(task: Task, backend: str) -> str:
    """Run the naive program, which must be scored, and a program that does nothing, which must be rejected.

    Raises:
        FailedCheckError: one of the two programs ended in another state.
    """
    from openfingym.agents import resolve
    from openfingym.rollouts.launcher import Launcher

    with Launcher.for_tasks([task], backend=backend) as launcher:
        results = {name: launcher.run(launcher.packages[0], resolve(name)) for name in ("naive", "nop")}
    wanted = {"naive": "scored", "nop": "rejected"}
    for name, result in results.items():
        if result.state != wanted[name]:
            raise FailedCheckError(f"the {name} program ended {result.state}, expected {wanted[name]}: {result.reason}")
    return (
        f"naive scored {results['naive'].total:.4g} in {results['naive'].wall_s:.1f} s ({results['naive'].backend}), "
        "nop rejected"
    )
