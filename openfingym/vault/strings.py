"""Many strings as two arrays: their bytes in UTF-8, and where each begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np

from openfingym.vault.arrays import Array, Arrays, ArrayWriter


class Strings(Sequence[bytes]):
    """Strings in UTF-8 by number; lookups need them sorted by their bytes.

    Args:
        arrays: arrays of the file that holds the strings.
        name: name under which :func:`write_strings` wrote them.
    """

    def __init__(self, arrays: Arrays, name: str) -> None:
        # A memoryview gives single elements as Python's own numbers and bytes, many times faster than an array does.
        # That it takes arrays is typed from Python 3.12 on.
        self._starts = memoryview(arrays[f"{name}.starts"])  # type: ignore[arg-type, unused-ignore]
        self._bytes = memoryview(arrays[f"{name}.bytes"])  # type: ignore[arg-type, unused-ignore]

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, number: int) -> bytes: ...
    @overload
    def __getitem__(self, number: slice) -> list[bytes]: ...
    def __getitem__(self, number: int | slice) -> bytes | list[bytes]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._bytes[self._starts[number] : self._starts[number + 1]].tobytes()

    def text(self, number: int) -> str:
        """The string with a number."""
        return self[number].decode()

    def first_from(self, value: str) -> int:
        """How many strings sort before ``value``."""
        return self._place(value.encode("utf-8", "surrogatepass"))

    def number(self, value: str) -> int | None:
        """The number of a string; None if it is not among them."""
        wanted = value.encode("utf-8", "surrogatepass")
        place = self._place(wanted)
        return place if place < len(self) and self[place] == wanted else None

    def _place(self, wanted: bytes) -> int:
        """How many strings sort before this one, found by bisection.

        The loop is written out, since lookups spend their time here: the ``bisect`` module would call
        :meth:`__getitem__` for every comparison.
        """
        starts, content = self._starts, self._bytes
        low, high = 0, len(starts) - 1
        while low < high:
            middle = (low + high) // 2
            if content[starts[middle] : starts[middle + 1]].tobytes() < wanted:
                low = middle + 1
            else:
                high = middle
        return low


def write_strings(writer: ArrayWriter, name: str, parts: Iterable[Sequence[str]]) -> int:
    """Write strings, which come in batches, and return how many there were."""
    lengths: list[Array] = []

    def encoded() -> Iterable[Array]:
        for part in parts:
            pieces = [text.encode() for text in part]
            lengths.append(np.fromiter(map(len, pieces), np.uint64, len(pieces)))
            yield np.frombuffer(b"".join(pieces), np.uint8)

    writer.add_parts(f"{name}.bytes", np.uint8, encoded())
    starts = np.zeros(1 + sum(map(len, lengths)), np.uint64)
    if lengths:
        np.cumsum(np.concatenate(lengths), out=starts[1:])
    writer.add(f"{name}.starts", starts)
    return len(starts) - 1
