"""Drawing by hashes of public facts, without a generator of random numbers, so that any machine draws the same."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def lot(*facts: object) -> int:
    """A number in [0, 2^64) that follows from facts alone.

    Args:
        *facts: what the number follows from, by its text.

    Example:
        >>> lot(0, "2025-W44", "US") == lot(0, "2025-W44", "US")
        True
    """
    # Joined by a character that no fact has, so that ("a", "bc") and ("ab", "c") differ.
    return int.from_bytes(hashlib.sha256("\x1f".join(map(str, facts)).encode()).digest()[:8], "big")


def shares(total: int, weights: Sequence[int]) -> list[int]:
    """A total in whole parts, in proportion to weights, by the largest remainder; of equal remainders the first wins.

    No part is larger than its weight, so that of a total above their sum the rest is left over.

    Args:
        total: the number to divide.
        weights: the weight of each part, which is also the most that it gets.

    Example:
        >>> shares(10, [30, 50, 20])
        [3, 5, 2]
        >>> shares(10, [3, 0, 4])
        [3, 0, 4]
    """
    whole = sum(weights)
    if total >= whole:
        return list(weights)
    parts = [total * weight // whole for weight in weights]
    by_rest = sorted(range(len(weights)), key=lambda place: (-(total * weights[place] % whole), place))
    for place in by_rest[: total - sum(parts)]:
        parts[place] += 1
    return parts


def evenly(total: int, count: int) -> list[int]:
    """A total in whole parts that differ by one at most, the larger ones first.

    Args:
        total: the number to divide.
        count: how many parts there are.

    Example:
        >>> evenly(16, 10)
        [2, 2, 2, 2, 2, 2, 1, 1, 1, 1]
    """
    return [total // count + (place < total % count) for place in range(count)]


def by_turns(items: Iterable[T], stratum: Callable[[T], Hashable], draw: Callable[[T], int]) -> list[T]:
    """All items in a drawn order in which strata take turns: the first of each before the second of any.

    Args:
        items: the items to order.
        stratum: the stratum of an item.
        draw: the lot of an item, by which items of one turn are in order.
    """
    drawn: dict[Hashable, int] = defaultdict(int)
    placed = []
    for item in sorted(items, key=draw):
        group = stratum(item)
        placed.append((drawn[group], draw(item), item))
        drawn[group] += 1
    # Items need not be comparable: only turn and lot decide.
    return [item for _, _, item in sorted(placed, key=lambda row: row[:2])]


def companies_drawn(reporting: int, share: float) -> int:
    """How many of the companies that report are asked about: a share of them, rounded down, but at least one.

    Args:
        reporting: how many companies report.
        share: the share that is asked about, from 0 to 1.

    Example:
        >>> [companies_drawn(count, 0.3) for count in (0, 1, 3, 10, 101)]
        [0, 1, 1, 3, 30]
    """
    # Rounded first: in floating point 0.57 * 100 is a hair below 57.
    return min(reporting, max(1, math.floor(round(share * reporting, 9))))
