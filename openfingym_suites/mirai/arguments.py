"""Arguments of the API's functions, from JSON to checked values; what is wrong becomes a text that says what is right.

A day that does not exist, or lies after the current date; an unknown code; a range whose end comes first; a list that
is too long: each is an :class:`IllegalCallError`, which names the fault for statistics of an agent's errors.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Literal

from openfingym.errors import UsageError
from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.classes import CAMEOCode, Date, DateRange, ISOCode
from openfingym_suites.mirai.functions import ROLES, Function, Kind, Parameter
from openfingym_suites.mirai.matching import likely_countries

Fault = Literal[
    "future_date",
    "invalid_date",
    "backward_range",
    "invalid_country",
    "invalid_relation",
    "invalid_argument",
    "unknown_function",
    "not_a_call",
    "no_such_article",
]
"""What is wrong with a call, in one word."""
LONGEST_TEXT = 2_000
"""The most characters of a text argument."""
MOST_VALUES = 300
"""The most values of a list; there are fewer countries and relations."""
LONGEST_ARGUMENTS = 100_000
"""The most characters of the arguments of a call as JSON."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class IllegalCallError(UsageError):
    """A call that cannot be answered; the message says what was expected.

    Attributes:
        fault: what is wrong, in one word.
    """

    def __init__(self, message: str, fault: Fault = "invalid_argument") -> None:
        super().__init__(message)
        self.fault: Fault = fault


def decoded(function: Function, given: str | Mapping[str, object], today: date | None) -> dict[str, object]:
    """The arguments of a call as values of the API's classes; optional ones that are missing or null are left out.

    Args:
        function: the function that is called.
        given: its arguments by name, as JSON text or parsed.
        today: the current date, after which nothing may be asked; None for no limit.

    Raises:
        IllegalCallError: an argument is missing, unknown, or not of its type.
    """
    values = _parsed(function, given)
    known = {parameter.name: parameter for parameter in function.parameters}
    takes = f"{function.name} takes {', '.join(known)}"
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise IllegalCallError(f"{function.name} has no argument {shown(name)}{hint or '.'} {takes}.")
    arguments: dict[str, object] = {}
    for parameter in function.parameters:
        value = values.get(parameter.name)
        if value is not None:
            arguments[parameter.name] = _DECODERS[parameter.kind](value, parameter, today)
        elif not parameter.optional:
            raise IllegalCallError(f"{function.name} needs the argument {parameter.name}: {parameter.about}.")
    return arguments


def shown(value: object) -> str:
    """A value as Python writes it, at most 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _parsed(function: Function, given: str | Mapping[str, object]) -> Mapping[str, object]:
    expected = f"The arguments of {function.name} must be a JSON object by name, such as {_example(function)}"
    if isinstance(given, str):
        if len(given) > LONGEST_ARGUMENTS:
            raise IllegalCallError(f"{expected}; received {len(given)} characters, at most {LONGEST_ARGUMENTS}.")
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            raise IllegalCallError(f"{expected}, but received: {shown(given)}.") from None
    if not isinstance(given, Mapping):
        raise IllegalCallError(f"{expected}, but received: {shown(given)}.")
    return given


def _example(function: Function) -> str:
    """Arguments of a function as a JSON object, for a message."""
    examples: dict[str, object] = {
        "date_range": {"start_date": "2023-06-01", "end_date": "2023-06-30"},
        "head_entities": ["USA"],
        "name": "Korea",
        "iso_code": "USA",
        "description": "impose sanctions",
        "cameo_code": "01",
        "date": "2023-06-01",
        "title": "Title of the article",
    }
    listed = [parameter.name for parameter in function.parameters if parameter.name in examples][:2]
    return json.dumps({name: examples[name] for name in listed})


def _text(value: object, parameter: Parameter, _today: date | None = None) -> str:
    if not isinstance(value, str) or not value.strip():
        raise IllegalCallError(f"{parameter.name} must be a text, but received: {shown(value)}.")
    if len(value) > LONGEST_TEXT:
        raise IllegalCallError(
            f"{parameter.name} must have at most {LONGEST_TEXT} characters, but received {len(value)}."
        )
    # JSON may escape one half of a surrogate pair, which no text in UTF-8 can hold and no database takes.
    if not value.isprintable() and any(0xD800 <= ord(letter) < 0xE000 for letter in value):
        raise IllegalCallError(f"{parameter.name} must be Unicode text, but received: {shown(value)}.")
    return value


def _role(value: object, parameter: Parameter, _today: date | None) -> str:
    if not isinstance(value, str) or value not in ROLES:
        raise IllegalCallError(f"{parameter.name} must be 'head', 'tail' or 'both', but received: {shown(value)}.")
    return value


def _date(value: object, _parameter: Parameter | None, today: date | None) -> Date:
    value = _inner(value, "date")
    try:
        # By itself, fromisoformat would also take 20230601 and 2023-W22-4.
        if not isinstance(value, str) or not _DAY.fullmatch(value.strip()):
            raise ValueError
        day = date.fromisoformat(value.strip())
    except ValueError:
        raise IllegalCallError(
            f"Date must be a day that exists, written as 'YYYY-MM-DD', but received: {shown(value)}.", "invalid_date"
        ) from None
    if today is not None and day > today:
        raise IllegalCallError(
            f"Date must be on or before the current date {today}, but received: {day}.", "future_date"
        )
    return Date(day.isoformat())


def _date_range(value: object, parameter: Parameter, today: date | None) -> DateRange:
    if isinstance(value, (list, tuple)) and len(value) == 2:
        value = {"start_date": value[0], "end_date": value[1]}
    if not isinstance(value, Mapping) or not set(value) <= {"start_date", "end_date"}:
        raise IllegalCallError(
            f"{parameter.name} must be a DateRange with start_date and end_date, but received: {shown(value)}."
        )
    start, end = (
        None if value.get(side) is None else _date(value[side], None, today) for side in ("start_date", "end_date")
    )
    if start is not None and end is not None and start > end:
        raise IllegalCallError(
            f"start_date must be on or before end_date, but received: {start.date} and {end.date}.", "backward_range"
        )
    return DateRange(start, end)


def _iso_code(value: object, _parameter: Parameter, _today: date | None) -> ISOCode:
    value = _inner(value, "code", "iso_code")
    code = value.strip().upper() if isinstance(value, str) and len(value) < 20 else None
    if code is not None and taxonomy.is_country(code):
        return ISOCode(code)
    # What is no code is often a name, for which there are codes to suggest.
    hint = ""
    if isinstance(value, str) and 1 < len(value.strip()) <= LONGEST_TEXT:
        near = [f"{country.iso3} ({country.name})" for country in likely_countries(value)[:3]]
        hint = f" Perhaps: {', '.join(near)}." if near else ""
    raise IllegalCallError(
        f"ISOCode must be an ISO 3166-1 alpha-3 code such as 'USA', but received: {shown(value)}.{hint}",
        "invalid_country",
    )


def _cameo_code(value: object, _parameter: Parameter, _today: date | None) -> CAMEOCode:
    value = _inner(value, "code", "cameo_code")
    code = value.strip() if isinstance(value, str) and len(value) < 20 else None
    if code is not None and (taxonomy.is_relation(code, level=1) or taxonomy.is_relation(code, level=2)):
        return CAMEOCode(code)
    # A third-level code has its parent in its first digits, and a number has lost its leading zeros.
    near: list[str] = []
    if code is not None and taxonomy.is_relation(code, level=3):
        near = [code[:3]]
    elif isinstance(value, int) or (code is not None and code.isdecimal() and code.isascii()):
        digits = str(value).strip()
        padded = [digits.zfill(width) for width in (2, 3) if len(digits) <= width]
        near = [each for each in padded if taxonomy.is_relation(each)]
    hint = f" Perhaps: {', '.join(f'{each!r} ({taxonomy.relation(each).name})' for each in near)}." if near else ""
    raise IllegalCallError(
        "CAMEOCode must be a text of two digits (first level, such as '01') or three (second level, such as '010') "
        f"that is in the ontology, but received: {shown(value)}.{hint}",
        "invalid_relation",
    )


def _list_of(
    decode: Callable[[object, Parameter, date | None], object],
) -> Callable[[object, Parameter, date | None], tuple[object, ...]]:
    """A decoder of lists, from one of their values; a value by itself is a list of one."""

    def decode_all(value: object, parameter: Parameter, today: date | None) -> tuple[object, ...]:
        listed = list(value) if isinstance(value, (list, tuple)) else [value]
        if not listed:
            raise IllegalCallError(f"{parameter.name} must have at least one value, or be left out.")
        if len(listed) > MOST_VALUES:
            raise IllegalCallError(
                f"{parameter.name} must have at most {MOST_VALUES} values, but received {len(listed)}."
            )
        # Each value once, in the order in which they were given.
        return tuple(dict.fromkeys(decode(each, parameter, today) for each in listed))

    return decode_all


def _inner(value: object, *names: str) -> object:
    """The value of a class of one attribute that is written as a JSON object, such as ``{"code": "USA"}``."""
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in names:
        inner: object = next(iter(value.values()))
        return inner
    return value


_DECODERS: Mapping[Kind, Callable[[object, Parameter, date | None], object]] = {
    "str": _text,
    "Role": _role,
    "Date": _date,
    "DateRange": _date_range,
    "ISOCode": _iso_code,
    "CAMEOCode": _cameo_code,
    "List[ISOCode]": _list_of(_iso_code),
    "List[CAMEOCode]": _list_of(_cameo_code),
    "List[str]": _list_of(_text),
}
