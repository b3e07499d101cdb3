"""Random paths of which any point can be computed without the points before it.

They are Brownian motions by successive halving (Lévy's construction), with every draw taken from a keyed hash of its
place.
"""

from __future__ import annotations

import hmac
import math
from statistics import NormalDist

NORMAL = NormalDist()
_HALF = 1 << 52


def uniform(key: bytes, place: str) -> float:
    """A draw in (0, 1) that follows from the key and the place; nobody without the key can compute it."""
    # 53 bits, as many as a double holds, and half a step more, so that neither 0 nor 1 is ever drawn.
    drawn = int.from_bytes(hmac.digest(key, place.encode(), "sha256")[:7]) >> 3
    return (drawn + 0.5) / (2 * _HALF)


def brownian(key: bytes, path: str, tick: int, levels: int) -> float:
    """Value of a Brownian motion on [0, 1] that begins at 0, at a multiple of ``2**-levels``.

    Args:
        key: secret key from which the path follows, together with its name.
        path: name of the path.
        tick: which multiple, from 0 to ``2**levels``.
        levels: how often the interval is halved, which is the most hashes that a value takes.
    """
    low, high = 0, 1 << levels
    left, right = 0.0, NORMAL.inv_cdf(uniform(key, f"{path}/end"))
    if tick <= low:
        return left
    # Standard deviation of the middle of an interval of length 1, given its ends; it shrinks as the root of the length.
    deviation = 0.5
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
