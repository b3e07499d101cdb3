"""Columns of a table, mapped into memory: the values of given rows, and the rows with given values.

Rows are numbered in the order in which they became known, so what was known at a time is the rows below a number.
Every list of rows that is kept here is in that order, and is read only up to the number that was asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np

from openfingym.errors import UsageError
from openfingym.vault.arrays import Array, Arrays
from openfingym.vault.conditions import EPOCH, EPOCH_DAY, Between, Condition, Value, number_of, text_of
from openfingym.vault.strings import Strings

NULL = np.iinfo(np.int64).min
"""Stands for a missing value where numbers are compared; no value of a column is so low."""

BLOCK = 8192
"""Number of rows for which the lowest and the highest number are kept together."""


class Postings:
    """For each of some numbers (the code of a value, a key), the rows that have it, in order.

    Args:
        arrays: arrays of the file of columns.
        name: name under which the postings were written.
    """

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._starts: Array = arrays[f"{name}.starts"]
        self._rows: Array = arrays[f"{name}.rows"]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def below(self, number: int, known: int) -> Array:
        """The rows below ``known`` that have ``number``."""
        # The rows of a number are in order, so those that are known are the first of them; bisection finds the end. A
        # number of another type would make NumPy convert the whole list first.
        rows = self._rows[int(self._starts[number]) : int(self._starts[number + 1])]
        return rows[: int(rows.searchsorted(rows.dtype.type(known)))]

    def counts(self, known: int) -> list[int]:
        """How many rows below ``known`` each number has."""
        return [len(self.below(number, known)) for number in range(len(self))]


class Column(ABC):
    """One column of a table.

    Args:
        kind: type of the column, one of :data:`openfingym.vault.spec.TYPES`.
        where: names of table and column, for messages.
    """

    def __init__(self, kind: str, where: str) -> None:
        self.kind = kind
        self.where = where

    @abstractmethod
    def values(self, rows: Array) -> list[object]:
        """The values of rows."""

    @abstractmethod
    def order(self, rows: Array | slice) -> Array:
        """Numbers that sort as the values of rows do."""

    @abstractmethod
    def fulfilling(self, condition: Condition, rows: Array | slice) -> Array:
        """Which of some rows fulfil a condition: a boolean for each."""

    def matches(self, condition: Condition, known: int) -> Array:
        """The rows below ``known`` that fulfil a condition, in order."""
        return np.flatnonzero(self.fulfilling(condition, slice(known)))

    # Only columns with postings look at the condition.
    def listed(self, condition: Condition, known: int) -> list[Array] | None:  # noqa: ARG002
        """The rows below ``known`` that fulfil a condition, as lists without a row in common.

        None for a column without postings, of which every row must be looked at.
        """
        return None


class NumberColumn(Column):
    """Numbers, booleans, days or times."""

    def __init__(self, kind: str, where: str, arrays: Arrays, name: str) -> None:
        super().__init__(kind, where)
        self._numbers: Array = arrays[f"{name}.numbers"]
        self._missing: Array | None = arrays.get(f"{name}.missing")
        self._lows: Array = arrays[f"{name}.lows"]
        self._highs: Array = arrays[f"{name}.highs"]

    def values(self, rows: Array) -> list[object]:
        """The values of rows."""
        values: list[object] = self._numbers[rows].tolist()
        if self.kind == "DATE":
            values = [date.fromordinal(EPOCH_DAY + day) for day in self._numbers[rows].tolist()]
        elif self.kind == "TIMESTAMP":
            values = [EPOCH + timedelta(microseconds=time) for time in self._numbers[rows].tolist()]
        elif self.kind == "BOOLEAN":
            values = [bool(value) for value in values]
        if self._missing is None:
            return values
        return [None if gone else value for value, gone in zip(values, self._missing[rows].tolist(), strict=True)]

    def order(self, rows: Array | slice) -> Array:
        """Numbers that sort as the values of rows do."""
        numbers = self._numbers[rows]
        if self._missing is None:
            return numbers
        # A missing value is written as 0; it sorts before all others.
        if self.kind == "DOUBLE":
            return np.where(self._missing[rows], -np.inf, numbers)
        return np.where(self._missing[rows], NULL, numbers.astype(np.int64))

    def fulfilling(self, condition: Condition, rows: Array | slice) -> Array:
        """Which of some rows fulfil a condition."""
        numbers = self._numbers[rows]
        fulfils: Array
        if isinstance(condition, Between):
            fulfils = np.ones(len(numbers), bool)
            if condition.low is not None:
                fulfils &= numbers >= self.number(condition.low)
            if condition.high is not None:
                fulfils &= numbers <= self.number(condition.high)
            return fulfils if self._missing is None else fulfils & (self._missing[rows] == 0)
        wanted = _alternatives(condition)
        values = [self.number(value) for value in wanted if value is not None]
        fulfils = numbers == values[0] if len(values) == 1 else np.isin(numbers, values)
        if self._missing is None:
            return fulfils
        # Where a value is missing, the number is 0 and means nothing: it fulfils a condition that names None.
        return np.where(self._missing[rows] != 0, None in wanted, fulfils)

    def matches(self, condition: Condition, known: int) -> Array:
        """The rows below ``known`` that fulfil a condition, in order."""
        if not isinstance(condition, Between):
            return super().matches(condition, known)
        # Ranges are mostly of the time that rows are about, which comes nearly in order: few blocks have any of it.
        within = np.ones(len(self._lows), bool)
        if condition.low is not None:
            within &= self._highs >= self.number(condition.low)
        if condition.high is not None:
            within &= self._lows <= self.number(condition.high)
        blocks = np.flatnonzero(within)
        if not len(blocks):
            return blocks
        start = int(blocks[0]) * BLOCK
        rows = slice(start, min((int(blocks[-1]) + 1) * BLOCK, known))
        return start + np.flatnonzero(self.fulfilling(condition, rows))

    def number(self, value: Value) -> int | float:
        """The number that stands for a value.

        Raises:
            UsageError: the column holds no such values.
        """
        return number_of(self.kind, value, self.where)


class CodedColumn(Column):
    """Text, or lists of text: each different text is kept once, in order, and rows hold its number, the *code*.

    The code of a missing value is the number of texts, and so the highest.
    """

    def __init__(self, kind: str, where: str, arrays: Arrays, name: str) -> None:
        super().__init__(kind, where)
        self.strings = Strings(arrays, name)
        self.postings = Postings(arrays, f"{name}.postings")
        self._codes: Array = arrays[f"{name}.codes"]
        self._starts: Array | None = arrays.get(f"{name}.lists")

    def values(self, rows: Array) -> list[object]:
        """The values of rows."""
        if self._starts is not None:
            return [
                [self.strings.text(code) for code in self._codes[int(start) : int(end)].tolist()]
                for start, end in zip(self._starts[rows], self._starts[rows + 1], strict=True)
            ]
        # Each different text is decoded once, however many rows have it.
        codes, places = np.unique(self._codes[rows], return_inverse=True)
        texts = self.texts(codes)
        return [texts[place] for place in places.tolist()]

    def counts(self, rows: Array) -> Array:
        """How many of some rows have each code."""
        codes: Array = self._codes
        if self._starts is None:
            return np.bincount(codes[rows])
        # For every element of the rows' lists, its owner among the rows, and its place among all codes.
        starts = self._starts[rows].astype(np.int64)
        lengths = self._starts[rows + 1].astype(np.int64) - starts
        owners = np.repeat(np.arange(len(rows)), lengths)
        places = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(starts, lengths)
        # A row that has a code twice counts once.
        pairs = np.unique(owners * (len(self.strings) + 1) + codes[places])
        return np.bincount(pairs % (len(self.strings) + 1))

    def texts(self, codes: Array) -> list[object]:
        """The texts that codes stand for."""
        none = len(self.strings)
        return [None if code == none else self.strings.text(code) for code in codes.tolist()]

    def order(self, rows: Array | slice) -> Array:
        """Numbers that sort as the values of rows do."""
        if self._starts is not None:
            raise UsageError(f"{self.where} is {self.kind}, which has no order")
        return self._codes[rows]

    def codes(self, condition: Condition) -> list[int]:
        """The codes that fulfil a condition, in order. A text that no row has, known yet or not, has no code."""
        if isinstance(condition, Between):
            low, high = condition.low, condition.high
            first = 0 if low is None else self.strings.first_from(text_of(low, self.where))
            # The string that follows `high` is `high` with a zero byte.
            end = len(self.strings) if high is None else self.strings.first_from(text_of(high, self.where) + "\0")
            return list(range(first, end))
        codes = (self.code(value) for value in _alternatives(condition))
        return sorted({code for code in codes if code is not None})

    def code(self, value: Value) -> int | None:
        """The code of one value; None if no row has it."""
        return len(self.strings) if value is None else self.strings.number(text_of(value, self.where))

    def listed(self, condition: Condition, known: int) -> list[Array] | None:
        """The rows below ``known`` that fulfil a condition, as lists without a row in common."""
        codes = self.codes(condition)
        lists = [self.postings.below(code, known) for code in codes]
        if not codes and len(self.postings):
            # For a value that no row has, the same steps are taken as for one that only later rows have: how long an
            # answer takes must not tell the two apart.
            lists = [self.postings.below(0, known)[:0]]
        # A row's list may have several of the codes.
        if self._starts is not None and len(lists) > 1:
            return [np.unique(np.concatenate(lists))]
        return lists

    def fulfilling(self, condition: Condition, rows: Array | slice) -> Array:
        """Which of some rows fulfil a condition."""
        codes = self.codes(condition)
        if self._starts is not None:
            count = len(self._starts) - 1
            has = np.zeros(count, bool)
            for code in codes:
                has[self.postings.below(code, count)] = True
            return has[rows]
        if len(codes) == 1:
            same: Array = self._codes[rows] == codes[0]
            return same
        wanted = np.zeros(len(self.strings) + 1, bool)
        wanted[codes] = True
        return wanted[self._codes[rows]]


class TextColumn(Column):
    """Long text, in the order of rows, which is searched and has no conditions."""

    def __init__(self, kind: str, where: str, arrays: Arrays, name: str) -> None:
        super().__init__(kind, where)
        self._strings = Strings(arrays, name)
        self._missing: Array | None = arrays.get(f"{name}.missing")

    def values(self, rows: Array) -> list[object]:
        """The values of rows."""
        return [
            None if self._missing is not None and self._missing[row] else self._strings.text(row)
            for row in rows.tolist()
        ]

    def order(self, rows: Array | slice) -> Array:  # noqa: ARG002  # as every column has it
        """Numbers that sort as the values of rows do."""
        raise UsageError(f"{self.where} is searched, so it has no order; sort by another column")

    def fulfilling(self, condition: Condition, rows: Array | slice) -> Array:  # noqa: ARG002  # as every column has it
        """Which of some rows fulfil a condition."""
        raise UsageError(f"{self.where} is searched, so it takes no condition; look in it with search()")


def _alternatives(condition: Condition) -> list[Value]:
    assert not isinstance(condition, Between)
    if isinstance(condition, Sequence) and not isinstance(condition, str):
        return list(condition)
    return [condition]
