"""Opened labels: the hidden half of a package in one file, which anybody can check against the task's digest, and from
which scores can be computed once more.

The file is an ``.npz`` with ``truth.json`` and every hidden array, byte for byte as in the built package. The task's
digest, which was stated before any rollout, commits to them.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym import catalog
from openfingym.digests import canonical_json
from openfingym.errors import DataError, OpenFinGymError, ReceiptError, StoreError, UsageError
from openfingym.files.strange import MEGABYTE, parse_json, read_array, read_bytes
from openfingym.files.whole import store_errors
from openfingym.kinds.question_range import QuestionRange
from openfingym.metrics.unit_calendar import STATED
from openfingym.packages.build import build
from openfingym.packages.package import DOCUMENT_LIMIT, BuiltPackage, truth_digest
from openfingym.verifiers.receipt_check import ORDERS, SUBMISSION_LIMIT, CheckedRun, PassedStep, submission_of

if TYPE_CHECKING:
    from openfingym.kinds.material import Array

TRUTH = "truth.json"
"""Name of the document with the digests of the hidden arrays."""
MOST_BYTES = 4096 * MEGABYTE
"""The most bytes of a hidden array."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every member of the file, the first that ZIP can state, so that the same labels give the same file."""


def write_opened(package: BuiltPackage, out: Path) -> str:
    """Write the hidden arrays of a package to a file that everybody may read.

    Args:
        package: the built package, whose hidden half is on this machine.
        out: file to write; it must not exist.

    Returns:
        The digest of the hidden arrays, to which the task's digest commits.

    Raises:
        DigestMismatchError: the hidden half is not what the package was built with.
        StoreError: the hidden half cannot be read, or the file cannot be written.
        UsageError: the file exists already.
    """
    # Reading the truth checks its digests before anything is written.
    names = sorted(package.read_truth())
    if out.exists():
        raise UsageError(f"{out}: there is such a file; choose another name")
    # Under another name until it is whole: half a file would be refused by whoever checks it, and keep the name taken.
    partial = out.with_name(f".{out.name}.partial")
    try:
        with store_errors(out):
            with zipfile.ZipFile(partial, "w") as archive:
                for name in (TRUTH, *(f"{name}.npy" for name in names)):
                    archive.writestr(zipfile.ZipInfo(name, _EPOCH), read_bytes(package.truth, name, MOST_BYTES))
            partial.rename(out)
    finally:
        partial.unlink(missing_ok=True)
    return package.manifest.truth_digest


def read_opened(path: Path, package: BuiltPackage) -> dict[str, Array]:
    """The hidden arrays in a file of opened labels, which may be a stranger's, after they were checked.

    Args:
        path: the file of opened labels.
        package: the built package of the task, of which the public half is enough.

    Returns:
        The hidden arrays by name.

    Raises:
        ReceiptError: they are not what the task's digest commits to.
        UsageError: there is no such file.
        DataError: the file is no file of opened labels.
    """
    import numpy as np

    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            stated = parse_json(_member(archive, members, TRUTH, DOCUMENT_LIMIT))
            if not isinstance(stated, dict) or not isinstance(stated.get("arrays"), dict):
                raise DataError(f"{path}: its {TRUTH} is no object with arrays")
            contents = {name: _member(archive, members, f"{name}.npy", MOST_BYTES) for name in stated["arrays"]}
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, ValueError, KeyError, NotImplementedError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: not a file that `openfingym receipt open` wrote ({error})") from error
    # Before any array is parsed, the bytes are those that the task's digest commits to.
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    manifest = package.manifest
    actual = {"public_digest": manifest.public_digest, "arrays": digests}
    if stated != actual or truth_digest(actual) != manifest.truth_digest:
        raise ReceiptError(
            f"{path}: these are not the hidden arrays that the digest of {manifest.name} commits to: they were "
            "changed, or are of another task",
            step="score",
        )
    return {
        name: np.lib.format.read_array(io.BytesIO(content), allow_pickle=False) for name, content in contents.items()
    }


def check_score(folder: Path, checked: CheckedRun, opened: Path) -> PassedStep:
    """Compute the score of a run once more from its submission and opened labels.

    Args:
        folder: folder of the run.
        checked: the run after its receipt was checked, so that its submission and its result are the verifier's.
        opened: file with the hidden arrays.

    Raises:
        ReceiptError: the score is another one; the message names the first figure that differs.
        UsageError: the run has no score that follows from the package's labels; the message says why.
    """
    from openfingym_verifier.rollouts.results import compare_with_baseline, scored_fields
    from openfingym_verifier.scoring.truth import load_task

    verified = checked.verified
    submission = submission_of(folder, checked)
    # First of all, whether there is a score that the package's own labels decide, and that was told to the last digit.
    if verified.get("state") != "scored" or submission is None:
        raise UsageError(f"{folder}: the run has no score to compute again; it is {verified.get('state')}")
    if verified.get("disclosure") != "full":
        raise UsageError(f"{folder}: the run was told its score {verified.get('disclosure')}, not to the last digit")
    if verified.get("split", "test") != "test":
        raise UsageError(
            f"{folder}: the run was on instance {verified.get('instance')} of {verified['split']}, which is cut from "
            "training data: it has no labels to open, and no score"
        )
    asked = verified.get("questions")
    ordered = any(isinstance(verified.get(name), dict) for name in ORDERS)
    if verified.get("tape") != "given" or ordered:
        raise UsageError(f"{folder}: the run had hidden data of its own, which the labels of the package do not say")
    # Then the verifier's own steps: its task with the opened arrays, its grader, its fields of a result.
    package = _package(str(verified["task"]), str(verified["task_digest"]))
    task = load_task(package, read_opened(opened, package))
    task = task.asking(QuestionRange.parse(asked)) if isinstance(asked, str) else task
    values = read_array(folder, submission.relative_to(folder).as_posix(), SUBMISSION_LIMIT)
    if values.shape != task.shape:
        raise ReceiptError(
            f"{submission}: of shape {list(values.shape)}, the task's is {list(task.shape)}", step="score"
        )
    baseline = task.grader.baseline_score()
    computed: dict[str, Any] = scored_fields(compare_with_baseline(task, task.grader.private_score(values), baseline))
    computed |= {"baseline_total": baseline.total, "baseline_metrics": baseline.metrics}
    _compare(computed, verified)
    return PassedStep(
        "score", f"computed again from the labels: relative total {computed['relative_total']!r}, to the last digit"
    )


def _compare(computed: Mapping[str, Any], verified: Mapping[str, Any]) -> None:
    for name, value in computed.items():
        # Verifiers of earlier versions did not state the sample.
        if name == "relative_sample" and name not in verified:
            continue
        # Equal in canonical JSON means equal to the last digit, as the log's digest of the result has it.
        if canonical_json(_as_stated(value, verified.get(name))) != canonical_json(verified.get(name)):
            raise ReceiptError(
                f"the labels give {name} = {str(value)[:200]}, and the receipt is of {str(verified.get(name))[:200]}",
                step="score",
            )


def _as_stated(value: Any, stated: Any) -> Any:
    """A value of a result, but for the times of a sample's units, which verifiers of earlier versions did not state."""
    if not isinstance(value, dict) or not isinstance(stated, dict) or STATED & stated.keys():
        return value
    return {name: part for name, part in value.items() if name not in STATED}


def _package(name: str, digest: str) -> BuiltPackage:
    """The built package of a task with a certain digest.

    Raises:
        StoreError: this installation builds the task with another digest.
    """
    # The run's folder does not say whether pulled real data took the place of the task's own.
    for real in (False, True):
        try:
            package = build(catalog.load_task(name, real=real))
        except OpenFinGymError:
            if real:
                break  # the task has no real data, or none was pulled here
            raise
        if package.manifest.digest == digest:
            return package
    raise StoreError(
        f"the task {name} of this installation has another digest than the run's, {digest[:16]}…; score it with the "
        "version of openfingym, and the data, that the run was made with"
    )


def _member(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str, most: int) -> bytes:
    """The content of a member of an archive that may be a stranger's.

    Raises:
        KeyError: there is no such member.
        ValueError: the member states a size of more than ``most`` bytes.
    """
    member = members[name]
    if member.file_size > most:
        raise ValueError(f"{name} is larger than {most:,} bytes")
    # A member may unpack to more than it states: no more than that is read.
    with archive.open(member) as stream:
        return stream.read(member.file_size)
