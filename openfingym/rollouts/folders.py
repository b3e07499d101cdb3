"""The folder of a run: one folder a rollout, and nothing half-written under a name that counts.

::

    runs/demo/
        treasury-forecast/
            ridge-s0-a0-5f0c…/     a finished rollout, as openfingym.results describes it
        .lock                      who is writing here; held for as long as he lives
        .staging/                  rollouts that are running now
        .open/                     a note of each rollout that can be gone on with, question by question
        .failed/                   failures of ours that were tried again: the evidence, in no figure

The folders are the truth: there is no index that could disagree with them. A name ends with the
rollout's identity, so one listing tells what is finished.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from openfingym.errors import StoreError, UsageError
from openfingym.files.locks import take
from openfingym.files.strange import MEGABYTE, read_bytes
from openfingym.files.whole import store_errors, write_json
from openfingym.results import CONFIG, RESULT, RolloutResult, read_run
from openfingym.rollouts.spec import NAME_DIGITS, RolloutSpec

LOCK, STAGING, FAILED, OPEN = ".lock", ".staging", ".failed", ".open"
OWNER = "process "
"""What a lock says begins with this."""
IDENTITY = re.compile(rf"-([0-9a-f]{{{NAME_DIGITS}}})$")
READERS = 8
"""Threads that read results: on a network file system each one waits."""


class RunFolder:
    """The folder of one run, which this process alone writes; see :meth:`open`."""

    def __init__(self, root: Path, *, looking: bool = False) -> None:
        self.root = root
        self._looking = looking
        self.finished: dict[str, Path] = {}
        """Folders of finished rollouts by the beginning of their identity."""

    @classmethod
    @contextlib.contextmanager
    def open(cls, root: Path) -> Iterator[Self]:
        """Take the folder for this process, and look at what is finished.

        What a dead process was writing is removed; its lock went with it.

        Raises:
            UsageError: another process is writing there, or the folder is a part of another run.
            StoreError: it cannot be written, or its file system has no locks.
        """
        root = root.absolute()
        _require_own(root)
        with store_errors(root):
            root.mkdir(parents=True, exist_ok=True)
        if (root / OPEN).is_symlink():
            raise UsageError(f"{root / OPEN}: is a link; a run keeps its notes in its own folder, remove it")
        with _locked(root):
            folder = cls(root)
            with store_errors(root):
                folder.finished = _finished(root)
                shutil.rmtree(root / STAGING, ignore_errors=True)
                (root / STAGING).mkdir(exist_ok=True)
            try:
                yield folder
            finally:
                shutil.rmtree(root / STAGING, ignore_errors=True)

    @classmethod
    def look(cls, root: Path) -> Self:
        """Read the folder as it is now, without writing or moving anything in it; another process may be writing there.

        Raises:
            UsageError: the folder is a part of another run.
            StoreError: the folder cannot be read.
        """
        root = root.absolute()
        _require_own(root)
        folder = cls(root, looking=True)
        with store_errors(root):
            folder.finished = _finished(root) if root.is_dir() else {}
        return folder

    def find(self, spec: RolloutSpec) -> Path | None:
        """The folder of a rollout that is finished; None of one that is not."""
        return self.finished.get(spec.identity[:NAME_DIGITS])

    def read(self, specs: Iterable[RolloutSpec]) -> dict[str, RolloutResult]:
        """Results of those that are finished, by identity; a damaged one is set aside, to be run again."""
        known = [(spec, path) for spec in specs if (path := self.find(spec)) is not None]
        shares = [known[n::READERS] for n in range(READERS)]
        # Thousands of small files, maybe on a network: reading them is waiting.
        with ThreadPoolExecutor(READERS) as pool:
            found = {spec.identity: result for share in pool.map(_read_all, shares) for spec, result in share}
        for spec, _ in known:
            if found[spec.identity] is None:
                self.set_aside(spec)
        return {identity: result for identity, result in found.items() if result is not None}

    def is_open(self, spec: RolloutSpec) -> bool:
        """Whether a rollout was begun that can be gone on with."""
        return note_of(self.notes, spec).exists()

    @property
    def has_open(self) -> bool:
        """Whether any was."""
        return self.notes.is_dir() and any(self.notes.iterdir())

    @property
    def notes(self) -> Path:
        """The folder with notes of rollouts that are open, or were when their launcher died."""
        return self.root / OPEN

    def staging(self, spec: RolloutSpec) -> Path:
        """The folder in which a rollout is written while it runs."""
        return self.root / STAGING / spec.identity

    @contextlib.contextmanager
    def staged(self, spec: RolloutSpec) -> Iterator[Path]:
        """The folder to write a rollout into, made; it is gone afterwards, unless it was kept."""
        folder = self.staging(spec)
        try:
            with store_errors(folder):
                folder.mkdir(exist_ok=True)  # a lost node's rollout begins again
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, spec: RolloutSpec, result: RolloutResult, written: Path) -> RolloutResult:
        """Make a written rollout the finished one, in one step, where there is none yet.

        Args:
            spec: the rollout as it was planned.
            result: the result of the rollout.
            written: its complete folder, on the same file system.

        Returns:
            The result as it is kept, with its folder.

        Raises:
            StoreError: the result cannot be written.
        """
        final = self.root / spec.folder
        result = replace(result, attempt=spec.attempt, path=final)
        with store_errors(final):
            _amend(written / CONFIG, {"identity": spec.identity, "inputs": spec.inputs})
            # Last, and to the disk: after a power cut a folder has a whole result, or is not counted.
            _amend(written / RESULT, result.to_dict(), sync=True)
            final.parent.mkdir(exist_ok=True)
            # A rename within a file system is atomic: the name appears with the whole rollout behind it.
            written.rename(final)
            if result.state != "error":
                note_of(self.notes, spec).unlink(missing_ok=True)
        self.finished[spec.identity[:NAME_DIGITS]] = final
        return result

    def set_aside(self, spec: RolloutSpec) -> Path | None:
        """Move a finished rollout out of the way, where no figure counts it; returns where it is now."""
        found = self.find(spec)
        return None if found is None else self._retire(spec, found)

    def keep_evidence(self, spec: RolloutSpec, result: RolloutResult, written: Path) -> None:
        """Keep a try that failed for a reason of ours and is made again.

        Raises:
            StoreError: the evidence cannot be written.
        """
        with store_errors(written):
            _amend(written / RESULT, replace(result, attempt=spec.attempt, path=None).to_dict())
        self._retire(spec, written)

    def _retire(self, spec: RolloutSpec, folder: Path) -> Path:
        self.finished.pop(spec.identity[:NAME_DIGITS], None)
        if self._looking:
            return folder
        parent = self.root / FAILED
        with store_errors(parent):
            parent.mkdir(exist_ok=True)
            name = f"{spec.task}-{Path(spec.folder).name}"
            for number in range(1, 1_000_000):
                target = parent / f"{name}.{number}"
                if not target.exists():
                    folder.rename(target)
                    break
        return target


def note_of(notes: Path, spec: RolloutSpec) -> Path:
    """The file with the note of a rollout; see :mod:`openfingym.rollouts.resuming`."""
    return notes / f"{spec.identity}.json"


def _require_own(root: Path) -> None:
    """Refuse a folder inside a run, or around one: a report over the outer one would count both."""
    if (root / RESULT).exists():
        raise UsageError(f"{root}: is the folder of one rollout; give a folder of its own with --out")
    for parent in root.parents:
        if is_run(parent):
            raise UsageError(f"{root}: is inside another run, {parent}; give a folder of its own with --out")
    inner = next((path.parent for path in root.glob(f"*/{LOCK}") if is_run(path.parent)), None)
    if inner is not None:
        raise UsageError(
            f"{root}: holds another run, {inner}; give a folder of its own with --out, such as {root / 'NAME'}"
        )


def is_run(folder: Path) -> bool:
    """Whether a folder is that of a run, by what its lock says."""
    try:
        return read_bytes(folder, LOCK, MEGABYTE).startswith(OWNER.encode())
    except OSError:
        return False


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Hold the folder's lock; the kernel drops it when the process dies, however that comes about."""
    with store_errors(root):
        try:
            lock = take(root / LOCK, wait=False, mode=0o644)
        except BlockingIOError:
            owner = read_bytes(root, LOCK, MEGABYTE)[:200].decode(errors="replace").strip() or "another process"
            raise UsageError(
                f"{root}: {owner} is writing there; wait until it ends, or give another folder with --out"
            ) from None
    with lock:
        with store_errors(root):
            # The text only tells people who holds the lock; the lock itself is the kernel's.
            os.ftruncate(lock.descriptor, 0)
            owner = f"{OWNER}{os.getpid()} on {socket.gethostname()}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC,"
            os.pwrite(lock.descriptor, owner.encode(), 0)
        yield


def _finished(root: Path) -> dict[str, Path]:
    found = {}
    with os.scandir(root) as tasks:
        for task in tasks:
            if task.is_symlink():
                raise UsageError(
                    f"{task.path}: is a link; a run keeps its rollouts in its own folder, give another one with --out"
                )
            if not task.name.startswith(".") and task.is_dir():
                with os.scandir(task.path) as rollouts:
                    # A run folder may come from a stranger, and a link in it could lead to any folder of the reader's.
                    own = (item for item in rollouts if not item.is_symlink())
                    found.update({match[1]: Path(item.path) for item in own if (match := IDENTITY.search(item.name))})
    return found


def _read_all(known: Sequence[tuple[RolloutSpec, Path]]) -> list[tuple[RolloutSpec, RolloutResult | None]]:
    return [(spec, _read(spec, folder)) for spec, folder in known]


def _read(spec: RolloutSpec, folder: Path) -> RolloutResult | None:
    """The result in a folder; None where it is damaged or of another rollout."""
    try:
        result = read_run(folder)
    except StoreError:
        return None
    return result if (result.task, result.agent, result.seed) == (spec.task, spec.agent.name, spec.seed) else None


def _amend(path: Path, changes: Mapping[str, object], *, sync: bool = False) -> None:
    """Write changes of a JSON object, whole or not at all."""
    value = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    write_json(path, value, sync=sync)
