"""Scoring of an answer under its task's protocol, where the hidden data is: a file, or what a finished rollout left."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import SubmissionError, UsageError
from openfingym.files.strange import opened
from openfingym.published.protocol import protocol_of
from openfingym.published.sample import SampleWindows
from openfingym.published.scoring import PublishedScore, score_windows
from openfingym.results.run_folder import RESULT
from openfingym.verifiers.backing import read_sound_run
from openfingym.verifiers.scorecard import read_answer, read_truth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from openfingym.kinds import Array
    from openfingym.packages.package import BuiltPackage
    from openfingym.published.protocol import PaperProtocol
    from openfingym.results.result import RolloutResult


def is_run(path: Path) -> bool:
    """Whether a path is the folder of a finished rollout."""
    return (path / RESULT).is_file()


def run_to_score(folder: Path) -> tuple[RolloutResult, Path]:
    """The result of a finished rollout, and the path of the submission that counted.

    Raises:
        StoreError: the folder is damaged.
        UsageError: there is no submission, its scores are held until a season closes, or the rollout had hidden data of
            its own.
    """
    result = read_sound_run(folder)
    if result.disclosure == "held":
        raise UsageError(
            f"{folder}: its scores are held until its season is closed, and these would tell them before; "
            "close the season first"
        )
    if result.tape != "given":
        raise UsageError(
            f"{folder}: it was on {result.tape} hidden data, which nobody keeps; "
            "only runs on the package's own can be scored again"
        )
    name = _counted(folder, result)
    try:
        # In a folder that somebody else wrote, the file may be a link out of it, or a pipe that never ends.
        os.close(opened(folder, name))
    except OSError as error:
        raise UsageError(
            f"{folder / name}: no accepted submission is kept there ({error.strerror}); "
            f"the run's state is {result.state}"
        ) from None
    return result, folder / name


def _counted(folder: Path, result: RolloutResult) -> str:
    """Name of the file with the submission that counted: the last one, before which a walk has those of practice."""
    kept = (folder / "submissions").glob("*.npy")
    numbers = [int(path.stem) for path in kept if path.stem.isascii() and path.stem.isdecimal()]
    # Where nothing counted, what is there is practice.
    counted = max(result.submissions_accepted, *numbers, 0) if result.submissions_accepted else 0
    return f"submissions/{counted}.npy"


def score_answer(
    package: BuiltPackage,
    submission: Path,
    truth: Path | None = None,
    *,
    digest: str | None = None,
    seed: int = 0,
    only: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> PublishedScore:
    """Score a submission under the protocol of its task.

    Args:
        package: the built package of the task.
        submission: file with the answer, as :func:`openfingym.verifiers.scorecard.score_files` takes it.
        truth: folder of the hidden arrays, as that function takes it; None for those of the package in the caller's own
            store.
        digest: digest of the task that the answer was given to; None if it is not known.
        seed: seed of draws, networks and batches.
        only: names of the metrics wanted; all metrics if empty.
        tell: called with the name of each metric before it is computed.

    Raises:
        SubmissionError: the submission does not fit the task.
        DataError: the hidden arrays do not fit the task, or leave a metric undefined.
        StoreError: the store cannot be read.
        UsageError: the task follows no protocol, is of another version than the answer's, or needs PyTorch, which is
            not installed.
    """
    manifest = package.manifest
    protocol = protocol_of(manifest.name)
    if digest is not None and digest != manifest.digest:
        raise UsageError(
            f"the run was on {manifest.name} with digest {digest[:16]}, and here it has {manifest.digest[:16]}: "
            "its hidden data is not here. Score it where it was run"
        )
    # Training windows and contexts are read from the public half, so it has to be whole.
    package.verify_public()
    task, values = read_answer(package, submission, None if truth is None else read_truth(package, truth))
    if "real" not in task.hidden:
        raise UsageError(
            f"{manifest.name} hides no real windows; the task of this name that has a protocol generates them"
        )
    practised = []
    hidden: dict[str, Array] = dict(task.hidden)
    if digest is not None and task.walk is not None:
        # Of a run, the private walk alone is what the agent answered: what else is kept need not be its own.
        private = task.walk.items_of("private")
        hidden, values = {name: array[private] for name, array in hidden.items()}, values[private]
        practised.append(f"the {len(values):,} contexts of the private walk alone, and not those of practice")
    windows = _windows(package, hidden, values)
    scores = score_windows(protocol, manifest.name, windows, seed=seed, only=only, tell=tell)
    differs = [*_differences(protocol, package, windows), *practised]
    # A paper's protocol scores any answer; whether a verifier would is something that the reader has to know.
    try:
        task.grader.check(values)
    except SubmissionError as refusal:
        differs.append(f"a verifier refuses this answer, and no published protocol does: {refusal}")
    return PublishedScore(
        manifest.name,
        manifest.digest,
        manifest.data_kind,
        protocol.name,
        protocol.paper,
        protocol.table,
        protocol.code,
        seed,
        scores,
        tuple(differs),
        protocol.assumed,
    )


def _windows(package: BuiltPackage, hidden: Mapping[str, Array], values: np.ndarray) -> SampleWindows:
    """All windows of a task, the real ones whole: each begins with its context where the task has contexts.

    Args:
        package: the built package of the task.
        hidden: the hidden arrays by name: windows, or futures of a task with contexts (``real``), and of one that is
            walked through its contexts.
        values: the answer, float64[k, t, d]; with contexts, float64[m, k, t, d].
    """
    train, real = (
        np.concatenate(
            (hidden[inputs] if inputs in hidden else package.array(inputs), futures), axis=1, dtype=np.float64
        )
        if values.ndim == 4
        else futures
        for inputs, futures in (
            ("train_inputs", package.array("train_targets")),
            ("test_inputs", np.asarray(hidden["real"], dtype=np.float64)),
        )
    )
    return SampleWindows(np.asarray(train), np.asarray(real), values)


def _differences(protocol: PaperProtocol, package: BuiltPackage, windows: SampleWindows) -> list[str]:
    """Why the scores cannot be compared with the paper's as they are."""
    manifest = package.manifest
    differs = list(protocol.tasks[manifest.name].differs)
    wanted, made = protocol.drawing.windows, len(windows.generated)
    if wanted is not None and made < wanted:
        differs.append(
            f"the answer has {made:,} windows, and the paper draws {wanted:,} of its generator for each repeat"
        )
    if manifest.data_kind == "simulated":
        differs.insert(0, "the data is a SIMULATED stand-in for the paper's")
    if protocol.drawing.pool == "all":
        differs.append("as in the paper, training windows are among the real ones: repeating them looks good")
    return differs
