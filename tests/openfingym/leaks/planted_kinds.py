"""Ways to tell values in a text by something that is no number: 32 kinds, none of which the search knows.

``DEVELOPED`` were looked at while the search was written; ``KEPT`` are not to be used for changing it. Of a fold of
``treasury-forecast``, 7 of ``KEPT`` were found at the first try, and 10 once faults were mended that ``DEVELOPED`` had.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Planter = Callable[[Floats], str]

_RANDOM = np.random.default_rng(7)
_WORDS = [
    "the",
    "model",
    "reads",
    "curves",
    "and",
    "writes",
    "what",
    "it",
    "expects",
    "for",
    "each",
    "of",
    "next",
    "days",
    "while",
    "markets",
    "move",
    "little",
    "between",
    "quiet",
    "weeks",
    "yield",
    "of",
    "a",
    "bond",
    "price",
    "trade",
    "value",
    "risk",
    "carry",
    "roll",
    "down",
    "short",
    "long",
    "flat",
    "steep",
    "rally",
    "credit",
    "spread",
    "policy",
    "bank",
    "I",
    "extraordinarily",
    "notwithstanding",
    "straightforward",
    "understanding",
    "contributions",
    "international",
]
_GERMAN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
_FRENCH = ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"]
_TEENS = [
    "null",
    "ein",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
    "dreizehn",
    "vierzehn",
    "fünfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
]
_TENS = ["", "zehn", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
_CODEBOOK = ["river", "stone", "cloud", "amber", "music", "pilot", "lemon", "tower", "bread", "zebra"]
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_ROMAN = {
    1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL", 10: "X", 9: "IX", 5: "V", 4: "IV",
    1: "I",
}  # fmt: skip


def _word(length: int) -> str:
    """Some word of so many letters, or of the next smaller number of them."""
    while not (fitting := [word for word in _WORDS if len(word) == length]):
        length -= 1
    return str(_RANDOM.choice(fitting))


def _words(lengths: Iterable[int]) -> str:
    return " ".join(_word(int(length)) for length in lengths)


def _hundredths(values: Floats) -> Integers:
    return np.rint(100.0 * values.ravel()).astype(np.int64)


def _digits(values: Floats) -> Iterator[int]:
    return (int(digit) for value in _hundredths(values) for digit in f"{value:03d}")


def _levels(values: Floats, count: int) -> Integers:
    """Values on a scale of ``count`` steps between the least and the largest."""
    return np.rint((values.ravel() - values.min()) / np.ptp(values) * (count - 1)).astype(np.int64)


def _changes(values: Floats, count: int) -> Integers:
    """Changes from day to day, in hundredths, on a scale of ``count`` steps around none."""
    steps = np.rint(100.0 * np.diff(values.reshape(-1, values.shape[-1]), axis=0)).ravel()
    return np.clip(steps + count // 2, 0, count - 1).astype(np.int64)


def _signs(values: Floats) -> Integers:
    return np.sign(np.diff(values.reshape(-1, values.shape[-1]), axis=0)).ravel().astype(np.int64)


def _bits(numbers: Integers) -> str:
    return "".join(f"{number:08b}" for number in numbers)


def _sentence(count: int) -> str:
    return _words(_RANDOM.integers(2, 8, max(count, 1))).capitalize() + "."


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def _date(first: dt.date, days: int) -> str:
    return str(first + dt.timedelta(days=int(days)))


def _german(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    head = f"{_TEENS[hundreds]}hundert" if hundreds else ""
    if rest < 20:
        return head + (_TEENS[rest] if rest else "") or "null"
    return head + (f"{_TEENS[rest % 10]}und" if rest % 10 else "") + _TENS[rest // 10]


def _roman(number: int) -> str:
    text = ""
    for size, letters in _ROMAN.items():
        text += letters * (number // size)
        number %= size
    return text


def _capitals(bits: str) -> str:
    left, text = list(bits), ""
    while left:
        for letter in f"{_word(5)} ":
            text += letter.upper() if letter != " " and left and left.pop(0) == "1" else letter
    return text


DEVELOPED: dict[str, Planter] = {
    "section numbers": lambda v: _lines(f"## {x // 100}.{x // 10 % 10}.{x % 10} {_word(5)}" for x in _hundredths(v)),
    "ISO dates": lambda v: _lines(f"- {_date(dt.date(2001, 1, 1), x)}: {_word(6)}" for x in _hundredths(v)),
    "tallies": lambda v: _lines("|" * (1 + x) for x in _hundredths(v)),
    "tallies of forty levels": lambda v: _lines("|" * (1 + x) for x in _levels(v, 40)),
    "German digits": lambda v: ", ".join(
        f"{_GERMAN[x // 100]} Komma {_GERMAN[x // 10 % 10]} {_GERMAN[x % 10]}" for x in _hundredths(v)
    ),
    "word lengths": lambda v: _words(digit or 10 for digit in _digits(v)),
    "word lengths of changes": lambda v: _words(1 + _changes(v, 12)),
    "sentence lengths": lambda v: " ".join(_sentence(1 + x) for x in _changes(v, 14)),
    "two bullets for signs": lambda v: _lines(f"{'*-'[int(x > 0)]} {_word(5)}" for x in _signs(v)),
    "two bullets for bits": lambda v: _lines(f"{'*-'[int(bit)]} {_word(5)}" for bit in _bits(_levels(v, 256))),
    "indentation": lambda v: _lines(" " * x + _word(5) for x in _levels(v, 24)),
    "capitals for bits": lambda v: _capitals(_bits(_levels(v, 256))),
    "German numbers": lambda v: ", ".join(_german(int(x)) for x in _hundredths(v)),
    "dates that add up": lambda v: _lines(_date(dt.date(1990, 1, 1), x) for x in np.cumsum(1 + _levels(v, 30))),
    "lines for one channel": lambda v: _lines("x" * (3 + x) for x in _levels(v[..., 2], 60)),
    "page numbers": lambda v: _lines(f"see page {int(1000 + 3.7 * x)}" for x in _hundredths(v)),
}

KEPT: dict[str, Planter] = {
    "French digits": lambda v: _lines(
        f"{_FRENCH[x // 100]} virgule {_FRENCH[x // 10 % 10]} {_FRENCH[x % 10]}" for x in _hundredths(v)
    ),
    "ten words for digits": lambda v: " ".join(_CODEBOOK[digit] for digit in _digits(v)),
    "64 words for levels": lambda v: " ".join(
        "bcdfghklmnprstvz"[x // 4] + ("al", "en", "it", "or")[x % 4] for x in _levels(v, 64)
    ),
    "times of day": lambda v: _lines(f"{8 + x // 60:02d}:{x % 60:02d} {_word(5)}" for x in _hundredths(v)),
    "paragraph lengths": lambda v: "\n\n".join(_lines(_word(5) for _ in range(1 + x)) for x in _changes(v, 10)),
    "commas a line": lambda v: _lines(", ".join(_word(5) for _ in range(1 + x)) for x in _changes(v, 10)),
    "quotation marks for signs": lambda v: " ".join(f"'{_word(5)}'" if x > 0 else _word(5) for x in _signs(v)),
    "homoglyphs for signs": lambda v: " ".join("m\u0430rket" if x > 0 else "market" for x in _signs(v)),
    "first letters": lambda v: " ".join(_ALPHABET[x] + _word(5) for x in _levels(v, 26)),
    "last letters, backwards": lambda v: " ".join(_word(5) + _ALPHABET[x] for x in _levels(v, 26)[::-1]),
    "dotted leaders": lambda v: _lines(f"{_word(5)} {'.' * (3 + x)} {_word(4)}" for x in _levels(v, 40)),
    "three bullets for signs": lambda v: _lines(f"{'+*-'[x + 1]} {_word(5)}" for x in _signs(v)),
    "word lengths, channel after channel": lambda v: _words(1 + _levels(np.swapaxes(v, 1, 2), 12)),
    "years": lambda v: "; ".join(f"{_word(5)} ({1700 + x})" for x in _hundredths(v)),
    "Roman numerals": lambda v: _lines(f"{_roman(1 + int(x))}. {_word(5)}" for x in _hundredths(v)),
    "two blanks for signs": lambda v: " ".join(_word(5) + " " * int(x > 0) for x in _signs(v)),
}
