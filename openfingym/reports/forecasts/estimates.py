"""Ratios of sums over blocks, with the intervals of a block bootstrap.

What happens in a week happens to all of its questions, so that not questions but blocks of them are drawn (runs of
neighbouring blocks, where questions are still open when the next block begins). Intervals are Student's: value +- t s,
with s the standard error over replicates and t at the degrees of freedom that the blocks leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.resampling import Resampling, block_bootstrap
from openfingym.reports.statistics import FEWEST_UNITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

POWER = 0.8
"""Chance with which the minimum detectable effect is found."""


@dataclass(frozen=True)
class BlockEstimate:
    """A figure and its 95 % interval."""

    value: float | None
    """None where nothing is known of it."""
    low: float | None
    """None, as ``high``, of fewer than :data:`~openfingym.reports.statistics.FEWEST_UNITS` blocks."""
    high: float | None
    blocks: int
    """Number of blocks that it is over."""


NOTHING = BlockEstimate(None, None, None, 0)


@dataclass(frozen=True)
class StandardError:
    """The standard error of a figure."""

    size: float
    freedom: float
    reach: float
    """Half the width of a 95 % interval in standard errors."""

    @property
    def detectable(self) -> float:
        """The effect that is found with a chance of :data:`POWER` by a two-sided test at 5 %, (t_0.975 + t_0.8) s."""
        from scipy.special import stdtrit

        return float((self.reach + stdtrit(self.freedom, POWER)) * self.size)


@lru_cache(maxsize=1024)
def design(blocks: int, overlap: int, seed: int) -> tuple[Resampling, Floats] | None:
    """How blocks are drawn, and how often each is in each replicate; None where there are too few."""
    found = block_bootstrap(blocks, seed, shortest=overlap) if blocks >= FEWEST_UNITS else None
    return None if found is None else (found, found.counts(blocks))


def standard_error(part: Floats, whole: Floats, overlap: int, seed: int) -> StandardError | None:
    """Standard error of the sum of ``part`` over that of ``whole``, each float64[blocks]; None of too few blocks."""
    drawn = design(len(whole), overlap, seed)
    if drawn is None:
        return None
    found, counts = drawn
    below = counts @ whole
    if not (below > 0.0).all():
        return None
    # Of equal ratios, sums in another order differ by rounding.
    spread = float(np.std((counts @ part) / below, ddof=1))
    floor = 1e-12 * float(np.abs(part).sum() / whole.sum())
    return StandardError(found.scale * spread if spread > floor else 0.0, found.freedom, found.reach)


def ratio(part: Floats, whole: Floats, overlap: int, seed: int, *, lost: bool = False) -> BlockEstimate:
    """The sum of ``part`` over that of ``whole``, each float64[blocks] in order of time, and its interval.

    Args:
        part: what is divided, such as sums of losses.
        whole: what it is divided by, at least 0; blocks where it is 0 have nothing to say.
        overlap: least number of neighbouring blocks that are drawn together.
        seed: seed of the replicates.
        lost: whether 1 less the ratio is meant, as of a skill.
    """
    there = whole > 0.0
    part, whole = part[there], whole[there]
    if not len(whole):
        return NOTHING
    value = float(part.sum() / whole.sum())
    if not math.isfinite(value):
        return NOTHING
    value = 1.0 - value if lost else value
    error = standard_error(part, whole, overlap, seed)
    if error is None:
        return BlockEstimate(value, None, None, len(whole))
    half = error.reach * error.size
    return BlockEstimate(value, value - half, value + half, len(whole))
