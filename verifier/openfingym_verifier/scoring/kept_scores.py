"""Scores of baselines, kept in the store between verifiers: where scoring takes long, half of the work of a first
result is the baseline's score, which is always the same.

A score is found by the digest of everything that it follows from: the task with its labels, the baseline's answer, the
library by version and by its files, the libraries that compute, and the kind of machine. A file that is damaged, or
cannot be written, costs time alone. What an agent submitted is never kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym import version as release
from openfingym.digests import sha256_of_json
from openfingym.files.state import state_of
from openfingym.files.strange import MEGABYTE, read_json
from openfingym.files.whole import write_json
from openfingym.metrics import Score
from openfingym.metrics.sampling_error import Replicates
from openfingym.store import home

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openfingym_verifier.scoring.truth import HiddenTask

FOLDER = "baseline-scores"
"""Folder of the store that holds the scores, one file each."""
_MOST = 16 * MEGABYTE
_LIBRARY = Path(release.__file__).resolve().parent
_PARTS = ("metrics", "kinds", "task", "compiling.py")
"""What of the library says what a score is."""
_COMPUTING = ("numpy", "scipy", "scikit-learn", "numba", "threadpoolctl")


def stored_score(task: HiddenTask) -> Score | None:
    """The score of a task's baseline, if an earlier verifier has stored it; None otherwise."""
    name = _name(task)
    if name is None:
        return None
    try:
        stored = read_json(home() / FOLDER, name, _MOST)
    except (OSError, ValueError):
        return None
    if not isinstance(stored, dict) or not isinstance(document := stored.get("score"), dict):
        return None
    with contextlib.suppress(ValueError, TypeError, KeyError):
        # What a disk has damaged, or another hand has edited, is not what was written.
        if stored.get("sha256") == sha256_of_json(document):
            return read_score(document)
    return None


def store_score(task: HiddenTask, score: Score) -> None:
    """Store the score of a task's baseline for later verifiers, where it is worth it."""
    name = _name(task)
    if name is None:
        return
    document = score_document(score)
    with contextlib.suppress(OSError, ValueError):  # a value that is no number cannot be kept
        folder = home() / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Without waiting for the disk: what a power cut damages is computed again.
        write_json(folder / name, {"score": document, "sha256": sha256_of_json(document)}, sync=False)


def score_document(score: Score) -> dict[str, object]:
    """A score as JSON."""
    replicates = None if score.replicates is None else score.replicates.to_dict()
    return {"total": score.total, "metrics": dict(score.metrics), "replicates": replicates}


def read_score(document: Mapping[str, object]) -> Score:
    """Read what :func:`score_document` gave."""
    replicates = document["replicates"]
    return Score(
        document["total"],  # type: ignore[arg-type]
        document["metrics"],  # type: ignore[arg-type]
        None if replicates is None else Replicates.from_dict(replicates),  # type: ignore[arg-type]
    )


def _name(task: HiddenTask) -> str | None:
    """File of the score; None of a task that is quick to score, or whose labels are of one rollout alone."""
    if not task.heavy or task.split != "test" or task.identity != task.name:
        return None
    library = [state_of(_LIBRARY / part) for part in _PARTS]
    if None in library:
        return None
    baseline = hashlib.sha256(np.ascontiguousarray(task.grader.baseline).tobytes()).hexdigest()
    computing = [sys.version, platform.machine(), *(_version(name) for name in _COMPUTING)]
    return f"{sha256_of_json([task.manifest.digest, baseline, release.__version__, library, computing])}.json"


def _version(name: str) -> str:
    """The version of an installed library; empty where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
