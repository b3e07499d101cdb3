"""Every sequence of numbers that a small file may hold, whatever its encoding.

A text is rewritten and decoded by the tables of :mod:`openfingym.leaks.decoders`, and so is what comes out of that, up
to ``DEPTH`` times; bytes are read as machine words of every type, from every offset within a word.
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
"""How many encodings, one inside another, are undone."""
BYTES = 8 << 20
"""Most bytes that are searched for one file, those of the file and all that is decoded from it together."""
KEYED = 1 << 10
"""Bytes, from the beginning, that are tried with every key."""
BITS = 16 << 10
"""Most bytes that are read bit by bit."""
SHORTEST = 12
"""Fewest numbers of a stream; fewer cannot tell enough."""
SYMBOLS = 32
"""Fewest letters or words in a row, of at most three kinds, that are taken for signs or labels."""
COLUMNS = 64
"""Most columns of a table that are streams of their own."""
_SIZES = (1e-9, 1e9)
"""Sizes between which the magnitude of a float must lie to be taken for a number that somebody wrote."""
_LARGEST_INTEGER = {8: 2.0**53, 4: 2.0**27, 2: 2.0**15, 1: 2.0**8}
"""Largest magnitude of such an integer, by its width in bytes."""
_NUMERIC = np.isin(np.arange(256), list(b"0123456789+-.,;eE[]() \t\r\n"))
"""Whether each byte can be a part of written numbers."""
_NUMERIC_RUN = 24
"""Fewest such bytes in a row that are read as numbers."""
_PRINTABLE = np.isin(np.arange(256), [*b"\t\n\r\f\v", *range(32, 127)])
_INTEGER = re.compile(r"(?<![\w.])-?\d+(?![\w.])")
_DECIMAL = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")
_SEPARATOR = re.compile(r"[\s,;|\"'\[\](){}]+")


@dataclass(frozen=True, eq=False)
class Stream:
    """Numbers in the order in which a file holds them."""

    how: str
    """Encoding of the numbers, in words; empty for numbers that are written as such."""
    values: NDArray[np.float64]
    """The numbers, float64[n]."""
    written: bool = False
    """Whether they are written as numbers; else they are bytes that may be numbers."""
    single: bool = False
    """Whether they are from one long row, in which the numbers of a table may follow one another."""
    unlikely: int = 0
    """Rank of the encoding among machine words: the higher, the more other bytes would be taken for such numbers."""


@dataclass(eq=False)
class Explored:
    """Everything that a file may hold, collected by :meth:`explore` and :meth:`arrays`."""

    streams: list[Stream] = field(default_factory=list)
    """All sequences of numbers."""
    decoded: list[tuple[str, bytes]] = field(default_factory=list)
    """Encoding and bytes of everything that was decoded."""
    unexplained: list[Stretch] = field(default_factory=list)
    """Parts of the file's own text that no language explains."""
    unseen: int = 0
    """Number of invisible characters in the file's own text."""
    whole: bool = True
    """Whether everything was searched: no more than ``BYTES`` came out of the file, nested no deeper than ``DEPTH``."""
    _seen: set[bytes] = field(default_factory=set)
    _left: int = BYTES

    def explore(self, raw: bytes, how: str = "", depth: int = 0) -> None:
        """Add the numbers that bytes hold, and those that are decoded from them.

        Args:
            raw: the bytes of the file, or decoded from it.
            how: the encodings that were undone to get them, in words.
            depth: the number of these encodings.
        """
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
        # Bytes that are a text may be machine words all the same, if anything in them is odd.
        if text is None or (depth and not text.isascii()) or not _PRINTABLE[list(raw)].all():
            self.streams += _words(raw, how)
        # Not the file's own text, which is readable as it is.
        if depth or text is None:
            self._keyed(raw, how)

    def _take(self, raw: bytes, depth: int) -> bool:
        """Whether bytes are to be searched: they are long enough, were not seen before, and the budget allows it."""
        # Many decoders give the same bytes; without this, the work would grow with each level.
        if len(raw) < SHORTEST or raw in self._seen:
            return False
        self._seen.add(raw)
        self._left -= len(raw)
        self.whole = self.whole and self._left >= 0 and depth <= DEPTH
        return self.whole

    def arrays(self, array: NDArray[np.generic], how: str = "", *, single: bool = False) -> None:
        """Add the numbers of an array, by rows and by columns.

        Args:
            array: an array of numbers.
            how: the encodings that were undone to get it, in words.
            single: whether its rows may be no rows of a table, but lines of a text.
        """
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
        # Numbers as they stand, in the text read backwards, and without the integers between them.
        for array in number_arrays(text.encode("utf-8", "surrogatepass")):
            self.arrays(array, how, single=True)
        for array in number_arrays(text[::-1].encode("utf-8", "surrogatepass")):
            self.arrays(array, _join(how, "text backwards"))
        self._add(np.array([float(word) for word in _DECIMAL.findall(text)]), _join(how, "decimals alone"))
        self.streams += [*_integers_as_words(text, how), *_symbols(text, how)]
        # Bytes that the text holds: anywhere, or in stretches that no language explains.
        for name, decode in DECODERS.items():
            for raw in decode(text):
                self.explore(raw, _join(how, name), depth + 1)
        odd = stretches(text)
        if not depth and not how:
            self.unexplained, self.unseen = odd, len(invisible(text))
        for stretch in odd:
            self._stretch(_widened(text, stretch), how, depth)
        # Other texts that it stands for, and other ways to write numbers in it.
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
        """Undo every encoding of a stretch that no language explains, read forwards and backwards."""
        self._add(
            np.array([ord(character) for character in text if not character.isspace()], dtype=np.float64),
            _join(how, "characters"),
        )
        for turned, direction in ((text, ""), (text[::-1], "backwards")):
            decoded = [(name, raw) for name, decode in STRETCH_DECODERS.items() for raw in decode(turned)]
            for name, raw in (*grouped(turned), *decoded):
                self.explore(raw, _join(_join(how, direction), name), depth + 1)

    def _keyed(self, raw: bytes, how: str) -> None:
        """Undo each single-byte cipher, and add what then reads like floats or like written numbers."""
        raw = raw[:KEYED]
        keys = np.arange(1, 256, dtype=np.uint8)[:, None]
        for name, apply in KEYS.items():
            # All 255 keys at once: uint8[keys, bytes].
            turned = apply(np.frombuffer(raw, dtype=np.uint8)[None], keys)
            for dtype in WORDS[:4]:
                size = np.dtype(dtype).itemsize
                for offset in range(min(size, len(raw) // size)):
                    count = (len(raw) - offset) // size
                    values = np.ascontiguousarray(turned[:, offset : offset + count * size]).view(dtype)
                    for key, begin, end in _runs(_ordinary(values, size), SHORTEST):
                        numbers = values[key, begin:end].astype(np.float64)
                        self.streams.append(Stream(_join(how, f"{name} {key + 1}, {dtype}"), numbers, unlikely=6))
            for key, begin, end in _runs(_NUMERIC[turned], _NUMERIC_RUN):
                for array in number_arrays(turned[key, begin:end].tobytes()):
                    self.arrays(array, _join(how, f"{name} {key + 1}"))


def _join(how: str, more: str) -> str:
    return f"{how}, {more}" if how and more else how or more


def _text(raw: bytes) -> str | None:
    """Bytes as text; None if they are no UTF-8, or if more than one character in twenty is a control character."""
    try:
        text = raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    odd = sum(character < " " and character not in "\t\n\r\f\v" for character in text)
    return text if 20 * odd <= len(text) else None


def _widened(text: str, stretch: Stretch) -> str:
    """The text of a stretch, with all of the words in which it begins and ends."""
    begin, end = stretch.begin, stretch.end
    while begin and not text[begin - 1].isspace():
        begin -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[begin:end]


def _words(raw: bytes, how: str) -> Iterator[Stream]:
    """Bytes as machine words of each type, from each offset, and as single bits."""
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
    """Which machine words may be numbers that somebody wrote, by their size; ``size`` is the width in bytes."""
    with np.errstate(all="ignore"):
        magnitude = np.abs(values.astype(np.float64))
        if values.dtype.kind != "f":
            return np.asarray(magnitude <= _LARGEST_INTEGER[size])
        return np.asarray((magnitude == 0.0) | ((magnitude > _SIZES[0]) & (magnitude < _SIZES[1])))


def _runs(true: NDArray[np.bool_], shortest: int) -> Iterator[tuple[int, int, int]]:
    """Runs of at least ``shortest`` true cells in the rows of bool[r, n]: row, begin and end of each."""
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
    """Integers of a text, read as the bits of floats of each width."""
    numbers = [int(word) for word in _INTEGER.findall(text)]
    for bits in (16, 32, 64):
        # Signed or not. Small integers are left out, which are floats of hardly any size.
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
    """Runs of letters or words of two or three kinds, as numbers: they may stand for labels, or for signs."""
    words = [word for word in _SEPARATOR.split(text.lower()) if word]
    for name, items in (("words", words), ("letters", list("".join(words)))):
        for run in _few_kinds(items):
            kinds = sorted(set(run))
            codes = np.array([kinds.index(item) for item in run], dtype=np.float64)
            # Of three kinds, such as up, down and flat, any may stand for the value in the middle.
            for middle in range(len(kinds) if len(kinds) == 3 else 1):
                yield Stream(
                    _join(how, f"{name} {', '.join(kinds)}"), (codes + 1 - middle) % 3 if len(kinds) == 3 else codes
                )


def _few_kinds(items: list[str]) -> Iterator[list[str]]:
    """Maximal runs of two or three kinds of items."""
    begin = 0
    # The kinds of the current run, with the last position of each. An empty item at the end closes the last run.
    latest: dict[str, int] = {}
    for place, item in enumerate([*items, ""]):
        if item == "" or (item not in latest and len(latest) == 3):
            if place - begin >= SYMBOLS and len(latest) > 1:
                yield items[begin:place]
            if item != "":
                # The next run begins after the last item of the kind that was seen longest ago.
                oldest = min(latest, key=lambda kind: latest[kind])
                begin = latest.pop(oldest) + 1
        latest[item] = place
