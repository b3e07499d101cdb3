"""The mounts of a sandbox: a root folder of its own, made of read-only views of listed host paths.

A cold start makes all of them at once (`build`). A warm one makes those that are the same for every program once, for
the fork server (`build_base`), and those of one rollout in a copy of the fork server's namespace (`build_rollout`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from . import syscalls

OLD_ROOT: Final = "/.old"
STAGING: Final = "/tmp"  # noqa: S108 - only a mount point in a namespace of our own, never written to on the host
READ_ONLY: Final = syscalls.MOUNT_ATTR_RDONLY | syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NODEV
DEVICE: Final = syscalls.MOUNT_ATTR_RDONLY | syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NOEXEC
# Not /dev/zero: a shared mapping of it holds memory that shows in no process's resident size.
DEVICES: Final = ("null", "full", "random", "urandom")
PRIVATE: Final = syscalls.MS_NOSUID | syscalls.MS_NODEV
INODES: Final = 32768
SHARED_MEMORY_MB: Final = 64
BASE_HOST: Final = "/agent/host"
"""Where the fork server keeps the host's tree. A rollout unmounts it, and covers the folder with its own."""
_SMALL_MB: Final = 8
_WRITABLE: Final = ("/work", "/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own
# These are folders inside of the sandbox, which nobody else sees.
_FOLDERS: Final = ("/agent", "/dev/shm", "/proc", "/run/openfingym", "/task", "/tmp", "/work")  # noqa: S108


@dataclass(frozen=True)
class World:
    """What the program's file system holds, beside ``/proc`` and ``/dev``."""

    binds: tuple[tuple[str, str], ...]
    """Real host path (no symbolic link in it) and where it is shown, read-only."""
    hidden: tuple[str, ...]
    """Files and folders under a bind that are covered by an empty one."""
    links: tuple[tuple[str, str], ...]
    """Target and path of symbolic links."""
    files: dict[str, str]
    """Path and text of read-only files; a text with an interpreter line may be executed."""
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


def build(world: World) -> tuple[int, ...]:
    """Replace the mount namespace's root by ``world``; the host's tree is gone afterwards.

    Must run as process 1 of a new pid namespace, with all capabilities over a new mount namespace.

    Returns:
        Open folders for the launcher's accounting: ``/proc`` of this namespace, then each writable tmpfs.
    """
    # So that no mount made here propagates to the host, and none of the host's comes in later.
    _new_root(world, OLD_ROOT, syscalls.MS_PRIVATE)
    Path("/proc").mkdir()
    accounting = (_processes(), *_writable(world.storage_mb))
    # Lazily, since read-only views of its files are still in use; nothing has a path to it any more.
    syscalls.unmount(OLD_ROOT, syscalls.MNT_DETACH)
    Path(OLD_ROOT).rmdir()
    # Last, because files and mount points were made in it until here.
    syscalls.set_mount_attributes(syscalls.AT_FDCWD, "/", READ_ONLY, 0)
    return accounting


def build_base(world: World) -> None:
    """Replace the root by what is the same for all programs of a fork server; the host's tree stays at
    :data:`BASE_HOST`.

    Must run with all capabilities over a new mount namespace, before `build_rollout`.
    """
    # Unlike a sandbox, the fork server is to see what is mounted on the host later.
    _new_root(world, BASE_HOST, syscalls.MS_SLAVE)
    for path in _FOLDERS:
        Path(path).mkdir(0o755, parents=True, exist_ok=True)
    # Some modules try what works there while they are imported.
    for descriptor in _writable(1):
        os.close(descriptor)
    syscalls.set_mount_attributes(syscalls.AT_FDCWD, "/", READ_ONLY, 0)


def close_base() -> None:
    """Take away the fork server's own writable folders: each rollout gets its own."""
    for path in _WRITABLE:
        syscalls.unmount(path, syscalls.MNT_DETACH)


def build_rollout(shown: tuple[tuple[str, str, int, int], ...], program: str, storage_mb: int) -> tuple[int, ...]:
    """Complete a copy of the fork server's mounts by those of one rollout; the host's tree is gone afterwards.

    Must run as process 1 of a new pid namespace, in a new mount namespace.

    Args:
        shown: real host path and the path inside, below ``/task`` or ``/run/openfingym``; device and inode of the host
            path, as the launcher sees them.
        program: text of the program.
        storage_mb: megabytes that the rollout may write, as in `World`.

    Returns:
        What `build` does.

    Raises:
        FileNotFoundError: a host path is another file here, as where something was mounted there that the fork server
            does not see.
    """
    _scratch("/task")
    for source, target, device, inode in shown:
        found = Path(BASE_HOST + source).stat()
        if (found.st_dev, found.st_ino) != (device, inode):
            raise FileNotFoundError(f"{source}: another file than the launcher's")
        _bind(BASE_HOST + source, target, READ_ONLY)
    syscalls.set_mount_attributes(syscalls.AT_FDCWD, "/task", READ_ONLY, 0)
    accounting = (_processes(), *_writable(storage_mb))
    syscalls.unmount(BASE_HOST, syscalls.MNT_DETACH)
    _scratch("/agent", len(program.encode()))
    _write("/agent/program.py", program)
    syscalls.set_mount_attributes(syscalls.AT_FDCWD, "/agent", READ_ONLY, 0)
    return accounting


def _new_root(world: World, old_root: str, propagation: int) -> None:
    """A new root with the listed files; what was the root is at ``old_root``."""
    syscalls.mount("none", "/", "", syscalls.MS_REC | propagation)
    text_mb = 1 + sum(len(text.encode()) for text in world.files.values()) // (1 << 20)
    syscalls.mount("root", STAGING, "tmpfs", PRIVATE, f"size={_SMALL_MB + text_mb}m,nr_inodes={INODES},mode=0755")
    Path(STAGING + old_root).mkdir(parents=True)
    # Not chroot, out of which a process with rights can climb: the old root is detached from the program's namespace.
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


def _processes() -> int:
    """Mount ``/proc``; and the same once more, for the launcher, which counts memory through a descriptor of it."""
    # subset=pid leaves out everything but processes, which would tell of the host; hidepid hides processes that the
    # program may not trace.
    flags = PRIVATE | syscalls.MS_NOEXEC
    syscalls.mount("proc", "/proc", "proc", flags, "hidepid=invisible,subset=pid")
    return syscalls.detached_proc()


def _scratch(path: str, text_bytes: int = 0) -> None:
    size_mb = _SMALL_MB + 1 + text_bytes // (1 << 20)
    syscalls.mount("root", path, "tmpfs", PRIVATE, f"size={size_mb}m,nr_inodes={INODES},mode=0755")


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")
    Path(path).chmod(0o555 if text.startswith("#!") else 0o444)


def _parent(path: str) -> None:
    Path(path).parent.mkdir(mode=0o755, parents=True, exist_ok=True)


def _bind(source: str, target: str, attributes: int) -> None:
    """Show ``source`` at ``target``; the view gets its attributes before it is visible anywhere."""
    fd = syscalls.clone_tree(source)
    try:
        # Set on the detached copy: once it is attached, nobody ever sees it writable.
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
    """The only places the program may write, each a bounded file system in memory."""
    opened = []
    for path, size_mb in zip(_WRITABLE, (storage_mb, storage_mb, SHARED_MEMORY_MB), strict=True):
        Path(path).mkdir(exist_ok=True)
        syscalls.mount("tmpfs", path, "tmpfs", PRIVATE, f"size={size_mb}m,nr_inodes={INODES},mode=01777")
        opened.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    return opened
