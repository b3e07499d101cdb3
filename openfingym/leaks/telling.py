"""How much a copy of hidden values tells that is close but not exact, in bits, never on the high side.

What a copy of Gaussian values with an error e tells is their rate-distortion function (reverse water-filling over the
eigenvalues l of their covariance), ``sum of max(0, log2(l / e^2) / 2)``. The covariance is that of the *surprise*: a
block less the same block a step earlier, which anybody who knows the past may know. So smooth curves, pegged rates and
slow levels tell little, however far they are from zero. Further cautions:

* an error is never taken to be smaller than the lattice explains on which the values lie;
* a block tells no more than its own surprises do one by one, so that a jump among equal values is one surprise and not
  many;
* nor more than what remains of it beside smooth curves, which may jump where its steps do: straight lines, indices and
  dates, paths that begin anew with every window, and one value far above the others are common everywhere;
* the order of a block (its ranks) tells the less, the more seldom it turns;
* a block tells no more than its values do one by one, by how often their steps occur;
* blocks tell no more than how far apart they are, if there are enough of them to know that;
* the two largest surprises of a block are spent on shift and scale, which a copy may choose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from openfingym.leaks.dimension import CAUTION, OCTAVES, PAIRS
from openfingym.leaks.known import Known
from openfingym.leaks.readings import Floats, Form

NEEDED = 26.0
"""Bits that a copy must tell to be worth looking for."""
ERRORS = 2.0 ** (-np.arange(2, 30) / 2.0)
"""Errors of a copy, relative to the size of a block's values, for which it is computed what a copy tells; falling."""
CLOSE = 2.0**-7
"""Error of a copy, relative to the size of surprises, with which half of the blocks must tell ``NEEDED`` bits."""
SOME = 0.8
"""Share of the blocks that may tell less; if more of them do, the reading is not looked for at all."""
FEWEST = 8
"""Fewest blocks from which a covariance is estimated."""
MANY = 200
"""Fewest blocks from which their dimension is estimated."""
_DEGREES = (3, 16)
"""Lowest and highest degree of the smooth curves that tell nothing; one degree for every eight values in between."""
JUMP = 4.0
"""A step this many times larger than nine in ten of its block's steps is a jump, at which another curve begins."""
RANKS = 0.7
"""Share of the bits of ranks that counts, because each rank depends on all the others."""


@dataclass(frozen=True, eq=False)
class CopyInformation:
    """How much copies of blocks tell."""

    most: bool
    """Whether most blocks tell ``NEEDED`` bits if they are copied with an error of ``CLOSE``."""
    directions: Floats
    """The blocks as directions (:func:`directed`), float64[k, n]; empty if hardly any block tells so much."""
    bits: Floats
    """Bits that a copy of each block with each of :data:`ERRORS` tells, float64[k, errors]."""


def directed(rows: Floats) -> Floats:
    """Each row less its mean, over its size, so that shift and scale do not matter; zero for a constant row."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    moves = size > 1e-9 * np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    directions: Floats = np.divide(centred, size, out=np.zeros_like(centred), where=moves)
    return directions


@dataclass(frozen=True, eq=False)
class _Relative:
    """Blocks in one form, relative to the size of each."""

    hidden: Floats
    """The blocks, float64[k, n], on their own scale."""
    surprise: Floats
    """Difference of each block from what was known before, float64[k, n]."""
    size: Floats
    """What everything here is relative to, float64[k, 1]; infinite for a constant block."""
    least: Floats
    """Smallest error that a copy can have, because values are quoted, float64[k, 1]."""
    most: Floats
    """Most bits that each block can tell, float64[k, 1]."""

    @classmethod
    def of(cls, form: Form, known: Known, sizes: float | None = None) -> _Relative:
        hidden = form.hidden(known.hidden)
        size = np.sqrt(hidden.var(axis=1, keepdims=True)) if sizes is None else np.full((len(hidden), 1), sizes)
        # Over an infinite size everything about a constant block is 0, and it tells nothing.
        size[size == 0.0] = np.inf
        surprise = hidden - form.hidden(known.earlier)
        least = np.sqrt(np.mean(known.least**2, axis=1, keepdims=True))
        if form.ranks:
            # Values that are quoted alike share a rank: how far ranks move if values do within their quotation.
            noise = np.random.default_rng(0).uniform(-1.0, 1.0, hidden.shape) * np.sqrt(3.0) * known.least
            least = np.maximum(
                np.sqrt(np.mean((form.hidden(known.hidden + noise) - hidden) ** 2, axis=1, keepdims=True)),
                1.0 / np.sqrt(12.0),
            )
        return cls(
            hidden,
            surprise / size,
            size,
            np.maximum(least / size, 1e-12),
            known.most.sum(axis=1, keepdims=True),
        )

    @cached_property
    def residue(self) -> Floats:
        """What remains of each block beside the curves that fit it best, float64[k, n]."""
        return _curved(self.hidden) / self.size

    def own(self, errors: Floats) -> Floats:
        """Bits that the surprises of each block tell one by one, for each error in float64[k, e], and no more than what
        remains of it beside curves does.
        """
        return np.minimum(self.surprises(errors), self.one_by_one(self.residue, errors))

    def surprises(self, errors: Floats) -> Floats:
        """Bits as :meth:`own` gives them, or more, without looking for curves."""
        # Less the median: after a jump, all later surprises are equally large, and are one surprise only.
        return self.one_by_one(self.surprise - _medians(self.surprise), errors)

    def one_by_one(self, parts: Floats, errors: Floats) -> Floats:
        """Bits that values float64[k, n] tell, each by itself, for each error in float64[k, e]."""
        # Without the largest two, which are spent on shift and scale.
        return _rates(np.sort(parts**2, axis=1)[:, :-2], np.maximum(errors, self.least), rising=True)

    def at_most(self, told: Floats, form: Form) -> Floats:
        """Bits, limited to what the values of each block tell one by one, and reduced for ranks."""
        return np.minimum(told, self.most) * (RANKS * _turns(self.hidden) if form.ranks else 1.0)


def told_by(form: Form, blocks: Known, rows: Known | None = None) -> CopyInformation:
    """How much copies of blocks with each of :data:`ERRORS` tell.

    Args:
        form: the form in which values are compared, one of :data:`openfingym.leaks.readings.FORMS`.
        blocks: the hidden blocks, one a row.
        rows: the rows, if a block holds several of them; they are taken to be independent of each other.
    """
    length = blocks.hidden.shape[1]
    nothing = CopyInformation(False, np.zeros((0, length)), np.zeros((0, len(ERRORS))))
    some_blocks = blocks.some()
    # Cheap tests in turn, on some blocks: most readings fail one of them, and cost nothing more.
    if _quantile(some_blocks.most.sum(axis=1), SOME) < NEEDED:
        return nothing
    sample = _Relative.of(form, some_blocks)
    near = np.full((len(sample.hidden), 1), CLOSE * float(np.sqrt(np.mean(sample.surprise**2))))
    surprises = sample.surprises(near)
    if _quantile(sample.at_most(surprises, form), SOME) < NEEDED:
        return nothing
    own_near = np.minimum(surprises, sample.one_by_one(sample.residue, near))
    if _quantile(sample.at_most(own_near, form), SOME) < NEEDED:
        return nothing
    share, whole = 1.0, sample
    if rows is not None:
        some = rows.some()
        whole = _Relative.of(form, some, float(np.sqrt(np.mean(some.hidden.var(axis=1)))))
        share = max(length - 2, 0) / some.hidden.shape[1]
    covariance = _covariance(whole) if len(sample.hidden) >= FEWEST else None
    apart = _apart(sample.hidden) if len(sample.hidden) >= MANY and rows is None else None

    def told(relative: _Relative, own: Floats, errors: Floats) -> Floats:
        """Bits that copies of some blocks with some errors tell, given what their surprises tell one by one."""
        errors = np.maximum(errors, relative.least)
        if covariance is None:
            # Too few blocks, such as a single sorted fold: half of what its steps tell, as neighbours share it.
            joint = 0.5 * _rates(np.diff(relative.surprise, axis=1) ** 2 / 2.0, errors)
        else:
            # Less what the block's own direction tells, along which a copy may be scaled.
            variances, scale = covariance
            joint = share * _rates(variances, errors) - np.maximum(0.5 * np.log2(scale / errors**2), 0.0)
        if apart is not None:
            nearest, pairs, dimension = apart
            joint = np.minimum(joint, pairs + CAUTION * dimension * np.maximum(np.log2(nearest / errors), 0.0))
        return relative.at_most(np.minimum(own, joint), form)

    told_close = told(sample, own_near, near)
    if _quantile(told_close, SOME) < NEEDED:
        return nothing
    every = sample if some_blocks is blocks else _Relative.of(form, blocks)
    errors = np.broadcast_to(ERRORS, (len(every.hidden), len(ERRORS)))
    return CopyInformation(
        bool(_quantile(told_close, 0.5) >= NEEDED), directed(every.hidden), told(every, every.own(errors), errors)
    )


def _quantile(values: Floats, share: float) -> float:
    """:func:`numpy.quantile` of all values, in a tenth of its time where they are few, as they are here."""
    place = share * (values.size - 1)
    low = math.floor(place)
    rising = np.partition(values, [low, min(low + 1, values.size - 1)], axis=None)
    return float(rising[low] + (rising[min(low + 1, values.size - 1)] - rising[low]) * (place - low))


def _medians(rows: Floats) -> Floats:
    """:func:`numpy.median` of each row, float64[k, 1], likewise."""
    middle = [(rows.shape[1] - 1) // 2, rows.shape[1] // 2]
    medians: Floats = np.partition(rows, middle, axis=1)[:, middle].mean(axis=1, keepdims=True)
    return medians


def _apart(blocks: Floats) -> tuple[float, float, float]:
    """How far apart blocks are.

    Returns:
        The distance within which the closest ``PAIRS`` pairs of blocks lie, relative to their size; the bits that such
        a distance tells; and the correlation dimension of the blocks (Grassberger and Procaccia; see
        :mod:`openfingym.leaks.dimension`): smooth curves follow from a few numbers, however many points they have.
    """
    directions = directed(blocks)
    cosines = np.abs(directions @ directions.T)[np.triu_indices(len(directions), 1)]
    distances = np.sort(np.sqrt(np.maximum(1.0 - cosines**2, 1e-24)))
    nearest = float(distances[PAIRS])
    wider = int(np.searchsorted(distances, min(2.0**OCTAVES * nearest, 0.7)))
    octaves = max(math.log2(min(2.0**OCTAVES * nearest, 0.7) / nearest), 0.25)
    return nearest, math.log2(len(distances) / PAIRS), max(math.log2(max(wider, 1) / PAIRS), 0.0) / octaves


def _covariance(blocks: _Relative) -> tuple[Floats, float]:
    """Eigenvalues of the covariance of surprises less their mean, float64[1, n]; and the variance of surprises in the
    directions of the blocks themselves.
    """
    surprise = blocks.surprise - blocks.surprise.mean(axis=1, keepdims=True)
    k, n = surprise.shape
    # Both products have the same eigenvalues but for zeros; the smaller one is faster.
    product = surprise.T @ surprise if n <= k else surprise @ surprise.T
    variances = np.zeros((1, n))
    variances[0, n - len(product) :] = np.maximum(np.linalg.eigvalsh(product), 0.0) / k
    return variances, float(np.mean((surprise * directed(blocks.hidden)).sum(axis=1) ** 2)) + 1e-300


def _turns(ranks: Floats) -> Floats:
    """How much the order of each block tells, from 0 to 1, float64[k, 1]: 1 if it turns up and down at least half as
    often as independent values do, which turn at two in three of all positions.
    """
    steps = np.sign(np.diff(ranks, axis=1))
    turns = np.count_nonzero(steps[:, 1:] * steps[:, :-1] < 0.0, axis=1)
    share: Floats = np.minimum(3.0 * turns / ranks.shape[1], 1.0)[:, None]
    return share


def _curved(blocks: Floats) -> Floats:
    """What remains of each block beside the smooth curves that fit it best, one from each jump to the next."""
    basis = _curves(blocks.shape[1])
    left: Floats = blocks - (blocks @ basis) @ basis.T
    steps = np.abs(np.diff(blocks, axis=1))
    if not steps.shape[1]:  # a single number has no steps
        return left
    nine_in_ten = (steps.shape[1] - 1) * 9 // 10
    usual = np.partition(steps, nine_in_ten, axis=1)[:, nine_in_ten, None]
    # A polynomial across a jump would swing on both sides of it, and the swings would pass for surprises.
    row, before = np.nonzero((steps > JUMP * usual) & (usual > 0.0))
    # Blocks with jumps are cut there, and each piece is fitted by itself. Pieces of one length are fitted together.
    jumping = np.unique(row)
    rows = np.concatenate([row, jumping, jumping])
    edges = np.concatenate([before + 1, np.zeros_like(jumping), np.full_like(jumping, blocks.shape[1])])
    order = np.lexsort((edges, rows))
    rows, edges = rows[order], edges[order]
    pieces = np.flatnonzero(rows[1:] == rows[:-1])
    lengths = edges[pieces + 1] - edges[pieces]
    for length in np.unique(lengths).tolist():
        chosen = pieces[lengths == length]
        cells = rows[chosen][:, None], edges[chosen][:, None] + np.arange(length)
        part, basis = blocks[cells], _curves(length)
        left[cells] = part - (part @ basis) @ basis.T
    return left


@cache
def _curves(length: int) -> Floats:
    """An orthonormal basis of the polynomials that tell nothing, float64[length, degree + 1]."""
    powers = np.polynomial.legendre.legvander(
        np.linspace(-1.0, 1.0, length), min(max(_DEGREES[0], length // 8), _DEGREES[1])
    )
    return np.asarray(np.linalg.qr(powers)[0], dtype=np.float64)


def _rates(variances: Floats, errors: Floats, *, rising: bool = False) -> Floats:
    """The rate-distortion function of independent Gaussian values, by reverse water-filling.

    Args:
        variances: eigenvalues of the covariance of each block, float64[k, n], or float64[1, n] for all of them.
        errors: errors of a copy of each block, as root mean squares over all n values, float64[k, e].
        rising: whether the variances are in rising order already.

    Returns:
        Bits that a copy of each block with each error tells, float64[k, e].
    """
    levels = variances if rising else np.sort(variances, axis=1)
    k, n = levels.shape
    above = n - np.arange(n + 1)
    below, logs = np.zeros((k, n + 1)), np.zeros((k, n + 1))
    np.cumsum(levels, axis=1, out=below[:, 1:])
    # The distortion if the water level is at each of the variances: values below it are lost altogether.
    distortion = np.full((k, n + 1), np.inf)
    np.add(below[:, :-1], above[:-1] * levels, out=distortion[:, :-1])
    total = n * errors**2
    with np.errstate(divide="ignore", invalid="ignore"):
        np.cumsum(np.log2(levels[:, ::-1]), axis=1, out=logs[:, -2::-1])
        if k == 1:
            lost = np.searchsorted(distortion[0, :-1], total, side="right")
        else:
            # The first distortion above that of an error; a search for each error is faster than counting.
            lost = np.stack([np.argmax(distortion > one[:, None], axis=1) for one in total.T], axis=1)
        row = np.arange(k)[:, None]
        left = above[lost]
        water = (total - below[row, lost]) / left
        rates: Floats = 0.5 * (logs[row, lost] - left * np.log2(water))
    rates[(left == 0) | ~np.isfinite(rates)] = 0.0
    return np.maximum(rates, 0.0, out=rates)
