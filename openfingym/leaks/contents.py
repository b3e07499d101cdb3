"""Opening files: as numeric arrays, as plain bytes, or as containers with further contents.

Files, and what is unpacked from them, are memory-mapped and never read whole. Nothing is ever unpickled, since
unpickling runs code that a file states.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import mmap
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from openfingym.leaks.npy import NPY, PLAIN_HEADER, npy_arrays

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

UNPACKED_LIMIT = 4 << 30
"""Most bytes that one member of a container may unpack to."""
DEPTH_LIMIT = 4
"""How many containers, one inside another, are opened."""
DATES = 8 << 10
"""Bytes at the beginning of an array of dates that are searched as plain bytes too."""
_TEXT = re.compile(rb"[\t\n\r -~]{64,}")
_PRINTABLE = np.isin(np.arange(256), [*b"\t\n\r", *range(ord(" "), ord("~") + 1)])
"""Which bytes are characters of a text, bool[256]."""
_BLOCK = 32
"""Bytes of a block, of which each run of 64 characters fills one."""
_WORD = 8
_WORDS = 4
"""Fewest different words of a text among numbers; fewer are a number that repeats and whose bytes all happen to be
characters."""
_PIECE = 1 << 20
"""Most bytes that are unpacked at a time."""
_INPUT = 1 << 16
"""Compressed bytes that are read at a time."""
LISTED = 60
"""Fewest members of a container whose order and times can tell enough."""
_SECOND = 1_000_000_000
_TABLE_ROWS = 1 << 16
"""Rows of a columnar file that are read at a time."""


class UnsearchableError(Exception):
    """A content cannot be searched, so that nothing is known about it; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class Content:
    """One thing to search: a file, a part of it, or a member of a container."""

    name: str
    """Path of the file, and of the member in it."""
    raw: memoryview
    """All bytes; empty if the values were decoded from a columnar file."""
    arrays: tuple[NDArray[Any], ...] = ()
    """The numbers, if it is an array or a table; real-valued."""
    packed: bool = False
    """Whether the bytes mean nothing by themselves, because they are compressed."""
    depth: int = 0
    """Number of containers that it is inside of."""
    listing: bool = False
    """Whether it lists the members of a container: a text of ours, whose words say nothing."""


def open_file(path: Path, name: str) -> Iterator[Content]:
    """All contents of a file: the file itself, and the members if it is a container.

    Args:
        path: path of the file.
        name: name of the file in findings.

    Raises:
        UnsearchableError: a part of the file cannot be opened.
    """
    if path.stat().st_size:
        with path.open("rb") as stream:
            yield from opened(_mapped(stream), name, 0)


def opened(raw: memoryview, name: str, depth: int) -> Iterator[Content]:
    """All contents of some bytes; see :func:`open_file`.

    Args:
        raw: the bytes of a file, or of a member of a container.
        name: name of the file or member in findings.
        depth: number of containers that the bytes are inside of.

    Raises:
        UnsearchableError: a part of the bytes cannot be opened.
    """
    # A file may hold several arrays, one after the other.
    while bytes(raw[:6]) == NPY:
        inner = npy_arrays(raw)
        numbers, rest = raw[inner.begin : inner.end], raw[inner.end :]
        yield Content(name, raw[: inner.end], inner.arrays, depth=depth)
        # Three places in an array's file where something else may be hidden: a long header, numbers whose bytes are a
        # text, and bytes behind the array.
        if inner.begin > PLAIN_HEADER:
            yield Content(name, raw[len(NPY) : inner.begin], depth=depth)
        if inner.arrays and _has_text(numbers):
            yield Content(name, numbers, depth=depth)
        elif inner.dated:
            yield Content(name, numbers[:DATES], depth=depth)
        if not len(rest):
            return
        raw = rest
    head = bytes(raw[:512])
    if head.startswith((b"PAR1", b"ARROW1")):
        yield from _columnar(raw, name, depth)
        return
    inside = _members(raw, head)
    # A zip may store members uncompressed, and a tar always does, so that their own bytes are searched too.
    packed = inside is not None and not head.startswith(b"PK") and head[257:262] != b"ustar"
    yield Content(name, raw, packed=packed, depth=depth)
    if inside is None:
        return
    yield from _list_of(raw, head, name)
    if depth >= DEPTH_LIMIT:
        raise UnsearchableError(f"{name}: containers nested more than {DEPTH_LIMIT} deep")
    for member, content in inside:
        yield from opened(content, f"{name}{member}", depth + 1)


def listed(name: str, entries: Iterable[tuple[str, int, int]]) -> Iterator[Content]:
    """What the order of members, their sizes and their times may tell, as a text with a line for each; none for few.

    Args:
        name: what lists them.
        entries: name, size in bytes and time of each, in their order.
    """
    lines = [f"{member}\t{size}\t{time // _SECOND}.{time % _SECOND}" for member, size, time in entries]
    if len(lines) >= LISTED:
        yield Content(name, memoryview("\n".join(lines).encode("utf-8", "replace")), listing=True)


def _list_of(raw: memoryview, head: bytes, name: str) -> Iterator[Content]:
    """The listing of an archive."""
    if head.startswith(b"PK\x03\x04"):
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(_stream(raw)) as archive:
            entries = [(member.filename, member.file_size, _seconds(member.date_time)) for member in archive.infolist()]
            yield from listed(f"{name} (its list)", entries)
    if head[257:262] == b"ustar":
        with contextlib.suppress(tarfile.TarError), tarfile.open(fileobj=_stream(raw)) as archive:
            entries = [(member.name, member.size, int(member.mtime * _SECOND)) for member in archive]
            yield from listed(f"{name} (its list)", entries)


def _seconds(time: tuple[int, int, int, int, int, int]) -> int:
    """Nanoseconds since 1980 of a time in an archive; each month counts as thirty-one days."""
    year, month, day, hour, minute, second = time
    return ((((year - 1980) * 12 + month - 1) * 31 + day - 1) * 86400 + hour * 3600 + minute * 60 + second) * _SECOND


def _has_text(numbers: memoryview) -> bool:
    """Whether the bytes of an array have a run of printable characters that is no repeated number."""
    if not _has_printable_block(numbers):  # seen ten times as fast as by the expression, and true of few arrays
        return False
    for match in _TEXT.finditer(numbers):
        run = bytes(match.group())
        words = {run[i : i + _WORD] for i in range(0, len(run) - _WORD + 1, _WORD)}
        if len(words) >= _WORDS:
            return True
    return False


def _has_printable_block(numbers: memoryview) -> bool:
    """Whether all bytes of a block are printable."""
    blocks = np.frombuffer(numbers, np.uint8, len(numbers) // _BLOCK * _BLOCK).reshape(-1, _BLOCK)
    for begin in range(0, len(blocks), _PIECE // _BLOCK):
        piece = blocks[begin : begin + _PIECE // _BLOCK]
        some = piece[_PRINTABLE[piece[:, ::8]].all(axis=1)]  # most blocks have others among these few
        if _PRINTABLE[some].all(axis=1).any():
            return True
    return False


def is_container(head: bytes) -> bool:
    """Whether bytes with this beginning are of a format that can be opened."""
    return head.startswith((NPY, b"PAR1", b"ARROW1", b"PK\x03\x04", *_STREAMS)) or _is_zlib(head)


def spooled(pieces: Iterable[bytes], name: str) -> memoryview:
    """Write pieces to a temporary file and map it.

    Raises:
        UnsearchableError: the pieces together exceed ``UNPACKED_LIMIT`` bytes.
    """
    with tempfile.TemporaryFile(prefix="openfingym-leaks-") as stream:
        size = 0
        for piece in pieces:
            size += stream.write(piece)
            # Counted while it is written: the size that an archive states may be false.
            if size > UNPACKED_LIMIT:
                raise UnsearchableError(f"{name}: unpacks to more than {UNPACKED_LIMIT >> 30} GiB")
        stream.flush()
        return _mapped(stream) if size else memoryview(b"")


def _mapped(stream: IO[bytes]) -> memoryview:
    # The map stays valid when the file is closed, even a temporary one, which is deleted then.
    return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def _columnar(raw: memoryview, name: str, depth: int) -> Iterator[Content]:
    """The numeric columns of a Parquet or Arrow file, some rows at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise UnsearchableError(f"{name}: looking into it needs pyarrow (pip install 'openfingym[arrow]')") from error
    try:
        source = pa.BufferReader(pa.py_buffer(raw))
        if bytes(raw[:4]) == b"PAR1":
            batches = pyarrow.parquet.ParquetFile(source).iter_batches(batch_size=_TABLE_ROWS)
        else:
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        for batch in batches:
            yield Content(name, memoryview(b""), _batch_arrays(batch), depth=depth)
    except pa.ArrowInvalid as error:
        raise UnsearchableError(f"{name}: not a readable columnar file ({error})") from error


def _batch_arrays(batch: Any) -> tuple[NDArray[Any], ...]:
    """The numeric columns side by side, and each list column flattened."""
    import pyarrow as pa

    columns: list[NDArray[Any]] = []
    lists: list[NDArray[Any]] = []
    for column in batch.columns:
        nested = (
            pa.types.is_list(column.type)
            or pa.types.is_large_list(column.type)
            or pa.types.is_fixed_size_list(column.type)
        )
        values = column.flatten() if nested else column
        if pa.types.is_floating(values.type) or pa.types.is_integer(values.type) or pa.types.is_boolean(values.type):
            (lists if nested else columns).append(values.to_numpy(zero_copy_only=False).astype(np.float64))
    table = [np.column_stack(columns)] if columns else []
    return tuple(array for array in (*table, *lists) if array.size)


_STREAMS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lzma.LZMADecompressor,
}


def _is_zlib(head: bytes) -> bool:
    return len(head) > 2 and head[0] == 0x78 and head[1] in (0x01, 0x5E, 0x9C, 0xDA)


def _members(raw: memoryview, head: bytes) -> Iterator[tuple[str, memoryview]] | None:
    """Name and content of each member of a container; None if the bytes are no container."""
    if head.startswith(b"PK\x03\x04"):
        return _zip_members(raw)
    if head[257:262] == b"ustar":
        return _tar_members(raw)
    for magic, make in _STREAMS.items():
        if head.startswith(magic):
            return _stream_member(_unpacked(raw, make))
    if _is_zlib(head):
        return _stream_member(_unpacked(raw, zlib.decompressobj))
    return None


def _stream(raw: memoryview) -> IO[bytes]:
    """A stream over bytes, for the modules that read archives."""
    return io.BufferedReader(_View(raw))


class _View(io.RawIOBase):
    """A readable, seekable stream over a buffer that is not copied."""

    def __init__(self, raw: memoryview) -> None:
        self._raw, self._place = raw, 0

    def readable(self) -> bool:
        """True: it can always be read."""
        return True

    def seekable(self) -> bool:
        """True: any position can be sought."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, and return the new one."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: len(self._raw)}[whence]
        self._place = max(origin + offset, 0)
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Copy the next bytes into a buffer, as far as there are any; returns their number."""
        piece = self._raw[self._place : self._place + len(buffer)]
        buffer[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)


def _stream_member(pieces: Iterator[bytes]) -> Iterator[tuple[str, memoryview]]:
    yield "", spooled(pieces, "a compressed stream")


def _read(stream: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a member, as far as it can be unpacked; a damaged one yields what comes before the damage."""
    with stream, contextlib.suppress(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        while piece := stream.read(_INPUT):
            yield piece


def _unpacked(raw: memoryview, make: Callable[[], Any]) -> Iterator[bytes]:
    """The bytes of compressed streams that follow one another, as far as they can be unpacked.

    Args:
        raw: the compressed bytes, all streams together.
        make: makes a decompressor of the standard library.
    """
    engine = make()
    # zlib's decompressors return the input that they had no room for, those of bz2 and lzma keep it.
    returns_input = hasattr(engine, "unconsumed_tail")
    with contextlib.suppress(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        for start in range(0, len(raw), _INPUT):
            pending = bytes(raw[start : start + _INPUT])
            while pending or not (returns_input or engine.needs_input):
                # In pieces of bounded size, as a few kilobytes may unpack to gigabytes.
                yield engine.decompress(pending, _PIECE)
                if engine.eof:
                    # A compressed file may consist of several streams.
                    pending, engine = engine.unused_data, make()
                else:
                    pending = engine.unconsumed_tail if returns_input else b""


def _zip_members(raw: memoryview) -> Iterator[tuple[str, memoryview]]:
    try:
        with zipfile.ZipFile(_stream(raw)) as archive:
            for member in archive.infolist():
                with archive.open(member) as stream:
                    yield f"/{member.filename}", spooled(_read(stream), member.filename)
    except zipfile.BadZipFile:
        return
    except (RuntimeError, NotImplementedError) as error:
        raise UnsearchableError(f"a zip archive that cannot be opened ({error})") from error


def _tar_members(raw: memoryview) -> Iterator[tuple[str, memoryview]]:
    with contextlib.suppress(tarfile.TarError), tarfile.open(fileobj=_stream(raw)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield f"/{member.name}", spooled(_read(stream), member.name)
