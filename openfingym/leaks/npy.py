"""The numbers of a NumPy file (``.npy``), dates included."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

NPY = b"\x93NUMPY"
"""The first bytes of a NumPy file."""
PLAIN_HEADER = 128
"""Bytes of the header of an array without fields; a longer one has room for something else."""
_PARTS = {"D": 7, "h": 24, "m": 60, "s": 60} | dict.fromkeys(("ms", "us", "ns", "ps", "fs", "as"), 1000)
"""How many of a unit of time make one of the next larger unit; days make weeks."""


@dataclass(frozen=True, eq=False)
class NpyArrays:
    """The arrays of a NumPy file."""

    arrays: tuple[NDArray[Any], ...]
    """Arrays of numbers; one for each field, if the array has fields."""
    begin: int
    """Position of the first byte of the numbers."""
    end: int
    """Position after the last byte of the numbers."""
    dated: bool = False
    """Whether there are dates among them."""


def npy_arrays(raw: memoryview) -> NpyArrays:
    """The array at the beginning of a NumPy file, its fields separately; no array if it holds no numbers.

    If it cannot be read, all bytes are taken for its numbers, and are searched as plain bytes.
    """
    # As long as a header of version 1 can be; a longer one is not read.
    stream = io.BytesIO(bytes(raw[: 1 << 16]))
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        # An array of objects is a pickle, and unpickling runs code that the file states.
        if dtype.hasobject:
            return NpyArrays((), 0, len(raw))
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(raw, dtype=dtype, count=count, offset=stream.tell())
    except (ValueError, TypeError):
        return NpyArrays((), 0, len(raw))
    array = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
    fields = [array] if dtype.names is None else [array[name] for name in dtype.names]
    arrays: list[NDArray[Any]] = []
    for field in fields:
        if field.dtype.kind in "mM" and field.size:
            arrays += _dates(np.atleast_1d(field))
        elif field.dtype.kind in "fiub" and field.size:
            arrays.append(np.atleast_1d(field))
    dated = any(field.dtype.kind in "mM" for field in fields)
    return NpyArrays(tuple(arrays), stream.tell(), stream.tell() + flat.nbytes, dated)


def _dates(dates: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
    """Dates or spans of time as integers; their remainders beyond whole weeks, days, hours and so on; and their steps.

    A date has digits that nobody looks at, such as the milliseconds of a day's bar, in which a whole column of hidden
    values has room.
    """
    unit, count = np.datetime_data(dates.dtype)
    numbers = dates.astype(dates.dtype.newbyteorder("="), copy=False).view(np.int64)
    yield numbers
    units = list(_PARTS)
    finer = [_PARTS[name] for name in units[: units.index(unit) + 1]] if unit in _PARTS else []
    sizes = [size for size in accumulate(reversed(finer), mul) if size < 1 << 63]
    rests = [numbers, *(numbers * count % size for size in reversed(sizes))]
    yield from (rest for before, rest in pairwise(rests) if np.ptp(rest) and not np.array_equal(before, rest))
    steps = np.diff(numbers, axis=-1)
    if steps.size and np.ptp(steps):
        yield steps
