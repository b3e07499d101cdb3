"""A control group for one sandbox, if this process may make one: the kernel then counts all of the sandbox's memory,
including what the kernel itself holds for it.

Root may, and so may a user to whom systemd has delegated the part of the tree that this process is in::

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
"""Memory that the sandbox's own two processes hold, and that is not the program's."""
_EMPTY_S: Final = 2.0
"""How long the kernel may take to notice that a group's last process is gone."""
_number = itertools.count()


@dataclass(frozen=True)
class ControlGroup:
    """One control group, of version 1 or 2."""

    folder: Path
    """Folder of the group in the file system of control groups."""
    version: int
    """1 or 2."""

    def add(self, pid: int) -> bool:
        """Move a process into the group, in which its children are then born; False if that is not permitted."""
        try:
            (self.folder / "cgroup.procs").write_text(str(pid), encoding="ascii")
        except OSError:
            return False
        return True

    def limit(self, memory_bytes: int) -> None:
        """Bound all memory of the group's processes, swap included."""
        if self.version == 2:
            self._set("memory.max", memory_bytes)
            self._set("memory.swap.max", 0)
            # The kernel then ends all processes of the group together, and not only the largest.
            self._set("memory.oom.group", 1)
        else:
            # In this order: the kernel refuses a bound on memory with swap that is below the one on memory.
            self._set("memory.limit_in_bytes", memory_bytes)
            self._set("memory.memsw.limit_in_bytes", memory_bytes)

    def ran_out(self) -> bool:
        """Whether the kernel has ended a process of the group because memory ran out."""
        text = (self.folder / ("memory.events" if self.version == 2 else "memory.oom_control")).read_text(
            encoding="ascii"
        )
        kills = re.search(r"^oom_kill (\d+)", text, re.MULTILINE)
        return kills is not None and kills[1] != "0"

    def _set(self, name: str, value: int) -> None:
        with contextlib.suppress(FileNotFoundError):  # a kernel that does not count swap, or is older than this file
            (self.folder / name).write_text(str(value), encoding="ascii")


@contextlib.contextmanager
def memory_group(memory_bytes: int) -> Iterator[ControlGroup | None]:
    """A new group with a limit, removed at the end, when its processes must be gone; None if none can be made."""
    group = _make(memory_bytes)
    try:
        yield group
    finally:
        if group is not None:
            _remove(group.folder)


def reap() -> int:
    """Remove the groups of dead launchers, and return how many there were."""
    parent = _parent()
    removed = 0
    for folder in parent[0].glob(f"{PREFIX}*") if parent else ():
        owner = folder.name.removeprefix(PREFIX).rpartition(",")[0]
        if not is_alive(owner):
            # A group whose last processes are still ending cannot be removed; the next launcher tries again.
            with contextlib.suppress(OSError):
                folder.rmdir()
                removed += 1
    return removed


def available() -> bool:
    """Whether groups can be made here."""
    with memory_group(1 << 30) as group:
        return group is not None


def _make(memory_bytes: int) -> ControlGroup | None:
    parent = _parent()
    if parent is None:
        return None
    folder, version = parent
    group = ControlGroup(folder / f"{PREFIX}{owner_id()},{next(_number)}", version)
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
                return  # left to the next launcher's `reap`
            time.sleep(0.005)
        else:
            return


def _parent() -> tuple[Path, int] | None:
    """The folder in which groups can be made, and its version of control groups; None if there is no such folder."""
    place = dict(_memberships())
    roots = dict(_mounted())
    # Memory is controlled by one version only; if version 1 has it, version 2 does not.
    if 1 in place and 1 in roots:
        folder = roots[1] / place[1].lstrip("/")
        return (folder, 1) if os.access(folder, os.W_OK) else None
    if 2 not in place or 2 not in roots:
        return None
    # In version 2 a group that holds processes, as this process's own does, cannot contain groups with limits; so the
    # nearest one above it that may is taken.
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
    """Version and path of those groups of this process that can bound memory."""
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            yield 2, path
        elif "memory" in controllers.split(","):
            yield 1, path


def _mounted() -> Iterator[tuple[int, Path]]:
    """Version and folder of each tree of groups that is mounted from its root on; paths below another one differ."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        root, place = before.split()[3:5]
        kind, _source, options = after.split()[:3]
        if root == "/" and kind == "cgroup2":
            yield 2, Path(place)
        elif root == "/" and kind == "cgroup" and "memory" in options.split(","):
            yield 1, Path(place)
