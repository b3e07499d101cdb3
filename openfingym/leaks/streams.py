"""Every sequence of numbers that a small file may hold, whatever it is written in.

A text is rewritten and decoded by the tables of :mod:`openfingym.leaks.decoders`, and what comes out again, up to
``DEPTH`` times; bytes are read as machine words from every place in a word on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from openfingym.leaks.contents import is_container, opened
from openfingym.leaks.decoders import DECODERS, ESCAPES, KEYS, REWRITINGS, STRETCH_DECODERS, WORDS, grouped
from openfingym.leaks.entropy import Stretch, invisible, stretches
from openfingym.leaks.text import number_arrays

DEPTH = 4
"""Encodings within encodings that are undone."""
BYTES = 8 << 20
"""Bytes looked at for one file, all that is decoded from it together."""
KEYED = 1 << 10
"""Bytes, from the beginning, that are tried with every key."""
BITS = 16 << 10
"""Bytes that are read bit by bit, at most."""
SHORTEST = 12
"""Numbers of a stream, at least."""
SYMBOLS = 32
"""Letters or words in a row, of three kinds at most, that may stand for signs or labels."""
COLUMNS = 64
_SIZES = (1e-9, 1e9)
_LARGEST_INTEGER = {8: 2.0**53, 4: 2.0**27, 2: 2.0**15, 1: 2.0**8}
_NUMERIC = np.isin(np.arange(256), list(b"0123456789+-.,;eE[]() \t\r\n"))
_NUMERIC_RUN = 24
_PRINTABLE = np.isin(np.arange(256), [*b"\t\n\r\f\v", *range(32, 127)])
_INTEGER = re.compile(r"(?<![\w.])-?\d+(?![\w.])")
_DECIMAL = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")
_SEPARATOR = re.compile(r"[\s,;|\"'\[\](){}]+")


@dataclass(frozen=True, eq=False)
class Stream:
    """Numbers in the order in which they stand."""

    how: str
    """What they are written in; empty for numbers as such."""
    values: NDArray[np.float64]
    written: bool = False
    """Whether they are written as numbers, and not bytes that may be some."""
    single: bool = False
    """Whether they are in one row, in which others may be between them."""
    unlikely: int = 0
    """How many other words than numbers would read like them."""


@dataclass(eq=False)
class Explored:
    """What is in a file."""

    streams: list[Stream] = field(default_factory=list)
    decoded: list[tuple[str, bytes]] = field(default_factory=list)
    """(encoding, bytes) of everything that was decoded."""
    unexplained: list[Stretch] = field(default_factory=list)
    """Parts of the text as it is that no language explains."""
    unseen: int = 0
    """Invisible characters of the text as it is."""
    whole: bool = True
    """Whether all of it was looked at: no more than ``BYTES`` came out of it, nested no deeper than ``DEPTH``."""
    _seen: set[bytes] = field(default_factory=set)
    _left: int = BYTES

    def explore(self, raw: bytes, how: str = "", depth: int = 0) -> None:
        """Add what bytes hold, and what is decoded from them."""
        if not self._take(raw, depth):
            return
        if depth:
            self.decoded.append((how, raw))
        if depth and is_container(raw[:512]):
            for content in opened(memoryview(raw), "", depth):
                for array in content.arrays:
                    self.arrays(array, how)
                if not content.arrays and content.depth > depth:
                    self.explore(bytes(content.raw), how, depth + 1)
            return
        text = _text(raw)
        if text is not None:
            self._text(text, how, depth)
        if text is None or (depth and not text.isascii()) or not _PRINTABLE[list(raw)].all():
            self.streams += _words(raw, how)
        if depth or text is None:
            self._keyed(raw, how)

    def _take(self, raw: bytes, depth: int) -> bool:
        if len(raw) < SHORTEST or raw in self._seen:
            return False
        self._seen.add(raw)
        self._left -= len(raw)
        self.whole = self.whole and self._left >= 0 and depth <= DEPTH
        return self.whole

    def arrays(self, array: NDArray[np.generic], how: str = "", *, single: bool = False) -> None:
        """Add the numbers of an array, by rows and by columns; ``single`` if its rows may be only lines of a text."""
        values = np.asarray(array, dtype=np.float64)
        self._add(values.reshape(-1), how, single=single or values.ndim == 1)
        if values.ndim > 1:
            self._add(values.T.reshape(-1), how)
            table = values.reshape(len(values), -1) if values.shape[-1] == 1 else values.reshape(-1, values.shape[-1])
            for column in range(table.shape[1] if table.shape[1] <= COLUMNS else 0):
                self._add(table[:, column], _join(how, f"column {column}"))

    def _add(self, values: NDArray[np.float64], how: str, *, single: bool = False) -> None:
        if len(values) >= SHORTEST:
            self.streams.append(Stream(how, values, written=True, single=single))

    def _text(self, text: str, how: str, depth: int) -> None:
        for array in number_arrays(text.encode("utf-8", "surrogatepass")):
            self.arrays(array, how, single=True)
        for array in number_arrays(text[::-1].encode("utf-8", "surrogatepass")):
            self.arrays(array, _join(how, "text backwards"))
        self._add(np.array([float(word) for word in _DECIMAL.findall(text)]), _join(how, "decimals alone"))
        self.streams += [*_integers_as_words(text, how), *_symbols(text, how)]
        for name, decode in DECODERS.items():
            for raw in decode(text):
                self.explore(raw, _join(how, name), depth + 1)
        odd = stretches(text)
        if not depth and not how:
            self.unexplained, self.unseen = odd, len(invisible(text))
        for stretch in odd:
            self._stretch(_widened(text, stretch), how, depth)
        for name, unescape in ESCAPES.items():
            changed = unescape(text)
            if changed != text:
                self.explore(changed.encode("utf-8", "surrogatepass"), _join(how, name), depth + 1)
        for name, rewrite in REWRITINGS.items():
            changed = rewrite(text)
            if changed != text:
                for array in number_arrays(changed.encode("utf-8", "surrogatepass")):
                    self.arrays(array, _join(how, name), single=True)
                self.streams += _integers_as_words(changed, _join(how, name))

    def _stretch(self, text: str, how: str, depth: int) -> None:
        self._add(
            np.array([ord(character) for character in text if not character.isspace()], dtype=np.float64),
            _join(how, "characters"),
        )
        for turned, direction in ((text, ""), (text[::-1], "backwards")):
            decoded = [(name, raw) for name, decode in STRETCH_DECODERS.items() for raw in decode(turned)]
            for name, raw in (*grouped(turned), *decoded):
                self.explore(raw, _join(_join(how, direction), name), depth + 1)

    def _keyed(self, raw: bytes, how: str) -> None:
        """What becomes of bytes under each key, where that reads like floats or like written numbers."""
        raw = raw[:KEYED]
        keys = np.arange(1, 256, dtype=np.uint8)[:, None]
        for name, apply in KEYS.items():
            turned = apply(np.frombuffer(raw, dtype=np.uint8)[None], keys)
            for dtype in WORDS[:4]:
                size = np.dtype(dtype).itemsize
                for offset in range(min(size, len(raw) // size)):
                    count = (len(raw) - offset) // size
                    values = np.ascontiguousarray(turned[:, offset : offset + count * size]).view(dtype)
                    for key, begin, end in _runs(_ordinary(values, size), SHORTEST):
                        found = values[key, begin:end].astype(np.float64)
                        self.streams.append(Stream(_join(how, f"{name} {key + 1}, {dtype}"), found, unlikely=6))
            for key, begin, end in _runs(_NUMERIC[turned], _NUMERIC_RUN):
                for array in number_arrays(turned[key, begin:end].tobytes()):
                    self.arrays(array, _join(how, f"{name} {key + 1}"))


def _join(how: str, more: str) -> str:
    return f"{how}, {more}" if how and more else how or more


def _text(raw: bytes) -> str | None:
    try:
        text = raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    odd = sum(character < " " and character not in "\t\n\r\f\v" for character in text)
    return text if 20 * odd <= len(text) else None


def _widened(text: str, stretch: Stretch) -> str:
    """A stretch with the words it begins and ends in."""
    begin, end = stretch.begin, stretch.end
    while begin and not text[begin - 1].isspace():
        begin -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[begin:end]


def _words(raw: bytes, how: str) -> Iterator[Stream]:
    for dtype in WORDS:
        size = np.dtype(dtype).itemsize
        for offset in range(size):
            values = np.frombuffer(
                raw, dtype=dtype, offset=min(offset, len(raw)), count=max(len(raw) - offset, 0) // size
            )
            for _, begin, end in _runs(_ordinary(values[None], size), SHORTEST):
                yield Stream(_join(how, dtype), values[begin:end].astype(np.float64), unlikely=WORDS.index(dtype))
    if len(raw) <= BITS:
        for order in ("big", "little"):
            bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8), bitorder=order)
            yield Stream(_join(how, "bits"), bits.astype(np.float64), unlikely=len(WORDS))


def _ordinary(values: NDArray[np.generic], size: int) -> NDArray[np.bool_]:
    """Which machine words may be numbers that somebody wrote."""
    with np.errstate(all="ignore"):
        magnitude = np.abs(values.astype(np.float64))
        if values.dtype.kind != "f":
            return np.asarray(magnitude <= _LARGEST_INTEGER[size])
        return np.asarray((magnitude == 0.0) | ((magnitude > _SIZES[0]) & (magnitude < _SIZES[1])))


def _runs(true: NDArray[np.bool_], shortest: int) -> Iterator[tuple[int, int, int]]:
    """(row, begin, end) of runs of at least that many true ones in the rows of bool[r, n]."""
    rows, length = true.shape
    if length < shortest:
        return
    # One false cell before each row and one at the end: a change from cell to cell then begins or ends a run.
    cells = np.zeros(rows * (length + 1) + 1, dtype=np.bool_)
    cells[1:].reshape(rows, length + 1)[:, :-1] = true
    changes = np.flatnonzero(cells[1:] != cells[:-1])
    begins, sizes = changes[::2], changes[1::2] - changes[::2]
    for which in np.flatnonzero(sizes >= shortest):
        row, begin = divmod(int(begins[which]), length + 1)
        yield row, begin, begin + int(sizes[which])


def _integers_as_words(text: str, how: str) -> Iterator[Stream]:
    """Integers as the bits of floats."""
    numbers = [int(word) for word in _INTEGER.findall(text)]
    for bits in (16, 32, 64):
        low, high = -(1 << (bits - 1)), 1 << bits
        kept = [
            number % high
            for number in numbers
            if low <= number < high and (bits == 16 or abs(number) >= 1 << (bits // 2))
        ]
        if len(kept) >= SHORTEST:
            values = np.array(kept, dtype=f"<u{bits // 8}").view(f"<f{bits // 8}").astype(np.float64)
            for _, begin, end in _runs(_ordinary(values[None], 8), SHORTEST):
                yield Stream(_join(how, f"integers as {bits} bits of floats"), values[begin:end])


def _symbols(text: str, how: str) -> Iterator[Stream]:
    """Letters or words of which a few kinds alternate, as numbers."""
    words = [word for word in _SEPARATOR.split(text.lower()) if word]
    for name, items in (("words", words), ("letters", list("".join(words)))):
        for run in _few_kinds(items):
            kinds = sorted(set(run))
            codes = np.array([kinds.index(item) for item in run], dtype=np.float64)
            # Of three kinds, any may be the one in the middle.
            for middle in range(len(kinds) if len(kinds) == 3 else 1):
                yield Stream(
                    _join(how, f"{name} {', '.join(kinds)}"), (codes + 1 - middle) % 3 if len(kinds) == 3 else codes
                )


def _few_kinds(items: list[str]) -> Iterator[list[str]]:
    """Maximal runs of two or three kinds of items."""
    begin = 0
    latest: dict[str, int] = {}
    for place, item in enumerate([*items, ""]):
        if item == "" or (item not in latest and len(latest) == 3):
            if place - begin >= SYMBOLS and len(latest) > 1:
                yield items[begin:place]
            if item != "":
                gone = min(latest, key=lambda kind: latest[kind])
                begin = latest.pop(gone) + 1
        latest[item] = place
