"""Hidden values as raw bytes: float64 or float32, in either byte order, at any offset.

Searching a file under each of these readings would cost 24 scans. Instead all eight-byte words of the file are looked
up among those that hidden values would make; a reading under which a word is found is then searched like an array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.leaks.arrays import search_array
from openfingym.leaks.findings import Found
from openfingym.leaks.fingerprints import FingerprintTable
from openfingym.leaks.sequences import three_axes

if TYPE_CHECKING:
    from numpy.typing import NDArray

READINGS = ("<f8", ">f8", "<f4", ">f4")
"""NumPy types of floats, by width and byte order."""
WORD = 8
"""Bytes of a word."""
WORD_LIMIT = 200_000
"""Most words that are kept for one reading of one array, spread evenly over it."""
_SIEVE_BITS = 22
_BLOCK = 1 << 17
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio, rounded to an odd number: multiplying by it mixes all bits into the leading ones."""
_SHIFT = np.uint64(64 - _SIEVE_BITS)
_SAMPLE = 4096
"""Numbers at the beginning of a file by which it is told whether it holds floats."""


@dataclass(frozen=True, eq=False)
class HiddenWords:
    """Eight-byte words of hidden values, with the reading that makes each one."""

    words: NDArray[np.uint64]
    """The words, sorted."""
    reading: NDArray[np.int64]
    """The reading of each word, as a position in :data:`READINGS`."""
    sieve: NDArray[np.bool_]
    """Whether any word has these leading bits when mixed; see :func:`_readings`."""


def build_words(truths: Mapping[str, NDArray[np.generic]]) -> HiddenWords:
    """The words that hidden values make in memory, in the order of any of their axes."""
    words: list[NDArray[np.uint64]] = [np.zeros(0, dtype=np.uint64)]
    reading: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    for array in truths.values():
        truth = three_axes(array)
        # Two float32 make a word, so that it matters which axis runs fastest.
        for order in (truth, np.swapaxes(truth, 1, 2), np.moveaxis(truth, 0, -1)):
            flat = np.ascontiguousarray(order).reshape(-1)
            for number, dtype in enumerate(READINGS):
                own = _words(flat, dtype)
                words.append(own)
                reading.append(np.full(len(own), number))
    joined, first = np.unique(np.concatenate(words), return_index=True)
    sieve = np.zeros(1 << _SIEVE_BITS, dtype=np.bool_)
    sieve[((joined * _MIX) >> _SHIFT).astype(np.int64)] = True
    return HiddenWords(joined, np.concatenate(reading)[first], sieve)


def _words(flat: NDArray[np.float64], dtype: str) -> NDArray[np.uint64]:
    """The eight-byte words that values make in memory as ``dtype``; of many values, evenly spread ones."""
    per_word = WORD // np.dtype(dtype).itemsize
    starts = np.arange(0, max(len(flat) - per_word + 1, 0), len(flat) // WORD_LIMIT + 1)
    with np.errstate(over="ignore"):
        groups = np.ascontiguousarray(flat[starts[:, None] + np.arange(per_word)].astype(dtype))
    # Zero is everywhere in binary files, and says nothing.
    words: NDArray[np.uint64] = groups[(groups != 0).all(axis=1)].view("<u8").reshape(-1)
    return words


def search_bytes(raw: memoryview, words: HiddenWords, tables: Sequence[FingerprintTable]) -> Iterator[Found]:
    """Search bytes for hidden values under each reading that is worth it.

    Args:
        raw: the bytes of a public file, or decoded from it.
        words: the words that hidden values make, which choose the readings.
        tables: fingerprints of the hidden values.
    """
    if not tables:
        return
    for dtype, offset in sorted(_readings(raw, words)):
        size = np.dtype(dtype).itemsize
        array = np.frombuffer(raw, dtype=dtype, offset=offset, count=(len(raw) - offset) // size)
        for found in search_array(array, tables):
            yield found.within(f"raw bytes, {dtype} from byte {offset}")


def _readings(raw: memoryview, words: HiddenWords) -> set[tuple[str, int]]:
    """Readings (dtype, offset) that are worth a search: those with a hidden word, and aligned ones that look like
    numbers, in which hidden values may have been rounded or scaled.
    """
    readings: set[tuple[str, int]] = set()
    for offset in range(min(WORD, max(len(raw) - WORD + 1, 0))):
        view = np.frombuffer(raw, dtype="<u8", offset=offset, count=(len(raw) - offset) // WORD)
        for start in range(0, len(view), _BLOCK):
            block = np.ascontiguousarray(view[start : start + _BLOCK])
            # Nearly all words fail at the sieve; only the rest is searched for in the sorted list.
            maybe = block[words.sieve[((block * _MIX) >> _SHIFT).view(np.int64)]]
            if not len(maybe) or not len(words.words):
                continue
            place = np.searchsorted(words.words, maybe).clip(max=len(words.words) - 1)
            for number in np.unique(words.reading[place[words.words[place] == maybe]]):
                dtype = READINGS[int(number)]
                readings.add((dtype, offset % np.dtype(dtype).itemsize))
    return readings | {(dtype, 0) for dtype in READINGS if _numeric(raw, dtype)}


def _numeric(raw: memoryview, dtype: str) -> bool:
    """Whether the bytes from the first one on look like numbers of ordinary size."""
    size = np.dtype(dtype).itemsize
    if len(raw) % size or len(raw) < 8 * size:
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        sample = np.abs(np.frombuffer(raw, dtype=dtype, count=min(len(raw) // size, _SAMPLE)).astype(np.float64))
        ordinary = (sample == 0.0) | ((sample > 1e-9) & (sample < 1e9))
    return bool(np.mean(ordinary) > 0.95)
