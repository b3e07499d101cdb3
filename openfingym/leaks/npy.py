"""The numbers of an ``.npy`` file, dates included."""

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
PLAIN_HEADER = 128
"""Bytes of the header of an array without fields."""
_PARTS = {"D": 7, "h": 24, "m": 60, "s": 60} | dict.fromkeys(("ms", "us", "ns", "ps", "fs", "as"), 1000)
"""How many of a unit make one of the unit before; days make weeks."""


@dataclass(frozen=True, eq=False)
class NpyArrays:
    """What is in an ``.npy`` file."""

    arrays: tuple[NDArray[Any], ...]
    begin: int
    """Where the bytes of the numbers begin."""
    end: int
    dated: bool = False
    """Whether there are dates among them."""


def npy_arrays(raw: memoryview) -> NpyArrays:
    """The array in an ``.npy`` file, each field of its own if it has fields; none if it holds no numbers.

    Of what cannot be read all bytes are taken to be numbers.
    """
    stream = io.BytesIO(bytes(raw[: 1 << 16]))
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        # Objects are pickles, and unpickling runs what they say.
        if dtype.hasobject:
            return NpyArrays((), 0, len(raw))
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(raw, dtype=dtype, count=count, offset=stream.tell())
    except (ValueError, TypeError):
        return NpyArrays((), 0, len(raw))
    array = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
    fields = [array] if dtype.names is None else [array[name] for name in dtype.names]
    found: list[NDArray[Any]] = []
    for field in fields:
        if field.dtype.kind in "mM" and field.size:
            found += _dates(np.atleast_1d(field))
        elif field.dtype.kind in "fiub" and field.size:
            found.append(np.atleast_1d(field))
    dated = any(field.dtype.kind in "mM" for field in fields)
    return NpyArrays(tuple(found), stream.tell(), stream.tell() + flat.nbytes, dated)


def _dates(dates: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
    """Dates or spans as integers; what each has beyond whole weeks, days, hours and so on; and the steps between them.

    A date has digits that nobody looks at, such as the milliseconds of a day's bar, and they hold as much as a column.
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
