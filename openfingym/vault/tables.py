"""A table of a vault: its columns, its key, and how many of its rows were known at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path

import numpy as np

from openfingym.errors import UsageError
from openfingym.vault.arrays import Array, Arrays
from openfingym.vault.columns import NULL, CodedColumn, Column, NumberColumn, Postings, TextColumn
from openfingym.vault.conditions import Value, Where, microseconds
from openfingym.vault.search import SearchIndex
from openfingym.vault.spec import KNOWN_AT, TableSpec


class OpenTable:
    """A table of a snapshot, opened for reading.

    Args:
        spec: the columns and the key of the table.
        path: path of the table's file of columns.
        held: bytes of the snapshot's files by name, uint8, as far as they are in memory.

    Raises:
        StoreError: the file is missing or damaged.
    """

    def __init__(self, spec: TableSpec, path: Path, held: Mapping[str, Array] | None = None) -> None:
        self.spec = spec
        self._path = path
        self._held = held or {}
        self._arrays = Arrays(path, self._held.get(path.name))
        self._known_at: Array = self._arrays[f"{KNOWN_AT}.numbers"]
        self._columns: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self._known_at)

    def known(self, time: datetime) -> int:
        """How many rows were known at a time: those and no others are the rows below this number."""
        return int(self._known_at.searchsorted(microseconds(time), side="right"))

    def column(self, name: str) -> Column:
        """A column by its name.

        Raises:
            UsageError: there is no such column.
        """
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._opened(name)
        return column

    def _opened(self, name: str) -> Column:
        kind = self.spec.types.get(name)
        if kind is None:
            raise UsageError(f"table {self.spec.name} has no column {name!r}; it has {', '.join(self.spec.types)}")
        where = f"{self.spec.name}.{name}"
        if name in self.spec.text:
            return TextColumn(kind, where, self._arrays, name)
        opened = CodedColumn if kind.startswith("VARCHAR") else NumberColumn
        return opened(kind, where, self._arrays, name)

    @cached_property
    def index(self) -> SearchIndex:
        """The search index of the table's text.

        Raises:
            UsageError: the table has no columns that are searched.
            StoreError: the file is missing or damaged.
        """
        if not self.spec.text:
            raise UsageError(f"table {self.spec.name} has no text that is searched")
        path = self._path.with_suffix(".search")
        return SearchIndex(path, self._held.get(path.name))

    def rows(self, where: Where, known: int) -> Array:
        """The rows below ``known`` that fulfil all conditions, in order."""
        # Begin with the condition whose postings have the fewest rows; the others are tried on those rows alone.
        lists = {name: self.column(name).listed(condition, known) for name, condition in where.items()}
        sizes = {name: sum(map(len, postings)) for name, postings in lists.items() if postings is not None}
        first = min(sizes, key=sizes.__getitem__, default=None)
        rows: Array | None = None
        if first is not None:
            rows = _merged(lists[first] or [])
        for name, condition in where.items():
            if name == first:
                continue
            if rows is None:
                rows = self.column(name).matches(condition, known)
            else:
                rows = rows[self.column(name).fulfilling(condition, rows)]
        return np.arange(known) if rows is None else rows

    def count(self, where: Where, known: int) -> int:
        """How many rows below ``known`` fulfil all conditions."""
        if not where:
            return known
        # The lengths of postings are the answer, without a row being looked at.
        if len(where) == 1:
            ((name, condition),) = where.items()
            lists = self.column(name).listed(condition, known)
            if lists is not None:
                return sum(map(len, lists))
        return len(self.rows(where, known))

    def counts(self, by: str, where: Where, known: int) -> tuple[list[object], Array]:
        """The different values of a column in order, and how many rows have each, among the rows below ``known`` that
        fulfil all conditions.
        """
        column = self.column(by)
        if not isinstance(column, CodedColumn):
            rows = self.rows(where, known)
            _, firsts, numbers = np.unique(column.order(rows), return_index=True, return_counts=True)
            return column.values(rows[firsts]), numbers
        # One bisection for each value is quicker than a look at each row, unless there are more values than rows.
        if not where and len(column.postings) < known:
            numbers = np.asarray(column.postings.counts(known))
        else:
            numbers = column.counts(self.rows(where, known))
        codes = np.flatnonzero(numbers)
        return column.texts(codes), numbers[codes]

    def newest_of_keys(self, rows: Array) -> Array:
        """The last row of each key among ``rows``, which are in order."""
        keys = self._key_of_row[rows]
        by_key = np.argsort(keys, kind="stable")
        last = np.append(keys[by_key][1:] != keys[by_key][:-1], True)[: len(rows)]
        return np.sort(rows[by_key[last]])

    def vintages(self, key: Mapping[str, Value], known: int) -> Array:
        """The rows below ``known`` of one key, in order.

        Raises:
            UsageError: the table has no key, or another one.
        """
        if not self.spec.key:
            raise UsageError(f"table {self.spec.name} has no key: its rows are only ever added; use rows()")
        if set(key) != set(self.spec.key):
            named = ", ".join(key) or "nothing"
            raise UsageError(f"the key of table {self.spec.name} is {', '.join(self.spec.key)}; got {named}")
        # The different keys are sorted by all their columns: each column in turn narrows the stretch that fits.
        low, high = 0, len(self._keys)
        for name, ordered in zip(self.spec.key, self._ordered, strict=True):
            wanted = _key_number(self.column(name), key[name])
            if wanted is None:
                return np.arange(0)
            part = ordered[low:high]
            low, high = low + int(part.searchsorted(wanted)), low + int(part.searchsorted(wanted, side="right"))
        return self._keys.below(low, known) if low < high else np.arange(0)

    @cached_property
    def _keys(self) -> Postings:
        return Postings(self._arrays, "key")

    @cached_property
    def _key_of_row(self) -> Array:
        return self._arrays["key.numbers"]

    @cached_property
    def _ordered(self) -> list[Array]:
        return [self._arrays[f"key.{name}"] for name in self.spec.key]


def _key_number(column: Column, value: Value) -> int | None:
    if isinstance(column, CodedColumn):
        return column.code(value)
    assert isinstance(column, NumberColumn)
    return int(NULL) if value is None else int(column.number(value))


def _merged(lists: Sequence[Array]) -> Array:
    """One list in order of lists of rows that have no row in common."""
    if len(lists) == 1:
        return lists[0]
    return np.sort(np.concatenate(lists)) if lists else np.arange(0)
