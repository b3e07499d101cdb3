"""Files of a workspace: read, written and listed as the host asks.

No program of the agent's runs meanwhile, which could change what was checked; nothing is written through a link that
leads out of the agent's folder.
"""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import stat
from pathlib import Path
from typing import Any

WORK = Path("/work")
"""The folder of the agent's files."""
MAX_ENTRIES = 1000
"""Most entries in the listing of a folder."""

Answer = dict[str, Any]
"""The answer to a request, as JSON."""


class RequestRefused(Exception):  # noqa: N818 (an answer, not a failure)
    """A request that cannot be met, for a reason that is the agent's."""

    def __init__(self, problem: str, detail: str) -> None:
        super().__init__(detail)
        self.problem = problem


def read_file(_link: socket.socket, request: dict[str, Any]) -> Answer:
    """The content of a file.

    Raises:
        RequestRefused: there is no such file, it is no regular one, or it is larger than the host takes.
        OSError: it cannot be read.
    """
    path, most = request["path"], int(request["max_bytes"])
    try:
        # Without blocking, because to open a fifo would wait for a writer that never comes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise RequestRefused("missing", f"there is no file {path}") from None
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise RequestRefused("folder", f"{path} is a folder")
        if not stat.S_ISREG(kind):
            raise RequestRefused("no-file", f"{path} is no regular file")
        # What is read is counted, since a file in /proc states no size.
        content = bytearray()
        while len(content) <= most and (part := os.read(descriptor, most + 1 - len(content))):
            content += part
    finally:
        os.close(descriptor)
    if len(content) > most:
        raise RequestRefused("too-large", f"{path} is larger than {most} bytes")
    return {"content": base64.b64encode(content).decode()}


def write_file(_link: socket.socket, request: dict[str, Any]) -> Answer:
    """Write a file below the agent's folder, and the folders that lead to it.

    Raises:
        RequestRefused: the path is a folder, or leads elsewhere by a link.
        OSError: it cannot be written.
    """
    path = WORK / request["path"]
    # No program runs meanwhile that could put a link in the place of what is checked here.
    existing = next(folder for folder in path.parents if os.path.lexists(folder))
    if not Path(os.path.realpath(existing)).is_relative_to(WORK):
        raise RequestRefused("outside", f"{request['path']} leads out of {WORK} by a link")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        raise RequestRefused("folder", f"{request['path']} is a folder")
    replace_file(path, base64.b64decode(request["content"]))
    return {"done": True}


def replace_file(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all; a link or a fifo of that name is replaced and not followed."""
    part = path.with_name(f".{path.name[:100]}.openfingym")
    part.unlink(missing_ok=True)
    try:
        with part.open("xb") as file:
            file.write(content)
        return part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def list_files(_link: socket.socket, request: dict[str, Any]) -> Answer:
    """The entries of a folder, sorted by name.

    Raises:
        RequestRefused: there is no such folder, or it has too many entries.
        OSError: it cannot be read.
    """
    entries: list[tuple[str, str, int]] = []
    try:
        with os.scandir(request["path"]) as found:
            for entry in found:
                if len(entries) == MAX_ENTRIES:
                    raise RequestRefused("too-many", f"{request['path']} holds more than {MAX_ENTRIES} entries")
                entries.append(_entry(entry))
    except FileNotFoundError:
        raise RequestRefused("missing", f"there is no folder {request['path']}") from None
    return {"entries": sorted(entries)}


def _entry(entry: os.DirEntry[str]) -> tuple[str, str, int]:
    """Name, kind and size in bytes of an entry of a folder; a link is not followed."""
    info = entry.stat(follow_symlinks=False)
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return entry.name, kinds.get(stat.S_IFMT(info.st_mode), "other"), info.st_size
