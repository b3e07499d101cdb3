"""The recorded answers of a run of questions in words, with their references, for whoever has both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from openfingym.answers import Reference, Verdict, decide, unpack
from openfingym.errors import OpenFinGymError, StoreError, UsageError
from openfingym.files.strange import MEGABYTE, parse_json, read_array, read_bytes
from openfingym.packages.package import BuiltPackage
from openfingym.results import QUESTIONS, RESULT, RolloutResult, read_run
from openfingym.store import home
from openfingym.suites.suite import SuiteQuestion

LIMIT = 256 * MEGABYTE
DEEPEST = 3
"""How far below a run's folder its rollouts are looked for."""


@dataclass(frozen=True)
class RecordedAnswer:
    """An answer, as it was recorded."""

    rollout: str
    agent: str
    model: str | None
    question: SuiteQuestion
    state: str
    """How its question ended."""
    answer: str
    reference: Reference
    verdict: Verdict


def recorded_answers(run: Path) -> list[RecordedAnswer]:
    """Every answer of the rollouts in a run's folder, or of one rollout in its own.

    Raises:
        UsageError: there is no rollout of questions that are answered in words, or the package that they were asked
            from is not on this machine.
        StoreError: what is recorded cannot be read.
    """
    folders = [run] if (run / RESULT).is_file() else sorted(_below(run, DEEPEST))
    found = [answer for folder in folders for answer in _of(folder)]
    if not found:
        raise UsageError(f"{run} has no answers in words; expected the folder of a run of such a task")
    return found


def _below(folder: Path, depth: int) -> Iterator[Path]:
    for path in folder.iterdir() if folder.is_dir() else ():
        if (path / RESULT).is_file():
            yield path
        elif depth and path.is_dir() and not path.is_symlink():
            yield from _below(path, depth - 1)


def _of(folder: Path) -> Iterator[RecordedAnswer]:
    result = read_run(folder)
    if not (folder / QUESTIONS).is_file() or result.state != "scored":
        return
    package = _package(result)
    manifest, texts = package.manifest, package.array("test_questions")
    targets = np.asarray(package.read_truth()["targets"], dtype=np.float64)
    rows = _rows(folder)
    kept = sorted((folder / "submissions").glob("*.npy"), key=lambda path: int(path.stem))
    if not kept:
        raise StoreError(f"{folder}: there is no record of what was answered")
    given = np.asarray(read_array(folder / "submissions", kept[-1].name, LIMIT), dtype=np.float64)
    if given.shape != tuple(manifest.submission_shape):
        raise StoreError(f"{folder}: what was answered has shape {given.shape}, not {manifest.submission_shape}")
    for number, state in rows:
        place = manifest.n_public + number - 1
        try:
            reference, answer = Reference.from_json(unpack(targets[place])), unpack(given[place, 1:])
        except UsageError:
            return  # a task whose answers are no texts
        question = SuiteQuestion.from_json(str(texts[place]))
        verdict = decide(reference, answer)
        yield RecordedAnswer(result.rollout_id, result.agent, result.model, question, state, answer, reference, verdict)


def _rows(folder: Path) -> list[tuple[int, str]]:
    try:
        found = [parse_json(line) for line in read_bytes(folder, QUESTIONS, LIMIT).decode().splitlines()]
        return [(int(row["question"]), str(row["state"])) for row in found if isinstance(row, dict)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder / QUESTIONS} cannot be read: {error}") from error


def _package(result: RolloutResult) -> BuiltPackage:
    """The package that a rollout was asked from, by its digest."""
    for public in sorted((home() / "packages" / result.task).glob("*")):
        package = BuiltPackage(public, home() / "truth" / result.task / public.name)
        try:
            if package.manifest.digest == result.task_digest:
                return package
        except OpenFinGymError:
            continue
    raise UsageError(f"the package of {result.task} that was asked is not on this machine; judge where it was run")
