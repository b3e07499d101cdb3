"""Text that no language, code or table of numbers explains: where it is, and how many bits it has in excess.

Characters are scored by a trigram model of English and Python, counted once in sources of this library
(``scripts/text_model.py``): ``-log2`` of a character's probability after the two before it. Prose, code and tables of
digits cost three to five bits a character; hex, base32, base64 or ciphertext seven and more, whatever is hidden in them
and however they are spaced. The excess of a stretch is what it costs beyond ``EXPLAINED`` bits a character.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

EXPLAINED = 6.0
"""Bits a character that language and tables may cost."""
CAP = 11.0
"""Most bits that one character counts for, so that a single odd one makes no stretch."""
SUSPECT = 80.0
"""Excess in bits from which on a stretch is decoded in every way there is."""
UNEXPLAINED = 256.0
"""Excess in bits from which on a stretch is reported even if nothing hidden is found in it; a SHA-256 digest alone has
half of it."""
GAP = 48
"""Most characters of language between two stretches that are joined to one."""
INVISIBLE = 24
"""Most invisible characters, white space at the ends of lines included, that a text may have without being reported."""
_SPACE, _DIGIT, _LETTER, _OTHER = 95, 15, 96, 97
"""Symbols of white space, of digits, of characters beyond ASCII and of control characters; see :func:`symbols_of`."""
SYMBOLS = 98
"""Number of symbols."""
TEXT_MODEL = Path(__file__).with_name("text_model.npz")
"""Counts of three symbols in a row: ``places`` int32[n], the symbols as digits of a number; ``counts`` int32[n]."""
_WEIGHTS = (0.72, 0.23, 0.05)
"""Weights of the trigram, the bigram and the unigram model in the mixture."""
_TABLE = re.compile(r"(?:[-+]?\d[\d.]*(?:[eE][-+]?\d+)?[\s,;:|()\[\]]+){3,}")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


@dataclass(frozen=True)
class Stretch:
    """A part of a text that costs more than language does."""

    begin: int
    """Position of its first character."""
    end: int
    """Position after its last character."""
    excess: float
    """Bits that it costs beyond ``EXPLAINED`` a character."""


def stretches(text: str) -> list[Stretch]:
    """The parts of a text with an excess of ``SUSPECT`` bits or more, close ones joined."""
    joined: list[Stretch] = []
    for part in _parts(_costs(text) - EXPLAINED):
        if joined and part.begin - joined[-1].end <= GAP:
            joined[-1] = Stretch(joined[-1].begin, part.end, joined[-1].excess + part.excess)
        else:
            joined.append(part)
    return joined


def invisible(text: str) -> str:
    """The invisible characters of a text, in order: format characters and variation selectors, or else the white space
    at the ends of lines.
    """
    # A byte-order mark at the beginning is usual.
    hidden = [character for character in text.removeprefix("\ufeff") if ord(character) > 126 and _unseen(character)]
    return "".join(hidden) or "".join(match.group() for match in _TRAILING.finditer(text.replace("\r", "")))


def _unseen(character: str) -> bool:
    code = ord(character)
    return (
        unicodedata.category(character) in {"Cf", "Cn", "Co"} or 0xFE00 <= code <= 0xFE0E or 0xE0100 <= code <= 0xE01EF
    )


def _parts(excess: NDArray[np.float64]) -> list[Stretch]:
    """Stretches of the largest excess: the one with the largest sum, then the same on both sides of it."""
    parts, left = [], [(0, len(excess))]
    while left:
        first, last = left.pop()
        # The largest sum of consecutive terms is the largest rise of the running sum above its lowest point so far.
        total = np.concatenate([[0.0], np.cumsum(excess[first:last])])
        lowest = np.minimum.accumulate(total)
        end = int(np.argmax(total - lowest))
        above = float(total[end] - lowest[end])
        if above < SUSPECT:
            continue
        begin = int(np.flatnonzero(total[: end + 1] == lowest[end])[-1])
        parts.append(Stretch(first + begin, first + end, above))
        left += [(first, first + begin), (first + end, last)]
    return sorted(parts, key=lambda part: part.begin)


def _costs(text: str) -> NDArray[np.float64]:
    """Bits of each character, float64[len(text)]."""
    one, two, three = _model()
    s = np.concatenate([[_SPACE, _SPACE], symbols_of(text)])
    chance = _WEIGHTS[0] * three[s[:-2], s[1:-1], s[2:]] + _WEIGHTS[1] * two[s[1:-1], s[2:]] + _WEIGHTS[2] * one[s[2:]]
    # All digits are one symbol: which of the ten it is costs log2(10) bits more.
    bits = -np.log2(chance) + np.where(s[2:] == _DIGIT, math.log2(10.0), 0.0)
    bits = np.minimum(bits, CAP)
    # A table of numbers is no stretch, whatever its digits cost; it is searched as numbers.
    for table in _TABLE.finditer(text):
        bits[table.start() : table.end()] = np.minimum(bits[table.start() : table.end()], EXPLAINED - 1.0)
    # For letters of other scripts there is no model; they are neither suspicious nor do they explain anything.
    return np.where(s[2:] == _LETTER, EXPLAINED, bits)


def symbols_of(text: str) -> NDArray[np.int64]:
    """A symbol for each character: printable ASCII by its position, one for all digits, one for all white space, and
    two for all other characters.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    symbols = np.where((codes > 32) & (codes < 127), codes - 33, _OTHER)
    symbols[(codes == 32) | ((codes >= 9) & (codes <= 13))] = _SPACE
    symbols[(codes >= 48) & (codes <= 57)] = _DIGIT
    symbols[codes >= 160] = _LETTER
    return symbols


@cache
def _model() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities of a symbol by itself, after one symbol, and after two."""
    with np.load(TEXT_MODEL) as counted:
        three = np.bincount(counted["places"], counted["counts"], SYMBOLS**3).reshape(SYMBOLS, SYMBOLS, SYMBOLS)
    two = three.sum(axis=0)
    one = two.sum(axis=0) + 1.0  # a symbol that was never counted is possible all the same
    return (
        one / one.sum(),
        two / np.maximum(two.sum(axis=1, keepdims=True), 1.0),
        three / np.maximum(three.sum(axis=2, keepdims=True), 1.0),
    )
