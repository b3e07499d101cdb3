"""How a fold is resampled: which of its units make up each replicate, and what standard error their spread gives.

A *unit* is what is drawn as a whole: a window, all series of a period, a node, a step. A design says
how replicates are made of units, by what factor the standard deviation of a result over replicates
becomes its standard error, and how many degrees of freedom that has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVEL = 0.95
"""Probability with which an interval holds the true value."""
REPLICATES = 200
"""Number of replicates of a bootstrap: the standard error is then known to 5 %, less than what few windows leave
open."""
GROUPS = 8
"""Number of groups of consecutive windows where metrics are slow: Student's t(7) is 2.36, and more groups would cost
more time."""
FEWEST_FREEDOM = 2.0
"""Fewest degrees of freedom: below, Student's quantile (12.7 at one) says no more than that nothing is known."""


@dataclass(frozen=True, eq=False)
class Resampling:
    """A design: the units of each replicate, and how the spread of results over replicates is read."""

    draws: tuple[NDArray[np.int64], ...]
    """The units of each replicate by number, int64[units], repeated where a unit is drawn more than once."""
    scale: float
    """Factor by which the standard deviation (ddof 1) of replicates becomes the standard error."""
    freedom: float
    """Degrees of freedom of the standard error."""
    reach: float
    """Half the width of a 95 % interval in standard errors: Student's quantile at these degrees of freedom."""
    units: int
    """How many units there are to draw from."""
    full_size: bool = True
    """Whether a replicate has about the size of the fold. Results of smaller ones vary about another level."""

    units_are_rows: bool = False
    """Whether a unit is a row of the fold's arrays, which some metrics draw on all replicates at once."""
    block: int = 1
    """Units of a block."""
    seed: int | None = None
    """Seed from which blocks were drawn; None where none were."""
    deals: tuple[NDArray[np.int64], ...] = ()
    """Orders of the units, as many as replicates, in which answers are dealt to truths as if they knew nothing of them;
    empty where the spread over replicates says enough. An answer that moves thirty of four thousand nodes to the end
    improves with each one that is no anomaly, and of the anomaly among them that would cost more than all of these
    bring, no replicate knows if there is none."""

    def counts(self, units: int) -> NDArray[np.float64]:
        """How often each of the units is in each replicate, float64[replicates, units]."""
        return np.stack([np.bincount(draw, minlength=units) for draw in self.draws]).astype(np.float64)


def student(freedom: float) -> float:
    """Quantile of Student's t below which 97.5 % lie, which makes an interval of :data:`LEVEL`."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + 0.5 * LEVEL))


def block_length(units: int) -> int:
    """Units of a block: the cube root of their number, the rate at which the variance's error is least (Künsch
    1989).
    """
    return max(1, round(math.cbrt(units)))


def block_bootstrap(units: int, seed: int, *, shortest: int = 1, units_are_rows: bool = False) -> Resampling | None:
    """Circular blocks of consecutive units (Politis and Romano 1992), for units that depend on their neighbours.

    The variance between n / l blocks is too small by the factor 1 - l / n, which the scale makes good.

    Args:
        units: number of units n, which are in order of time.
        seed: seed from which the replicates are drawn.
        shortest: least number of units in a block, such as the number that overlap.
        units_are_rows: whether each unit is one row of the fold; see :class:`Resampling`.

    Returns:
        The design; None where there are too few blocks for any standard error.
    """
    length = max(block_length(units), shortest)
    # As many degrees of freedom as independent blocks, less the mean.
    freedom = units / length - 1.0
    if freedom < FEWEST_FREEDOM:
        return None
    starts = np.random.default_rng(seed).integers(0, units, (REPLICATES, math.ceil(units / length), 1))
    # The circle gives every unit the same chance; without it, those at the ends would be drawn less often.
    drawn = ((starts + np.arange(length)) % units).reshape(REPLICATES, -1)[:, :units]
    return Resampling(
        tuple(drawn),
        math.sqrt((freedom + 1.0) / freedom),
        freedom,
        student(freedom),
        units,
        units_are_rows=units_are_rows,
        block=length,
        seed=seed,
    )


def stratified_bootstrap(strata: NDArray[np.int64], seed: int) -> Resampling | None:
    """Independent draws within each stratum, for units that are exchangeable in it; no replicate lacks one.

    Args:
        strata: number of the stratum that each unit belongs to, int64[units].
        seed: seed from which the replicates are drawn.

    Returns:
        The design; None where a stratum has too few units for any standard error.
    """
    members = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    # The smallest stratum, such as the rare anomalies, decides how well the spread is known.
    freedom = min(len(units) for units in members) - 1.0
    if freedom < FEWEST_FREEDOM:
        return None
    generator = np.random.default_rng(seed)
    drawn = [units[generator.integers(0, len(units), (REPLICATES, len(units)))] for units in members]
    draws = tuple(np.concatenate(drawn, axis=1))
    deals = tuple(generator.permutation(len(strata)) for _ in range(REPLICATES))
    # The variance within a stratum of n units comes out too small by the factor 1 - 1 / n, here of the smallest one.
    scale = math.sqrt((freedom + 1.0) / freedom)
    return Resampling(draws, scale, freedom, student(freedom), len(strata), deals=deals)


def grouped(units: int, fewest: int) -> Resampling | None:
    """Groups of consecutive units, for what takes too long to be computed hundreds of times.

    Where a group holds ``fewest`` units, each is scored on its own (batch means, Schmeiser 1982), which takes no longer
    than scoring the fold; the standard error is the deviation over the root of the number of groups. Where it does not,
    each is left out in turn (delete-a-group jackknife, Wolter 2007, chapter 4), with (G - 1) / sqrt(G) times the
    deviation.

    Args:
        units: number of units, which are in order of time.
        fewest: smallest number of units that a replicate needs.

    Returns:
        The design; None where not even leaving out a group leaves so many units.
    """
    groups = np.array_split(np.arange(units), GROUPS)
    if len(groups[-1]) >= fewest:
        scale, freedom = 1.0 / math.sqrt(GROUPS), GROUPS - 1.0
        return Resampling(tuple(groups), scale, freedom, student(freedom), units, full_size=False)
    if len(groups[-1]) == 0 or units - len(groups[0]) < fewest:
        return None
    # Too few units in a group for the metrics: the delete-a-group jackknife, with the scale that belongs to it.
    rest = tuple(np.concatenate([other for other in groups if other is not group]) for group in groups)
    return Resampling(rest, (GROUPS - 1.0) / math.sqrt(GROUPS), GROUPS - 1.0, student(GROUPS - 1.0), units)
