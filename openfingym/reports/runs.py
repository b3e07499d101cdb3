"""Reading the runs a report is about."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from openfingym.errors import StoreError, UsageError
from openfingym.results import FORMAT, INTERVALS, RolloutResult, State, read_run

STATES = frozenset(get_args(State))
HUGE = 1e100
"""No figure is as large: beyond, sums and powers overflow."""
READERS = 8
"""Threads that read: most of the time is spent waiting for the disk."""


@dataclass(frozen=True)
class Damaged:
    """A run folder whose result cannot be used."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Made:
    """What a rollout was made of, as its ``config.json`` states it; None where it does not."""

    setting: str | None = None
    """Digest of the agent, and its allowance."""
    environment: str | None = None
    """Digest of what its programs ran in."""


@dataclass(frozen=True)
class Runs:
    """What was found below some folders."""

    results: tuple[RolloutResult, ...]
    """Every rollout once, by task, agent, model, seed and attempt."""
    damaged: tuple[Damaged, ...] = ()
    """Folders of runs that could not be read; they are in no figure."""
    copies: int = 0
    """Folders left out because they hold a rollout that is already there."""
    made: Mapping[str, Made] = field(default_factory=dict)
    """What rollouts were made of, by id."""


def read_runs(paths: Iterable[Path]) -> Runs:
    """Read every run at or below ``paths``.

    A run is a folder with a ``result.json``; one with a ``config.json`` alone is a damaged run. Folders
    whose name starts with a dot are being written, and are not looked into.

    Raises:
        UsageError: a path is no folder, or there is no run below any of them.
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
    if not results and not damaged:
        raise UsageError(f"no run was found below {', '.join(map(str, paths))}; a run is a folder with a result.json")
    return Runs(tuple(sorted(results.values(), key=_order)), tuple(damaged), copies, made)


def run_folders(paths: Sequence[Path]) -> Iterator[Path]:
    """Folders of runs at or below ``paths``, sorted within each; the inside of a run is not searched.

    Raises:
        UsageError: a path is no folder.
    """
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder; give folders of runs, such as runs/")
        yield from _below(path)


def _below(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            inner = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except OSError:
        # What cannot be looked into is shown as damaged when it is read.
        yield folder
        return
    if "result.json" in inner:
        yield folder
        return
    empty = True
    for name in sorted(name for name, is_folder in inner.items() if is_folder and not name.startswith(".")):
        for run in _below(folder / name):
            empty = False
            yield run
    if empty and "config.json" in inner:
        yield folder


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
        return folder, _read(folder), _made(folder)
    except StoreError as error:
        return folder, Damaged(folder, str(error)), Made()


def _read(folder: Path) -> RolloutResult:
    try:
        result = replace(read_run(folder), path=folder)
    except (AttributeError, RecursionError) as error:
        raise StoreError(f"{folder / 'result.json'}: not a readable result ({error})") from error
    fault = _fault(result)
    if fault is not None:
        raise StoreError(f"{folder / 'result.json'}: {fault}")
    return result


def _made(folder: Path) -> Made:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return Made()
    inputs, environment = (_section(config, name) for name in ("inputs", "environment"))
    setting = [inputs["agent_digest"], inputs.get("allowance")] if "agent_digest" in inputs else None
    digest = environment.get("digest")
    return Made(None if setting is None else json.dumps(setting, sort_keys=True), None if digest is None else str(digest))


def _section(config: object, name: str) -> Mapping[str, object]:
    found = config.get(name) if isinstance(config, dict) else None
    return found if isinstance(found, dict) else {}


def _fault(result: RolloutResult) -> str | None:
    """What makes a result that could be parsed unusable."""
    if not isinstance(result.format, int) or result.format > FORMAT:
        return f"its format is {result.format!r}; this version reads formats up to {FORMAT}, update openfingym"
    if result.state not in STATES:
        return f"its state is {result.state!r}, expected one of {', '.join(sorted(STATES))}"
    texts = (result.rollout_id, result.task, result.task_digest, result.data_kind, result.agent, result.backend, result.started_at)
    if not all(isinstance(text, str) for text in texts) or not isinstance(result.model, str | None):
        return "the names in it must be texts"
    if not all(isinstance(found, dict) and all(map(_is_number, found.values())) for found in (result.metrics, result.standard_errors)):
        return "its metrics and their standard errors must be finite numbers by name"
    amounts = (result.wall_s, result.prompt_tokens, result.completion_tokens, result.cost_usd or 0.0, result.seed, result.attempt)
    if not all(map(_is_number, amounts)):
        return "its seed, attempt, time, tokens and cost must be finite numbers"
    if result.state == "scored":
        if not _is_number(result.total):
            return f"it is scored, but its total is {result.total!r}"
        if not _is_number(result.relative_total) or not (result.relative_total or 0.0) > 1.0 / HUGE:
            return f"it is scored, but its relative total is {result.relative_total!r}, expected a number above 0"
        if not all(_is_interval(getattr(result, name)) for name in INTERVALS):
            return f"the intervals in it must be two ordered numbers, or null; found {result.relative_interval}, {result.total_interval}"
    return None


def _is_interval(value: object) -> bool:
    return value is None or (isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value)) and value[0] <= value[1])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -HUGE < value < HUGE


def _order(result: RolloutResult) -> tuple[str, str, str, float, float, str]:
    return result.task, result.agent, result.model or "", result.seed, result.attempt, result.rollout_id
