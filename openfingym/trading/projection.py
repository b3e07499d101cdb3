"""The admissible target weights that are nearest to those asked for."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from openfingym.compiling import compiled
from openfingym.trading.rules import WEIGHT_TOLERANCE


def project(weights: NDArray[np.float64], max_short: float) -> NDArray[np.float64]:
    """The admissible weights at the smallest Euclidean distance from each row of weights.

    Weights are admissible where the long ones add up to at most 1 and the short ones to at most ``max_short``, so that
    none is above 1 or below ``-max_short``. Admissible weights come back as they are. A row that is not finite has no
    nearest weights: it comes back as it is too, and the market refuses it.

    Args:
        weights: target shares of equity, float64[..., S], negative for short; not changed.
        max_short: multiple of equity that all short positions may be worth.

    Returns:
        Weights of the same shape, float64[..., S].
    """
    out = np.array(weights, np.float64, order="C")
    _project(out.reshape(-1, out.shape[-1]), 1.0, max_short)
    return out


def _move(rows: NDArray[np.float64], max_long: float, max_short: float) -> None:
    """Project each row in place, compiled: as fast for one row as for thousands."""
    for i in range(len(rows)):
        # Looked at first: the sums below say nothing where they hold a NaN or an infinity.
        finite = True
        for s in range(rows.shape[1]):
            finite &= math.isfinite(rows[i, s])
        # No weight changes its sign, as 0 is nearer; the two sides are therefore projected apart from each other.
        for sign, most in ((1.0, max_long), (-1.0, max_short)):
            total = largest = 0.0
            # Added up one after the other, as the market does, so that both agree on what is admissible.
            for s in range(rows.shape[1]):
                side = max(sign * rows[i, s], 0.0)
                total += side
                largest = max(largest, side)
            if not finite or total <= most + WEIGHT_TOLERANCE:
                continue
            # Weights are taken relative to the largest, so that nothing is lost where it is huge. The nearest ones that
            # add up to ``most`` are all lower by one amount, and not below 0. The mean of those above a bound on that
            # amount is a better bound, until none more is left out (Michelot 1986); after S rounds at the latest.
            lowered, before, above = -most, -1, 0
            while above != before:
                before, above, total = above, 0, 0.0
                for s in range(rows.shape[1]):
                    side = sign * rows[i, s]
                    if side > 0.0 and side - largest > lowered:
                        above += 1
                        total += side - largest
                if above > 0:
                    lowered = (total - most) / above
            for s in range(rows.shape[1]):
                side = sign * rows[i, s]
                if side > 0.0:
                    rows[i, s] = sign * max(side - largest - lowered, 0.0)


_project = compiled(_move, "the trading core (about a quarter of a minute)", nogil=True, error_model="numpy")
