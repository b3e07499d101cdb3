"""Reading the runs that a report is about."""

from __future__ import annotations

import gc
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import StoreError, UsageError
from openfingym.files.strange import MEGABYTE, read_json, walk
from openfingym.models.cutoffs import require_cutoff
from openfingym.models.urls import without_credentials
from openfingym.reports.principals import with_principals
from openfingym.results import RolloutResult, read_run
from openfingym.results.result import ISOLATED
from openfingym.results.run_folder import CONFIG, RECEIPT, RESULT, VERIFIED
from openfingym.verifiers.backing import NO_RECEIPT, Backing, backing_of

if TYPE_CHECKING:
    from openfingym.receipts import PublicKey

CONFIG_LIMIT = 16 * MEGABYTE
"""Most bytes of a ``config.json``."""
_SORTED = json.JSONEncoder(sort_keys=True)
"""Made once: :func:`json.dumps` makes an encoder of its own for every document."""
Names = frozenset[str] | None
"""Names of what is in a folder; None if it cannot be listed."""


@dataclass(frozen=True)
class DamagedRun:
    """A run folder whose result cannot be used."""

    path: Path
    """Path of the folder."""
    reason: str
    """Why its result cannot be used."""


@dataclass(frozen=True)
class RunConfig:
    """What a rollout's ``config.json`` states that reports compare; a field is None if the file does not state it."""

    setting: str | None = None
    """Digest of the agent with its allowance, as JSON."""
    environment: str | None = None
    """Digest of the environment in which its programs ran: image, or Python and its packages."""
    endpoint: str | None = None
    """Base URL of the endpoint at which its model was asked, without credentials."""
    version: str | None = None
    """Version of this library with which it ran."""
    family: str | None = None
    """Family of its task."""
    split: str | None = None
    """The split that it was on; see :class:`openfingym.RolloutResult`."""
    questions: str | None = None
    """The range of its task's questions that it was asked."""
    data_kind: str | None = None
    """Kind of its data."""
    cutoff: str | None = None
    """The last month or day that its model was trained on."""
    backing: Backing = NO_RECEIPT
    """What the receipt in its folder is worth."""

    @property
    def backed(self) -> bool:
        """Whether a receipt proves its result under a key that is known or was given."""
        return self.backing.backed


@dataclass(frozen=True)
class FoundRuns:
    """The runs that were found below some folders."""

    results: tuple[RolloutResult, ...]
    """Every rollout once, sorted by task, agent, model, seed and attempt."""
    damaged: tuple[DamagedRun, ...] = ()
    """Folders of runs that could not be read; they are in no figure."""
    copies: int = 0
    """How many folders were left out because they hold a rollout that another folder holds too."""
    configs: Mapping[str, RunConfig] = field(default_factory=dict)
    """The configuration of each rollout, by its id."""
    folders: tuple[Path, ...] = ()
    """Absolute paths of the folders that were searched."""
    read_at: datetime | None = None
    """When the runs were read, in UTC."""
    slices: tuple[RolloutResult, ...] = ()
    """Rollouts that were asked a slice of their task's questions while others were asked all; they are in no figure."""
    replayed: tuple[RolloutResult, ...] = ()
    """Rollouts whose agent may have known the hidden data from an earlier one; they are scored apart, and in no figure
    of the others."""
    outside: tuple[RolloutResult, ...] = ()
    """Rollouts of which something ran outside isolation, or may have, where only isolated ones were wanted; they are in
    no figure."""


def find_runs(paths: Iterable[Path], keys: Sequence[PublicKey] = (), *, isolated_only: bool = False) -> FoundRuns:
    """Read every run at or below ``paths``, if a report can be made about them.

    A run is a folder with a ``result.json``; one with a ``config.json`` alone is a damaged run, and so is one that its
    own receipt contradicts. Folders whose name starts with a dot are being written, and are not searched.

    Args:
        paths: folders of runs, or folders with runs anywhere below them.
        keys: public keys of logs that the reader has from elsewhere, beside those that this machine knows.
        isolated_only: whether to leave out rollouts of which something ran outside isolation, or may have: that is not
            known of results of earlier versions, and stated by whoever launched the others.

    Raises:
        UsageError: a path is not a folder; there is no run below any of them; a run was on an instance, on which agents
            may have been trained; or the runs of a task were asked different slices of its questions, and none all.
    """
    found = read_below(paths, keys)
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
    if isolated_only:
        found = _isolated(found)
    return _of_same_questions(_first_showings(found))


def _first_showings(found: FoundRuns) -> FoundRuns:
    """Set rollouts apart whose agent may have known the hidden data."""
    return replace(
        found,
        results=tuple(result for result in found.results if not result.may_know),
        replayed=tuple(result for result in found.results if result.may_know),
    )


def _isolated(found: FoundRuns) -> FoundRuns:
    """Leave out rollouts of which something ran outside isolation, or may have.

    Raises:
        UsageError: none is left.
    """
    kept = [result.isolation in ISOLATED for result in found.results]
    if found.results and not any(kept):
        raise UsageError(
            f"of none of {len(found.results):,} runs is it stated that all of the agent ran in isolation, or its "
            "programs; report on them without --isolated-only"
        )
    return replace(
        found,
        results=tuple(result for result, stays in zip(found.results, kept, strict=True) if stays),
        outside=tuple(result for result, stays in zip(found.results, kept, strict=True) if not stays),
    )


def _of_same_questions(found: FoundRuns) -> FoundRuns:
    """Leave out runs that were asked a slice of a task's questions, if others of that task were asked all.

    Raises:
        UsageError: no run of a task was asked all of its questions, and the slices differ.
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


def read_below(paths: Iterable[Path], keys: Sequence[PublicKey] = ()) -> FoundRuns:
    """Read every run at or below ``paths``, whatever it was on; there may be none.

    Args:
        paths: folders of runs, or folders with runs anywhere below them.
        keys: public keys of logs that the reader has from elsewhere, beside those that this machine knows.

    Raises:
        UsageError: a path is not a folder.
    """
    paths = list(paths)
    results: list[RolloutResult] = []
    damaged: list[DamagedRun] = []
    configs: dict[str, RunConfig] = {}
    copies = 0
    listed = list(_listed(paths))
    # A single walk follows no links, and so meets no folder twice.
    folders = listed if len(paths) == 1 else list(_unique(listed))
    with _uncollected():
        loaded = [_load(folder, names, keys) for folder, names in folders]
    rollouts: defaultdict[str, list[_LoadedRun]] = defaultdict(list)
    for folder, result, config in loaded:
        if isinstance(result, DamagedRun):
            damaged.append(result)
        else:
            # A rollout that failed before it had an id is known by its folder.
            rollouts[result.rollout_id or str(folder)].append(_LoadedRun(folder, result, config))
    for same in rollouts.values():
        kept, equal, others = _told_apart(same)
        damaged += others
        if kept is not None:
            results.append(kept.result)
            configs[kept.result.rollout_id] = kept.config
            copies += equal
    return FoundRuns(
        tuple(sorted(with_principals(results, configs), key=_order)),
        tuple(damaged),
        copies,
        configs,
        tuple(path.absolute() for path in paths),
        datetime.now(UTC).replace(microsecond=0),
    )


@dataclass(frozen=True)
class _LoadedRun:
    """A run that was read from a folder."""

    folder: Path
    result: RolloutResult
    config: RunConfig

    def states_the_same(self, other: _LoadedRun) -> bool:
        """Whether another folder holds the same result."""
        return replace(self.result, path=None) == replace(other.result, path=None)


def _told_apart(runs: Sequence[_LoadedRun]) -> tuple[_LoadedRun | None, int, list[DamagedRun]]:
    """Which of the folders of one rollout counts: it ended once, however many folders say how.

    Returns:
        The run that counts, how many copies of it there are beside it, and the folders that state something else. Where
        they differ, a run counts if it is backed under a known key, and none does if no run is, or if several are that
        differ: what the launcher alone states, such as the model, no receipt proves.
    """
    first = runs[0]
    # Nearly every rollout is in one folder alone.
    if len(runs) == 1:
        return first, 0, []
    if all(run.states_the_same(first) for run in runs):
        # Of equal folders one may lack its receipt.
        return min(runs, key=_unsureness), len(runs) - 1, []
    kept = min(runs, key=_unsureness)
    surest = [run for run in runs if _unsureness(run) == _unsureness(kept)]
    # Of a rollout that is not scored too, the receipt says how it ended.
    if not kept.config.backed or not all(run.states_the_same(kept) for run in surest):
        where = f"{first.folder} and {next(run.folder for run in runs if not run.states_the_same(first))}"
        reason = (
            f"{where} state different results of rollout {first.result.rollout_id}, and no receipt says which is right "
            "under a known key"
        )
        return None, 0, [DamagedRun(run.folder, f"{run.folder}: {reason}") for run in runs]
    others = [run for run in runs if not run.states_the_same(kept)]
    reason = f"{kept.folder}, which has a receipt, states another result of rollout {kept.result.rollout_id}"
    return kept, len(runs) - len(others) - 1, [DamagedRun(run.folder, f"{run.folder}: {reason}") for run in others]


def _unsureness(run: _LoadedRun) -> tuple[bool, bool, bool]:
    """A sort key of folders of one rollout: backed ones first, and of these first those that state the verifier's end.

    An error that the launcher alone reports is no other end: it must not displace the score that the verifier has. Nor
    may a deferred result, of a copy from before the end, which was as true when it was made.
    """
    return not run.config.backed, not run.config.backing.ended, run.result.state == "deferred"


def run_folders(paths: Sequence[Path]) -> Iterator[Path]:
    """The folders of runs at or below ``paths``, sorted within each path; the inside of a run is not searched.

    Raises:
        UsageError: a path is not a folder.
    """
    return (folder for folder, _ in _listed(paths))


def _listed(paths: Iterable[Path]) -> Iterator[tuple[Path, Names]]:
    """The folders of runs at or below ``paths``, as of :func:`run_folders`, with the names of what is in each."""
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder; give folders of runs, such as runs/")
        yield from _below(path)


def _below(root: Path) -> list[tuple[Path, Names]]:
    """The folders of runs at or below one folder, sorted."""
    folders: list[tuple[Path, Names]] = []
    # From the last to the first: a folder with a `config.json` alone is a damaged run only if no run is below it, and
    # those below it come later in the walk.
    for folder, names in reversed(list(walk(root, leaf=RESULT))):
        # A folder that cannot be listed is shown as damaged when it is read.
        is_run = names is None or RESULT in names
        if is_run or (CONFIG in (names or ()) and not (folders and folders[-1][0].is_relative_to(folder))):
            folders.append((folder, names))
    return folders[::-1]


def _unique(folders: Iterable[tuple[Path, Names]]) -> Iterator[tuple[Path, Names]]:
    """Each folder once, however many of the paths lead to it."""
    seen = set()
    for folder, names in folders:
        try:
            status = folder.stat()
        except OSError:
            yield folder, names
            continue
        # By inode, because one of the paths may be a link to another, or lie below it.
        key = status.st_dev, status.st_ino
        if key not in seen:
            seen.add(key)
            yield folder, names


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the search for cycles in memory: reading makes none, and every search goes through all that was read."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _load(folder: Path, names: Names, keys: Sequence[PublicKey]) -> tuple[Path, RolloutResult | DamagedRun, RunConfig]:
    """Read a run folder: its path, its result or why it has none, and its configuration.

    Args:
        folder: the folder of the run.
        names: names of what is in it: to try to open a file that is not there takes as long as to read one.
        keys: public keys of logs that the reader has from elsewhere.
    """
    try:
        result = read_run(folder)
        config = _config(folder) if names is None or CONFIG in names else RunConfig()
        verified = _verified(folder) if names is None or VERIFIED in names else None
        if (contradiction := _contradiction(result, config, verified)) is not None:
            return folder, DamagedRun(folder, contradiction), RunConfig()
        backing = backing_of(folder, result, keys) if names is None or RECEIPT in names else NO_RECEIPT
        if backing.state == "contradicted":
            return folder, DamagedRun(folder, f"{folder}: {backing.reason}"), RunConfig()
        # Nearly all runs of a large study have no receipt, and to replace a field takes as long as to read the file.
        return folder, result, config if backing.state == NO_RECEIPT.state else replace(config, backing=backing)
    except StoreError as error:
        return folder, DamagedRun(folder, str(error)), RunConfig()


def _config(folder: Path) -> RunConfig:
    """The configuration of the run in a folder, empty if it cannot be read: the result counts without it."""
    try:
        document = read_json(folder, CONFIG, CONFIG_LIMIT)
    except (OSError, ValueError):
        return RunConfig()
    inputs, environment = (_section(document, name) for name in ("inputs", "environment"))
    endpoint = _text(document, "base_url")
    setting = [inputs["agent_digest"], inputs.get("allowance")] if "agent_digest" in inputs else None
    return RunConfig(
        None if setting is None else _SORTED.encode(setting),
        _text(environment, "digest"),
        None if endpoint is None else without_credentials(endpoint),
        _text(document, "openfingym"),
        _text(document, "family"),
        _text(document, "split"),
        _text(document, "questions"),
        _text(document, "data_kind"),
        _cutoff(document),
    )


def _verified(folder: Path) -> object:
    """What the verifier wrote of the run in a folder; None if that cannot be read."""
    try:
        return read_json(folder, VERIFIED, CONFIG_LIMIT)
    except (OSError, ValueError):
        return None


def _contradiction(result: RolloutResult, config: RunConfig, verified: object) -> str | None:
    """How another file of a run contradicts its result about what it was on; None if none does.

    The split, the slice of questions and hindsight decide whether a score counts, so that somebody may have changed
    them in one of the files.
    """
    stated = [(CONFIG, config.data_kind, config.questions or result.slice, config.split, result.task_digest)]
    if isinstance(verified, dict):
        # What the verifier wrote names a slice whenever there is one: nothing means that all questions were asked.
        asked, digest = verified.get("questions"), _text(verified, "task_digest") or result.task_digest
        questions = asked if isinstance(asked, str) else None
        stated.append((VERIFIED, _text(verified, "data_kind"), questions, _text(verified, "split"), digest))
    for name, kind, questions, split, digest in stated:
        if kind is not None and ("hindsight" in kind) != ("hindsight" in result.data_kind):
            return f"{RESULT} says that its data was {result.data_kind}, and {name} {kind}: one was changed"
        if questions != result.slice:
            return f"{RESULT} says that it was asked questions {result.slice}, and {name} {questions}: one was changed"
        if split not in {None, result.split}:
            return f"{RESULT} says that the run was on the split {result.split}, and {name} {split}: one was changed"
        if digest != result.task_digest:
            return f"{RESULT} has another task digest than {name}: one was changed"
    return None


def _text(document: object, name: str) -> str | None:
    """A value of a JSON object as text; None if there is none."""
    value = document.get(name) if isinstance(document, dict) else None
    return None if value is None else str(value)


def _cutoff(document: object) -> str | None:
    """The cut-off of a configuration; None if it states none, or none that is valid."""
    stated = _text(document, "cutoff")
    try:
        return None if stated is None else require_cutoff(stated)
    except UsageError:
        return None


def _section(document: object, name: str) -> Mapping[str, object]:
    """An object within a JSON object; empty if there is none."""
    section = document.get(name) if isinstance(document, dict) else None
    return section if isinstance(section, dict) else {}


def _order(result: RolloutResult) -> tuple[str, str, str, float, float, str]:
    return result.task, result.agent, result.model or "", result.seed, result.attempt, result.rollout_id
