"""Reading the rows of a table or a list in an answer: JSON, Markdown, lines, or one line with separators."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from openfingym.answers.reading.cleaning import cleaned

_BULLET = re.compile(r"^\s*(?:[-*•·–]|\(?[0-9]{1,3}[.)、;]|[①-⑳])\s+")
_RULE = re.compile(r"^[\s|:+=-]+$")
# Neither the colon of a time, as in 16:30, nor the comma of a number, as in 1,245, separates cells.
_SPLIT = re.compile(
    r"\s*(?:\t|\||;|:(?![0-9]{2}(?![0-9]))|,(?![0-9]{3}(?![0-9]))\s+|,(?=[A-Za-z-])"
    r"|\s[-–—]\s|→|=>)\s*"
)
"""What separates the cells of a row in one line."""
_LISTED = re.compile(r"\s*(?:;|\||,(?![0-9]{3}(?![0-9]))|\n|\band\b|以及|和)\s*", re.IGNORECASE)
"""What separates the items of a list in one line."""
_FENCED = re.compile(r"(?:json|JSON)?\s*([\[{].*[\]}])", re.DOTALL)
"""JSON, perhaps within other words, with the name that Markdown puts before it."""


class Rows(NamedTuple):
    """The rows that were read from an answer."""

    rows: list[tuple[str, ...]]
    """The texts of the cells of each row: one cell for each name, or the whole row as one cell if they cannot be told
    apart."""
    sure: bool
    """Whether these are certainly the rows of the answer, so that it may be rejected for their number."""


def json_of(text: str) -> object:
    """The JSON list or object that a text consists of or contains; None if there is none, or if an object in it has
    the same name twice.
    """
    if "{" not in text and "[" not in text:
        return None
    match = _FENCED.search(text)
    if match is None:
        return None
    # The parser recurses at every level, and an answer may be nested as deep as it is long.
    try:
        return json.loads(match[1], object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None


def outside_json(text: str) -> str:
    """The words of a text before and after its JSON."""
    match = _FENCED.search(text)
    return text if match is None else f"{text[: match.start()]} {text[match.end() :]}".strip()


def cell(value: object) -> str:
    """A JSON value as an answer in words would state it; a text of it is cleaned, since JSON may escape any sign."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cleaned(value) if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def rows_of(text: str, names: Sequence[str]) -> Rows:
    """Read the rows of an answer, each with a cell for each name if the cells can be told apart.

    Args:
        text: the answer, after :func:`~openfingym.answers.reading.cleaning.cleaned`.
        names: the names of the cells of a row, in their order.
    """
    # From the form that says most of its structure to the one that says least; the first that fits is taken.
    document = json_of(text)
    if document is not None:
        found = _json_rows(document, names)
        # JSON of another form has no lines that could be read as rows.
        return Rows([(text,)], sure=False) if found is None else Rows(found, sure=True)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    # Rows of Markdown may lack the bars at both ends.
    if sum(line.count("|") >= max(1, len(names) - 1) for line in lines) > 1:
        return _markdown(lines, names)
    # Lines without a bullet introduce the list, or follow it.
    bulleted = [line for line in lines if _BULLET.match(line)]
    if bulleted:
        return Rows([_cells(_BULLET.sub("", line), names) for line in bulleted], sure=True)
    # Commas of a long text are those of its sentences.
    if len(lines) == 1 and len(names) == 1:
        return Rows(
            [(item.strip(" .[]"),) for item in _LISTED.split(lines[0]) if item.strip(" .[]")], sure=len(text) < 400
        )
    if len(lines) == 1 and (split := _in_one_line(lines[0], names)):
        return Rows(split, sure=True)
    # Plain lines: "The drops were:" and a line of names are none of the rows.
    if len(lines) > 1 and lines[0].endswith(":"):
        lines = lines[1:]
    rows = [_cells(line, names) for line in lines]
    if _is_header(rows[0], names):
        rows = rows[1:]
    return Rows(
        rows,
        sure=len(rows) > 1 and all(len(row) == len(names) and len(" ".join(row)) < 60 * len(names) for row in rows),
    )


def named(record: Mapping[str, object], names: Sequence[str]) -> tuple[str, ...] | None:
    """The values of a JSON object by these names, in their order; None if one is missing or comes twice.

    Args:
        record: the JSON object that is read as a row.
        names: the names of the values; case, spaces and signs in them do not count.
    """
    by_key = {_key(name): value for name, value in record.items()}
    # Two names that differ in case or signs alone are two answers.
    if len(by_key) != len(record):
        return None
    if any(_key(name) not in by_key for name in names):
        return None
    return tuple(cell(by_key[_key(name)]) for name in names)


def _json_rows(document: object, names: Sequence[str]) -> list[tuple[str, ...]] | None:
    """The rows of a JSON list or object; None if it is not a table with these columns."""
    if isinstance(document, dict):
        lists = [value for value in document.values() if isinstance(value, list)]
        # A list within an object, as {"rows": [...]}.
        if len(lists) == 1 and len(document) == 1:
            document = lists[0]
        elif all(not isinstance(value, dict | list) for value in document.values()):
            # One row as an object; or, with two columns, an object of the second by the first.
            whole = named(document, names)
            if whole is not None:
                return [whole]
            if len(names) != 2:
                return None
            return [(str(key), cell(value)) for key, value in document.items()]
        else:
            return None
    assert isinstance(document, list)
    rows: list[tuple[str, ...]] = []
    for item in document:
        if isinstance(item, dict):
            # With other names, as many values as there are columns are taken in their order.
            row = named(item, names) or (tuple(map(cell, item.values())) if len(item) == len(names) else None)
        elif isinstance(item, list):
            row = tuple(map(cell, item))
        else:
            row = _cells(cell(item), names)
        if row is None:
            return None
        rows.append(row)
    return rows


def _markdown(lines: Sequence[str], names: Sequence[str]) -> Rows:
    """The rows of a Markdown table."""
    table = [line for line in lines if "|" in line]
    rows = [tuple(text.strip() for text in line.strip("|").split("|")) for line in table]
    rows = [row for row, line in zip(rows, table, strict=True) if not _RULE.match(line)]
    # A table with a rule has a header; one without may begin with its names all the same.
    if rows and (len(rows) < len(table) or _is_header(rows[0], names)):
        keys = [_key(head) for head in rows[0]]
        columns = [keys.index(_key(name)) if _key(name) in keys else -1 for name in names]
        body = [row for row in rows[1:] if any(row)]
        # A header that has all names says which columns count, and in which order.
        if -1 not in columns:
            return Rows(
                [tuple(row[column] if column < len(row) else "" for column in columns) for row in body], sure=True
            )
        rows = body
    return Rows(rows, sure=True)


def _in_one_line(line: str, names: Sequence[str]) -> list[tuple[str, ...]] | None:
    """The rows of a line such as ``2022: 1.2, 2023: 0.5``; None if it is not a list of rows."""
    for separator in (r"\s*;\s*", r"\s*,(?![0-9]{3}(?![0-9]))\s*"):
        rows = [_cells(item, names) for item in re.split(separator, line.strip(" .")) if item]
        if len(rows) > 1 and all(len(row) == len(names) for row in rows):
            return rows
    return None


def _is_header(row: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a row has the name of a column in it, and no number."""
    keys = {_key(text) for text in row}
    return bool(keys & {_key(name) for name in names}) and not any(char.isdigit() for text in row for char in text)


def _cells(line: str, names: Sequence[str]) -> tuple[str, ...]:
    """The cells of a row in one line; the whole line as one cell if they cannot be told apart."""
    if len(names) == 1:
        # What follows a name explains it, as in "Hebei (since 1928)"; a number may need what follows it.
        head = re.split(r"[:(]|\s[-–—]\s", line, maxsplit=1)[0].strip() if not re.match(r"[\d$€£¥+-]", line) else line
        return (head or line,)
    cells = [text for text in _SPLIT.split(line.strip("[]() ")) if text]
    return tuple(cells) if len(cells) == len(names) else (line,)


@functools.lru_cache(maxsize=4096)
def _key(name: str) -> str:
    """A name in the form in which names of columns are compared."""
    return "".join(char for char in name.casefold() if char.isalnum())


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of pairs of which no two have the same name: those would be two answers."""
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a name comes twice")
    return record
