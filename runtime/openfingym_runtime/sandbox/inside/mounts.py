"""The mounts of a sandbox: a root folder of its own, made of read-only views of listed host paths."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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


def build(world: World) -> tuple[int, ...]:
    """Replace the mount namespace's root by ``world``; the host's tree is gone afterwards.

    Must run as process 1 of a new pid namespace, with all capabilities over a new mount namespace.

    Returns:
        Open folders for the launcher's accounting: ``/proc`` of this namespace, then each writable tmpfs.
    """
    # So that no mount made here propagates to the host, and none of the host's comes in later.
    syscalls.mount("none", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    text_mb = 1 + sum(len(text.encode()) for text in world.files.values()) // (1 << 20)
    syscalls.mount("root", STAGING, "tmpfs", PRIVATE, f"size={8 + text_mb}m,nr_inodes={INODES},mode=0755")
    Path(STAGING + OLD_ROOT).mkdir()
    # Not chroot, out of which a process with rights can climb: the old root is detached from this namespace below.
    syscalls.pivot_root(STAGING, STAGING + OLD_ROOT)
    os.chdir("/")
    for source, target in world.binds:
        _bind(OLD_ROOT + source, target, READ_ONLY)
    _hide(world.hidden)
    _devices()
    Path("/proc").mkdir()
    # subset=pid leaves out everything but processes, which would tell of the host; hidepid hides processes that the
    # program may not trace.
    flags = PRIVATE | syscalls.MS_NOEXEC
    syscalls.mount("proc", "/proc", "proc", flags, "hidepid=invisible,subset=pid")
    # The launcher counts memory through these descriptors, which need no path inside.
    accounting = (syscalls.detached_proc(), *_writable(world.storage_mb))
    for path, text in world.files.items():
        _parent(path)
        Path(path).write_text(text, encoding="utf-8")
        Path(path).chmod(0o555 if text.startswith("#!") else 0o444)
    for aim, path in world.links:
        _parent(path)
        Path(path).symlink_to(aim)
    # Lazily, since read-only views of its files are still in use; nothing has a path to it any more.
    syscalls.unmount(OLD_ROOT, syscalls.MNT_DETACH)
    Path(OLD_ROOT).rmdir()
    # Last, because files and mount points were made in it until here.
    syscalls.set_mount_attributes(syscalls.AT_FDCWD, "/", READ_ONLY, 0)
    return accounting


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


def _devices() -> None:
    Path("/dev").mkdir(0o755)
    for name in DEVICES:
        _bind(f"{OLD_ROOT}/dev/{name}", f"/dev/{name}", DEVICE)
    for name, aim in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        Path("/dev", name).symlink_to(aim)


def _writable(storage_mb: int) -> list[int]:
    """The only places the program may write, each a bounded file system in memory."""
    opened = []
    for path, size_mb in (("/work", storage_mb), ("/tmp", storage_mb), ("/dev/shm", SHARED_MEMORY_MB)):  # noqa: S108 - the sandbox's own
        Path(path).mkdir()
        syscalls.mount("tmpfs", path, "tmpfs", PRIVATE, f"size={size_mb}m,nr_inodes={INODES},mode=01777")
        opened.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    return opened
