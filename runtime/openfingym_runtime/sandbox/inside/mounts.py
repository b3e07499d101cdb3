"""The mounts of a sandbox: a root folder of its own, made of read-only views of listed host paths.

A cold start makes all of them at once (`build`). For warm starts, those that are the same for every program are made
once, for the fork server (`build_base`), and those of a rollout in a copy of its namespace (`build_rollout`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from . import syscalls

OLD_ROOT: Final = "/.old"
"""Where the host's tree is while a new root is made."""
STAGING: Final = "/tmp"  # noqa: S108 - only a mount point in a namespace of our own, never written to on the host
"""Where the new root is mounted before it becomes the root."""
READ_ONLY: Final = syscalls.MOUNT_ATTR_RDONLY | syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NODEV
DEVICE: Final = syscalls.MOUNT_ATTR_RDONLY | syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NOEXEC
# Not /dev/zero: a shared mapping of it holds memory that shows in no process's resident size.
DEVICES: Final = ("null", "full", "random", "urandom")
PRIVATE: Final = syscalls.MS_NOSUID | syscalls.MS_NODEV
INODES: Final = 32768
"""Files and folders that one tmpfs may hold: empty ones take none of its size, but memory of the kernel."""
SHARED_MEMORY_MB: Final = 64
BASE_HOST: Final = "/agent/host"
"""Where the fork server has the host's tree. A rollout unmounts it, and covers the folder with its own."""
_SMALL_MB: Final = 8
"""Size of a tmpfs that holds little more than mount points."""
_WRITABLE: Final = ("/work", "/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own
# Mount points inside of the sandbox, which nobody else sees.
_FOLDERS: Final = ("/agent", "/dev/shm", "/proc", "/run/openfingym", "/task", "/tmp", "/work")  # noqa: S108


@dataclass(frozen=True)
class World:
    """What the program's file system holds, apart from ``/proc`` and ``/dev``."""

    binds: tuple[tuple[str, str], ...]
    """Paths on the host, without a symbolic link in them, each with the path at which it is shown read-only."""
    hidden: tuple[str, ...]
    """Paths of files and folders below a bind that are covered by an empty file or folder."""
    links: tuple[tuple[str, str], ...]
    """Targets of symbolic links, each with the link's path."""
    files: dict[str, str]
    """Texts of read-only files by path; a text that begins with ``#!`` may be executed."""
    storage_mb: int
    """Size of ``/work`` and of ``/tmp``, in MiB."""


def world_of(config: dict[str, Any]) -> World:
    """The part of the launcher's configuration that is about files."""
    return World(
        binds=tuple((source, target) for source, target in config["binds"]),
        hidden=tuple(config["hidden"]),
        links=tuple((aim, path) for aim, path in config["links"]),
        files=config["files"],
        storage_mb=config["storage_mb"],
    )


def build(world: World, *, processes: bool) -> tuple[int, tuple[int, ...]]:
    """Replace the mount namespace's root by ``world``; the host's tree is gone afterwards.

    This must run as process 1 of a new pid namespace, with all capabilities over a new mount namespace.

    Args:
        world: what is to be there.
        processes: whether the program sees ``/proc``.

    Returns:
        The program's root, in a copy of the mounts that no namespace lists (see `confine.enter_unlisted_root`); and
        descriptors for the launcher, which counts memory by them: ``/proc`` of this namespace, then each writable
        tmpfs.
    """
    # Private, so that no mount made here propagates to the host, and none of the host's comes in later.
    _new_root(world, OLD_ROOT, syscalls.MS_PRIVATE)
    Path("/proc").mkdir()
    shown, counted = _processes()
    accounting = (counted, *_writable(world.storage_mb))
    # Lazily, since views of its files are still in use; no path leads there any more.
    syscalls.unmount(OLD_ROOT, syscalls.MNT_DETACH)
    Path(OLD_ROOT).rmdir()
    # Last, because files and mount points are made in the root until here.
    syscalls.set_mount_attributes(syscalls.AT_FDCWD, "/", READ_ONLY, 0)
    return _root(shown, processes=processes), accounting


def build_base(world: World) -> None:
    """Replace the root by what is the same for all programs of a fork server; the host's tree stays at
    :data:`BASE_HOST`.

    This must run with all capabilities over a new mount namespace, before `build_rollout`.
    """
    # Unlike a sandbox, the fork server must see what is mounted on the host later: a rollout's files may be there.
    _new_root(world, BASE_HOST, syscalls.MS_SLAVE)
    for path in _FOLDERS:
        Path(path).mkdir(0o755, parents=True, exist_ok=True)
    # Some modules, while they are imported, try what works in these folders.
    for descriptor in _writable(1):
        os.close(descriptor)
    syscalls.set_mount_attributes(syscalls.AT_FDCWD, "/", READ_ONLY, 0)


def close_base() -> None:
    """Unmount the fork server's own writable folders, since each rollout gets its own."""
    for path in _WRITABLE:
        syscalls.unmount(path, syscalls.MNT_DETACH)


def build_rollout(
    shown: tuple[tuple[str, str, int, int], ...], program: str, storage_mb: int, *, processes: bool
) -> tuple[int, tuple[int, ...]]:
    """Complete a copy of the fork server's mounts by those of one rollout; the host's tree is gone afterwards.

    This must run as process 1 of a new pid namespace, in a new mount namespace.

    Args:
        shown: real path on the host, path inside (below ``/task`` or ``/run/openfingym``), and the device and inode
            that the launcher sees at the host's path.
        program: text of the program.
        storage_mb: size of ``/work`` and of ``/tmp``, in MiB.
        processes: whether the program sees ``/proc``.

    Returns:
        The program's root, and descriptors for the launcher, as `build` returns them.

    Raises:
        FileNotFoundError: another file is at a host path here than the launcher sees, for example because something
            was mounted there that the fork server does not see.
    """
    _scratch("/task")
    for source, target, device, inode in shown:
        status = Path(BASE_HOST + source).stat()
        if (status.st_dev, status.st_ino) != (device, inode):
            raise FileNotFoundError(f"{source}: another file than the launcher's")
        _bind(BASE_HOST + source, target, READ_ONLY)
    syscalls.set_mount_attributes(syscalls.AT_FDCWD, "/task", READ_ONLY, 0)
    own, counted = _processes()
    accounting = (counted, *_writable(storage_mb))
    syscalls.unmount(BASE_HOST, syscalls.MNT_DETACH)
    # Covers the folder in which the host's tree was, and what the fork server itself was started from.
    _scratch("/agent", len(program.encode()))
    _write("/agent/program.py", program)
    syscalls.set_mount_attributes(syscalls.AT_FDCWD, "/agent", READ_ONLY, 0)
    return _root(own, processes=processes), accounting


def _new_root(world: World, old_root: str, propagation: int) -> None:
    """Make a new root with the listed files; what was the root before is at ``old_root``."""
    syscalls.mount("none", "/", "", syscalls.MS_REC | propagation)
    text_mb = 1 + sum(len(text.encode()) for text in world.files.values()) // (1 << 20)
    syscalls.mount("root", STAGING, "tmpfs", PRIVATE, f"size={_SMALL_MB + text_mb}m,nr_inodes={INODES},mode=0755")
    Path(STAGING + old_root).mkdir(parents=True)
    # Not chroot, out of which a process with rights can climb: so the old root can be detached from this namespace.
    syscalls.pivot_root(STAGING, STAGING + old_root)
    os.chdir("/")
    for source, target in world.binds:
        _bind(old_root + source, target, READ_ONLY)
    _hide(world.hidden)
    _devices(old_root)
    for path, text in world.files.items():
        _parent(path)
        _write(path, text)
    for aim, path in world.links:
        _parent(path)
        Path(path).symlink_to(aim)


def _processes() -> tuple[int, int]:
    """Two proc file systems that are mounted nowhere: for ``/proc``, and for the launcher to count memory by."""
    # Made while the host's own is still to be seen, without which the kernel makes none. hidepid hides processes that
    # the program may not trace, and so the sandbox's own.
    return syscalls.detached_proc(hidepid="invisible"), syscalls.detached_proc()


def _root(proc: int, *, processes: bool) -> int:
    """The folder that becomes the program's root, and ``/proc`` of this process, mounted from ``proc``.

    The program's has no ``/proc`` as a rule. What its files tell of others Landlock keeps from being read; but the
    number of links of that folder is the number of all processes of the machine, and nothing keeps a folder that can be
    walked through from being looked at.
    """
    root = -1 if processes else syscalls.clone_tree("/")
    syscalls.attach(proc, "/proc")
    os.close(proc)
    return syscalls.clone_tree("/") if processes else root


def _scratch(path: str, text_bytes: int = 0) -> None:
    """Mount a small tmpfs at ``path``, with room for a text of ``text_bytes``."""
    size_mb = _SMALL_MB + 1 + text_bytes // (1 << 20)
    syscalls.mount("root", path, "tmpfs", PRIVATE, f"size={size_mb}m,nr_inodes={INODES},mode=0755")


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")
    Path(path).chmod(0o555 if text.startswith("#!") else 0o444)


def _parent(path: str) -> None:
    Path(path).parent.mkdir(mode=0o755, parents=True, exist_ok=True)


def _bind(source: str, target: str, attributes: int) -> None:
    """Show ``source`` at ``target`` with the mount attributes ``attributes``."""
    fd = syscalls.clone_tree(source)
    try:
        # Set on the detached copy, so that it is never visible anywhere without them.
        syscalls.set_mount_attributes(fd, "", attributes, syscalls.AT_EMPTY_PATH | syscalls.AT_RECURSIVE)
        if not os.path.lexists(target):
            _parent(target)
            if Path(source).is_dir():
                Path(target).mkdir(0o755)
            else:
                os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o444))
        syscalls.attach(fd, target)
    finally:
        os.close(fd)


def _hide(paths: tuple[str, ...]) -> None:
    """Cover files and folders by an empty file or folder."""
    Path("/.empty-folder").mkdir(0o755)
    os.close(os.open("/.empty-file", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o444))
    for path in paths:
        if os.path.lexists(path):
            _bind("/.empty-folder" if Path(path).is_dir() else "/.empty-file", path, READ_ONLY)


def _devices(old_root: str) -> None:
    Path("/dev").mkdir(0o755)
    for name in DEVICES:
        _bind(f"{old_root}/dev/{name}", f"/dev/{name}", DEVICE)
    for name, aim in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        Path("/dev", name).symlink_to(aim)


def _writable(storage_mb: int) -> list[int]:
    """Mount the only folders that the program may write to, each a bounded tmpfs, and return descriptors of them."""
    opened = []
    for path, size_mb in zip(_WRITABLE, (storage_mb, storage_mb, SHARED_MEMORY_MB), strict=True):
        Path(path).mkdir(exist_ok=True)
        syscalls.mount("tmpfs", path, "tmpfs", PRIVATE, f"size={size_mb}m,nr_inodes={INODES},mode=01777")
        opened.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    return opened
