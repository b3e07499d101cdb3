"""A vault as it was at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from openfingym.errors import UsageError
from openfingym.vault.conditions import Value, Where
from openfingym.vault.search import best, phrase_pattern, plain, words
from openfingym.vault.spec import KNOWN_AT
from openfingym.vault.tables import OpenTable

if TYPE_CHECKING:
    from openfingym.vault.arrays import Array
    from openfingym.vault.vault import Vault

Row = dict[str, object]
"""A row by column: text, numbers, booleans, :class:`~datetime.date`, times in UTC, lists of text; None if missing."""


@dataclass(frozen=True)
class Hit:
    """A document that a search found."""

    score: float
    row: Row


class View:
    """What was known at a time; it answers as if nothing came later.

    Got from :meth:`Vault.as_of`. Safe to use from several threads.

    Attributes:
        time: the time, in UTC; what became known at this very time is known.
        digest: digest of the snapshot.
        hindsight: whether the view ignores its time and shows everything, for experiments.
    """

    def __init__(self, vault: Vault, time: datetime, *, hindsight: bool = False) -> None:
        self.time = time
        self.digest = vault.digest
        self.hindsight = hindsight
        self._vault = vault
        self._known: dict[str, int] = {}

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables, in the order in which they were written."""
        return tuple(entry.name for entry in self._vault.manifest.tables)

    def count(self, table: str, where: Where | None = None) -> int:
        """How many rows fulfil all conditions.

        Raises:
            UsageError: there is no such table or column, or a value is none of its column; so of every method.
        """
        opened, known = self._opened(table)
        return opened.count(where or {}, known)

    def counts(self, table: str, by: str, where: Where | None = None) -> dict[object, int]:
        """How many rows have each value of a column, or each element of a column of lists; the most frequent first, and
        equally frequent ones in order.
        """
        opened, known = self._opened(table)
        values, numbers = opened.counts(by, where or {}, known)
        by_count = np.argsort(-numbers, kind="stable")
        return {values[place]: int(numbers[place]) for place in by_count.tolist()}

    def rows(
        self,
        table: str,
        where: Where | None = None,
        *,
        columns: Sequence[str] | None = None,
        order: Sequence[str] = (),
        limit: int | None = None,
    ) -> list[Row]:
        """The rows that fulfil all conditions.

        Args:
            table: name of the table.
            where: condition for each of some columns.
            columns: which columns to give; all by default, ``known_at`` among them.
            order: columns to sort by, with ``-`` before those to sort downwards; ``known_at`` by default. Rows that
                are equal in them are in the order in which they became known, or, if the first is downwards, in the
                opposite one.
            limit: how many rows to give at most.
        """
        opened, known = self._opened(table)
        found = opened.rows(where or {}, known)
        return self._dicts(opened, _sorted(opened, found, order, limit), columns)

    def latest(self, table: str, **key: Value) -> Row | None:
        """The vintage of a key that was known last; None if none was known."""
        opened, known = self._opened(table)
        rows = opened.vintages(key, known)
        return self._dicts(opened, rows[-1:])[0] if len(rows) else None

    def vintages(self, table: str, **key: Value) -> list[Row]:
        """All vintages of a key, in the order in which they became known."""
        opened, known = self._opened(table)
        return self._dicts(opened, opened.vintages(key, known))

    def current(
        self,
        table: str,
        where: Where | None = None,
        *,
        columns: Sequence[str] | None = None,
        order: Sequence[str] = (),
        limit: int | None = None,
    ) -> list[Row]:
        """As :meth:`rows`, of the vintage alone that was known last of each key: what a database would hold then."""
        opened, known = self._opened(table)
        if not opened.spec.key:
            raise UsageError(f"table {table} has no key: its rows are only ever added; use rows()")
        where = where or {}
        # A condition on the key holds for all vintages or none, so it may come first; any other must come after.
        rows = opened.rows({name: value for name, value in where.items() if name in opened.spec.key}, known)
        rows = opened.newest_of_keys(rows)
        for name, condition in where.items():
            if name not in opened.spec.key:
                rows = rows[opened.column(name).fulfilling(condition, rows)]
        return self._dicts(opened, _sorted(opened, rows, order, limit), columns)

    def search(
        self,
        table: str,
        text: str,
        *,
        where: Where | None = None,
        columns: Sequence[str] | None = None,
        limit: int = 10,
    ) -> list[Hit]:
        """The documents that fit a text best, by BM25 over the columns that the table has for it.

        What words are worth follows from all documents that were known, whatever the conditions. Equally good ones are
        in the order in which they became known. A text without a known word finds nothing.

        Args:
            table: name of the table.
            text: words to look for; case and accents do not matter, and there is no syntax.
            where: condition for each of some columns.
            columns: which columns to give; all by default.
            limit: how many documents to give at most.
        """
        opened, known = self._opened(table)
        if limit < 0:
            raise UsageError(f"limit is {limit}; give 0 or more")
        among = opened.rows(where, known) if where else None
        scores = opened.index.scores(text, known)
        rows = best(scores, among, limit)
        dicts = self._dicts(opened, rows, columns)
        return [Hit(float(scores[row]), found) for row, found in zip(rows.tolist(), dicts, strict=True)]

    def holding(
        self, table: str, phrases: Sequence[str], *, where: Where | None = None, columns: Sequence[str] | None = None
    ) -> list[Row]:
        """The documents that hold every one of some phrases: its words, whole and one after another, in one of the
        columns that the table has for it. They are in the order in which they became known.

        Args:
            table: name of the table.
            phrases: words as :meth:`search` takes them; one without any is held by no document.
            where: condition for each of some columns.
            columns: which columns to give; all by default.
        """
        opened, known = self._opened(table)
        parts = [words(phrase) for phrase in phrases]
        rows = opened.index.holding({word for part in parts for word in part}, known if all(parts) else 0)
        for name, condition in (where or {}).items():
            rows = rows[opened.column(name).fulfilling(condition, rows)]
        # Who holds a single word, the index has said.
        patterns = [phrase_pattern(phrase) for phrase, part in zip(phrases, parts, strict=True) if len(part) > 1]
        if patterns and len(rows):
            texts = [opened.column(name).values(rows) for name in opened.spec.text]
            found = [
                all(any(_holds(text, one) for text in of_row) for one in patterns)
                for of_row in zip(*texts, strict=True)
            ]
            rows = rows[np.asarray(found)]
        return self._dicts(opened, rows, columns)

    def sql(self, query: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[Row]:
        """Rows of a query in DuckDB's SQL, for a suite's own code; never for text that an agent wrote.

        Args:
            query: one SELECT; its tables are those of the vault, of which it sees what was known. Rows without an
                ORDER BY have no order.
            parameters: values of ``?`` or ``$name`` in it.

        Raises:
            UsageError: it is no such query, or cannot be answered.
            StoreError: a file cannot be read, or there is too little memory for the query.
        """
        return self._vault.queries.answer(query, parameters, None if self.hindsight else self.time)

    def _opened(self, name: str) -> tuple[OpenTable, int]:
        """A table, and how many of its rows are known."""
        table = self._vault.table(name)
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = len(table) if self.hindsight else table.known(self.time)
        return table, known

    def _dicts(self, table: OpenTable, rows: Array, columns: Sequence[str] | None = None) -> list[Row]:
        names = tuple(table.spec.types if columns is None else columns)
        values = [table.column(name).values(rows) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a view stays in its process: whoever gets a copy of a vault could read all of it")


def _holds(text: object, pattern: re.Pattern[str]) -> bool:
    return text is not None and pattern.search(plain(str(text))) is not None


def _sorted(table: OpenTable, rows: Array, order: Sequence[str], limit: int | None) -> Array:
    """Rows in an order, at most so many; ``rows`` are in the order of their numbers."""
    if limit is not None and limit < 0:
        raise UsageError(f"limit is {limit}; give 0 or more")
    if isinstance(order, str):
        raise UsageError(f"order is a list of columns; got the text {order!r}")
    if order and order[0].startswith("-"):
        rows = rows[::-1]
    numbers = []
    # They are in the order of known_at already.
    for name in () if tuple(order) in {(KNOWN_AT,), (f"-{KNOWN_AT}",)} else order:
        column = name.removeprefix("-")
        numbers.append(_direction(table.column(column).order(rows), downwards=name != column))
    if numbers:
        if limit is not None and 0 < limit < len(rows):
            # Rows that are among the first by the first column; the others need no sorting.
            among = np.flatnonzero(numbers[0] <= np.partition(numbers[0], limit - 1)[limit - 1])
            rows, numbers = rows[among], [each[among] for each in numbers]
        rows = rows[np.lexsort(numbers[::-1])]
    return rows[:limit]


def _direction(numbers: Array, *, downwards: bool) -> Array:
    if numbers.dtype.kind != "f":
        numbers = numbers.astype(np.int64)
        # Minus one more, so that the lowest has a negative too.
        return -1 - numbers if downwards else numbers
    return -numbers if downwards else numbers
