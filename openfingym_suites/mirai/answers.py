"""Reading an agent's forecast: codes of both levels, or a ranking of second-level codes.

The answer is looked for behind the last ``Final Answer:``, in the last ``<answer>`` tag, in code fences, and in prose;
it may be JSON or a Python literal, its codes strings or numbers. What cannot be parsed is :class:`Unparsed`, a state of
its own, and never an empty answer; ``{}`` is an empty answer. Codes that do not exist, or do not belong to their key,
are left out, as the paper's code does, and listed; an answer of which no code is left is unparsed too.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from openfingym_suites.mirai import taxonomy

LONGEST_ANSWER = 50_000
"""The most characters of an answer by itself, without the text around it."""
MOST_PLACES = 50
"""The most pairs of brackets of a text that are tried as the answer."""
_ANSWER_KEYS = frozenset({"answer", "final_answer", "forecast", "prediction"})
"""Keys under which a dictionary may hold the answer."""
SET_FORM = (
    "Final Answer: and a JSON dictionary from two-digit first-level CAMEO codes to lists of three-digit second-level "
    'codes that are their children, such as Final Answer: {"01": ["010", "011"], "02": ["020"]}'
)
RANKING_FORM = (
    "Final Answer: and a JSON list of three-digit second-level CAMEO codes, the most likely first, such as "
    'Final Answer: ["042", "010", "036"]'
)
PROBABILITY_FORM = (
    "Final Answer: and a JSON dictionary from three-digit second-level CAMEO codes to their probabilities, such as "
    'Final Answer: {"042": 0.8, "010": 0.55}'
)
COUNTRY_FORM = 'Final Answer: and a JSON list of ISO 3166-1 alpha-3 country codes, such as Final Answer: ["AUS", "USA"]'


@dataclass(frozen=True)
class LeftOut:
    """A part of an answer that does not count."""

    code: str
    """The code as it was written, cut to 20 characters."""
    why: str
    """The reason why it does not count, in words."""


@dataclass(frozen=True)
class CodeAnswer:
    """A forecast of relations, as codes of both levels."""

    codes: Mapping[str, tuple[str, ...]]
    """Second-level codes by their first-level code; a first-level code may be named without any of them."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """The score of each second-level code of a ranking, above 0 and up to 1; empty if the answer is a set."""
    left_out: tuple[LeftOut, ...] = ()
    """What the answer named and does not count."""

    def numbers(self) -> NDArray[np.float64]:
        """The answer as metrics take it, float64[169]: in the order of :func:`labels`, 0 for codes that were not named,
        else 1 or the score.
        """
        places = _places()
        row = np.zeros(len(places))
        for first, seconds in self.codes.items():
            for code in (first, *seconds):
                # Only second-level codes have scores, so that a first-level code counts in full.
                row[places[code]] = self.scores.get(code, 1.0)
        return row


@dataclass(frozen=True)
class CountryAnswer:
    """A forecast of countries."""

    countries: tuple[str, ...]
    """ISO 3166-1 alpha-3 codes, in the order in which they were named."""
    left_out: tuple[LeftOut, ...] = ()
    """What the answer named and does not count."""

    def numbers(self) -> NDArray[np.float64]:
        """1 for the countries that were named, else 0, float64[countries], in the order of the taxonomy."""
        return np.array([float(country.iso3 in self.countries) for country in taxonomy.countries()])


Answer = TypeVar("Answer", CodeAnswer, CountryAnswer)


@dataclass(frozen=True)
class Unparsed:
    """An answer that could not be parsed."""

    complaint: str
    """What is wrong with it, as a part of a sentence."""
    expected: str
    """The form that was asked for, in words."""

    def __str__(self) -> str:
        return f"The answer could not be parsed: {self.complaint}. Expected: {self.expected}"


@cache
def labels() -> tuple[str, ...]:
    """The codes that an answer may name: 20 of the first level, then 149 of the second."""
    return tuple(relation.code for level in (1, 2) for relation in taxonomy.relations(level))


def parsed_set(answer: object) -> CodeAnswer | Unparsed:
    """A forecast as a set of codes.

    Args:
        answer: the answer as a text to search, or as a JSON value.
    """
    return _first_parsed(answer, _set_of, SET_FORM, dict)


def parsed_ranking(answer: object, most: int | None = None, *, probabilities: bool = False) -> CodeAnswer | Unparsed:
    """A forecast as a ranking of second-level codes; its first level is that of these codes.

    Args:
        answer: the answer as a text to search, or as a JSON value: codes in order, or codes with probabilities, as a
            dictionary or as pairs.
        most: how many codes count, from the first; None for all.
        probabilities: whether probabilities are asked for. They order the codes, and a code of probability 0 is not
            named.
    """

    def ranking(value: Any) -> CodeAnswer | str:
        return _ranking_of(value, most, probabilities)

    form = PROBABILITY_FORM if probabilities else RANKING_FORM
    return _first_parsed(answer, ranking, form, dict, list)


def parsed_countries(answer: object) -> CountryAnswer | Unparsed:
    """A forecast as a set of countries.

    Args:
        answer: the answer as a text to search, or as a JSON value.
    """
    return _first_parsed(answer, _countries_of, COUNTRY_FORM, list)


def _countries_of(value: Any) -> CountryAnswer | str:
    if not isinstance(value, list):
        return f"it is a {type(value).__name__}, not a list"
    listed = [str(code).strip()[:20].upper() for code in value]
    known = tuple(dict.fromkeys(code for code in listed if taxonomy.is_country(code)))
    left_out = tuple(
        LeftOut(code, "not an ISO 3166-1 alpha-3 code") for code in listed if not taxonomy.is_country(code)
    )
    if left_out and not known:
        return f"none of its codes is a country: {', '.join(repr(each.code) for each in left_out[:5])}"
    return CountryAnswer(known, left_out)


def _first_parsed(
    answer: object, read: Callable[[Any], Answer | str], expected: str, *kinds: type
) -> Answer | Unparsed:
    """The first candidate that can be read; if none can, the complaint about the first.

    Args:
        answer: the answer as a text to search, or as a JSON value.
        read: reads a value; gives what is wrong with it as a text.
        expected: the form that was asked for, in words.
        kinds: types that a value in a text may have.
    """
    complaint = ""
    candidates = _candidates(answer, kinds) if isinstance(answer, str) else iter([answer])
    for value in candidates:
        reading = read(_unwrapped(value))
        if not isinstance(reading, str):
            return reading
        # The likeliest candidate comes first, so its fault says more than those of stray brackets.
        complaint = complaint or reading
    if not complaint:
        end = str(answer).strip()[-60:]
        complaint = f"there is no complete JSON of that form in it; it ends with {end!r}" if end else "it is empty"
    return Unparsed(complaint, expected)


def _set_of(value: object) -> CodeAnswer | str:
    if not isinstance(value, dict):
        return f"it is a {type(value).__name__}, not a dictionary"
    codes: dict[str, tuple[str, ...]] = {}
    left_out: list[LeftOut] = []
    for key, listed in value.items():
        first = _code(key, 2)
        if not taxonomy.is_relation(first, level=1):
            left_out.append(LeftOut(first, "not a first-level code"))
            continue
        # 1 and "01" are the same key, whose lists are joined.
        seconds = dict.fromkeys(codes.get(first, ()))
        for each in _values(listed):
            code = _code(each, 3)
            if not taxonomy.is_relation(code, level=2):
                left_out.append(LeftOut(code, "not a second-level code"))
            elif code[:2] != first:
                left_out.append(LeftOut(code, f"not a child of {first}"))
            else:
                seconds[code] = None
        codes[first] = tuple(seconds)
    if left_out and not codes:
        return f"none of its codes is a first-level code: {', '.join(repr(each.code) for each in left_out[:5])}"
    return CodeAnswer(codes, left_out=tuple(left_out))


def _ranking_of(value: object, most: int | None, probabilities: bool) -> CodeAnswer | str:
    pairs = _pairs(value, probabilities)
    if isinstance(pairs, str):
        return pairs
    scores: dict[str, float] = {}
    left_out: list[LeftOut] = []
    for code, score in pairs:
        if not taxonomy.is_relation(code, level=2):
            left_out.append(LeftOut(code, "not a second-level code"))
        elif code in scores:
            left_out.append(LeftOut(code, "named twice"))
        # Only codes that count use up places: an unknown or repeated one does not push out a later one.
        elif most is not None and len(scores) == most:
            left_out.append(LeftOut(code, f"beyond the first {most}"))
        elif score > 0.0:
            scores[code] = score
    if left_out and not scores:
        return f"none of its codes is a second-level code: {', '.join(repr(each.code) for each in left_out[:5])}"
    codes: dict[str, tuple[str, ...]] = {}
    for code in scores:
        codes[code[:2]] = (*codes.get(code[:2], ()), code)
    return CodeAnswer(codes, scores, tuple(left_out))


def _pairs(value: object, probabilities: bool) -> list[tuple[str, float]] | str:
    """Codes and scores, the highest first; or what is wrong."""
    listed = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(listed, list):
        return f"it is a {type(value).__name__}, not a list of codes"
    paired = bool(listed) and all(isinstance(each, (list, tuple)) and len(each) == 2 for each in listed)
    if not paired:
        if probabilities and listed:
            return "its codes have no probabilities"
        if any(isinstance(each, (dict, list, tuple)) for each in listed):
            return "it is not a flat list of codes"
        # From 1 down in equal steps that never reach 0: a score of 0 would mean that the code is not named.
        return [(_code(each, 3), 1.0 - place / len(listed)) for place, each in enumerate(listed)]
    pairs = []
    for code, score in listed:
        number = _probability(score)
        if number is None:
            return f"{str(score)[:40]!r} is not a probability between 0 and 1"
        pairs.append((_code(code, 3), number))
    # The sort is stable: codes of the same probability stay in the order in which they were written.
    return sorted(pairs, key=lambda pair: -pair[1])


def _probability(value: object) -> float | None:
    try:
        text = str(value).strip()
        number = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0.0 <= number <= 1.0 and not isinstance(value, bool) else None


def _code(value: object, digits: int) -> str:
    """A code as text; a number gets back the leading zeros that it cannot have, so that 10 is ``010``."""
    text = str(value).strip()[:20]
    return text.zfill(digits) if text.isascii() and text.isdecimal() else text


def _values(listed: object) -> list[object]:
    """The codes of a value: a list, a dictionary by code, one code, or none."""
    if listed is None:
        return []
    return list(listed) if isinstance(listed, (list, tuple, set, dict)) else [listed]


def _unwrapped(value: object) -> object:
    """What stands under a single key such as ``answer``."""
    if isinstance(value, dict) and len(value) == 1:
        key, inner = next(iter(value.items()))
        if str(key).casefold().replace(" ", "_") in _ANSWER_KEYS:
            return inner
    return value


_MARKS = (re.compile(r"final\s+answer\**\s*:", re.IGNORECASE), re.compile(r"<answer>", re.IGNORECASE))


def _candidates(text: str, kinds: tuple[type, ...]) -> Iterator[object]:
    """Values that a text may mean: behind the last mark, the first value alone; without a mark, all from the last."""
    marked = max((match.end() for mark in _MARKS for match in mark.finditer(text)), default=-1)
    opening = ("{" if dict in kinds else "") + ("[" if list in kinds else "")
    # What stands before the mark is not the final answer, even where nothing behind it can be parsed.
    text = text[marked:] if marked >= 0 else text
    spans = _spans(text, opening)
    # Without a mark the answer is at the end, behind the reasoning.
    values = (_literal(text[start:end]) for start, end in (spans if marked >= 0 else spans[::-1])[:MOST_PLACES])
    of_kind = (value for value in values if isinstance(value, kinds))
    if marked < 0:
        yield from of_kind
    elif (first := next(of_kind, None)) is not None:
        yield first


def _spans(text: str, opening: str) -> list[tuple[int, int]]:
    """Start and end of the outermost pairs of brackets, in one pass over the text.

    Args:
        text: the text to search.
        opening: opening brackets that a pair may begin with.
    """
    stack: list[int] = []
    spans: list[tuple[int, int]] = []
    for place, letter in enumerate(text):
        if letter in "{[":
            stack.append(place)
        elif letter in "}]":
            partner = "{" if letter == "}" else "["
            # An opening bracket of the other kind that is still open here is a stray one.
            while stack and text[stack[-1]] != partner:
                stack.pop()
            if stack:
                start = stack.pop()
                if partner in opening and place - start < LONGEST_ANSWER:
                    # The pairs inside this one are parts of its value.
                    while spans and spans[-1][0] > start:
                        spans.pop()
                    spans.append((start, place + 1))
    return spans


def _quoted(text: str) -> str:
    """A text with quotes around bare digits, since codes such as 010 are numbers neither in JSON nor in Python.

    Quotes behind a backslash, and typographic ones, become plain quotes.
    """
    plain = re.sub(r"[“”„«»]", '"', text.replace('\\"', '"')).replace("‘", "'").replace("’", "'")
    return re.sub(r"(?<![\w\"'.])(\d{1,4})(?![\w\"'.])", r'"\1"', plain)


def _literal(text: str) -> object:
    """The value of a JSON text or a Python literal, if need be with its quotes mended; None if it is neither."""
    for written in (text, _quoted(text)):
        for read in (json.loads, ast.literal_eval):
            try:
                value: object = read(written)
            # What a model writes may nest deeper than either parser goes.
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue
            return value
    return None


@cache
def _places() -> Mapping[str, int]:
    return {code: place for place, code in enumerate(labels())}
