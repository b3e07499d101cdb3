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
"""A row's values by column: text, numbers, booleans, days, times in UTC, or lists of text; None where missing."""


@dataclass(frozen=True)
class Hit:
    """A document that a search found."""

    score: float
    """BM25 score, above 0; higher is better."""
    row: Row


class View:
    """What was known at a time; it answers as if nothing came later.

    :meth:`Vault.as_of` makes it. Safe to use from several threads.

    Attributes:
        time: the time, in UTC; what became known at this very moment is known.
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
            UsageError: there is no such table or column, or a value is not of its column's type; so for every method.
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
            where: conditions on columns, by the column's name; all rows without any.
            columns: names of the columns to give; all by default, ``known_at`` among them.
            order: columns to sort by, with ``-`` before those to sort downwards; ``known_at`` by default. Rows that
                are equal in them are in the order in which they became known, or, if the first is downwards, in the
                opposite one.
            limit: the most rows to give; None for all.
        """
        opened, known = self._opened(table)
        matches = opened.rows(where or {}, known)
        return self._dicts(opened, _sorted(opened, matches, order, limit), columns)

    def latest(self, table: str, **key: Value) -> Row | None:
        """The vintage of a key that became known last; None if none was known."""
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
        """Rows like :meth:`rows`, but of each key only the vintage that became known last.

        This is what a database that overwrites old figures would have held at the time.
        """
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
        """The documents that fit a text best, by BM25 over the table's columns of searched text.

        How much a word counts follows from all documents that were known, whatever the conditions. Documents with equal
        scores are in the order in which they became known. A text without a known word finds nothing.

        Args:
            table: name of the table.
            text: words to look for; case and accents do not matter, and there is no syntax.
            where: conditions on columns, by the column's name; all documents without any.
            columns: names of the columns to give; all by default.
            limit: the most documents to give.
        """
        opened, known = self._opened(table)
        if limit < 0:
            raise UsageError(f"limit is {limit}; give 0 or more")
        among = opened.rows(where, known) if where else None
        scores = opened.index.scores(text, known)
        rows = best(scores, among, limit)
        dicts = self._dicts(opened, rows, columns)
        return [Hit(float(scores[place]), row) for place, row in zip(rows.tolist(), dicts, strict=True)]

    def holding(
        self, table: str, phrases: Sequence[str], *, where: Where | None = None, columns: Sequence[str] | None = None
    ) -> list[Row]:
        """The documents that hold every one of some phrases, in the order in which they became known.

        A document holds a phrase if one of its columns of searched text has the phrase's words, whole and one after
        another.

        Args:
            table: name of the table.
            phrases: phrases of words, as :meth:`search` takes them; no document holds a phrase without a word.
            where: conditions on columns, by the column's name; all documents without any.
            columns: names of the columns to give; all by default.
        """
        opened, known = self._opened(table)
        parts = [words(phrase) for phrase in phrases]
        # The index knows who has all the words; whether they follow each other, only the text can tell.
        rows = opened.index.holding({word for part in parts for word in part}, known if all(parts) else 0)
        for name, condition in (where or {}).items():
            rows = rows[opened.column(name).fulfilling(condition, rows)]
        patterns = [phrase_pattern(phrase) for phrase, part in zip(phrases, parts, strict=True) if len(part) > 1]
        if patterns and len(rows):
            columns_of_text = [opened.column(name).values(rows) for name in opened.spec.text]
            holds_all = [
                all(any(_holds(text, pattern) for text in texts) for pattern in patterns)
                for texts in zip(*columns_of_text, strict=True)
            ]
            rows = rows[np.asarray(holds_all)]
        return self._dicts(opened, rows, columns)

    def sql(self, query: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[Row]:
        """Rows of a query in DuckDB's SQL, for a suite's own code; never for text that an agent wrote.

        Args:
            query: one SELECT; its tables are those of the vault, of which it sees what was known. Without an ORDER BY,
                rows are in no particular order.
            parameters: values for ``?`` or ``$name`` in the query.

        Raises:
            UsageError: the query is not of this form, or cannot be answered.
            StoreError: a file cannot be read, or there is too little memory for the query.
        """
        return self._vault.queries.answer(query, parameters, None if self.hindsight else self.time)

    def _opened(self, name: str) -> tuple[OpenTable, int]:
        """A table, and the number below which its rows are known."""
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
    """Sort rows, which come in the order of their numbers, and cut them to the limit."""
    if limit is not None and limit < 0:
        raise UsageError(f"limit is {limit}; give 0 or more")
    if isinstance(order, str):
        raise UsageError(f"order is a list of columns; got the text {order!r}")
    # The sort below is stable: rows that are equal in all columns stay as they are here.
    if order and order[0].startswith("-"):
        rows = rows[::-1]
    numbers = []
    # Rows are numbered by known_at, so that order needs no sorting.
    for name in () if tuple(order) in {(KNOWN_AT,), (f"-{KNOWN_AT}",)} else order:
        column = name.removeprefix("-")
        numbers.append(_direction(table.column(column).order(rows), downwards=name != column))
    if numbers:
        if limit is not None and 0 < limit < len(rows):
            # Only rows that are among the first by the first column can be among the first by all; ties stay in.
            among = np.flatnonzero(numbers[0] <= np.partition(numbers[0], limit - 1)[limit - 1])
            rows, numbers = rows[among], [each[among] for each in numbers]
        rows = rows[np.lexsort(numbers[::-1])]
    return rows[:limit]


def _direction(numbers: Array, *, downwards: bool) -> Array:
    if numbers.dtype.kind != "f":
        numbers = numbers.astype(np.int64)
        # Not plainly negated: the lowest number of 64 bits, which stands for missing, has no positive.
        return -1 - numbers if downwards else numbers
    return -numbers if downwards else numbers
