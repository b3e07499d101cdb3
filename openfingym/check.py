"""``openfingym task check``: free proofs that a task is sound.

None of them needs an agent or a network: the package is built twice into temporary folders and
looked at from both sides.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.build import load_panel, write_package
from openfingym.errors import OpenFinGymError
from openfingym.leaks import find_leak
from openfingym.package import BuiltPackage
from openfingym.task import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Report:
    """All findings about one task."""

    task: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(finding.passed for finding in self.findings)

    def to_dict(self) -> dict[str, object]:
        """Plain values for ``--json``."""
        rows = [{"name": f.name, "passed": f.passed, "detail": f.detail} for f in self.findings]
        return {"task": self.task, "passed": self.passed, "findings": rows}


class _FailedError(Exception):
    """One check's own finding; carries the detail."""


def check_task(task: Task) -> Report:
    """Check ``task`` and report; problems are findings, not exceptions."""
    with tempfile.TemporaryDirectory(prefix="openfingym-check-") as folder:
        return Report(task.name, tuple(_findings(task, Path(folder))))


def _findings(task: Task, folder: Path) -> Iterator[Finding]:
    package = BuiltPackage(folder / "a" / "public", folder / "a" / "truth")
    build = _run("build", lambda: _build(task, package))
    yield build
    if not build.passed:
        return
    truth = package.read_truth()
    yield _run("structure", lambda: _structure(package))
    yield _run("contract", lambda: _contract(package, truth))
    yield _run("determinism", lambda: _determinism(task, package, folder / "b"))
    yield _run("time", lambda: _time(package))
    yield _run("hidden rows", lambda: _independence(task))
    yield _run("leak", lambda: _leak(package, truth))
    yield _run("ordering", lambda: _ordering(package, truth))


def _run(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except (_FailedError, OpenFinGymError) as error:
        return Finding(name, False, str(error))


def _build(task: Task, package: BuiltPackage) -> str:
    write_package(task, package.public, package.truth)
    manifest = package.manifest
    package.read_truth()
    return f"{manifest.n_train} train, {manifest.n_public} public, {manifest.n_private} private windows; digest {manifest.digest[:16]}"


def _structure(package: BuiltPackage) -> str:
    package.verify_public()
    for name in ("task.toml", "instruction.md", "environment/Dockerfile", "environment/interface.py", "tests/test.sh"):
        if not (package.public / name).is_file():
            raise _FailedError(f"{name} is missing from the built package")
    if package.truth.stat().st_mode & 0o077:
        raise _FailedError(f"the truth half is readable by others (mode {package.truth.stat().st_mode & 0o777:o})")
    return f"{len(package.manifest.files)} public files, all as digested; truth half 0700"


def _contract(package: BuiltPackage, truth: NDArray[np.float64]) -> str:
    import numpy as np

    manifest, contract = package.manifest, package.task.spec.contract
    stated = json.loads((package.data / "contract.json").read_text(encoding="utf-8"))
    if tuple(stated["submission_shape"]) != manifest.submission_shape:
        raise _FailedError(f"contract.json says {stated['submission_shape']}, package.json {manifest.submission_shape}")
    d = len(manifest.channels)
    expected = {
        "train_inputs": (manifest.n_train, contract.lookback, d),
        "train_targets": (manifest.n_train, contract.horizon, d),
        "test_inputs": (manifest.n_test, contract.lookback, d),
    }
    for name, shape in expected.items():
        array = package.array(name)
        if array.shape != shape or array.dtype != np.float64:
            raise _FailedError(f"{name} is {array.dtype}{list(array.shape)}, expected float64{list(shape)}")
        if not np.isfinite(array).all():
            raise _FailedError(f"{name} holds non-finite values")
    outside = (truth < contract.low) | (truth > contract.high)
    if outside.any():
        raise _FailedError(
            f"{int(outside.sum())} hidden values lie outside [{contract.low:g}, {contract.high:g}]: no answer could match them"
        )
    return f"submission float64{list(manifest.submission_shape)} within [{contract.low:g}, {contract.high:g}]"


def _determinism(task: Task, package: BuiltPackage, folder: Path) -> str:
    again = BuiltPackage(folder / "public", folder / "truth")
    write_package(task, again.public, again.truth)
    if again.manifest != package.manifest:
        differing = [name for name, digest in again.manifest.files.items() if package.manifest.files.get(name) != digest]
        raise _FailedError(f"two builds differ: {', '.join(differing) or 'the hidden targets'}")
    return "two builds give the same bytes"


def _time(package: BuiltPackage) -> str:
    """Every window is in order, training ends before the hidden part begins, and hidden windows do not overlap."""
    import numpy as np

    train, test = package.array("train_times"), package.array("test_times")
    for name, times in (("train_times", train), ("test_times", test)):
        if (np.diff(times.astype(np.int64), axis=1) <= 0).any():
            raise _FailedError(f"{name}: a window's rows are not in time order")
    if train.max() >= test.min():
        raise _FailedError("a training window reaches into the hidden part")
    if (test[1:, 0] <= test[:-1, -1]).any():
        raise _FailedError("hidden windows overlap: one window's inputs would show another's targets")
    return f"training ends {str(train.max())[:10]}, hidden windows run {str(test.min())[:10]} to {str(test.max())[:10]} without overlap"


def _independence(task: Task) -> str:
    """Replacing every hidden target by noise changes no public array."""
    import numpy as np

    from openfingym.data import recipe

    spec = task.spec
    times, values = recipe.to_values(load_panel(task), spec.contract.value_semantics)
    windows = recipe.cut(values, times, split=spec.split, contract=spec.contract)
    hidden = np.isin(times, windows.test_times[:, spec.contract.lookback :])
    altered = values.copy()
    altered[hidden] = np.random.default_rng(0).normal(size=(int(hidden.sum()), values.shape[1]))
    again = recipe.cut(altered, times, split=spec.split, contract=spec.contract)
    for name in ("train_inputs", "train_targets", "test_inputs", "mean", "scale"):
        if not np.array_equal(getattr(windows, name), getattr(again, name)):
            raise _FailedError(f"{name} changes when the hidden targets are replaced by noise")
    return f"replacing the {int(hidden.sum())} hidden rows by noise changes no public array"


def _leak(package: BuiltPackage, truth: NDArray[np.float64]) -> str:
    leak = find_leak(package.public, truth)
    if leak is not None:
        raise _FailedError(f"hidden targets are in the public half: {leak}")
    return "no run of hidden values in any public file, in binary, text, hex or base64, at any common rounding"


def _ordering(package: BuiltPackage, truth: NDArray[np.float64]) -> str:
    """The truth scores best, and the naive forecast beats uniform noise over the admissible range."""
    import numpy as np

    from openfingym.metrics import evaluate, naive_forecast

    spec, manifest = package.task.spec, package.manifest
    private = slice(manifest.n_public, None)
    inputs = np.asarray(package.array("test_inputs"))[private]
    noise = np.random.default_rng(0).uniform(spec.contract.low, spec.contract.high, truth[private].shape)
    forecasts = {
        "oracle": truth[private],
        "naive": naive_forecast(inputs, spec.contract.horizon, spec.contract.value_semantics),
        "noise": noise,
    }
    totals = {
        name: evaluate(spec.scoring, truth[private], forecast, inputs[:, -1, :], spec.contract.value_semantics).total
        for name, forecast in forecasts.items()
    }
    shown = ", ".join(f"{name} {total:.4g}" for name, total in totals.items())
    if not totals["oracle"] < totals["naive"] < totals["noise"]:
        raise _FailedError(f"expected oracle < naive < noise, found {shown}")
    return shown
