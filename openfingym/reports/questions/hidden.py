"""The true answers to the questions of a run, from which scores of parts of them follow, and who may be told these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import ReceiptError, StoreError
from openfingym.files.strange import MEGABYTE, read_array
from openfingym.metrics import find_metric
from openfingym.verifiers.receipt_check import check_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult

    Numbers = NDArray[np.float64]

LIMIT = 256 * MEGABYTE
"""Most bytes of a file of a run."""
SAME = 1e-9
"""Largest difference between two computations of the same score."""


@dataclass(frozen=True, eq=False)
class HiddenAnswers:
    """The true and the given answers to the questions of a run, from which their scores are computed."""

    truths: Numbers
    """The true answers, float64[questions, numbers]."""
    given: Numbers
    """The answers of the agent, float64[questions, numbers]; 0 for a question without an answer."""
    samples: Numbers | None = None
    """The answers of each attempt before the vote on them, float64[attempts, questions, numbers]; None unless all
    questions were attempted equally often."""


def withheld(folder: Path) -> str:
    """Why scores of parts of a run may not be shown; empty if they may."""
    try:
        checked = check_run(folder)
    except (ReceiptError, StoreError):
        return "no receipt proves what is in its folder"
    # Anybody can sign a receipt with a key of their own.
    if not checked.key_pinned:
        return "its receipt is of a verifier that this machine has not met"
    disclosed = checked.verified.get("policy") == "local" and checked.verified.get("disclosure") == "full"
    return "" if disclosed else "its verifier rations what it tells of them"


def hidden_answers(
    result: RolloutResult, package: BuiltPackage, places: Sequence[int]
) -> tuple[HiddenAnswers | None, str]:
    """The true and the given answers to questions, by their indices in the private fold; None with the reason if they
    cannot be used.
    """
    assert result.path is not None
    folder = result.path / "submissions"
    try:
        submissions = sorted(folder.glob("*.npy"), key=lambda path: int(path.stem))
        outcomes = read_array(folder, submissions[-1].name, LIMIT)
    except (OSError, ValueError, IndexError):
        return None, "their answers are not in its folder"
    manifest = package.manifest
    if outcomes.shape != tuple(manifest.submission_shape) or not np.isfinite(outcomes).all():
        return None, "the answers in its folder are of another form"
    rows = manifest.n_public + np.asarray(places)
    truths = np.asarray(package.read_truth()["targets"], dtype=np.float64)
    # The first number of an outcome says how the question ended, the others are the answer.
    answers = HiddenAnswers(truths[rows], np.asarray(outcomes, dtype=np.float64)[rows, 1:])
    # A folder may be forged: its answers count only if they have the scores that its result states, to the last digit.
    # Otherwise, made-up answers would be scored question by question, which discloses the truths.
    scored = {name: metric_of(name, answers) for name in result.metrics}
    if not scored or any(abs(value - result.metrics[name]) > SAME for name, value in scored.items()):
        return None, "the answers in its folder do not have the scores that its result states"
    return answers, ""


def metric_of(name: str, hidden: HiddenAnswers) -> float:
    """A metric of the bank, computed from the numbers of all answers."""
    return find_metric(name).compute({"y_true": hidden.truths, "y_pred": hidden.given})
