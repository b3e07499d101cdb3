"""Drawing without a generator of random numbers: by hashes of public facts, so that any machine draws the same."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def lot(*facts: object) -> int:
    """A number in [0, 2^64) that follows from facts alone.

    Example:
        >>> lot(0, "2025-W44", "US") == lot(0, "2025-W44", "US")
        True
    """
    return int.from_bytes(hashlib.sha256("\x1f".join(map(str, facts)).encode()).digest()[:8], "big")


def shares(total: int, weights: Sequence[int]) -> list[int]:
    """A total in whole parts, in proportion to weights, by the largest remainder; of equal ones the first.

    No part is larger than its weight, so that what exceeds their sum is left.

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
    """A total in so many parts that differ by one at most, the larger ones first.

    Example:
        >>> evenly(16, 10)
        [2, 2, 2, 2, 2, 2, 1, 1, 1, 1]
    """
    return [total // count + (place < total % count) for place in range(count)]


def by_turns(items: Iterable[T], stratum: Callable[[T], Hashable], draw: Callable[[T], int]) -> list[T]:
    """All items in a drawn order in which strata take turns: the first of each before the second of any."""
    drawn: dict[Hashable, int] = defaultdict(int)
    placed = []
    for item in sorted(items, key=draw):
        group = stratum(item)
        placed.append((drawn[group], draw(item), item))
        drawn[group] += 1
    return [item for _, _, item in sorted(placed, key=lambda one: one[:2])]


def companies_drawn(reporting: int, share: float) -> int:
    """How many of so many companies are asked about: at most a share of them, one where the share is less than one.

    Example:
        >>> [companies_drawn(count, 0.3) for count in (0, 1, 3, 10, 101)]
        [0, 1, 1, 3, 30]
    """
    return min(reporting, max(1, math.floor(round(share * reporting, 9))))
