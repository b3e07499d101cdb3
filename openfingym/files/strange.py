"""Reading files in folders that strangers made: a task package from the net, a run folder that somebody sent.

What is there may be a link to a file of yours, a pipe that never ends, a device, a file of terabytes, or JSON as deep
as it is long. So a file is opened below its folder one component after the other, no link is followed, what was opened
is asked what it is, and no more than a stated number of bytes is read. The folder itself is the caller's own choice,
and may be a link.

Every fault is an :class:`OSError` whose ``strerror`` is a phrase that fits behind the file's path.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import os
import re
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn

from openfingym.digests import sha256_of_stream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MEGABYTE = 1 << 20
DEEPEST = 100
"""Lists and objects inside one another that a JSON document may have; those of ours have a few."""
MOST_DIGITS = 1000
"""Digits of a whole number: reading one takes time of their square."""
MOST_FILES = 10_000
"""Files and folders that a task folder may have."""
_KINDS = (
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
    (stat.S_ISDIR, "folder"),
)
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""Texts, which may end with the document, and brackets."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class UnfitJSONError(ValueError):
    """A JSON document that nobody of good will writes: too deep, or with numbers that nothing holds."""


def opened(folder: Path, name: str) -> int:
    """A descriptor of the regular file ``name`` below ``folder``, for reading; the caller closes it.

    Args:
        folder: the folder to start from; it may be a link, or lie below one.
        name: path relative to ``folder``, with ``/`` between its components, none of which may be a link.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: the path is a link or goes through one; the file is not a regular one, is somebody else's private file
            under a second name, or cannot be opened.
    """
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0] == "/" or "\0" in name:
        _refuse(folder / name.replace("\0", "?"), "is no name of a file inside its folder")
    place = os.open(folder, _FOLDER)
    owner = os.fstat(place).st_uid
    try:
        path = folder
        for part in parts[:-1]:
            path /= part
            _require(path, os.stat(part, dir_fd=place, follow_symlinks=False), "folder")
            with _no_link(path):
                # By descriptor: a path could be led elsewhere between the question and the open.
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = inner
        path /= parts[-1]
        # Asked first, because opening a device may already do something; what was opened is asked again.
        _require(path, os.stat(parts[-1], dir_fd=place, follow_symlinks=False), "file")
        with _no_link(path):
            found = os.open(parts[-1], _FILE, dir_fd=place)
    finally:
        os.close(place)
    try:
        status = os.fstat(found)
        _require(path, status, "file")
        # The folder's owner may have linked a private file of its reader's into it, to have it read and shown.
        if status.st_nlink > 1 and status.st_uid != owner and not status.st_mode & stat.S_IROTH:
            _refuse(path, "is a second name (a hard link) of somebody else's private file; copy what it shall hold")
    except OSError:
        os.close(found)
        raise
    return found


def read_bytes(folder: Path, name: str, most: int) -> bytes:
    """The content of a file; see :func:`opened`.

    Args:
        folder: a folder whose content is not trusted.
        name: path of the file, relative to ``folder``.
        most: largest number of bytes that the file may have.

    Raises:
        OSError: the file is refused by :func:`opened`, or has more than ``most`` bytes.
    """
    with os.fdopen(opened(folder, name), "rb") as stream:
        # A size may be stated falsely, and may grow: what is read is counted. In parts, as room is made for all that is
        # asked for.
        parts, left = [], most + 1 if os.fstat(stream.fileno()).st_size <= most else 0
        while left and (part := stream.read(min(left, MEGABYTE))):
            parts.append(part)
            left -= len(part)
    if not left:
        _refuse(folder / name, f"is larger than {size(most)}, the most that is read of it", errno.EFBIG)
    return b"".join(parts)


def sha256(folder: Path, name: str) -> str:
    """Hex SHA-256 of a file of any size.

    Raises:
        OSError: the file is refused; see :func:`opened`.
    """
    with os.fdopen(opened(folder, name), "rb") as stream:
        return sha256_of_stream(stream)


def read_json(folder: Path, name: str, most: int) -> object:
    """The JSON document in a file.

    Raises:
        OSError: the file is refused or too large; see :func:`read_bytes`.
        ValueError: the content is not JSON, not UTF-8, nested too deeply, or has a number of thousands of digits.
    """
    return parse_json(read_bytes(folder, name, most))


def parse_json(content: bytes | str) -> object:
    """A JSON document of a stranger.

    Raises:
        ValueError: it is no JSON, not UTF-8, too deep, or has a number of thousands of digits.
    """
    text = content.decode("utf-8") if isinstance(content, bytes) else content
    if _is_too_deep(text):
        raise UnfitJSONError(f"its lists and objects are nested more than {DEEPEST} deep")
    # The standard parser recurses for every level, and int() takes quadratic time: both are bounded first.
    return json.loads(text, parse_int=_integer)


def read_array(folder: Path, name: str, most: int) -> NDArray[Any]:
    """The array in a ``.npy`` file, without pickles; read-only.

    Raises:
        OSError: the file is refused or too large; see :func:`read_bytes`.
        ValueError: the file holds no array, or not as many values as its header says.
    """
    content = read_bytes(folder, name, most)
    start, shape, order, dtype = _header(io.BytesIO(content))
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise ValueError(f"it states an array of shape {shape}, and holds {len(content) - start:,} bytes")
    import numpy as np

    return np.frombuffer(content, dtype, offset=start).reshape(shape, order=order)


def map_array(folder: Path, name: str) -> NDArray[Any]:
    """The array in a ``.npy`` file of any size, mapped into memory; read-only.

    Raises:
        OSError: the file is refused; see :func:`opened`.
        ValueError: the file holds no array, or not as many values as its header says.
    """
    import numpy as np

    with os.fdopen(opened(folder, name), "rb") as stream:
        start, shape, order, dtype = _header(stream)
        if math.prod(shape) * dtype.itemsize != os.fstat(stream.fileno()).st_size - start:
            raise ValueError(f"it states an array of shape {shape}, which is not what it holds")
        # An empty array cannot be mapped.
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.memmap(stream, dtype, "r", start, shape, order)


def _header(stream: IO[bytes]) -> tuple[int, tuple[int, ...], Literal["C", "F"], np.dtype[Any]]:
    """Offset of the values in a ``.npy`` file, and their shape, order and type."""
    from numpy.lib import format as npy

    version = npy.read_magic(stream)
    # Version 3 only adds Unicode names of structured types, which no array of ours has.
    if version not in {(1, 0), (2, 0)}:
        raise ValueError(f"it is of version {version} of the format, expected 1.0 or 2.0")
    shape, fortran, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(stream)
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ValueError("it holds objects, or less than nothing")
    return stream.tell(), shape, "F" if fortran else "C", dtype


def walk(root: Path, *, leaf: str = "") -> Iterator[tuple[Path, frozenset[str] | None]]:
    """Every folder at or below ``root`` with the names in it, sorted, however deep; None of one that cannot be read.

    Links are not followed, and folders whose name starts with a dot are not looked into.

    Args:
        root: the folder to begin with.
        leaf: name of a file; a folder that has it is not looked into.
    """
    left = [root]
    while left:
        folder = left.pop()
        try:
            with os.scandir(folder) as entries:
                inner = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            yield folder, None
            continue
        yield folder, frozenset(inner)
        if leaf not in inner:
            left += [folder / name for name in sorted(inner, reverse=True) if inner[name] and not name.startswith(".")]


def require_plain(folder: Path) -> None:
    """Refuse a folder that holds anything but files and folders; hidden ones, such as ``.git``, are not looked at.

    Raises:
        OSError: with ``filename``, the first link, pipe, socket or device; or there are more than 10,000 entries.
    """
    count, left = 0, [folder]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in sorted(islice(entries, MOST_FILES + 1), key=lambda entry: entry.name):
                count += 1
                if count > MOST_FILES:
                    _refuse(folder, f"holds more than {MOST_FILES:,} files and folders", errno.EFBIG)
                if entry.name.startswith("."):
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                _require(Path(entry.path), entry.stat(follow_symlinks=False), "folder" if is_folder else "file")
                if is_folder:
                    left.append(Path(entry.path))


def size(count: int) -> str:
    """Bytes for people, such as ``64 KiB``."""
    return f"{count // MEGABYTE:,} MiB" if count >= MEGABYTE else f"{count // 1024:,} KiB"


def _require(path: Path, status: os.stat_result, wanted: str) -> None:
    """Refuse what is no ``file``, or no ``folder``."""
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        _refuse_link(path)
    if not (stat.S_ISDIR(mode) if wanted == "folder" else stat.S_ISREG(mode)):
        found = next((kind for is_kind, kind in _KINDS if is_kind(mode)), "file")
        _refuse(path, f"is a {found}, expected a {wanted}")


@contextlib.contextmanager
def _no_link(path: Path) -> Iterator[None]:
    """Report a link where a file was replaced by one between the look at it and its opening."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EMLINK} or (error.errno == errno.ENOTDIR and path.is_symlink()):
            _refuse_link(path)
        raise


def _refuse_link(path: Path) -> NoReturn:
    try:
        target = f" to {str(path.readlink())!r}"
    except OSError:
        target = ""
    _refuse(path, f"is a link{target}; put a copy of what it shall hold in its place", errno.ELOOP)


def _refuse(path: Path, why: str, number: int = errno.EINVAL) -> NoReturn:
    raise OSError(number, why, str(path))


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise UnfitJSONError(f"a number in it has {len(digits):,} digits, expected at most {MOST_DIGITS}")
    return int(digits)


def _is_too_deep(text: str) -> bool:
    """Whether lists and objects are nested too deep; brackets inside of texts are none."""
    # Nearly every document, without looking at its tokens.
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for token in _TOKENS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            return True
    return False
