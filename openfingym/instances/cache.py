"""Instances in use: built when they are first wanted, shared while somebody uses them, removed when there are many."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from openfingym import store
from openfingym.errors import StoreError
from openfingym.instances.building import build_instance, require_instance
from openfingym.instances.source import InstanceSource

if TYPE_CHECKING:
    from openfingym.kinds.instances import InstanceSplit
    from openfingym.packages.package import BuiltPackage

MOST: Final = 64
"""Instances that nobody uses, and that are kept for who may come."""
MOST_BYTES: Final = 512 << 20
"""What these may have on the disk together."""

Key = tuple[str, str, int]


@dataclass
class _Entry:
    """An instance on the disk, or being built."""

    folder: Path
    ready: threading.Event = field(default_factory=threading.Event)
    package: BuiltPackage | None = None
    error: BaseException | None = None
    """Why it could not be built."""
    users: int = 0
    size: int = 0
    """Bytes on the disk."""
    gone: bool = False
    """Whether it is to be removed once nobody uses it."""

    def whole(self) -> bool:
        """Whether its files are still there."""
        found = self.package
        if found is None:
            return self.error is None
        files = (found.public / name for name in ("package.json", *found.manifest.files))
        return all(path.is_file() for path in files)


class Instances:
    """Instances of any number of tasks, in a folder of the store that is this object's alone; a context manager.

    Its methods may be called in several threads. Nothing is made before it is needed, and nothing stays behind; what a
    killed process left goes when the next one begins.
    """

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        """Keep so many instances that nobody uses, and no more than so many bytes of them."""
        self._most, self._most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        self._root: Path | None = None
        self._made = 0
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._sources: dict[str, InstanceSource] = {}
        self._reading = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove every instance; a second call does nothing."""
        with self._lock:
            self._entries.clear()
            self._root = None
            self._stack.close()

    @property
    def built(self) -> int:
        """Instances that were built so far, and not found."""
        return self._made

    @contextlib.contextmanager
    def hold(self, package: BuiltPackage, split: InstanceSplit, index: int) -> Iterator[BuiltPackage]:
        """An instance, which stays where it is for the time of the block.

        Whoever asks for the same one meanwhile is given the same files.

        Args:
            package: the built package of the task.
            split: ``train`` or ``validation``.
            index: which of the split's instances.

        Raises:
            UsageError: there is no such instance, or the task has none.
            StoreError: the package is damaged, or the store cannot be written.
            TaskError: the kind made an instance that does not fit its task.
        """
        require_instance(split, index)
        key = (package.manifest.digest, split, index)
        entry, ours = self._claim(key)
        try:
            if ours:
                self._build(entry, package, split, index)
            entry.ready.wait()
            if entry.error is not None:
                raise entry.error
            assert entry.package is not None, "what is ready and has no error is built"
            yield entry.package
        finally:
            self._release(key, entry)

    def _claim(self, key: Key) -> tuple[_Entry, bool]:
        """Count a user of an entry; whether that has to build it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and not entry.whole():
                # Somebody has removed files of it: who has it in use will see, and nobody else gets it.
                entry.gone = True
                entry = None
            ours = entry is None
            if entry is None:
                if self._root is None:
                    self._root = self._stack.enter_context(store.staging(".instances"))
                self._made += 1
                entry = self._entries[key] = _Entry(self._root / f"{self._made}-{key[1]}-{key[2]}")
            self._entries.move_to_end(key)
            entry.users += 1
            return entry, ours

    def _build(self, entry: _Entry, package: BuiltPackage, split: InstanceSplit, index: int) -> None:
        try:
            with store.writing(entry.folder):
                entry.folder.mkdir(mode=store.TRUTH_FOLDER, parents=True)
            built = build_instance(self._source(package), split, index, entry.folder)
            entry.size = sum(path.stat().st_size for path in entry.folder.rglob("*"))
            entry.package = built
        except BaseException as error:
            entry.gone = True
            # Who waits for it in another thread is not interrupted by what interrupted this one.
            interrupted = StoreError(f"{entry.folder}: its build was interrupted; ask again")
            entry.error = error if isinstance(error, Exception) else interrupted
            if entry.error is interrupted:
                raise
        finally:
            entry.ready.set()

    def _source(self, package: BuiltPackage) -> InstanceSource:
        digest = package.manifest.digest
        with self._reading:
            if digest not in self._sources:
                self._sources[digest] = InstanceSource.of(package)
            return self._sources[digest]

    def _release(self, key: Key, entry: _Entry) -> None:
        with self._lock:
            entry.users -= 1
            if entry.gone and self._entries.get(key) is entry:
                del self._entries[key]
            leaving = [entry] if entry.gone and not entry.users else []
            idle = [(one, known) for one, known in self._entries.items() if not known.users]
            size = sum(known.size for _, known in idle)
            while idle and (len(idle) > self._most or size > self._most_bytes):
                oldest, known = idle.pop(0)
                size -= known.size
                leaving.append(self._entries.pop(oldest))
        for one in leaving:
            # What cannot be removed now goes with the folder that holds it.
            shutil.rmtree(one.folder, ignore_errors=True)
