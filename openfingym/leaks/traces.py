"""What a text does besides what it says: how long its words are, how lines are indented, which bullets it has.

A *trace* is a sequence of numbers that is read off a text or an array without knowing what they stand for. A code can
use any of them, so every unit of a text (letters, words, phrases, lines, sentences, paragraphs) is measured in many
ways, and the measures of several neighbours are also read as the digits of one number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from openfingym.leaks.readings import Floats

FEWEST = 60
"""Fewest numbers of a trace that can tell enough."""
LEAST = 48.0
"""Fewest bits of entropy of a trace that can tell enough."""
STRIDES = 4
"""Most units that may stand for one hidden value, of which one is told by what it consists of."""
DIGITS = (2, 3, 4)
"""How many units on a small scale may be the digits of one hidden value."""
BITS = (4, 5, 6, 7, 8, 9, 10, 12, 16)
"""How many units of two kinds may be the bits of one hidden value."""
KINDS = 16
"""Most kinds of units that are told apart."""
COLUMNS = 16
"""Most fields of a line that are measured."""
MOST_OF_PARTS = 1e12
"""Largest product of what parts of a number may be."""
PARTS = 6
"""Most directions of what units consist of."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_FIELD, _NUMBER, _HEX = re.compile(r"[0-9A-Za-z]+"), re.compile(r"\d+"), re.compile(r"[0-9a-fA-F]+")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d\d)(?::(\d\d))?\b")

Measure = Callable[[str], float]


@dataclass(frozen=True, eq=False)
class Traces:
    """Numbers that are read off a text or an array, one of each of its units; rows have as many units."""

    what: tuple[str, ...]
    """What is measured of which units, as a phrase; of each row, or of all together."""
    rows: Floats
    """The numbers, float64[k, m]."""
    together: bool = False
    """Whether all rows are parts of one measure, which tell something together."""
    finite: bool = False
    """Whether the units are of few kinds, as digits are."""


def _code(unit: str, place: int) -> float:
    return float(ord(unit[place])) if unit else 0.0


def _words(unit: str) -> float:
    return float(len(unit.split()))


def _vowels(unit: str) -> float:
    return float(sum(map("aeiouAEIOU".count, unit)))


def _indent(unit: str) -> float:
    return float(len(unit) - len(unit.lstrip()))


def _marks(unit: str) -> float:
    return float(sum(not character.isalnum() and not character.isspace() for character in unit))


def _digits(unit: str) -> float:
    return float("".join(filter(str.isdecimal, unit))[:15] or 0)


def _capitals(unit: str) -> float:
    return float(sum(map(str.isupper, unit)))


def _foreign(unit: str) -> float:
    return float(sum(character > "~" for character in unit))


def _length(unit: str) -> float:
    return float(len(unit))


def _trailing(unit: str) -> float:
    return float(len(unit) - len(unit.rstrip()))


MEASURES: Mapping[str, Measure] = {
    "lengths": _length,
    "first characters": lambda unit: _code(unit, 0),
    "last characters": lambda unit: _code(unit, -1),
    "words": _words,
    "vowels": _vowels,
    "indentation": _indent,
    "marks": _marks,
    "digits": _digits,
    "capitals": _capitals,
    "other characters": _foreign,
    "blanks at the end": _trailing,
}
"""What is measured of a unit, by its name."""


def _split(pattern: str) -> Callable[[str], list[str]]:
    compiled = re.compile(pattern)
    return lambda text: [part for part in compiled.split(text) if part.strip()]


def _found(pattern: str) -> Callable[[str], list[str]]:
    compiled = re.compile(pattern)
    return lambda text: [match.group() for match in compiled.finditer(text)]


UNITS: Mapping[str, tuple[Callable[[str], list[str]], tuple[str, ...]]] = {
    "words": (_found(r"\S+"), ("lengths", "first characters", "last characters", "marks", "other characters")),
    "words of letters": (_found(r"[^\W\d_]+"), ("lengths", "vowels", "capitals")),
    "lines": (
        lambda text: [line for line in text.split("\n") if line.strip()],
        (
            "lengths",
            "first characters",
            "last characters",
            "words",
            "indentation",
            "marks",
            "capitals",
            "blanks at the end",
        ),
    ),
    "phrases": (_split(r"[,;:.!?\n()]+"), ("lengths", "words", "capitals")),
    "sentences": (_split(r"[.!?](?:\s+|$)|\n\s*\n"), ("lengths", "words")),
    "paragraphs": (_split(r"\n\s*\n"), ("lengths", "words", "marks")),
    "repeated marks": (_found(r"([^\w\s])\1*"), ("lengths", "first characters")),
    "blanks": (_found(r"\s+"), ("lengths", "first characters")),
    "letters": (_found(r"[^\W\d_]"), ("capitals", "other characters")),
    "integers": (_found(r"\d+"), ("digits", "lengths")),
    "digits": (_found(r"\d"), ("digits",)),
}
"""Units of a text: how they are found, and what is measured of them."""
STRIDDEN = ("words of letters",)
COMPOSED = ("words of letters", "phrases", "lines")
"""Units that are told apart by what they consist of."""


def text_traces(text: str) -> Iterator[Traces]:
    """Every trace of a text."""
    for name, (find, measures) in UNITS.items():
        units = find(text)
        if len(units) < FEWEST:
            continue
        measured = {
            f"{measure} of {name}": np.array([MEASURES[measure](unit) for unit in units]) for measure in measures
        }
        if name in COMPOSED:
            kinds = [unit.strip().lower() for unit in units]
            order = {kind: float(place) for place, kind in enumerate(sorted(set(kinds)))}
            measured[f"alphabetical order of {name}"] = np.array([order[kind] for kind in kinds])
            yield from _composed(name, kinds)
        yield from _measured(measured)
    yield from _columns(text)
    dates = [float(_ordinal(*map(int, match.groups()))) for match in _DATE.finditer(text)]
    times = [_seconds(match) for match in _CLOCK.finditer(text)]
    for name, values in (("dates", dates), ("times", times)):
        if len(values) >= FEWEST:
            yield from _measured({name: np.array(values)})


def _columns(text: str) -> Iterator[Traces]:
    """What stands at the same place of lines, or of what commas divide: numbers to base ten or sixteen, and lengths."""
    lines = text.split("\n")
    if len(lines) < FEWEST:
        lines = re.split(r"[,;]", text)
    measured: dict[str, Floats] = {}
    seen: set[bytes] = set()
    for pattern in (_FIELD, _NUMBER):
        fields = [pattern.findall(line) for line in lines]
        # Most lines may be empty, or a text between tables.
        widths = Counter(len(line) for line in fields if line)
        width, count = max(widths.items(), key=itemgetter(1), default=(0, 0))
        if count < FEWEST:
            continue
        for place in range(min(width, COLUMNS)):
            column = [line[place] for line in fields if len(line) == width]
            for what, values in _numbers(column):
                if values.tobytes() not in seen:
                    seen.add(values.tobytes())
                    measured[f"{what} {place + 1} of lines"] = values
        if pattern is _NUMBER:
            table = np.array([[float(unit[:15]) for unit in line] for line in fields if len(line) == width])
            # Parts of one number, such as those of a version.
            for place in range(max(width - 3, 0), width - 1):
                after = np.cumprod([1.0, *(table[:, :place:-1].max(axis=0) + 1.0)])[::-1]
                if after[0] < MOST_OF_PARTS:
                    measured[f"numbers {place + 1} to {width} of lines"] = table[:, place:] @ after
    yield from traces_of(measured)


def _numbers(column: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    base = 10 if all(map(str.isdecimal, column)) else 16
    if all(map(_HEX.fullmatch, column)):
        yield "numbers", np.array([float(int(unit[:15], base)) for unit in column])
    yield "lengths of field", np.array([float(len(unit)) for unit in column])


def traces_of(measured: Mapping[str, Floats]) -> Iterator[Traces]:
    """Measures that are numbers by themselves, and where they name each unit once, the places of the units' names."""
    kept = {what: values for what, values in measured.items() if _entropy(values) >= LEAST}
    kept |= {
        f"order of {what}": np.argsort(values).astype(np.float64) for what, values in kept.items() if _named(values)
    }
    for finite in (False, True):
        some = {what: values for what, values in kept.items() if (len(np.unique(values)) <= KINDS) == finite}
        for length in sorted({len(values) for values in some.values()}):
            names = tuple(what for what, values in some.items() if len(values) == length)
            yield Traces(names, np.stack([some[what] for what in names]), finite=finite)


def _named(values: Floats) -> bool:
    """Whether values are different names in an order of their own, neither rising nor falling."""
    steps = np.diff(values)
    return len(np.unique(values)) == len(values) and not (steps > 0.0).all() and not (steps < 0.0).all()


def _ordinal(year: int, month: int, day: int) -> int:
    # Days since 1970; of a date that there is not, the one that would be there.
    months = np.datetime64(f"{max(year, 1):04d}-01", "M") + np.timedelta64(month - 1, "M")
    return int(months.astype("datetime64[D]").astype(np.int64)) + day - 1


def _seconds(match: re.Match[str]) -> float:
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 3600.0 * hours + 60.0 * minutes + seconds


def _measured(measured: Mapping[str, Floats]) -> Iterator[Traces]:
    """Measures of the same units as they are, their steps, and several neighbours as the digits of one number."""
    kept = {what: values for what, values in measured.items() if _entropy(values) >= LEAST}
    for finite in (False, True):
        some = {what: values for what, values in kept.items() if (len(np.unique(values)) <= KINDS) == finite}
        if some:
            yield Traces(tuple(some), np.stack([*some.values()]), finite=finite)
    steps = {f"steps of {what}": np.diff(values) for what, values in kept.items() if len(np.unique(values)) > 2}
    if steps:
        yield Traces(tuple(steps), np.stack([*steps.values()]))
    for what, values in kept.items():
        yield from _grouped(what, values)


def _entropy(values: Floats) -> float:
    """Bits that a sequence has at most, if each unit is chosen by itself; 0 if there are few units."""
    counts = np.unique(values, return_counts=True)[1]
    return float((counts * np.log2(len(values) / counts)).sum()) if len(values) >= FEWEST else 0.0


def _grouped(what: str, values: Floats) -> Iterator[Traces]:
    kinds, counts = np.unique(values, return_counts=True)
    common = np.sort(kinds[np.argsort(counts)[-2:]])
    two = counts[np.argsort(counts)[-2:]].sum() > 0.9 * len(values)
    small = float(np.ptp(np.quantile(values, (0.02, 0.98)))) <= 16.0
    for size in BITS if two else DIGITS if small else ():
        if len(values) < FEWEST * size:
            return
        for phase in range(size):
            part = values[phase : phase + (len(values) - phase) // size * size].reshape(-1, size)
            # Digits of a number, the first one or the last one the largest.
            powers = np.stack([(2.0 if two else 10.0) ** np.arange(size)[::step] for step in (-1, 1)])
            rows = powers @ ((part >= common[1]) if two else part).T
            yield Traces((f"{what}, {size} as a number",) * 2, rows)


def _nth(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def _composed(name: str, units: Sequence[str]) -> Iterator[Traces]:
    """What units consist of: which of the most common ones each is, and how often it has each letter."""
    common = [unit for unit, count in Counter(units).most_common(KINDS) if count > 1]
    is_one = np.array([[float(unit == kind) for kind in common] for unit in units]).reshape(len(units), -1)
    letters = np.array([[float(unit.count(letter)) for letter in _LETTERS] for unit in units])
    for what, table in (("kinds", is_one), ("letters", letters)):
        for size in range(1, STRIDES + 1 if what == "kinds" and name in STRIDDEN else 2):
            if len(units) < FEWEST * size:
                break
            for phase in range(size):
                rows = _directions(table[phase::size])
                if len(rows):
                    yield Traces(
                        (f"{what} of {name}" + (f", every {_nth(size)}" if size > 1 else ""),), rows, True, True
                    )


def _directions(table: Floats) -> Floats:
    """The directions in which a table float64[m, k] varies most, float64[at most PARTS, m], not correlated."""
    centred = table - table.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred) if table.size else (np.zeros(0), np.zeros((0, 0)))
    kept = [place for place in np.argsort(values)[::-1][:PARTS] if values[place] > 1e-3 * values.max()]
    rows: Floats = (centred @ vectors[:, kept]).T
    return rows
