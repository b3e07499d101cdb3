"""Formulas of metrics, such as ``100 * [Net Income] / average([Total Assets])``: read once, and computed often."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from openfingym.errors import DataError

Reported = Callable[[str, int], float | None]
"""Gives the figure of an item by its name, so many quarters before the report's own period (0 for that period); None if
there is none.
"""
Node = Callable[[Reported, float], float | None]
"""A part of a formula: computes its value from what is reported and the days of the period."""
DAYS_A_QUARTER = 365 / 4
"""Mean number of days of a quarter."""
QUARTERS_A_YEAR = 4
_TOKEN = re.compile(r"\s*(?:\[([^\]]+)\]|([A-Za-z_]+)|(\d+(?:\.\d+)?)|([-+*/()]))")


@dataclass(frozen=True, eq=False)
class Formula:
    """How a metric is computed.

    Attributes:
        text: the formula, with items in brackets. ``average`` is the mean of the period's figure and that of the
            period before, ``year_ago`` the figure four quarters before, ``abs`` the absolute value, and ``days`` the
            days of the period.
        items: names of the items and metrics in it.
        needs: names of items that a company must have besides, because the metric is not for others.
        assumed: what is assumed where the paper leaves something open; empty for nothing.
        node: computes the value.
    """

    text: str
    items: tuple[str, ...]
    needs: tuple[str, ...]
    assumed: str
    node: Node

    def value(self, reported: Reported, days: float = DAYS_A_QUARTER) -> float | None:
        """The value, from what is reported.

        Args:
            reported: gives figures of the company, those of the period before and of the year before too.
            days: days of the period.

        Returns:
            The value; None if a figure is missing, a denominator is 0, or the result is not finite.
        """
        if any(reported(item, 0) is None for item in self.needs):
            return None
        value = self.node(reported, days)
        return value if value is not None and math.isfinite(value) else None


def read_formula(text: str, *, needs: Sequence[str] = (), assumed: str = "") -> Formula:
    """Read a formula.

    Args:
        text: the formula; see :class:`Formula`.
        needs: names of items that a company must have besides.
        assumed: what is assumed where the paper leaves something open.

    Raises:
        DataError: the text is not a formula.
    """
    tokens = list(_tokens(text))
    reader = _Reader(text, tokens)
    node = reader.sum()
    reader.end()
    # An item is its name behind a bracket.
    items = tuple(dict.fromkeys(word[1:] for word in tokens if word.startswith("[")))
    return Formula(text, items, tuple(needs), assumed, node)


def _tokens(text: str) -> Iterator[str]:
    """The words of a formula: ``[`` and the name of an item, a function, a number or a sign."""
    place, text = 0, text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if not match:
            raise DataError(f"formula {text!r}: what begins with {text[place:][:20]!r} is no part of one")
        item, word, number, sign = match.groups()
        yield f"[{item}" if item else word or number or sign
        place = match.end()


class _Reader:
    """Reads sums of products of parts by recursive descent: ``*`` and ``/`` come before ``+`` and ``-``."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self._text = text
        self._tokens = tokens
        self._place = 0

    def end(self) -> None:
        """Refuse words behind the end of the formula.

        Raises:
            DataError: there are some.
        """
        if self._place < len(self._tokens):
            raise DataError(f"formula {self._text!r}: {self._tokens[self._place]!r} is one too many")

    def sum(self) -> Node:
        """Parts with ``+`` and ``-`` between them."""
        left = self._product()
        while (sign := self._next_of("+", "-")) is not None:
            left = _operation(sign, left, self._product())
        return left

    def _product(self) -> Node:
        left = self._part()
        while (sign := self._next_of("*", "/")) is not None:
            left = _operation(sign, left, self._part())
        return left

    def _part(self) -> Node:
        word = self._take()
        if word.startswith("["):
            return _item(word[1:], 0)
        if word == "(":
            inner = self.sum()
            self._expect(")")
            return inner
        if word == "days":
            return lambda _, days: days
        if word in {"average", "year_ago"}:
            self._expect("(")
            name = self._take()
            if not name.startswith("["):
                raise DataError(f"formula {self._text!r}: {word} is of an item in brackets, found {name!r}")
            self._expect(")")
            return _average(name[1:]) if word == "average" else _item(name[1:], QUARTERS_A_YEAR)
        if word == "abs":
            self._expect("(")
            inner = self.sum()
            self._expect(")")
            return _absolute(inner)
        if word[0].isdigit():
            # Converted once, and not each time that the formula is computed.
            number = float(word)
            return lambda _, __: number
        raise DataError(f"formula {self._text!r}: expected an item, a number or ( and found {word!r}")

    def _take(self) -> str:
        if self._place >= len(self._tokens):
            raise DataError(f"formula {self._text!r} ends too early")
        self._place += 1
        return self._tokens[self._place - 1]

    def _expect(self, word: str) -> None:
        if (found := self._take()) != word:
            raise DataError(f"formula {self._text!r}: expected {word!r}, found {found!r}")

    def _next_of(self, *tokens: str) -> str | None:
        if self._place < len(self._tokens) and self._tokens[self._place] in tokens:
            return self._take()
        return None


def _item(name: str, back: int) -> Node:
    """The figure of an item, so many quarters before the period."""
    return lambda reported, _: reported(name, back)


def _average(name: str) -> Node:
    """The mean of an item's figure and that of the quarter before."""

    def node(reported: Reported, _: float) -> float | None:
        now, before = reported(name, 0), reported(name, 1)
        return None if now is None or before is None else (now + before) / 2

    return node


def _absolute(inner: Node) -> Node:
    def node(reported: Reported, days: float) -> float | None:
        value = inner(reported, days)
        return None if value is None else abs(value)

    return node


def _operation(sign: str, left: Node, right: Node) -> Node:
    """Two parts joined by a sign; without a value if either has none, or the second is a denominator of 0."""

    def node(reported: Reported, days: float) -> float | None:
        first, second = left(reported, days), right(reported, days)
        if first is None or second is None:
            return None
        if sign == "/":
            return None if second == 0 else first / second
        return first + second if sign == "+" else first - second if sign == "-" else first * second

    return node
