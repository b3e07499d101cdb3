"""Ratios of sums over blocks, with the intervals of a block bootstrap.

What happens in a week affects all of its questions. So blocks of questions are resampled and not questions, and runs of
neighbouring blocks if questions are still open when the next block begins. Intervals are Student's: value +- t s, with
s the standard error over replicates and t at the degrees of freedom that the blocks leave.
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
"""Chance with which a test finds the minimum detectable effect."""


@dataclass(frozen=True)
class BlockEstimate:
    """A figure and its 95 % interval."""

    value: float | None
    """The figure; None if it is not known."""
    low: float | None
    """Lower end of the interval; None with fewer than :data:`~openfingym.reports.statistics.FEWEST_UNITS` blocks."""
    high: float | None
    """Upper end of the interval; None with fewer blocks than that."""
    blocks: int
    """How many blocks the figure is over; 0 if it was computed without an interval."""


NOTHING = BlockEstimate(None, None, None, 0)
"""A figure that is not known."""


@dataclass(frozen=True)
class StandardError:
    """The standard error of a figure."""

    size: float
    """The standard error."""
    freedom: float
    """Degrees of freedom of Student's t."""
    reach: float
    """Half the width of a 95 % interval, in standard errors."""

    @property
    def detectable(self) -> float:
        """The effect that is found with a chance of :data:`POWER` by a two-sided test at 5 %, (t_0.975 + t_0.8) s."""
        from scipy.special import stdtrit

        return float((self.reach + stdtrit(self.freedom, POWER)) * self.size)


@lru_cache(maxsize=1024)
def design(blocks: int, overlap: int, seed: int) -> tuple[Resampling, Floats] | None:
    """Design the bootstrap of a number of blocks.

    Args:
        blocks: how many blocks there are.
        overlap: fewest neighbouring blocks that are drawn together.
        seed: seed of the replicates.

    Returns:
        How blocks are drawn, and how often each block is in each replicate, float64[replicates, blocks]; None if there
        are too few blocks.
    """
    resampling = block_bootstrap(blocks, seed, shortest=overlap) if blocks >= FEWEST_UNITS else None
    return None if resampling is None else (resampling, resampling.counts(blocks))


def standard_error(part: Floats, whole: Floats, overlap: int, seed: int) -> StandardError | None:
    """Standard error of the ratio of two sums over blocks; None with too few blocks.

    Args:
        part: the numerator's part of each block, float64[blocks].
        whole: the denominator's part of each block, float64[blocks].
        overlap: fewest neighbouring blocks that are drawn together.
        seed: seed of the replicates.
    """
    drawn = design(len(whole), overlap, seed)
    if drawn is None:
        return None
    resampling, counts = drawn
    below = counts @ whole
    # In a replicate of empty blocks the ratio is not defined.
    if not (below > 0.0).all():
        return None
    spread = float(np.std((counts @ part) / below, ddof=1))
    # If the ratio is the same in every block, sums in another order differ by rounding alone.
    floor = 1e-12 * float(np.abs(part).sum() / whole.sum())
    return StandardError(resampling.scale * spread if spread > floor else 0.0, resampling.freedom, resampling.reach)


def ratio(part: Floats, whole: Floats, overlap: int, seed: int, *, lost: bool = False) -> BlockEstimate:
    """The ratio of two sums over blocks in order of time, and its interval.

    Args:
        part: the numerator's part of each block, such as its sum of losses, float64[blocks].
        whole: the denominator's part of each block, float64[blocks], at least 0; blocks where it is 0 are left out.
        overlap: fewest neighbouring blocks that are drawn together.
        seed: seed of the replicates.
        lost: whether to estimate 1 minus the ratio, as for a skill.
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
