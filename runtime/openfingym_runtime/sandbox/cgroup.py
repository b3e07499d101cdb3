"""A control group for one sandbox, where this process may make one: the kernel then counts all memory, its own
included.

Root may, and so may a user to whom systemd has delegated a part of the tree that this process is in::

    systemd-run --user --scope -p Delegate=yes openfingym run ...
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openfingym_runtime.owner import is_alive, owner_id

PREFIX: Final = "openfingym,"
MARGIN_BYTES: Final = 32 << 20
"""What the sandbox's own two processes hold, which is no program's."""
_EMPTY_S: Final = 2.0
"""How long the kernel may take to notice that a group's last process is gone."""
_number = itertools.count()


@dataclass(frozen=True)
class ControlGroup:
    """One control group, of either version."""

    folder: Path
    version: int

    def add(self, pid: int) -> bool:
        """Move a process there, where its children will be born; False if it may not be taken from where it is."""
        try:
            (self.folder / "cgroup.procs").write_text(str(pid), encoding="ascii")
        except OSError:
            return False
        return True

    def limit(self, memory_bytes: int) -> None:
        """Bound all memory of its processes, swap included."""
        if self.version == 2:
            self._set("memory.max", memory_bytes)
            self._set("memory.swap.max", 0)
            self._set("memory.oom.group", 1)
        else:
            self._set("memory.limit_in_bytes", memory_bytes)
            self._set("memory.memsw.limit_in_bytes", memory_bytes)

    def ran_out(self) -> bool:
        """Whether the kernel has ended a process of it because memory ran out."""
        text = (self.folder / ("memory.events" if self.version == 2 else "memory.oom_control")).read_text(
            encoding="ascii"
        )
        found = re.search(r"^oom_kill (\d+)", text, re.MULTILINE)
        return found is not None and found[1] != "0"

    def _set(self, name: str, value: int) -> None:
        with contextlib.suppress(FileNotFoundError):  # a kernel without swap accounting, or older than the name
            (self.folder / name).write_text(str(value), encoding="ascii")


@contextlib.contextmanager
def memory_group(memory_bytes: int) -> Iterator[ControlGroup | None]:
    """A new group with a limit, removed at the end, when its processes must be gone; None where none can be had."""
    group = _make(memory_bytes)
    try:
        yield group
    finally:
        if group is not None:
            _remove(group.folder)


def reap() -> int:
    """Remove the groups of dead launchers; returns how many."""
    found = _parent()
    removed = 0
    for folder in found[0].glob(f"{PREFIX}*") if found else ():
        owner = folder.name.removeprefix(PREFIX).rpartition(",")[0]
        if not is_alive(owner):
            with contextlib.suppress(OSError):
                folder.rmdir()
                removed += 1
    return removed


def available() -> bool:
    """Whether groups can be made here."""
    with memory_group(1 << 30) as group:
        return group is not None


def _make(memory_bytes: int) -> ControlGroup | None:
    found = _parent()
    if found is None:
        return None
    group = ControlGroup(found[0] / f"{PREFIX}{owner_id()},{next(_number)}", found[1])
    try:
        group.folder.mkdir()
    except OSError:
        return None
    try:
        group.limit(memory_bytes)
    except OSError:
        _remove(group.folder)
        return None
    return group


def _remove(folder: Path) -> None:
    until = time.monotonic() + _EMPTY_S
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > until:
                return  # the next launcher's `reap` gets it
            time.sleep(0.005)
        else:
            return


def _parent() -> tuple[Path, int] | None:
    """The folder to make groups in, and the version of control groups it is of."""
    place = dict(_memberships())
    roots = dict(_mounted())
    if 1 in place and 1 in roots:
        folder = roots[1] / place[1].lstrip("/")
        return (folder, 1) if os.access(folder, os.W_OK) else None
    if 2 not in place or 2 not in roots:
        return None
    # A group that holds processes, as this process's own does, can have no groups with limits inside: one above it can.
    folder = roots[2] / place[2].lstrip("/")
    while folder != roots[2]:
        folder = folder.parent
        try:
            controlled = "memory" in (folder / "cgroup.subtree_control").read_text(encoding="ascii").split()
        except OSError:
            return None
        if controlled:
            return (folder, 2) if os.access(folder / "cgroup.procs", os.W_OK) and os.access(folder, os.W_OK) else None
    return None


def _memberships() -> Iterator[tuple[int, str]]:
    """Version and path of the groups of this process that can bound memory."""
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            yield 2, path
        elif "memory" in controllers.split(","):
            yield 1, path


def _mounted() -> Iterator[tuple[int, Path]]:
    """Version and place of the trees of groups that are mounted whole."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        root, place = before.split()[3:5]
        kind, _source, options = after.split()[:3]
        if root == "/" and kind == "cgroup2":
            yield 2, Path(place)
        elif root == "/" and kind == "cgroup" and "memory" in options.split(","):
            yield 1, Path(place)
