"""The folder of a run: one folder for each rollout, which gets its name when it is complete.

::

    runs/demo/
        treasury-forecast/
            ridge-s0-a0-5f0c…/     a finished rollout, as openfingym.results describes it
        .backend                   the backend that programs of the run's first rollout had, which the others get too
        .lock                      held by the one process that writes here, for as long as it lives
        .staging/                  rollouts that are running
        .open/                     a note of each rollout that can be gone on with, question by question
        .failed/                   failures of ours that were tried again: evidence, which no figure counts

The folders are the only record: there is no index that could disagree with them. A name ends with the beginning of the
rollout's identity, so that one listing tells what is finished.
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
from typing import Self, get_args

from openfingym.errors import StoreError, UsageError
from openfingym.files.locks import take
from openfingym.files.strange import MEGABYTE, read_bytes
from openfingym.files.whole import store_errors, write_json, write_text
from openfingym.machine import BackendName
from openfingym.results import RolloutResult, read_run
from openfingym.results.run_folder import CONFIG, RESULT
from openfingym.rollouts.spec import NAME_DIGITS, RolloutSpec
from openfingym.verifiers.backing import require_sound

LOCK, STAGING, FAILED, OPEN, BACKEND = ".lock", ".staging", ".failed", ".open", ".backend"
OWNER = "process "
"""Beginning of the text in a lock, by which the folder of a run is recognised."""
IDENTITY = re.compile(rf"-([0-9a-f]{{{NAME_DIGITS}}})$")
"""End of the name of a rollout's folder."""
READERS = 8
"""Threads that read results at once: on a network file system each of them mostly waits."""


class RunFolder:
    """The folder of one run, which this process alone writes; see :meth:`open`."""

    def __init__(self, root: Path, *, looking: bool = False) -> None:
        self.root = root
        self._looking = looking
        """Whether the folder is only read, so that nothing in it may be moved."""
        self.finished: dict[str, Path] = {}
        """Folders of finished rollouts by the beginning of their identity."""

    @classmethod
    @contextlib.contextmanager
    def open(cls, root: Path) -> Iterator[Self]:
        """Take the folder for this process, and list what is finished.

        What a process that was killed had been writing is removed; its lock ended with it.

        Args:
            root: the folder of the run; made if missing.

        Raises:
            UsageError: another process is writing there, or the folder is a part of another run.
            StoreError: the folder cannot be written, or its file system has no locks.
        """
        root = root.absolute()
        _require_own(root)
        with store_errors(root):
            root.mkdir(parents=True, exist_ok=True)
        # Notes are written and removed below it: a link in a stranger's folder would lead that elsewhere.
        if (root / OPEN).is_symlink():
            raise UsageError(f"{root / OPEN}: is a link; a run keeps its notes in its own folder, remove it")
        with _locked(root):
            folder = cls(root)
            with store_errors(root):
                folder.finished = _finished(root)
                # Only under the lock is it certain that nobody is writing there.
                shutil.rmtree(root / STAGING, ignore_errors=True)
                (root / STAGING).mkdir(exist_ok=True)
            try:
                yield folder
            finally:
                shutil.rmtree(root / STAGING, ignore_errors=True)

    @classmethod
    def look(cls, root: Path) -> Self:
        """Read the folder as it is, without writing or moving anything in it; another process may be writing there.

        Args:
            root: the folder of the run, which need not exist.

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
        """Results of the finished ones among some rollouts, by identity.

        A damaged result is set aside, so that its rollout is run again.

        Args:
            specs: the rollouts whose results are wanted.
        """
        known = [(spec, path) for spec in specs if (path := self.find(spec)) is not None]
        shares = [known[n::READERS] for n in range(READERS)]
        # Thousands of small files, maybe on a network: reading them is mostly waiting.
        with ThreadPoolExecutor(READERS) as pool:
            results = {spec.identity: result for share in pool.map(_read_all, shares) for spec, result in share}
        for spec, _ in known:
            if results[spec.identity] is None:
                self.set_aside(spec)
        return {identity: result for identity, result in results.items() if result is not None}

    def is_open(self, spec: RolloutSpec) -> bool:
        """Whether a rollout was begun before and can be gone on with."""
        return note_of(self.notes, spec).exists()

    @property
    def has_open(self) -> bool:
        """Whether the run has any rollout that can be gone on with."""
        return self.notes.is_dir() and any(self.notes.iterdir())

    @property
    def notes(self) -> Path:
        """The folder with notes of rollouts that are open, or were open when their launcher died."""
        return self.root / OPEN

    @property
    def backend(self) -> str | None:
        """The backend with which the run began, as its folder says; None where it says nothing.

        Raises:
            UsageError: what it says is no backend.
        """
        try:
            text = read_bytes(self.root, BACKEND, MEGABYTE).decode(errors="replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self.root / BACKEND}: cannot be read ({error})") from error
        if text not in get_args(BackendName) or text == "auto":
            raise UsageError(
                f"{self.root / BACKEND}: expected the name of a backend, found {text[:80]!r}; remove the file, and say "
                "--backend"
            )
        return text

    def begin_with(self, backend: str) -> None:
        """Record the backend with which the run begins; what is recorded stays.

        Raises:
            StoreError: the folder cannot be written.
        """
        if not (self.root / BACKEND).exists():
            with store_errors(self.root):
                write_text(self.root / BACKEND, f"{backend}\n")

    def staging(self, spec: RolloutSpec) -> Path:
        """The folder in which a rollout is written while it runs."""
        return self.root / STAGING / spec.identity

    @contextlib.contextmanager
    def staged(self, spec: RolloutSpec) -> Iterator[Path]:
        """Make the folder to write a rollout into, for the time of the block; afterwards it is removed with all that
        was not kept.
        """
        folder = self.staging(spec)
        try:
            with store_errors(folder):
                folder.mkdir(exist_ok=True)  # it is there already where a rollout begins anew after its node was lost
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, spec: RolloutSpec, result: RolloutResult, written: Path) -> RolloutResult:
        """Make a written rollout the finished one, in one step.

        Args:
            spec: the rollout as it was planned, of which there is no finished one yet.
            result: the result of the rollout.
            written: the rollout's complete folder, on the same file system.

        Returns:
            The result as it is kept, with the path of its folder.

        Raises:
            StoreError: the result cannot be written.
        """
        final = self.root / spec.folder
        result = replace(result, attempt=spec.attempt, path=final)
        with store_errors(final):
            _amend(written / CONFIG, {"identity": spec.identity, "inputs": spec.inputs})
            # Last, and flushed to the disk: after a power cut the folder has a whole result, or is not counted.
            _amend(written / RESULT, result.to_dict(), sync=True)
            final.parent.mkdir(exist_ok=True)
            # A rename within a file system is atomic: the name appears with the whole rollout behind it.
            written.rename(final)
            # The note goes after the result has come: in between, whoever looks finds the finished rollout. After a
            # failure of ours it stays, so that another try goes on at the next question.
            if result.state != "error":
                note_of(self.notes, spec).unlink(missing_ok=True)
        self.finished[spec.identity[:NAME_DIGITS]] = final
        return result

    def set_aside(self, spec: RolloutSpec) -> Path | None:
        """Move a finished rollout to where no figure counts it; returns its new place, or None where there is none."""
        folder = self.find(spec)
        return None if folder is None else self._retire(spec, folder)

    def keep_evidence(self, spec: RolloutSpec, result: RolloutResult, written: Path) -> None:
        """Keep the folder of a try that failed for a reason of ours and is made again, where no figure counts it.

        Args:
            spec: the rollout as it was planned.
            result: the result of the failed try.
            written: the complete folder of the failed try, on the same file system.

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
            # Several tries of one rollout may fail; each keeps a folder of its own.
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
    """Refuse a folder inside another run or around one: a report on the outer one would count both."""
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
    """Whether a folder is that of a run, by the text in its lock."""
    try:
        return read_bytes(folder, LOCK, MEGABYTE).startswith(OWNER.encode())
    except OSError:
        return False


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Hold the folder's lock; the kernel releases it when the process dies, however that comes about."""
    with store_errors(root):
        try:
            lock = take(root / LOCK, wait=False, mode=0o644)
        except BlockingIOError:
            # The text may be a stranger's: it is bounded, and bytes that are no text are replaced.
            owner = read_bytes(root, LOCK, MEGABYTE)[:200].decode(errors="replace").strip() or "another process"
            raise UsageError(
                f"{root}: {owner} is writing there; wait until it ends, or give another folder with --out"
            ) from None
    with lock:
        with store_errors(root):
            # The text only tells people who holds the lock; what keeps others out is the kernel's lock on the file.
            os.ftruncate(lock.descriptor, 0)
            owner = f"{OWNER}{os.getpid()} on {socket.gethostname()}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC,"
            os.pwrite(lock.descriptor, owner.encode(), 0)
        yield


def _finished(root: Path) -> dict[str, Path]:
    """Folders of finished rollouts by the beginning of their identity, from one listing of each task's folder."""
    folders = {}
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
                    folders.update({match[1]: Path(item.path) for item in own if (match := IDENTITY.search(item.name))})
    return folders


def _read_all(known: Sequence[tuple[RolloutSpec, Path]]) -> list[tuple[RolloutSpec, RolloutResult | None]]:
    return [(spec, _read(spec, folder)) for spec, folder in known]


def _read(spec: RolloutSpec, folder: Path) -> RolloutResult | None:
    """The result in a folder; None where it is damaged or of another rollout."""
    try:
        result = read_run(folder)
        # A score that was edited is none to go on from.
        if result.state == "scored":
            require_sound(folder, result)
    except StoreError:
        return None
    # A folder's name can be copied or changed; what it is of is in its result.
    return result if (result.task, result.agent, result.seed) == (spec.task, spec.agent.name, spec.seed) else None


def _amend(path: Path, changes: Mapping[str, object], *, sync: bool = False) -> None:
    """Change some values of a JSON object in a file, which is written whole or not at all."""
    value = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    write_json(path, value, sync=sync)
