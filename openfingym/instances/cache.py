"""A cache of instances: built when they are first asked for, shared while in use, removed when there are too many."""

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
"""Most instances that are kept although nobody uses them."""
MOST_BYTES: Final = 512 << 20
"""Most bytes that these may take on the disk together."""

Key = tuple[str, str, int]
"""Digest of the task's package, split and number of an instance."""


@dataclass
class _Entry:
    """An instance on the disk, or being built."""

    folder: Path
    ready: threading.Event = field(default_factory=threading.Event)
    """Set when the build is over, with a package or an error."""
    package: BuiltPackage | None = None
    error: BaseException | None = None
    """Why the instance could not be built."""
    users: int = 0
    """Callers that hold the instance or wait for it."""
    size: int = 0
    """Bytes on the disk."""
    gone: bool = False
    """Whether it is to be removed as soon as nobody uses it."""

    def whole(self) -> bool:
        """Whether its files are still there, or are still being built."""
        package = self.package
        if package is None:
            return self.error is None
        files = (package.public / name for name in ("package.json", *package.manifest.files))
        return all(path.is_file() for path in files)


class Instances:
    """Instances of any number of tasks, in a folder of the store that belongs to this object; a context manager.

    Its methods may be called in several threads. Nothing is built before it is needed, and nothing stays behind; what a
    killed process left is removed when the next one begins.
    """

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        """Create an empty cache.

        Args:
            most: most instances that are kept although nobody uses them.
            most_bytes: most bytes that these may take on the disk together.
        """
        self._most, self._most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        self._root: Path | None = None
        self._made = 0
        # In the order of use, the one used longest ago first.
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._sources: dict[str, InstanceSource] = {}
        # A lock of its own: reading a package takes long, and must not keep others from instances that are there.
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
        """Number of instances that were built so far; those that were still in the cache are not counted."""
        return self._made

    @contextlib.contextmanager
    def hold(self, package: BuiltPackage, split: InstanceSplit, index: int) -> Iterator[BuiltPackage]:
        """An instance, which is not removed before the block ends.

        Callers that ask for the same instance in the meantime get the same files.

        Args:
            package: the built package of the task.
            split: which part of the training data the instance is cut from: ``train`` or ``validation``.
            index: number of the instance in its split, from 0.

        Raises:
            UsageError: there is no such instance, or tasks of this kind have none.
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
            assert entry.package is not None, "an entry that is ready has a package or an error"
            yield entry.package
        finally:
            self._release(key, entry)

    def _claim(self, key: Key) -> tuple[_Entry, bool]:
        """Count one more user of an entry; returns the entry, and whether this user has to build it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and not entry.whole():
                # Its build failed, or files were removed from outside. Who holds it will see that; nobody else gets it.
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
        # Without the lock: others wait for this entry alone.
        try:
            with store.writing(entry.folder):
                entry.folder.mkdir(mode=store.TRUTH_FOLDER, parents=True)
            built = build_instance(self._source(package), split, index, entry.folder)
            entry.size = sum(path.stat().st_size for path in entry.folder.rglob("*"))
            entry.package = built
        except BaseException as error:
            entry.gone = True
            # A Ctrl-C in this thread must not be raised in the threads that wait for the entry.
            interrupted = StoreError(f"{entry.folder}: its build was interrupted; ask again")
            entry.error = error if isinstance(error, Exception) else interrupted
            if entry.error is interrupted:
                raise
        finally:
            # Whatever happened, or those who wait would wait for ever.
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
            # Another entry may have taken the place of one that is gone.
            if entry.gone and self._entries.get(key) is entry:
                del self._entries[key]
            leaving = [entry] if entry.gone and not entry.users else []
            idle = [(idle_key, unused) for idle_key, unused in self._entries.items() if not unused.users]
            size = sum(unused.size for _, unused in idle)
            while idle and (len(idle) > self._most or size > self._most_bytes):
                oldest, unused = idle.pop(0)
                size -= unused.size
                leaving.append(self._entries.pop(oldest))
        # Outside of the lock, as the disk may be slow: nobody can get at these any more.
        for removed in leaving:
            # What cannot be removed now is removed with the folder that holds all of them.
            shutil.rmtree(removed.folder, ignore_errors=True)
