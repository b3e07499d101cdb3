"""Formulas of metrics: text such as ``100 * [Net Income] / average([Total Assets])``, read once and computed often."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from openfingym.errors import DataError

Reported = Callable[[str, int], float | None]
"""The figure of an item so many quarters before the report's own period (0: the report's own); None where there is
none."""
Node = Callable[[Reported, float], float | None]
DAYS_A_QUARTER = 365 / 4
QUARTERS_A_YEAR = 4
_TOKEN = re.compile(r"\s*(?:\[([^\]]+)\]|([A-Za-z_]+)|(\d+(?:\.\d+)?)|([-+*/()]))")


@dataclass(frozen=True, eq=False)
class Formula:
    """How a metric is computed.

    Attributes:
        text: items in brackets; ``average``: the mean of the end of the period and of the one before; ``year_ago``:
            four quarters before; ``abs``; ``days``: the days of the period.
        items: names of items and metrics in it.
        needs: items that must be there besides, since the metric is for companies that have them.
        assumed: what is assumed where the paper leaves it open.
    """

    text: str
    items: tuple[str, ...]
    needs: tuple[str, ...]
    assumed: str
    node: Node

    def value(self, reported: Reported, days: float = DAYS_A_QUARTER) -> float | None:
        """The value, from what is reported.

        Args:
            reported: figures of the company, also those of the period before and the year before.
            days: days of the period.

        Returns:
            None where a figure is missing, a denominator is 0, or no finite number comes out.
        """
        if any(reported(item, 0) is None for item in self.needs):
            return None
        found = self.node(reported, days)
        return found if found is not None and math.isfinite(found) else None


def read_formula(text: str, *, needs: Sequence[str] = (), assumed: str = "") -> Formula:
    """Read a formula.

    Raises:
        DataError: it is none.
    """
    tokens = list(_tokens(text))
    reader = _Reader(text, tokens)
    node = reader.sum()
    reader.end()
    items = tuple(dict.fromkeys(word[1:] for word in tokens if word.startswith("[")))
    return Formula(text, items, tuple(needs), assumed, node)


def _tokens(text: str) -> Iterator[str]:
    place, text = 0, text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if not found:
            raise DataError(f"formula {text!r}: what begins with {text[place:][:20]!r} is no part of one")
        item, word, number, sign = found.groups()
        yield f"[{item}" if item else word or number or sign
        place = found.end()


class _Reader:
    """Reads sums of products of parts, as everybody writes them."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self._text = text
        self._tokens = tokens
        self._place = 0

    def end(self) -> None:
        """Refuse what comes after the whole."""
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
    return lambda reported, _: reported(name, back)


def _average(name: str) -> Node:
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
    def node(reported: Reported, days: float) -> float | None:
        first, second = left(reported, days), right(reported, days)
        if first is None or second is None:
            return None
        if sign == "/":
            return None if second == 0 else first / second
        return first + second if sign == "+" else first - second if sign == "-" else first * second

    return node
