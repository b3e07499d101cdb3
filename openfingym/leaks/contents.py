"""What a file holds: a numeric array, plain bytes, or a container with more inside.

Files and what is unpacked from them are mapped, never read whole; nothing is ever unpickled.
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
"""Bytes that one member of a container may unpack to."""
DEPTH_LIMIT = 4
"""Containers within containers that are opened."""
DATES = 8 << 10
"""Bytes of dates, from the beginning, that are looked at as if they were none."""
_TEXT = re.compile(rb"[\t\n\r -~]{64,}")
_WORD = 8
_WORDS = 4
"""Different words that make a text; fewer are a number that repeats, of which every byte happens to be a character."""
_PIECE = 1 << 20
_INPUT = 1 << 16
_TABLE_ROWS = 1 << 16


class UnsearchableError(Exception):
    """A content that cannot be looked into, so that nothing can be said about it; carries the reason."""


@dataclass(frozen=True, eq=False)
class Content:
    """One thing to search."""

    name: str
    raw: memoryview
    """Every byte; empty where the values were decoded from a columnar file."""
    arrays: tuple[NDArray[Any], ...] = ()
    """Its numbers, if it is an array or a table; each real-valued."""
    packed: bool = False
    """Whether its bytes mean nothing by themselves: a compressed container."""
    depth: int = 0


def open_file(path: Path, name: str) -> Iterator[Content]:
    """Everything in a file: itself, and what is inside if it is a container.

    Raises:
        UnsearchableError: part of it cannot be opened.
    """
    if path.stat().st_size:
        with path.open("rb") as stream:
            yield from opened(_mapped(stream), name, 0)


def opened(raw: memoryview, name: str, depth: int) -> Iterator[Content]:
    """As :func:`open_file`, for bytes at hand.

    Raises:
        UnsearchableError: part of it cannot be opened.
    """
    while bytes(raw[:6]) == NPY:
        inner = npy_arrays(raw)
        numbers, rest = raw[inner.begin : inner.end], raw[inner.end :]
        yield Content(name, raw[: inner.end], inner.arrays, depth=depth)
        # A header may be long, bytes that count as numbers may be something else, and something may follow the array.
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
    # A zip may store members as they are, and a tar always does: their bytes are worth a look.
    packed = inside is not None and not head.startswith(b"PK") and head[257:262] != b"ustar"
    yield Content(name, raw, packed=packed, depth=depth)
    if inside is None:
        return
    if depth >= DEPTH_LIMIT:
        raise UnsearchableError(f"{name}: containers nested more than {DEPTH_LIMIT} deep")
    for member, content in inside:
        yield from opened(content, f"{name}{member}", depth + 1)


def _has_text(numbers: memoryview) -> bool:
    for match in _TEXT.finditer(numbers):
        run = bytes(match.group())
        words = {run[i : i + _WORD] for i in range(0, len(run) - _WORD + 1, _WORD)}
        if len(words) >= _WORDS:
            return True
    return False


def is_container(head: bytes) -> bool:
    """Whether bytes that begin so can be opened."""
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
    # The map outlives the file, which is closed and has no name any more.
    return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def _columnar(raw: memoryview, name: str, depth: int) -> Iterator[Content]:
    """The numeric columns of a Parquet or Arrow file, a table of rows at a time."""
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
    """(suffix of the name, content) of what is inside, or None if this is no container."""
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
    return io.BufferedReader(_View(raw))


class _View(io.RawIOBase):
    """A readable, seekable stream over a buffer that is not copied."""

    def __init__(self, raw: memoryview) -> None:
        self._raw, self._place = raw, 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move as files do."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: len(self._raw)}[whence]
        self._place = max(origin + offset, 0)
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Fill what is given, as far as there is something."""
        piece = self._raw[self._place : self._place + len(buffer)]
        buffer[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)


def _stream_member(pieces: Iterator[bytes]) -> Iterator[tuple[str, memoryview]]:
    yield "", spooled(pieces, "a compressed stream")


def _read(stream: IO[bytes]) -> Iterator[bytes]:
    """What can be unpacked; a stream that breaks off, or only looks like one, gives what came before."""
    with stream, contextlib.suppress(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        while piece := stream.read(_INPUT):
            yield piece


def _unpacked(raw: memoryview, make: Callable[[], Any]) -> Iterator[bytes]:
    """What can be unpacked, one stream after another; where one breaks off, what came before."""
    engine = make()
    # zlib's engines hand back input they had no room for, the others keep it.
    returns_input = hasattr(engine, "unconsumed_tail")
    with contextlib.suppress(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        for start in range(0, len(raw), _INPUT):
            pending = bytes(raw[start : start + _INPUT])
            while pending or not (returns_input or engine.needs_input):
                # In bounded pieces: a few kilobytes may unpack to gigabytes.
                yield engine.decompress(pending, _PIECE)
                if engine.eof:
                    # Compressed files may be several streams one after the other.
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
