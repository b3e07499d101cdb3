"""Detection of designed differences between many submissions, such as those that read labels from scores.

What a label leaks into a score is read by moving something on purpose and watching what becomes of the score. Three
kinds of moves serve that and no model: *concentrated* ones, of few cells or few windows and each time of others;
*patterned* ones, by the same size everywhere but for the sign; and *white* ones, whose neighbours in a window have
nothing in common. What people change moves neighbouring steps and channels alike, or the same few cells again and
again.

One :class:`FoldHistory` watches one fold, since what stands in the other fold changes nothing in this one's score.
Rounding is no design: moves by at most one unit of the decimals that both submissions are rounded to are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Mask = NDArray[np.bool_]

MAX_KEPT = 64
"""Largest number of earlier submissions of a fold that are remembered."""
MIN_KEPT = 4
"""Number of earlier submissions that are remembered however large they are."""
MAX_NUMBERS = 1_000_000
"""Numbers of a fold's earlier submissions that are remembered, all together: 8 MB."""
NEIGHBOURS = 3
"""Nearest earlier submissions that a difference is taken to, until one is more than a matter of rounding."""
NOISE_FRACTION = 0.05
"""A cell has moved if it has by more than this share of the largest move."""
CELL_FRACTION = 0.02
"""Share of the cells that may have moved in a concentrated move."""
WINDOW_FRACTION = 0.1
"""Largest share of the windows that a concentrated move changes."""
BOTH_WAYS = 0.2
"""Of the nodes that change places, the least that go up, and that go down: a cut-off that moves lets all go the same
way."""
PROBES_TO_FLAG = 8
"""Concentrated moves from one group of submissions that raise a flag."""
NEW_PLACES = {"values": 1 / 2, "ranks": 1 / 3}
"""Share of the places moved that were not moved before; repairs come back to the same ones, and so do known nodes
between asked ones."""
PATTERNS_TO_FLAG = 8
"""Patterned moves of a principal that raise a flag."""
WHITE_TO_FLAG = 14
"""White moves of a principal that raise a flag."""
WHITE_LIMIT = 3.0
"""Standard deviations from zero within which a correlation of neighbours is none."""
LARGEST_KURTOSIS = 3.3
"""Largest kurtosis of white moves that are drawn alike in every cell; the normal law's is 3. Models err more in some
cells than in others."""
SIZE_SPREAD = 0.06
"""Standard deviation over mean of the sizes of white moves that are drawn alike every time."""
SMALLEST = 0.01
"""Rms of a difference, in units of the baseline's error, below which nothing could be read off a score."""
SPREAD_FRACTION = 0.125
"""Share of the cells that a pattern, or a white move, must have moved."""
FEWEST_CELLS = 32
"""Below this many cells, two submissions may well differ by a constant or in a pattern by chance."""
MAX_DECIMALS = 6
"""Decimals up to which a submission is looked at for being rounded."""
COARSE = 0.2
"""Units of rounding above this share of the baseline's error leave little but zeros."""


@dataclass
class Cluster:
    """Submissions that equal one another but for a few places, which are not always the same."""

    moved: Mask
    """Which places were moved at least once."""
    new_places: float
    """Share of moved places that must be new ones, for the cluster to be suspicious."""
    probes: int = 0
    """Number of moves that were counted."""
    places: int = 0
    """Number of places moved, each counted as often as it was moved."""

    def add(self, moved: Mask) -> None:
        """Count one move, given the places that it changed."""
        self.moved |= moved
        self.probes += 1
        self.places += int(np.count_nonzero(moved))

    @property
    def suspicious(self) -> bool:
        """Whether there were many moves, each time in new places."""
        distinct = int(np.count_nonzero(self.moved))
        return (
            self.probes >= PROBES_TO_FLAG and distinct >= PROBES_TO_FLAG and distinct >= self.new_places * self.places
        )


@dataclass(frozen=True)
class White:
    """A difference between two submissions in which neighbours are uncorrelated."""

    correlations: tuple[float, ...]
    """Correlations of neighbours along each axis after the first, in standard deviations."""
    size: float
    """Root mean square of the difference."""
    kurtosis: float
    """Mean fourth power of the difference over the square of its mean square."""


@dataclass
class _Earlier:
    """An earlier submission that is remembered."""

    values: Values
    unit: float
    """The decimal unit that all values are multiples of; 0 where they are not rounded."""
    cells: Cluster | None = None
    """Submissions that differ from this one in a few cells, which all share one cluster; None while there are none."""
    windows: Cluster | None = None
    """Submissions that differ from this one in a few windows, which all share one cluster; None while there are
    none."""


@dataclass
class FoldHistory:
    """What a principal has submitted for one fold, as far as it is remembered."""

    scale: float
    """Rms of the error of the task's baseline on this fold, by which differences are measured."""
    ranks: bool = False
    """Whether values are ranks of scores, as :meth:`~openfingym.kinds.Kind.compared` makes them."""
    structured: bool = False
    """Whether neighbours along the axes after the first belong together: steps of a horizon, channels, maturities."""
    patterns: int = 0
    """Number of patterned moves so far."""
    white: list[White] = field(default_factory=list)
    """Differences in which neighbours have nothing in common."""
    flagged: bool = False
    """Whether the submissions together look like the reading of labels; once raised, it stays."""
    _earlier: list[_Earlier] = field(default_factory=list)
    """The baseline, then a sample of older submissions, then the latest ones."""
    _seen: int = 0
    """Number of submissions that were compared."""

    def start(self, baseline: Values) -> None:
        """Remember the task's baseline for good, so that submissions that start from it are compared with it."""
        self._earlier = [_Earlier(baseline, _unit(baseline))]

    @property
    def remembered(self) -> int:
        """Number of submissions that the next one is compared with."""
        return len(self._earlier)

    def add(self, values: Values) -> None:
        """Compare a submission with those remembered, and remember it.

        Args:
            values: float64, of one shape each time; the first axis counts windows, contexts, rows or nodes.
        """
        new = _Earlier(values, _unit(values))
        if self._earlier:
            moves = np.stack([new.values - earlier.values for earlier in self._earlier])
            flat = np.abs(moves.reshape(len(moves), -1))
            largest = flat.max(axis=1)
            # A submission that was made before tells nothing new.
            if not largest.all():
                return
            self._look_for_probes(new, _by_cell(moves), largest)
            # Ranks shift by one place where another node is moved, and generated futures (four axes) differ by what
            # was drawn: in neither do equal sizes, or uncorrelated ones, say anything.
            if not self.ranks and values.ndim < 4 and values.size >= FEWEST_CELLS:
                self._look_for_designs(new, moves, flat, largest)
        self._remember(new)

    def _look_for_probes(self, new: _Earlier, moves: Values, largest: Values) -> None:
        """Look whether the move from an earlier submission is concentrated in few cells, or in few windows.

        Args:
            new: the submission that is looked at.
            moves: float64[remembered, cells], its difference from each one remembered.
            largest: float64[remembered], the largest absolute move of each difference.
        """
        # Relative to the largest move, so that noise added to all other cells does not hide a probe.
        moved: Mask = np.abs(moves) > NOISE_FRACTION * largest[:, None]
        match = self._most_concentrated(new, moves, moved, largest, max(2, int(CELL_FRACTION * moved.shape[1])))
        if match is not None:
            # One cluster for both: a chain of small changes is as telling as many from one starting point.
            new.cells = match[0].cells = self._counted(match[0].cells, match[1])
        if not self.structured:
            return
        windows: Mask = np.any(moved.reshape(len(moved), len(new.values), -1), axis=2)
        match = self._most_concentrated(new, moves, windows, largest, max(1, int(WINDOW_FRACTION * windows.shape[1])))
        if match is not None:
            new.windows = match[0].windows = self._counted(match[0].windows, match[1])

    def _most_concentrated(
        self, new: _Earlier, moves: Values, moved: Mask, largest: Values, limit: int
    ) -> tuple[_Earlier, Mask] | None:
        """The earlier submission from which the fewest places moved, if these are few; and the places.

        Args:
            new: the submission that is looked at.
            moves: float64[remembered, cells], its difference from each one remembered.
            moved: bool[remembered, places], which places moved: cells, or windows.
            largest: float64[remembered], the largest absolute move of each difference.
            limit: largest number of places that are few.
        """
        counts = np.count_nonzero(moved, axis=1)
        for index in np.argsort(counts, kind="stable"):
            # They are in order, so that from here on all are too many; half of a small fold is not few either.
            if counts[index] > limit or counts[index] >= moved.shape[1] / 2:
                return None
            if self.ranks:
                up = np.count_nonzero(moves[index][moved[index]] > 0.0) / counts[index]
                counted = BOTH_WAYS <= up <= 1.0 - BOTH_WAYS
            else:
                unit = max(new.unit, self._earlier[index].unit)
                # Where nearly everything is rounded to zero, what is left may be a few units apart.
                counted = bool(largest[index] > (3.001 if unit > COARSE * self.scale else 1.001) * unit)
            if counted:
                return self._earlier[index], moved[index]
        return None

    def _counted(self, cluster: Cluster | None, moved: Mask) -> Cluster:
        """A cluster, or a new one, with one move more."""
        cluster = (
            Cluster(np.zeros(moved.shape, dtype=bool), NEW_PLACES["ranks" if self.ranks else "values"])
            if cluster is None
            else cluster
        )
        cluster.add(moved)
        self.flagged |= cluster.suspicious
        return cluster

    def _look_for_designs(self, new: _Earlier, moves: Values, flat: Values, largest: Values) -> None:
        """Look whether the move from the nearest earlier submission is patterned, or white.

        Args:
            new: the submission that is looked at.
            moves: float64[remembered, ...], its difference from each one remembered.
            flat: float64[remembered, cells], the absolute values of these differences.
            largest: float64[remembered], the largest of these.
        """
        # The earlier submission that is nearest is the one this was made from, if it was made from any.
        size = np.sqrt(np.mean(flat**2, axis=1))
        for index in np.argsort(size, kind="stable")[:NEIGHBOURS]:
            unit = max(new.unit, self._earlier[index].unit)
            moved = np.count_nonzero(flat[index]) / flat.shape[1]
            # A matter of rounding: the same numbers to fewer decimals, or one unit off here and there.
            if largest[index] <= 0.5001 * unit or (largest[index] <= 1.001 * unit and moved < 0.3):
                continue
            # Too small for anything to be read off a score.
            if size[index] < SMALLEST * self.scale:
                return
            # A move that leaves most of a fold alone is a matter for clusters.
            if np.count_nonzero(flat[index] > NOISE_FRACTION * largest[index]) > SPREAD_FRACTION * flat.shape[1]:
                self.patterns += is_patterned(moves[index], unit)
                self._note_white(moves[index])
            break
        self.flagged |= self.patterns >= PATTERNS_TO_FLAG or self._white_together()

    def _note_white(self, move: Values) -> None:
        """Record a move in which no axis has correlated neighbours."""
        correlations = tuple(neighbour_correlations(move))
        if self.structured and correlations and max(map(abs, correlations)) < WHITE_LIMIT:
            square = float(np.mean(move**2))
            self.white.append(White(correlations, square**0.5, float(np.mean(move**4)) / square**2))

    def _white_together(self) -> bool:
        """Whether white moves are drawn alike in every cell and every time, and stay without correlation when added
        up.
        """
        white = self.white[-MAX_KEPT:]
        if len(white) < WHITE_TO_FLAG:
            return False
        # Slight correlations that no single difference shows add up.
        together = np.sum([move.correlations for move in white], axis=0) / np.sqrt(len(white))
        sizes = np.array([move.size for move in white])
        kurtosis = float(np.mean([move.kurtosis for move in white]))
        alike = kurtosis < LARGEST_KURTOSIS and float(sizes.std()) < SIZE_SPREAD * float(sizes.mean())
        return alike and bool(np.abs(together).max() < WHITE_LIMIT)

    def _remember(self, new: _Earlier) -> None:
        """Keep the baseline, the latest ones, and a sample of those before, the same whenever it is drawn again."""
        self._seen += 1
        room = min(MAX_KEPT, max(MIN_KEPT, MAX_NUMBERS // max(new.values.size, 1)))
        if len(self._earlier) <= room:
            self._earlier.append(new)
            return
        # Half of the room is for the latest. The oldest of these leaves them, and joins the sample with the probability
        # that keeps it even over all submissions before (reservoir sampling), so that a long attack stays in sight.
        # Seeded by the count, since a pool that is rebuilt after a restart must remember the same ones.
        sampled = room // 2
        leaving = self._earlier.pop(1 + sampled)
        self._earlier.append(new)
        place = int(np.random.default_rng(self._seen).integers(self._seen - (room - sampled)))
        if place < sampled:
            self._earlier[1 + place] = leaving


def is_patterned(move: Values, unit: float = 0.0) -> bool:
    """Whether a move is one size in every cell, or one shape in every window, but for the sign and for zeros.

    The same in all windows is a bias or a drift, and no pattern; so are multiples of a rounding unit without a gap.

    Args:
        move: float64[n, ...], not all zero.
        unit: what both submissions are rounded to; 0 where they are not.
    """
    flat = move.reshape(len(move), -1)
    # The same in all windows: a bias or a drift.
    if np.ptp(flat, axis=0).max() <= 1e-6 * np.abs(flat).max() and flat.shape[1] > 1:
        return False
    # One size in every cell, but for signs and zeros; with one cell a window, the same everywhere is a bias again.
    if _few_sizes(np.abs(flat), unit) and not (flat.shape[1] == 1 and np.ptp(flat) <= 1e-6 * np.abs(flat).max()):
        return True
    if flat.shape[1] == 1:
        return False
    # One shape in every window: each is the largest one times -1, 0 or 1, which its projection onto that one says.
    norms = np.einsum("ij,ij->i", flat, flat)
    shape = flat[int(norms.argmax())]
    shares = flat @ shape / norms.max()
    one_shape = np.abs(flat - shares[:, None] * shape).max() <= 1e-3 * np.abs(shape).max()
    return bool(
        one_shape
        and np.abs(np.abs(shares) - np.round(np.abs(shares))).max() <= 1e-3
        and np.count_nonzero(shares > 0.5) > 1
    )


def _few_sizes(sizes: Values, unit: float) -> bool:
    """Whether all sizes are zero or one and the same."""
    share = sizes / sizes.max()
    if not ((share < 1e-3) | (share > 1.0 - 1e-3)).all():
        return False
    # Roundings differ by one unit here and there; by two without a one between, or everywhere, they do not.
    return bool(sizes.max() > 1.001 * unit or np.count_nonzero(share > 0.5) > 0.9 * share.size)


def neighbour_correlations(move: Values) -> Iterator[float]:
    """Correlation of neighbours along each axis after the first, in its standard deviations under independence."""
    total = float(np.mean(move**2))
    for axis in range(1, move.ndim):
        if move.shape[axis] < 2:
            continue
        first, second = np.delete(move, -1, axis), np.delete(move, 0, axis)
        # Under independence, products of neighbours have mean zero, and this is the standard deviation of their sum.
        spread = float(np.sqrt(np.sum(first**2 * second**2)))
        yield float(np.sum(first * second)) / spread if spread > 1e-9 * total else 0.0


def _by_cell(moves: Values) -> Values:
    """Moves, float64[remembered, cells], by the cells that a label belongs to: all futures of a context are one."""
    if moves.ndim == 5:
        whole: Values = np.abs(moves).max(axis=(2, 3, 4))
        return whole
    return moves.reshape(len(moves), -1)


def _unit(values: Values) -> float:
    """The decimal unit that all values are multiples of, 0 where they are not rounded."""
    flat = values.reshape(-1)
    for decimals in range(MAX_DECIMALS + 1):
        # A look at a few values rules most decimals out, without rounding a whole submission.
        few = flat[:16]
        if np.abs(few - np.round(few, decimals)).max() < 1e-9 and np.abs(flat - np.round(flat, decimals)).max() < 1e-9:
            return float(10.0**-decimals)
    return 0.0
