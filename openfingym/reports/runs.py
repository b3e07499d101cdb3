"""Reading the runs a report is about."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from openfingym.errors import StoreError, UsageError
from openfingym.files.strange import MEGABYTE, read_json, walk
from openfingym.models.cutoffs import require_cutoff
from openfingym.models.urls import without_credentials
from openfingym.results import CONFIG, RESULT, VERIFIED, RolloutResult, read_run
from openfingym.verifiers.receipt_check import is_backed

CONFIG_LIMIT = 16 * MEGABYTE
"""Bytes that a ``config.json`` may have."""
READERS = 8
"""Threads that read: most of the time is spent waiting for the disk."""


@dataclass(frozen=True)
class Damaged:
    """A run folder whose result cannot be used."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Made:
    """The parts of a rollout's ``config.json`` that a report compares; None where it does not state one."""

    setting: str | None = None
    """Digest of the agent, and its allowance."""
    environment: str | None = None
    """Digest of what its programs ran in."""
    endpoint: str | None = None
    """Base URL that its model was asked at, without credentials."""
    version: str | None = None
    """Version of this library that it ran with."""
    family: str | None = None
    """Family of its task, as stated."""
    split: str | None = None
    """What it was on, as stated; see :class:`openfingym.RolloutResult`."""
    questions: str | None = None
    """Which of its task's questions it was asked, as stated."""
    data_kind: str | None = None
    """Kind of its data, as stated."""
    cutoff: str | None = None
    """The last month or day that its model was trained on, as stated."""
    backed: bool = False
    """Whether a receipt in its folder proves that the log of a verifier has its result."""


@dataclass(frozen=True)
class FoundRuns:
    """The runs found below some folders."""

    results: tuple[RolloutResult, ...]
    """Every rollout once, by task, agent, model, seed and attempt."""
    damaged: tuple[Damaged, ...] = ()
    """Folders of runs that could not be read; they are in no figure."""
    copies: int = 0
    """Folders left out because they hold a rollout that is already there."""
    made: Mapping[str, Made] = field(default_factory=dict)
    """What rollouts were made of, by id."""
    folders: tuple[Path, ...] = ()
    """Absolute paths of the folders that were asked for."""
    read_at: datetime | None = None
    """When they were read, UTC."""
    slices: tuple[RolloutResult, ...] = ()
    """Rollouts that were asked a slice of their task's questions, where others were asked all: in no figure."""


def find_runs(paths: Iterable[Path]) -> FoundRuns:
    """Read every run at or below ``paths``.

    A run is a folder with a ``result.json``; one with a ``config.json`` alone is a damaged run. Folders
    whose name starts with a dot are being written, and are not looked into.

    Raises:
        UsageError: a path is no folder, there is no run below any of them, or one was on an instance: what an agent was
            trained on is in no report of scores; or different slices of one task's questions were asked, and never all.
    """
    found = found_below(paths)
    if trained := [result for result in found.results if result.split != "test"]:
        first = trained[0]
        raise UsageError(
            f"{len(trained)} of {len(found.results)} runs were on instances cut from training data, and have no score, "
            f"such as {first.path} (instance {first.instance} of {first.split}); give folders of the split test alone, "
            "or read all with openfingym.read_runs, which says the split of each"
        )
    if not found.results and not found.damaged:
        where = ", ".join(map(str, found.folders))
        raise UsageError(f"no run was found below {where}; a run is a folder with a result.json")
    return _of_same_questions(found)


def _of_same_questions(found: FoundRuns) -> FoundRuns:
    """The runs without those that were asked other questions of a task than the rest.

    Raises:
        UsageError: none of the runs of a task was asked all of its questions, and they were asked different ones.
    """
    asked: dict[str, set[str | None]] = defaultdict(set)
    for result in found.results:
        asked[result.task].add(result.slice)
    for task, ranges in asked.items():
        if None not in ranges and len(ranges) > 1:
            raise UsageError(
                f"runs of {task} were asked different questions: {', '.join(sorted(map(str, ranges)))}; their scores "
                "do not compare, so give folders with one of these alone, or read all with openfingym.read_runs, which "
                "says the questions of each"
            )
    kept = [result.slice is None or None not in asked[result.task] for result in found.results]
    return replace(
        found,
        results=tuple(result for result, stays in zip(found.results, kept, strict=True) if stays),
        slices=tuple(result for result, stays in zip(found.results, kept, strict=True) if not stays),
    )


def found_below(paths: Iterable[Path]) -> FoundRuns:
    """What :func:`find_runs` reads, which may be nothing.

    Raises:
        UsageError: a path is no folder.
    """
    paths = list(paths)
    results: dict[tuple[str, ...], RolloutResult] = {}
    damaged: list[Damaged] = []
    made: dict[str, Made] = {}
    copies = 0
    with ThreadPoolExecutor(READERS) as pool:
        loaded = list(pool.map(_load, _unique(run_folders(paths))))
    for folder, result, config in loaded:
        if isinstance(result, Damaged):
            damaged.append(result)
            continue
        key = (result.rollout_id, result.state, result.started_at) if result.rollout_id else (str(folder),)
        if key in results:
            copies += 1
            continue
        results[key] = result
        made[result.rollout_id] = config
    return FoundRuns(
        tuple(sorted(results.values(), key=_order)),
        tuple(damaged),
        copies,
        made,
        tuple(path.absolute() for path in paths),
        datetime.now(UTC).replace(microsecond=0),
    )


def run_folders(paths: Sequence[Path]) -> Iterator[Path]:
    """Folders of runs at or below ``paths``, sorted within each; the inside of a run is not searched.

    Raises:
        UsageError: a path is no folder.
    """
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder; give folders of runs, such as runs/")
        yield from _below(path)


def _below(root: Path) -> list[Path]:
    """Folders of runs at or below one, sorted."""
    found: list[Path] = []
    # From the last to the first, so that of each folder it is known whether a run is below it.
    for folder, names in reversed(list(walk(root, leaf=RESULT))):
        # What cannot be looked into is shown as damaged when it is read.
        is_run = names is None or RESULT in names
        if is_run or (CONFIG in (names or ()) and not (found and found[-1].is_relative_to(folder))):
            found.append(folder)
    return found[::-1]


def _unique(folders: Iterable[Path]) -> Iterator[Path]:
    """Each folder once, however many of the paths lead to it."""
    seen = set()
    for folder in folders:
        try:
            status = folder.stat()
        except OSError:
            yield folder
            continue
        key = status.st_dev, status.st_ino
        if key not in seen:
            seen.add(key)
            yield folder


def _load(folder: Path) -> tuple[Path, RolloutResult | Damaged, Made]:
    try:
        result = read_run(folder)
        made = _made(folder)
        if (other := _other_split(folder, result, made)) is not None:
            return folder, Damaged(folder, other), Made()
        return folder, result, replace(made, backed=result.state == "scored" and is_backed(folder, result))
    except StoreError as error:
        return folder, Damaged(folder, str(error)), Made()


def _made(folder: Path) -> Made:
    try:
        config = read_json(folder, CONFIG, CONFIG_LIMIT)
    except (OSError, ValueError):
        return Made()
    inputs, environment = (_section(config, name) for name in ("inputs", "environment"))
    endpoint = _text(config, "base_url")
    setting = [inputs["agent_digest"], inputs.get("allowance")] if "agent_digest" in inputs else None
    return Made(
        None if setting is None else json.dumps(setting, sort_keys=True),
        _text(environment, "digest"),
        None if endpoint is None else without_credentials(endpoint),
        _text(config, "openfingym"),
        _text(config, "family"),
        _text(config, "split"),
        _text(config, "questions"),
        _text(config, "data_kind"),
        _cutoff(config),
    )


def _other_split(folder: Path, result: RolloutResult, made: Made) -> str | None:
    """What is wrong where another file of a run says that it was on something else; None where none does."""
    stated = {CONFIG: (made.split, result.task_digest)}
    asked = {CONFIG: made.questions or result.slice}
    kinds = {CONFIG: made.data_kind}
    try:
        verified = read_json(folder, VERIFIED, CONFIG_LIMIT)
    except (OSError, ValueError):
        verified = None
    if isinstance(verified, dict):
        stated[VERIFIED] = (_text(verified, "split"), _text(verified, "task_digest") or result.task_digest)
        said = verified.get("questions")
        asked[VERIFIED] = said if isinstance(said, str) else None
        kinds[VERIFIED] = _text(verified, "data_kind")
    for name, kind in kinds.items():
        if kind is not None and ("hindsight" in kind) != ("hindsight" in result.data_kind):
            return f"{RESULT} says that its data was {result.data_kind}, and {name} {kind}: one was changed"
    for name, questions in asked.items():
        if questions != result.slice:
            return f"{RESULT} says that it was asked questions {result.slice}, and {name} {questions}: one was changed"
    for name, (split, digest) in stated.items():
        if split not in {None, result.split}:
            return f"{RESULT} says that the run was on the split {result.split}, and {name} {split}: one was changed"
        if digest != result.task_digest:
            return f"{RESULT} has another task digest than {name}: one was changed"
    return None


def _text(values: object, name: str) -> str | None:
    found = values.get(name) if isinstance(values, dict) else None
    return None if found is None else str(found)


def _cutoff(config: object) -> str | None:
    """A cut-off, where it is one."""
    try:
        return require_cutoff(_text(config, "cutoff") or "")
    except UsageError:
        return None


def _section(config: object, name: str) -> Mapping[str, object]:
    found = config.get(name) if isinstance(config, dict) else None
    return found if isinstance(found, dict) else {}


def _order(result: RolloutResult) -> tuple[str, str, str, float, float, str]:
    return result.task, result.agent, result.model or "", result.seed, result.attempt, result.rollout_id
