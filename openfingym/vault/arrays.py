"""Named arrays in one file, which is mapped into memory and shared by all who read it.

A file is the arrays one after another, little-endian and each at a multiple of 64 bytes; then their directory as
canonical JSON; then eight bytes with its length. Equal arrays make equal files, whatever wrote them.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from openfingym.digests import canonical_json
from openfingym.errors import StoreError

Array = npt.NDArray[Any]
_ALIGNED = 64
"""Arrays begin at multiples of so many bytes, a cache line, so that NumPy reads aligned memory."""
_DTYPES = frozenset({"|u1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4", "<f8"})
"""Types of arrays that a file may hold; a damaged file may name any other."""


class ArrayWriter:
    """Writes a file of arrays.

    Args:
        stream: file to write to, from its beginning; it stays open.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._directory: dict[str, list[Any]] = {}

    def add(self, name: str, array: Array) -> None:
        """Write a one-dimensional array."""
        self.add_parts(name, array.dtype, [array])

    def add_parts(self, name: str, dtype: npt.DTypeLike, parts: Iterable[Array]) -> None:
        """Write a one-dimensional array that comes in parts."""
        kind = np.dtype(dtype).newbyteorder("<")
        start, count = self._aligned(), 0
        for part in parts:
            self._stream.write(np.ascontiguousarray(part, dtype=kind).tobytes())
            count += len(part)
        self._directory[name] = [kind.str, start, count]

    def finish(self) -> None:
        """Write the directory."""
        self._aligned()
        directory = canonical_json(self._directory)
        self._stream.write(directory + len(directory).to_bytes(8, "little"))

    def _aligned(self) -> int:
        place = self._stream.tell()
        gap = -place % _ALIGNED
        self._stream.write(bytes(gap))
        return place + gap


class Arrays:
    """The arrays of a file, read-only.

    Args:
        path: path of the file.
        content: bytes of the file, uint8, if they are in memory; None maps the file.

    Raises:
        StoreError: the file cannot be read, or is not a whole file of arrays.
    """

    def __init__(self, path: Path, content: Array | None = None) -> None:
        self._path = path
        try:
            self._bytes = (mapped(path) if content is None else content).data
            self._directory = self._read_directory()
        except (OSError, ValueError, TypeError, msgspec.DecodeError) as error:
            raise StoreError(f"{path}: damaged or not of this library ({error}); get the snapshot again") from error

    def _read_directory(self) -> dict[str, tuple[str, int, int]]:
        size = len(self._bytes)
        length = int.from_bytes(self._bytes[-8:], "little")
        if size < 8 or length > size - 8:
            raise ValueError("cut")
        directory = msgspec.json.decode(self._bytes[size - 8 - length : -8], type=dict[str, tuple[str, int, int]])
        # A damaged directory must not make NumPy read past the end of the file, or take bytes for objects.
        for dtype, start, count in directory.values():
            if dtype not in _DTYPES or start < 0 or count < 0 or start + np.dtype(dtype).itemsize * count > size:
                raise ValueError("directory")
        return directory

    def __getitem__(self, name: str) -> Array:
        array = self.get(name)
        if array is None:
            raise StoreError(f"{self._path}: damaged or not of this version: it has no {name}; get the snapshot again")
        return array

    def get(self, name: str) -> Array | None:
        """An array by its name; None if the file has none."""
        if name not in self._directory:
            return None
        dtype, start, count = self._directory[name]
        return np.frombuffer(self._bytes, dtype=dtype, count=count, offset=start)


def mapped(path: Path) -> Array:
    """The bytes of a file, mapped into memory, uint8; they stay if the file is deleted.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is empty.
    """
    with path.open("rb") as stream:
        return np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def narrowest(size: int) -> np.dtype[Any]:
    """The narrowest unsigned type that holds the whole numbers below ``size``."""
    return np.dtype(np.min_scalar_type(max(size - 1, 0)))
