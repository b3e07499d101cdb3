"""Reading files in folders that strangers made: a task package from the net, a run folder that somebody sent.

Such a folder may contain a link to a file of yours, a pipe that never ends, a device, a file of terabytes, or JSON as
deep as it is long. So a file is opened below its folder one component of its path after the other, no link is followed,
what was opened is examined, and no more than a stated number of bytes is read. The folder itself is the caller's own
choice, and may be a link.

Every fault is an :class:`OSError` whose ``strerror`` is a phrase that fits behind the file's path.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn

from openfingym.digests import sha256_of_stream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MEGABYTE = 1 << 20
DEEPEST = 100
"""How deep the lists and objects of a JSON document may be nested; in our own documents they are a few deep."""
MOST_DIGITS = 1000
"""Most digits of a whole number: the time to read one grows with their square."""
MOST_FILES = 10_000
"""Most files and folders that a task folder may contain."""
_KINDS = (
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
    (stat.S_ISDIR, "folder"),
)
# The quantifiers are possessive, so that a text without an end is scanned once and not in every possible way.
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""Strings of a JSON document, the last of which may have no end, and brackets."""
_MANY_DIGITS = re.compile(rf"[0-9]{{{MOST_DIGITS + 1}}}")
_STRIDE = 100
_SOME_DIGITS = re.compile(rf"[0-9]{{{MOST_DIGITS // _STRIDE}}}")
"""So many digits in a row are among every hundredth letter of a text with a number of too many digits."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class UnfitJSONError(ValueError):
    """A JSON document that is made to exhaust its reader: nested too deeply, or with numbers of too many digits."""


def opened(folder: Path, name: str) -> int:
    """Open the regular file ``name`` below ``folder`` for reading, and return a descriptor that the caller closes.

    Args:
        folder: the folder to start from; it may be a link, or lie below one.
        name: path relative to ``folder``, with ``/`` between its components, none of which may be a link.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: the path is a link or goes through one; the file is not a regular one, is somebody else's private file
            under a second name, or cannot be opened.
    """
    # Without a path's object where there is nothing to take apart: reports open tens of thousands of such files.
    parts = (name,) if "/" not in name and name not in {"", "."} else PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0] == "/" or "\0" in name:
        _refuse(folder / name.replace("\0", "?"), "is no name of a file inside its folder")
    place = os.open(folder, _FOLDER)
    owner = os.fstat(place).st_uid
    try:
        for depth, part in enumerate(parts[:-1], 1):
            inner = _opened_in(place, part, _FOLDER | os.O_NOFOLLOW, "folder", (folder, parts[:depth]))
            os.close(place)
            place = inner
        descriptor = _opened_in(place, parts[-1], _FILE, "file", (folder, parts))
    finally:
        os.close(place)
    try:
        status = os.fstat(descriptor)
        _require(lambda: folder.joinpath(*parts), status, "file")
        # The folder's owner may have made a hard link to a private file of its reader's, to have it read and shown.
        if status.st_nlink > 1 and status.st_uid != owner and not status.st_mode & stat.S_IROTH:
            _refuse(
                folder.joinpath(*parts),
                "is a second name (a hard link) of somebody else's private file; copy what it shall hold",
            )
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _opened_in(
    place: int, part: str, flags: int, wanted: Literal["file", "folder"], where: tuple[Path, Sequence[str]]
) -> int:
    """Open a component of a path, which must be as wanted, in the open folder ``place``.

    Args:
        place: descriptor of the folder; a path could lead elsewhere by the time that it is opened.
        part: name in the folder.
        flags: how it is opened.
        wanted: what it must be.
        where: the folder and the components up to this one, for error messages.
    """
    # Examined before, because to open a device may already have an effect, and again once it is open, since it may have
    # been replaced in between.
    _require(lambda: where[0].joinpath(*where[1]), os.stat(part, dir_fd=place, follow_symlinks=False), wanted)
    try:
        return os.open(part, flags, dir_fd=place)
    except OSError as error:
        path = where[0].joinpath(*where[1])
        # A link has taken its place since it was examined.
        if error.errno in {errno.ELOOP, errno.EMLINK} or (error.errno == errno.ENOTDIR and path.is_symlink()):
            _refuse_link(path)
        raise


def read_bytes(folder: Path, name: str, most: int) -> bytes:
    """The content of a file; see :func:`opened`.

    Args:
        folder: a folder whose content is not trusted.
        name: path of the file, relative to ``folder``.
        most: largest number of bytes that the file may have.

    Raises:
        OSError: the file is refused by :func:`opened`, or has more than ``most`` bytes.
    """
    descriptor = opened(folder, name)
    try:
        # What is read is counted, since a size may be stated falsely and may grow. It is read in parts, because memory
        # is reserved for as much as a single read asks for.
        parts, left = [], most + 1 if os.fstat(descriptor).st_size <= most else 0
        while left and (part := os.read(descriptor, min(left, MEGABYTE))):
            parts.append(part)
            left -= len(part)
    finally:
        os.close(descriptor)
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
    """The value of the JSON document in a file.

    Raises:
        OSError: the file is refused or too large; see :func:`read_bytes`.
        ValueError: the content is not JSON, not UTF-8, nested too deeply, or has a number of thousands of digits.
    """
    return parse_json(read_bytes(folder, name, most))


def parse_json(content: bytes | str) -> object:
    """The value of a JSON document that a stranger made.

    Raises:
        ValueError: the content is not JSON, not UTF-8, nested too deeply, or has a number of thousands of digits.
    """
    text = content.decode("utf-8") if isinstance(content, bytes) else content
    # Both are bounded beforehand: the standard parser recurses at every level, and int() takes quadratic time.
    if _is_too_deep(text):
        raise UnfitJSONError(f"its lists and objects are nested more than {DEEPEST} deep")
    # A function of ours for every number would take longer than all the rest: it is called only if some number may be
    # too long; the digits may also stand in a string. To look at every letter would take half as long as to parse.
    if _SOME_DIGITS.search(text[::_STRIDE]) and _MANY_DIGITS.search(text):
        return json.loads(text, parse_int=_integer)
    return json.loads(text)


def read_array(folder: Path, name: str, most: int) -> NDArray[Any]:
    """The array in a ``.npy`` file, without pickles; read-only.

    Raises:
        OSError: the file is refused or too large; see :func:`read_bytes`.
        ValueError: the file holds no array, or not as many values as its header says.
    """
    content = read_bytes(folder, name, most)
    start, shape, order, dtype = _header(io.BytesIO(content))
    # Checked before anything is made of it: a header may state a shape of terabytes.
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
        # An empty array cannot be mapped into memory.
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.memmap(stream, dtype, "r", start, shape, order)


def _header(stream: IO[bytes]) -> tuple[int, tuple[int, ...], Literal["C", "F"], np.dtype[Any]]:
    """Offset of the values in a ``.npy`` file, and their shape, order and type."""
    from numpy.lib import format as npy

    version = npy.read_magic(stream)
    # Version 3 differs only in names of structured types beyond ASCII, which no array of ours has.
    if version not in {(1, 0), (2, 0)}:
        raise ValueError(f"it is of version {version} of the format, expected 1.0 or 2.0")
    shape, fortran, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(stream)
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ValueError("it holds objects, or less than nothing")
    return stream.tell(), shape, "F" if fortran else "C", dtype


def walk(root: Path, *, leaf: str = "") -> Iterator[tuple[Path, frozenset[str] | None]]:
    """Every folder at or below ``root``, in order and however deep, each with the names of what is in it.

    Instead of the names there is None for a folder that cannot be read. Links are not followed, and folders whose name
    begins with a dot are not looked into.

    Args:
        root: the folder to begin with.
        leaf: name of a file; the folders inside of one that contains it are not looked into.
    """
    left = [root]
    while left:
        folder = left.pop()
        try:
            with os.scandir(folder) as entries:
                inner = {entry.name: entry for entry in entries}
                names = frozenset(inner)
                below = [] if leaf in names else [name for name in names if inner[name].is_dir(follow_symlinks=False)]
        except OSError:
            yield folder, None
            continue
        yield folder, names
        left += [folder / name for name in sorted(below, reverse=True) if not name.startswith(".")]


def require_plain(folder: Path) -> None:
    """Refuse a folder that contains anything but files and folders; hidden ones, such as ``.git``, are not looked at.

    Raises:
        OSError: there is a link, pipe, socket or device, the first of which is the error's ``filename``; or there are
            more than :data:`MOST_FILES` entries.
    """
    count, left = 0, [folder]
    while left:
        with os.scandir(left.pop()) as entries:
            # No more are sorted than may be there.
            for entry in sorted(islice(entries, MOST_FILES + 1), key=lambda entry: entry.name):
                count += 1
                if count > MOST_FILES:
                    _refuse(folder, f"holds more than {MOST_FILES:,} files and folders", errno.EFBIG)
                if entry.name.startswith("."):
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                path = partial(Path, entry.path)
                _require(path, entry.stat(follow_symlinks=False), "folder" if is_folder else "file")
                if is_folder:
                    left.append(Path(entry.path))


def size(count: int) -> str:
    """A number of bytes for people to read, such as ``64 KiB``."""
    return f"{count // MEGABYTE:,} MiB" if count >= MEGABYTE else f"{count // 1024:,} KiB"


def _require(path: Callable[[], Path], status: os.stat_result, wanted: Literal["file", "folder"]) -> None:
    """Refuse what is not as wanted by its status; its path is made only to be named."""
    mode = status.st_mode
    if stat.S_ISDIR(mode) if wanted == "folder" else stat.S_ISREG(mode):
        return
    if stat.S_ISLNK(mode):
        _refuse_link(path())
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "file")
    _refuse(path(), f"is a {kind}, expected a {wanted}")


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
    """Whether lists and objects are nested too deeply; brackets inside of strings do not count."""
    # This lets nearly every document through without looking at its tokens.
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for token in _TOKENS.finditer(text):
        # Closing brackets without an opening one may lower the depth below 0, but at the first the parser stops.
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            return True
    return False
