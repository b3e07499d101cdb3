"""The nearest training windows of each generated one, in every normal form of :mod:`openfingym.metrics.copy_forms`.

Training windows are gone through in blocks, so that a few million distances are held at once. Every generated window is
compared as it is and backward in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics import copy_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from openfingym.metrics.copy_forms import Floats, Norm

    Found = dict[str, tuple[NDArray[np.float64], NDArray[np.intp]]]
    """Results by comparison: the neighbour ratio of each generated window, and its nearest training window."""

NEIGHBOUR = 5
"""The neighbour that a nearest distance is compared with: the fifth, so that up to three near-duplicates of a training
window cannot hide a copy of it."""
BLOCK_CELLS = 500_000
"""Number of distances of one kind worked on at once, so that they stay in a core's cache."""
GROUPS = 4
"""Number of groups of a block's distances for each neighbour wanted; the least distances of groups give a bound."""
PARTNERS_SHORT, PARTNERS_LONG = 16, 2
"""Number of nearest windows that are tried as one half of a mean of two windows, with any other as the second half:
more where windows are short and many are near."""
NOWHERE = np.float32(9.0)
"""A squared distance beyond that of any two unit vectors."""


class Nearest:
    """The nearest windows so far of each of n windows, by squared distance."""

    def __init__(self, count: int, few: int = NEIGHBOUR) -> None:
        """Begin with none.

        Args:
            count: number n of windows whose neighbours are searched.
            few: how many neighbours of each are kept.
        """
        self.few = few
        self.distances = np.full((count, few), np.inf, np.float32)
        self.windows = np.zeros((count, few), np.intp)

    def update(self, distances: Floats, start: int) -> None:
        """Take in a block of squared distances.

        Args:
            distances: squared distances to the windows of the block, float32[n, m].
            start: position of the first of these windows.
        """
        limit = self.distances[:, -1:]
        if np.isinf(limit).any():
            near_enough = distances <= np.minimum(limit, self._bound(distances))
        else:
            near_enough = distances < limit  # as near as the last of them is not enough: ties go to the earlier window
        # Few windows pass; those are sorted, not all. They are found in one row: NumPy does that far faster.
        passed = np.flatnonzero(near_enough)
        rows, columns = np.divmod(passed, distances.shape[1])
        counts = np.bincount(rows, minlength=len(limit))
        # In a line for each window: the nearest so far, then those that passed, in order. The sort is stable, so that
        # the result does not depend on the size of the blocks.
        shape = len(limit), self.few + int(counts.max(initial=0))
        near, which = np.full(shape, np.inf, np.float32), np.zeros(shape, np.intp)
        near[:, : self.few], which[:, : self.few] = self.distances, self.windows
        places = self.few + np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        near[rows, places], which[rows, places] = distances[rows, columns], columns + start
        best = np.argsort(near, axis=1, kind="stable")[:, : self.few]
        self.distances, self.windows = np.take_along_axis(near, best, axis=1), np.take_along_axis(which, best, axis=1)

    def _bound(self, distances: Floats) -> Floats:
        """A bound, [n, 1], that as many of a block's distances [n, m] as are wanted do not exceed, and few others."""
        # Take the least distance of each of some groups: the fifth least of these is not below the fifth least of all.
        size = distances.shape[1] // (GROUPS * self.few)
        if size == 0:
            return np.full((len(distances), 1), np.inf, np.float32)
        least = np.fmin.reduceat(distances, np.arange(GROUPS * self.few) * size, axis=1)
        bound: Floats = np.partition(least, self.few - 1, axis=1)[:, self.few - 1 : self.few]
        return bound

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Distance to the nearest over that to the fifth nearest; 1 where there is nothing to compare."""
        # A distance of two equal directions can be a little below 0 by rounding.
        nearest, fifth = (np.sqrt(np.maximum(self.distances[:, at], 0.0)) for at in (0, -1))
        usable = np.isfinite(fifth) & (fifth > 0.0)
        return np.divide(nearest, fifth, out=np.ones(len(nearest)), where=usable, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CopyQueries:
    """Generated windows in one direction of time, in every form."""

    rows: Floats
    """The windows in deviations, [n, t, d]; the other fields as the methods of
    :class:`~openfingym.metrics.copy_forms.Norm` make them."""
    steps: Floats
    pieces: list[tuple[Floats, Floats]]
    grams: tuple[Floats, Floats]
    stretches: list[tuple[Floats, Floats]]
    """The stretch from every place at which it may begin."""
    vectors: Floats


class CopySearch:
    """One set of generated windows against all training windows.

    Args:
        norm: how windows of the task are brought into normal form.
        windows: training windows, as :meth:`~openfingym.metrics.copy_forms.Norm.rows` makes them.
        generated: the generated windows, float64[n, t, d].
        whitening: matrix that decorrelates the channels of all generated windows, [d, d].
        size: root mean square of the steps of each channel of all generated windows, [d].
        itself: positions of the generated windows in training, where they are training windows; windows that may
            overlap one of them are not compared with it. None for other windows.
    """

    def __init__(
        self,
        norm: Norm,
        windows: NDArray[np.floating],
        generated: NDArray[np.float64],
        *,
        whitening: Floats,
        size: Floats,
        itself: NDArray[np.intp] | None = None,
    ) -> None:
        self.norm, self.windows, self.itself, self.count = norm, windows, itself, len(generated)
        rows = norm.rows(generated)
        self.queries = {
            "": self._forms(rows, whitening, size),
            " backward": self._forms(np.ascontiguousarray(rows[:, ::-1]), whitening, size),
        }
        self.block = max(64, BLOCK_CELLS // self.count)
        self.nearest: dict[str, Nearest] = {}
        self.partners = PARTNERS_SHORT if len(norm.cells) else PARTNERS_LONG

    def run(self) -> Found:
        """Make all comparisons.

        Returns:
            Neighbour ratios and nearest training windows, by the name of the comparison.
        """
        partners = {way: Nearest(self.count, self.partners) for way in self.queries}
        for start, rows in self._blocks():
            self._compare(rows, start)
            vectors = self.norm.vectors(self.norm.steps_of(rows), self.norm.size)
            for way, query in self.queries.items():
                # By the size of the cosine: in a mean, a window may have either sign.
                partners[way].update(self._passed_over(np.float32(1) - np.abs(query.vectors @ vectors.T), start), start)
        for way, query in self.queries.items():
            self.nearest[f"mean of two{way}"] = self._pairs(query.vectors, partners[way].windows)
        return self._found()

    def _forms(self, rows: Floats, whitening: Floats, size: Floats) -> CopyQueries:
        norm, steps = self.norm, self.norm.steps_of(rows)
        stretches = [norm.stretch(steps, start) for start in range(norm.shift + 1)] if norm.shift else []
        return CopyQueries(
            rows, steps, norm.pieces(steps), norm.grams(steps, whitening), stretches, norm.vectors(steps, size)
        )

    def _blocks(self, parts: int = 1) -> Iterator[tuple[int, Floats]]:
        """Training windows block by block, each with the position of its first; ``parts`` times as many blocks as
        usual.
        """
        size = max(16, self.block // parts)
        for start in range(0, len(self.windows), size):
            yield start, self.windows[start : start + size].astype(np.float32)

    def _compare(self, rows: Floats, start: int) -> None:
        norm, steps = self.norm, self.norm.steps_of(rows)
        pieces = [piece for piece, _ in norm.pieces(steps)]
        grams = norm.grams(steps, norm.whitening)
        ends = [norm.stretch(steps, place)[0] for place in (0, norm.shift)] if norm.shift else []
        for way, query in self.queries.items():
            self._compare_pieces(query, pieces, way, start)
            # With one channel there is nothing to turn or to exchange.
            if len(norm.scale) > 1:
                for name, ours, theirs in zip(("decorrelated", "unit"), query.grams, grams, strict=True):
                    self._take(f"gram {name}{way}", copy_forms.gaps(ours, theirs), start)
            for end, there in enumerate(ends):
                for place, (here, alive) in enumerate(query.stretches):
                    self._take(
                        f"stretch {end}.{place}{way}", 1.0 - copy_forms.agreement(here, there) / alive[:, None], start
                    )
            if norm.steps < copy_forms.SHORT:
                self._compare_parts(query, rows, way, start)
            elif norm.steps < copy_forms.LONG:
                self._compare_runs(query, steps, way, start)

    def _compare_pieces(self, query: CopyQueries, pieces: list[Floats], way: str, start: int) -> None:
        """The whole window, and its two sides of every cut between pieces."""
        agreed = [copy_forms.agreement(here, there) for (here, _), there in zip(query.pieces, pieces, strict=True)]
        alive = np.stack([count for _, count in query.pieces])[:, :, None]
        whole = sum(agreed[1:], agreed[0])
        self._take(f"whole{way}", 1.0 - whole / alive.sum(axis=0), start)
        before, family = np.zeros_like(whole), "cut" if self.norm.steps < copy_forms.LONG else "part"
        for cut in range(1, len(agreed)):
            before, after = before + agreed[cut - 1], whole - before - agreed[cut - 1]
            self._take(f"{family} {cut}{way}|before", 1.0 - before / alive[:cut].sum(axis=0), start)
            self._take(f"{family} {cut}{way}|after", 1.0 - after / alive[cut:].sum(axis=0), start)

    def _compare_parts(self, query: CopyQueries, rows: Floats, way: str, start: int) -> None:
        """The two sides of every cut of a short window that leaves a third, and two rows at least; as they are, and
        joined.
        """
        forms: list[tuple[str, Callable[[Floats], Floats]]] = [("rows", lambda part: part)]
        if self.norm.wandering:
            forms.append(("steps", lambda part: np.diff(part, axis=1)))
        else:
            forms.append(("centred", lambda part: part - part.mean(axis=1, keepdims=True)))
        least = max(2, rows.shape[1] // 3)
        for cut in range(least, rows.shape[1] - least + 1):
            for side, part in (("before", slice(cut)), ("after", slice(cut, None))):
                for name, form in forms:
                    distances = 1.0 - copy_forms.part_agreement(form(query.rows[:, part]), form(rows[:, part]))
                    self._take(f"part {name} {cut}{way}|{side}", distances, start)

    def _compare_runs(self, query: CopyQueries, steps: Floats, way: str, start: int) -> None:
        """The two sides of every cut that leaves a third, where quarters are too coarse for cuts and eighths too short
        to tell apart.
        """
        least, gap = self.norm.steps // 3, int(self.norm.robust)
        for cut in range(least, self.norm.steps - least + 1):
            for side, part in (("before", slice(cut - gap)), ("after", slice(cut, None))):
                distances = 1.0 - copy_forms.run_agreement(query.steps[:, part], steps[:, part])
                self._take(f"run {cut}{way}|{side}", distances, start)

    def _pairs(self, vectors: Floats, partners: NDArray[np.intp]) -> Nearest:
        """How much of each window is left by regression on one of its partners and each training window.

        Args:
            vectors: the generated windows as unit vectors, [n, c].
            partners: positions of the training windows tried as first regressors, [n, partners].
        """
        chosen = self.norm.vectors(
            self.norm.steps_of(self.windows[partners.reshape(-1)].astype(np.float32)), self.norm.size
        )
        # Take the partner out of the window; what a second window then explains is the square of its product with the
        # rest, over what the partner leaves of the second window itself.
        each = np.repeat(vectors, partners.shape[1], axis=0)
        along = np.einsum("ij,ij->i", each, chosen)[:, None]
        rest = each - along * chosen
        left, nearest = 1.0 - along**2, Nearest(self.count)
        for start, rows in self._blocks(partners.shape[1]):
            block = self.norm.vectors(self.norm.steps_of(rows), self.norm.size)
            free, more = chosen @ block.T, rest @ block.T
            np.subtract(1.0, np.square(free, out=free), out=free)
            # A window that is nearly the partner itself explains nothing more.
            free[free <= 1e-3] = np.inf
            np.divide(np.square(more, out=more), free, out=more)
            unexplained = np.subtract(left, more, out=more).reshape(self.count, partners.shape[1], -1).min(axis=1)
            nearest.update(self._passed_over(np.maximum(unexplained, 0.0), start), start)
        return nearest

    def _take(self, name: str, distances: Floats, start: int) -> None:
        """Take a block of squared distances into the comparison of this name."""
        self.nearest.setdefault(name, Nearest(self.count)).update(self._passed_over(distances, start), start)

    def _passed_over(self, distances: Floats, start: int) -> Floats:
        """The distances, of which those to windows that overlap the generated one are put out of reach."""
        if self.itself is None:
            return distances
        near = np.abs(np.arange(start, start + distances.shape[1]) - self.itself[:, None]) < self.norm.centre.shape[0]
        return np.where(near, NOWHERE, distances)

    def _found(self) -> Found:
        """Ratios by comparison; of a cut, both sides must be near something."""
        found: Found = {}
        for name, nearest in self.nearest.items():
            comparison, _, side = name.partition("|")
            if side == "after":
                ratios, windows = found[comparison]
                found[comparison] = np.maximum(ratios, nearest.ratios), windows
            else:
                found[comparison] = nearest.ratios, nearest.windows[:, 0]
        return found
