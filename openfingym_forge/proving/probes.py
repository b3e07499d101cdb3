"""Attacks on a built package: what in it gives hidden values away, and which answers win without skill."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.adversarial.promise import reader_of, survey
from openfingym.checks.check import check_package
from openfingym.checks.finding import Finding
from openfingym.kinds import is_sequential, kind_of, walks
from openfingym.packages.build import describe
from openfingym_forge.stage import RejectionReason

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array
    from openfingym.packages.package import BuiltPackage
    from openfingym.task import Task

TELLING = 8
"""Different numbers that an item must have before an equal one elsewhere is no accident."""
CLOSE = 1e-3
"""Distance of two items in every number, in its standard deviations, below which they are nearly the same."""
ALLOWED = 0.01
"""Share of hidden items that may have an equal in training, as those of days without trade do."""
CODES = {
    "structure": "leak",
    "contract": "wrong-units",
    "determinism": "not-deterministic",
    "hidden values": "scaling-on-test",
    "leak": "leak",
    "features": "look-ahead-column",
    "ordering": "oracle-not-best",
    "skill": "metric-games",
    "smoke": "smoke-failed",
}
"""Code of the reason for each check of ``task check`` that may fail."""
_TIME = {
    "not in time order": "shuffled-split",
    "must be in its order": "shuffled-split",
    "reaches into the hidden part": "overlapping-windows",
    "is not before the hidden part": "overlapping-windows",
}
"""Code of the reason by words of what the check ``time`` says; in every other case something is shown too early. Hidden
windows may share rows with each other, as they are shown one after the other."""
_BY_PLACE = ("in order of submission", "in reverse order", "by number")
"""Words in the names of answers that follow the place of an item alone."""


def reason_of(finding: Finding) -> RejectionReason:
    """The reason for which a failed check refuses a paper.

    Args:
        finding: the check that failed.
    """
    text = finding.detail
    if finding.name == "time":
        return RejectionReason(next((code for words, code in _TIME.items() if words in text), "leak"), text)
    if finding.name == "build":
        return RejectionReason(
            "too-few-rows" if "rows are enough" in text or "too few" in text else "data-changed", text
        )
    if finding.name == "skill" and any(name in text for name in _BY_PLACE):
        return RejectionReason("leak", f"the place of an item tells its label: {text}")
    return RejectionReason(CODES.get(finding.name, "machinery"), text)


def attack(task: Task, package: BuiltPackage, hidden: Mapping[str, Array]) -> Iterator[RejectionReason]:
    """Everything that a package gives away: ``task check`` of the package as it lies there, and the probes.

    Args:
        task: the task that it was built from.
        package: the package to attack.
        hidden: the package's hidden arrays, by name.
    """
    yield from (reason_of(finding) for finding in check_package(package, hidden) if not finding.passed)
    yield from probes(task, package, hidden)


def probes(task: Task, package: BuiltPackage, hidden: Mapping[str, Array]) -> Iterator[RejectionReason]:
    """Reasons that ``task check`` does not look for: facts, copies, and answers at the ends of the range.

    Args:
        task: the task that the package was built from.
        package: the package to attack.
        hidden: the package's hidden arrays, by name.
    """
    yield from probe_facts(task, package)
    yield from probe_copies(package, hidden)
    yield from probe_games(package, hidden)


def probe_facts(task: Task, package: BuiltPackage) -> Iterator[RejectionReason]:
    """Facts in ``contract.json`` that depend on hidden values, such as the parameters of a scaling.

    Args:
        task: the task that the package was built from.
        package: the package to attack.
    """
    kind = kind_of(task)
    stated = json.loads(json.dumps(package.contract))
    source = kind.load(task)
    # The same data with other hidden values: whatever differs then was made of these.
    altered = kind.scramble(task, source, np.random.default_rng(0))
    for values, what in ((source, "those of the training rows"), (altered, "the same with other hidden values")):
        if values is None:
            continue
        made = json.loads(json.dumps(describe(task, kind.shape(task, values), task.spec.panel)))
        differing = sorted(key for key in stated.keys() | made.keys() if stated.get(key) != made.get(key))
        if differing:
            code = "scaling-on-test" if "scaling" in differing else "leak"
            yield RejectionReason(code, f"contract.json: {', '.join(differing)}: not {what}; use training rows alone")
            return


def probe_copies(package: BuiltPackage, hidden: Mapping[str, Array]) -> Iterator[RejectionReason]:
    """Hidden items that stand in the training part, or nearly so.

    Args:
        package: the package to attack.
        hidden: the package's hidden arrays, by name.
    """
    if not {"train_inputs", "train_targets", "test_inputs"} <= package.contract["arrays"].keys() | hidden.keys():
        return
    if "targets" not in hidden:
        return
    read = reader_of(package, hidden)
    train = _items(read("train_inputs"), read("train_targets"))
    test = _items(read("test_inputs"), np.asarray(hidden["targets"]))
    if train is None or test is None or train.shape[1] != test.shape[1]:
        return
    equal = _nearly_equal(train, test)
    if equal > max(1.0, ALLOWED * len(test)):
        yield RejectionReason(
            "duplicated-rows",
            f"{equal} of {len(test)} hidden items stand in training too, to {CLOSE:g} of a standard deviation; "
            "remove the copies before the split",
        )


def probe_games(package: BuiltPackage, hidden: Mapping[str, Array]) -> Iterator[RejectionReason]:
    """Answers that are an end of the range everywhere: neither may be better than the baseline.

    Args:
        package: the package to attack.
        hidden: the package's hidden arrays, by name.
    """
    contract, shape = package.task.spec.contract, package.manifest.submission_shape
    if is_sequential(contract) or kind_of(package.task).is_record:
        return
    ends = {"the largest value": contract.high, "the smallest value": contract.low}
    surveyed = survey(package, hidden, answers={name: np.full(shape, value) for name, value in ends.items()})
    for trial in surveyed.breaks:
        yield RejectionReason("metric-games", f"{trial.name} everywhere beats the baseline: {trial}")


def contamination(package: BuiltPackage) -> dict[str, object]:
    """What a model may have seen of the hidden part, for people: whether the data are published, and from when to when
    the hidden part is.
    """
    manifest = package.manifest
    facts: dict[str, object] = {"published": manifest.data_kind == "real", "data": manifest.dataset}
    if manifest.data_kind != "real" or not walks(package.task.spec.contract):
        return facts
    times = np.asarray(package.shown_array("test_times"))
    if times.dtype.kind == "M":
        facts |= {
            "hidden_from": str(times.min())[:10],
            "hidden_to": str(times.max())[:10],
            "note": "a model trained after these days may recall them; perfect recall would score as the oracle does",
        }
    return facts


def _items(inputs: Array, targets: Array) -> NDArray[np.float64] | None:
    """Inputs and targets as float64[items, numbers]; None where they are not of the same items."""
    if len(inputs) != len(targets) or not len(inputs):
        return None
    flat = [np.asarray(part, dtype=np.float64).reshape(len(part), -1) for part in (inputs, targets)]
    return np.concatenate(flat, axis=1)


def _nearly_equal(train: NDArray[np.float64], test: NDArray[np.float64]) -> int:
    """How many test items have a neighbour in training within :data:`CLOSE` in every number.

    Args:
        train: float64[items, numbers] of the training part.
        test: float64[items, numbers] of the hidden part.
    """
    from scipy.spatial import cKDTree

    width = train.std(axis=0)
    used = width > 0.0
    if int(used.sum()) < TELLING:
        return 0
    # Candidates are looked for by some thirty numbers, since a tree of hundreds of dimensions is slow; a candidate is
    # then compared in all numbers.
    columns = np.flatnonzero(used)[:: max(1, int(used.sum()) // 30)]
    tree = cKDTree(train[:, columns] / width[columns])
    gaps, places = tree.query(test[:, columns] / width[columns], distance_upper_bound=CLOSE * np.sqrt(len(columns)))
    near = 0
    for number in np.flatnonzero(np.isfinite(gaps)):
        apart = np.abs(test[number, used] - train[places[number], used]) / width[used]
        # An item of one or two values, as a row of zeros, is equal to others by nature.
        near += bool(apart.max() < CLOSE) and len(np.unique(test[number])) >= TELLING
    return near
