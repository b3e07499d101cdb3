"""Random paths that can be read at any point without the points before it: Brownian motion by halving, with every draw
taken from a keyed hash of its place.
"""

from __future__ import annotations

import hmac
import math
from statistics import NormalDist

NORMAL = NormalDist()
_HALF = 1 << 52


def uniform(key: bytes, place: str) -> float:
    """A draw in (0, 1) that the key and the place decide; nobody without the key can compute it."""
    drawn = int.from_bytes(hmac.digest(key, place.encode(), "sha256")[:7]) >> 3
    return (drawn + 0.5) / (2 * _HALF)


def brownian(key: bytes, path: str, tick: int, levels: int) -> float:
    """Value of a Brownian motion on [0, 1] that begins at 0, at a multiple of ``2**-levels``.

    Args:
        key: decides the path, together with ``path``.
        path: name of the path.
        tick: which multiple, from 0 to ``2**levels``.
        levels: how often the interval is halved; so many hashes a value takes.
    """
    low, high = 0, 1 << levels
    left, right = 0.0, NORMAL.inv_cdf(uniform(key, f"{path}/end"))
    if tick <= low:
        return left
    deviation = 0.5  # of the middle of an interval of length 1, given its ends; it shrinks as the root of the length
    while tick < high:
        middle = (low + high) // 2
        value = 0.5 * (left + right) + deviation * NORMAL.inv_cdf(uniform(key, f"{path}/{low:x}-{high:x}"))
        if tick == middle:
            return value
        if tick < middle:
            high, right = middle, value
        else:
            low, left = middle, value
        deviation *= math.sqrt(0.5)
    return right
