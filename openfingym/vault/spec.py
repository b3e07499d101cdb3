"""The columns and the key of a vault's table, as its author states them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from openfingym.errors import UsageError

KNOWN_AT = "known_at"
"""The column that every table has: when a row became known, in UTC."""
TYPES = ("VARCHAR", "VARCHAR[]", "BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP")
"""Types of columns, by DuckDB's names. A timestamp is in UTC, to the microsecond."""
_IN_KEYS = ("VARCHAR", "INTEGER", "BIGINT", "DATE", "TIMESTAMP")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where rows come from.

    Attributes:
        name: publisher, and the copy that was read.
        licence: under what terms the rows may be used and passed on.
        url: address at which the rows are published; empty where there is none.
        note: what a reader has to know about the source.
    """

    name: str
    licence: str
    url: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """A table: its columns, and what its times mean.

    Attributes:
        name: name of the table, in lower case.
        columns: type of each column, one of :data:`TYPES`. The column ``known_at`` is added.
        key: columns that say what a row is about. Rows of one key are vintages of one thing, of which the last known
            one counts; without a key, rows are only ever added, as events and documents are.
        about: the column with the time that a row is about; None where there is none.
        text: columns of text that :meth:`~openfingym.vault.View.search` looks in; they take no conditions.
        known_basis: how ``known_at`` was found, for people to read: to the second, say, or as the end of a day.
        types: type of each column, ``known_at`` included.
    """

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...] = ()
    about: str | None = None
    text: tuple[str, ...] = ()
    known_basis: str = ""
    types: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", {**self.columns, KNOWN_AT: "TIMESTAMP"})
        for name in (self.name, *self.columns):
            if not _NAME.fullmatch(name):
                raise UsageError(f"{name!r} is no name of a table or column: lower-case letters, digits and _")
        where = f"table {self.name}"
        if not self.columns:
            raise UsageError(f"{where} has no columns")
        if KNOWN_AT in self.columns:
            raise UsageError(f"{where}: {KNOWN_AT} is added to every table; leave it out of its columns")
        for name, kind in self.columns.items():
            if kind not in TYPES:
                raise UsageError(f"{where}, column {name}: type {kind!r} is none of {', '.join(TYPES)}")
        self._check_named(where)

    def _check_named(self, where: str) -> None:
        for name in (*self.key, *self.text, *((self.about,) if self.about else ())):
            if name not in self.columns:
                raise UsageError(f"{where} has no column {name!r}; it has {', '.join(self.columns)}")
        for name in self.key:
            if self.columns[name] not in _IN_KEYS:
                raise UsageError(f"{where}: column {name} is {self.columns[name]}; a key is of {', '.join(_IN_KEYS)}")
        for name in self.text:
            if self.columns[name] != "VARCHAR" or name in self.key:
                raise UsageError(f"{where}: column {name} is searched, so it is VARCHAR and not in the key")
        if self.about and self.columns[self.about] not in {"DATE", "TIMESTAMP"}:
            raise UsageError(f"{where}: column {self.about}, the time it is about, is DATE or TIMESTAMP")
