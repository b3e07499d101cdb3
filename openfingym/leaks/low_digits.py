"""Traces of arrays: digits so low that they say nothing of the numbers that they belong to.

The usual digits of an array are numbers, which are compared with hidden ones as they are. Below them there is room:
decimals that nobody quotes, the lowest bits of a mantissa, the payload of a missing value. What stands there is
measured as far as it is much smaller than the step from one number to the next, so that of honest data it is noise.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openfingym.leaks.readings import Floats
from openfingym.leaks.traces import FEWEST, Traces, traces_of

NUMBERS = 768
"""Numbers at the beginning of an array that are measured, and of each of its columns."""
COLUMNS = 4
"""Most columns that are measured by themselves, of an array that has no more."""
SMALL = 0.3
"""Share of a usual step that the digits which are measured may amount to."""
FINEST = 12
"""Most decimals that are looked at."""
TAKEN = (8, 12, 16)
"""How many of the lowest bits may be a number."""


def array_traces(array: NDArray[np.generic]) -> Iterator[Traces]:
    """Every trace of an array."""
    if array.size < FEWEST:
        return
    rows = array.reshape(len(array), -1) if array.ndim > 1 else array.reshape(-1, 1)
    yield from _low(rows[: -(-NUMBERS // max(rows.shape[1], 1))].reshape(-1)[:NUMBERS], "numbers")
    for column in range(rows.shape[1] if 1 < rows.shape[1] <= COLUMNS else 0):
        yield from _low(rows[:NUMBERS, column], f"column {column + 1}")


def _low(numbers: NDArray[np.generic], what: str) -> Iterator[Traces]:
    if numbers.dtype.kind not in "iuf" or len(numbers) < FEWEST:
        return
    measured: dict[str, Floats] = {}
    if numbers.dtype.kind == "f":
        missing = np.isnan(numbers)
        if missing.sum() >= FEWEST:
            payloads = _bits(numbers[missing]) & np.uint64((1 << 51) - 1)
            measured[f"payloads of missing {what}"] = payloads.astype(np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers) < FEWEST:
            yield from traces_of(measured)
            return
        bits = _bits(numbers)
    else:
        bits = np.abs(numbers.astype(np.int64)).astype(np.uint64)
    values = numbers.astype(np.float64)
    moved = np.abs(np.diff(values))
    # Of what stands still most of the time, a usual step is one that is made.
    room = SMALL * float(np.median(moved[moved > 0.0], axis=0)) if moved.any() else 0.0
    # Numbers that were halves or singles before have no lowest bits.
    shared = int(np.bitwise_or.reduce(bits))
    bits >>= np.uint64((shared & -shared).bit_length() - 1 if shared else 0)
    unit = float(np.median(np.abs(values) / np.maximum(bits & np.uint64((1 << 52) - 1), 1)))
    ulp = float(np.median(np.spacing(values))) * float(shared & -shared) if numbers.dtype.kind == "f" else unit
    for count in TAKEN:
        if ulp * 2.0**count <= room:
            low = (bits & np.uint64((1 << count) - 1)).astype(np.float64)
            measured[f"lowest {count} bits of {what}"] = low
    if ulp * 2.0 <= room:
        measured[f"lowest bits of {what}"] = (bits & np.uint64(1)).astype(np.float64)
    measured |= dict(_decimals(values, room, what))
    yield from traces_of(measured)


def _bits(numbers: NDArray[np.generic]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(numbers, dtype=np.float64).view(np.uint64).copy()


def _decimals(values: Floats, room: float, what: str) -> Iterator[tuple[str, Floats]]:
    """The last digits of numbers that have so many decimals and no more; of others, pairs at each place below a usual
    step.
    """
    finest = 1e-9 * float(np.abs(values).max())
    for places in range(FINEST):
        scaled = values * 10.0**places
        whole = np.rint(scaled)
        if np.abs(scaled - whole).max() <= finest * 10.0**places + 1e-9:
            for count in (1, 2, 3):
                if 10.0 ** (count - places) <= room:
                    yield f"last {count} digits of {what}", np.mod(whole, 10.0**count)
            return
        if 100.0 * 10.0**-places <= room and 10.0**-places > finest:
            yield f"digits of {what} at 1e-{places}", np.mod(np.floor(np.abs(scaled) + 1e-6), 100.0)
