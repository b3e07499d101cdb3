"""The rows of a table or a list in an answer: JSON, Markdown, lines, or one line with separators."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_BULLET = re.compile(r"^\s*(?:[-*•·–]|\(?[0-9]{1,3}[.)、;]|[①-⑳])\s+")
_RULE = re.compile(r"^[\s|:+=-]+$")
_SPLIT = re.compile(r"\s*(?:\t|\||;|:(?![0-9]{2}(?![0-9]))|,(?![0-9]{3}(?![0-9]))\s+|,(?=[A-Za-z-])|\s[-–—]\s|→|=>)\s*")
_LISTED = re.compile(r"\s*(?:;|,(?![0-9]{3}(?![0-9]))|\n|\band\b|以及|和)\s*", re.IGNORECASE)
_FENCED = re.compile(r"(?:json|JSON)?\s*([\[{].*[\]}])", re.DOTALL)


class Rows(NamedTuple):
    """The rows of an answer."""

    rows: list[tuple[str, ...]]
    """Texts of the cells."""
    sure: bool
    """Whether these are its rows beyond doubt, so that their number counts."""


def json_of(text: str) -> object:
    """The JSON list or object that a text is or holds; None without one, or where names of an object come twice."""
    if "{" not in text and "[" not in text:
        return None
    match = _FENCED.search(text)
    if match is None:
        return None
    try:
        return json.loads(match[1], object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None


def outside_json(text: str) -> str:
    """What a text says besides its JSON."""
    match = _FENCED.search(text)
    return text if match is None else f"{text[: match.start()]} {text[match.end() :]}".strip()


def cell(value: object) -> str:
    """A JSON value as an answer would write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def rows_of(text: str, names: Sequence[str]) -> Rows:
    """The rows of an answer, each with a cell for each name where they can be told apart.

    Args:
        text: a cleaned answer.
        names: what the cells of a row are called.
    """
    found = json_of(text)
    if found is not None and (rows := _json_rows(found, names)) is not None:
        return Rows(rows, sure=True)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if sum(line.count("|") >= len(names) - (len(names) > 1) and "|" in line for line in lines) > 1:
        return _markdown(lines, names)
    bulleted = [line for line in lines if _BULLET.match(line)]
    if bulleted:
        return Rows([_cells(_BULLET.sub("", line), names) for line in bulleted], sure=True)
    if len(lines) == 1 and len(names) == 1:
        return Rows(
            [(item.strip(" .[]"),) for item in _LISTED.split(lines[0]) if item.strip(" .[]")], sure=len(text) < 400
        )
    if len(lines) == 1 and (split := _in_one_line(lines[0], names)):
        return Rows(split, sure=True)
    if len(lines) > 1 and lines[0].endswith(":"):
        lines = lines[1:]
    rows = [_cells(line, names) for line in lines]
    if len(rows) > 1 and _is_header(rows[0], names):
        rows = rows[1:]
    return Rows(
        rows,
        sure=len(rows) > 1 and all(len(row) == len(names) and len(" ".join(row)) < 60 * len(names) for row in rows),
    )


def named(found: Mapping[str, object], names: Sequence[str]) -> tuple[str, ...] | None:
    """The values of a JSON object by these names, whatever their case and signs; None where one is missing."""
    by_key = {_key(name): value for name, value in found.items()}
    if len(by_key) != len(found):
        return None
    if any(_key(name) not in by_key for name in names):
        return None
    return tuple(cell(by_key[_key(name)]) for name in names)


def _json_rows(found: object, names: Sequence[str]) -> list[tuple[str, ...]] | None:
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        if len(lists) == 1 and len(found) == 1:
            found = lists[0]
        elif found.keys() == set(names) or all(not isinstance(value, dict | list) for value in found.values()):
            whole = named(found, names)
            if whole is not None:
                return [whole]
            if len(names) != 2:
                return None
            return [(str(key), cell(value)) for key, value in found.items()]
        else:
            return None
    assert isinstance(found, list)
    rows: list[tuple[str, ...]] = []
    for item in found:
        if isinstance(item, dict):
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
    table = [line for line in lines if "|" in line]
    split = [tuple(part.strip() for part in line.strip("|").split("|")) for line in table]
    split = [row for row, line in zip(split, table, strict=True) if not _RULE.match(line)]
    header = split[0] if len(split) < len(table) or _is_header(split[0], names) else None
    if header is not None:
        keys = [_key(head) for head in header]
        columns = [keys.index(_key(name)) if _key(name) in keys else -1 for name in names]
        body = [row for row in split[1:] if any(row)]
        if -1 not in columns:
            return Rows([tuple(row[c] if c < len(row) else "" for c in columns) for row in body], sure=True)
        split = body
    return Rows(split, sure=True)


def _in_one_line(line: str, names: Sequence[str]) -> list[tuple[str, ...]] | None:
    """The rows of ``2022: 1.2, 2023: 0.5``; None where a line is no such list."""
    for separator in (r"\s*;\s*", r"\s*,(?![0-9]{3}(?![0-9]))\s*"):
        rows = [_cells(item, names) for item in re.split(separator, line.strip(" .")) if item]
        if len(rows) > 1 and all(len(row) == len(names) for row in rows):
            return rows
    return None


def _is_header(row: Sequence[str], names: Sequence[str]) -> bool:
    keys = {_key(part) for part in row}
    return bool(keys & {_key(name) for name in names}) and not any(char.isdigit() for part in row for char in part)


def _cells(line: str, names: Sequence[str]) -> tuple[str, ...]:
    if len(names) == 1:
        head = re.split(r"[:(]|\s[-–—]\s", line, maxsplit=1)[0].strip() if not re.match(r"[\d$€£¥+-]", line) else line
        return (head or line,)
    parts = [part for part in _SPLIT.split(line.strip("[]() ")) if part]
    return tuple(parts) if len(parts) == len(names) else (line,)


@functools.lru_cache(maxsize=4096)
def _key(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Two values of one name are two answers."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found
