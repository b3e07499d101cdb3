"""The recorded answers of a run whose questions are answered in words, with their references from the package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from openfingym.answers import Reference, decide
from openfingym.answers.deciding import Verdict
from openfingym.answers.packing import unpack
from openfingym.errors import OpenFinGymError, StoreError, UsageError
from openfingym.files.strange import MEGABYTE, parse_json, read_array, read_bytes
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from openfingym.results.run_folder import QUESTIONS, RESULT
from openfingym.store import home
from openfingym.suites.suite import SuiteQuestion
from openfingym.verifiers.backing import read_sound_run

LIMIT = 256 * MEGABYTE
"""Most bytes of a file that is read."""
DEEPEST = 3
"""How many levels below a run's folder its rollouts are looked for."""


@dataclass(frozen=True)
class RecordedAnswer:
    """An answer as it was recorded, with its question and the truth."""

    rollout: str
    """Identifier of the rollout."""
    agent: str
    model: str | None
    """Name of the agent's model; None where it had none."""
    question: SuiteQuestion
    state: str
    """How the question ended, such as ``answered``."""
    answer: str
    """Text of the answer; empty where there is none."""
    reference: Reference
    """The right answer."""
    verdict: Verdict
    """What a rule says of the answer."""


def recorded_answers(run: Path) -> list[RecordedAnswer]:
    """Every answer of the rollouts in a run's folder, or of one rollout in its own.

    Raises:
        UsageError: there is no rollout of questions that are answered in words, or the package that they were asked
            from is not on this machine, or was not what they were asked from.
        StoreError: a file of the run cannot be read, or holds something else than answers.
    """
    folders = [run] if (run / RESULT).is_file() else sorted(_rollouts_below(run, DEEPEST))
    answers = [answer for folder in folders for answer in _answers_of(folder)]
    if not answers:
        raise UsageError(f"{run} has no answers in words; expected the folder of a run of such a task")
    return answers


def _rollouts_below(folder: Path, depth: int) -> Iterator[Path]:
    """Folders of rollouts, at most ``depth`` levels below a folder; links are not followed."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if (path / RESULT).is_file():
            yield path
        elif depth and path.is_dir() and not path.is_symlink():
            yield from _rollouts_below(path, depth - 1)


def _answers_of(folder: Path) -> Iterator[RecordedAnswer]:
    """The answers of one rollout; none where it was not scored, or its task asks no questions in words."""
    result = read_sound_run(folder)
    if not (folder / QUESTIONS).is_file() or result.state != "scored":
        return
    package = _package(result)
    manifest, texts = package.manifest, package.array("test_questions")
    targets = np.asarray(package.read_truth()["targets"], dtype=np.float64)
    rows = _rows(folder)
    # The last accepted submission is the one that counts.
    submissions = sorted((folder / "submissions").glob("*.npy"), key=lambda path: int(path.stem))
    if not submissions:
        raise StoreError(f"{folder}: there is no record of what was answered")
    submitted = np.asarray(read_array(folder / "submissions", submissions[-1].name, LIMIT), dtype=np.float64)
    if submitted.shape != tuple(manifest.submission_shape):
        raise StoreError(f"{folder}: what was answered has shape {submitted.shape}, not {manifest.submission_shape}")
    for number, state in rows:
        # Questions of a rollout are counted from 1; public ones stand first in every array.
        place = manifest.n_public + number - 1
        try:
            # A row begins with how its question ended; the bytes of the answer follow.
            reference, answer = Reference.from_json(unpack(targets[place])), unpack(submitted[place, 1:])
        except UsageError:
            return  # a task whose answers are no texts
        if result.tape != "given":
            raise UsageError(f"{folder}: it was on {result.tape} hidden data, which nobody keeps; judge other runs")
        question = SuiteQuestion.from_json(str(texts[place]))
        verdict = decide(reference, answer)
        yield RecordedAnswer(result.rollout_id, result.agent, result.model, question, state, answer, reference, verdict)


def _rows(folder: Path) -> list[tuple[int, str]]:
    """Number and state of each question that the rollout was asked.

    Raises:
        StoreError: the record of its questions cannot be read.
    """
    try:
        rows = [parse_json(line) for line in read_bytes(folder, QUESTIONS, LIMIT).decode().splitlines()]
        return [(int(row["question"]), str(row["state"])) for row in rows if isinstance(row, dict)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder / QUESTIONS} cannot be read: {error}") from error


def _package(result: RolloutResult) -> BuiltPackage:
    """The package that a rollout was asked from, found in the store by its digest.

    Raises:
        UsageError: the package is not on this machine.
    """
    for public in sorted((home() / "packages" / result.task).glob("*")):
        package = BuiltPackage(public, home() / "truth" / result.task / public.name)
        try:
            if package.manifest.digest == result.task_digest:
                return package
        except OpenFinGymError:
            continue
    raise UsageError(f"the package of {result.task} that was asked is not on this machine; judge where it was run")
