"""Copy detection: has a generator memorised its training windows?

A window's *neighbour ratio* is its distance to the nearest training window over its distance to the fifth nearest. A
fresh window has several training windows about equally near, whether the market is calm or wild there, so its ratio is
close to 1; a copy has one window far nearer than all others, so its ratio is close to 0. A ratio, unlike a distance,
does not accuse a generator of calm windows, nor clear one that copies wild ones (Lowe 2004).

Distances are between normal forms (:mod:`openfingym.metrics.copy_forms`), which do not change, or hardly, when a window
is mirrored, scaled, turned, moved, run backward or put together from the pieces of two; and one comparison asks
how much of a window is a sum of two. :mod:`openfingym.metrics.copy_search` makes some thirty to two hundred
comparisons.

How small a ratio is by chance depends on the comparison: windows that fill few dimensions have near neighbours. Where
windows are spread evenly in m dimensions, the mth power of the ratio is the least of four uniform numbers, so the
median ratio of windows that are no copies gives m, and m the chance of any ratio. Those windows are held-out ones, and
training windows among the others that they do not overlap. Chances are multiplied by the number of comparisons; a
window is *memorised* when the least is below 0.01 and its ratio is small enough that a bootstrap with blocks of half a
window does not reach it. A generator is flagged when its share of memorised windows exceeds that of real ones by more
than 0.05 and by more than three standard errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.machine import one_blas_thread
from openfingym.metrics import copy_forms
from openfingym.metrics.arrays import Numbers, answer, known
from openfingym.metrics.copy_forms import Norm, size_of, whitening_of
from openfingym.metrics.copy_search import NEIGHBOUR, CopySearch
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from openfingym.metrics.copy_search import Found

CHANCE = 0.01
"""Chance of a ratio as small, over all comparisons, below which a window is memorised."""
LARGEST_RATIO = {"whole": 0.5, "stretch": 0.45, "cut": 0.5, "part": 0.35, "run": 0.2, "gram": 0.6, "mean": 0.75}
"""The ratio by comparison above which a window is no copy, however unlikely its ratio is; blocks of half a window are
no copies (docs/metrics.md)."""
EXCESS = 0.05
"""Excess of the share of memorised windows over that of real ones which is tolerated."""
STANDARD_ERRORS = 3.0
"""Number of standard errors by which the shares must differ, besides."""
SAMPLE, SMALLEST_SAMPLE = 400, 100
"""Number of generated windows that are examined, and the fewest, where so many would take long."""
REAL_SAMPLE = 60
"""Number of held-out windows, and of training windows, that show what ratios are usual."""
WORK = 2.5e10
"""Number of multiplications that one examination may take, about."""
READ_BLOCK = 2000
"""Number of training windows read at once."""
EXACT_CELLS = 8_000_000
"""Number of cells of all training windows beyond which they are kept in half precision."""
FORMED = 20_000
"""Most windows from which correlations of channels are estimated."""


@dataclass(frozen=True)
class CopyReport:
    """The report of the detector on a set of generated windows."""

    flagged: bool
    memorised_share: float
    """Share of the examined generated windows that are memorised."""
    held_out_share: float
    """Share of real windows that seem memorised: held-out ones, and training ones among the others."""
    positions: NDArray[np.intp]
    """Positions in the submission of the memorised windows among those examined."""
    sources: NDArray[np.intp]
    """Position of the training window that each memorised window is nearest to."""
    comparisons: tuple[str, ...]
    """The comparison that found each memorised window, such as ``whole backward`` or ``mean of two``."""


@dataclass(frozen=True, eq=False)
class CopyReference:
    """Training and held-out windows, ready for many comparisons; all fields are arrays, by which a task keeps it.

    The fields from ``centre`` to ``channels`` are those of :class:`~openfingym.metrics.copy_forms.Norm`.
    """

    windows: NDArray[np.floating]
    """The distinct training windows less their mean, in deviations, [n, t, d]."""
    sources: NDArray[np.intp]
    """Position of each distinct window in training, [n]."""
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    whitening: NDArray[np.float32]
    size: NDArray[np.float32]
    cells: NDArray[np.float32]
    forms: NDArray[np.float32]
    channels: NDArray[np.intp]
    counts: NDArray[np.int64]
    """Two numbers: whether values wander (0 or 1), and how many generated windows are examined."""
    dimensions: NDArray[np.float64]
    """Number of dimensions that windows fill in each comparison, in the order of the comparisons."""
    expected: NDArray[np.bool_]
    """Whether each examined real window seems memorised."""

    @property
    def norm(self) -> Norm:
        """How windows are brought into normal form."""
        wandering = bool(self.counts[0])
        return Norm(
            self.centre, self.scale, wandering, self.whitening, self.size, self.cells, self.forms, self.channels
        )


def copy_reference(train: Numbers, held_out: Numbers, *, seed: int = 0) -> CopyReference:
    """Prepare what generated windows are compared with; training windows are read in blocks.

    Args:
        train: windows that the generator was given, [n, t, d], in order of time where they overlap; at least 20
            distinct ones.
        held_out: real windows that the generator was not given, [m, t, d]; at least 20.
        seed: seed from which real windows, forms and channels are drawn.

    Raises:
        DataError: the windows are at fault or too few.
    """
    reference = known("held_out", held_out, 3)
    norm = _norm(train, seed)
    if reference.shape[1:] != train.shape[1:]:
        raise DataError(f"held-out windows have shape {reference.shape[1:]}, training windows {train.shape[1:]}")
    # Half precision, so that a large set fits into memory.
    precision = np.float32 if train.size <= EXACT_CELLS else np.float16
    windows = np.concatenate([norm.rows(train[rows]).astype(precision) for rows in _blocks(len(train))])
    sources = _distinct(windows)
    if min(len(sources), len(reference)) < 4 * NEIGHBOUR:
        raise DataError(
            f"copy detection needs {4 * NEIGHBOUR} distinct training windows and as many held out, found "
            f"{len(sources)} and {len(reference)}; it takes more rows, or a task with a shorter horizon"
        )
    if len(sources) < len(windows):
        # A window that training holds several times would be nearest and fifth nearest at once, and no copy of it would
        # stand out.
        windows = windows[sources]
    counts = np.array([norm.wandering, _sample(norm, len(windows))], dtype=np.int64)
    uncalibrated = CopyReference(
        windows,
        sources,
        norm.centre,
        norm.scale,
        norm.whitening,
        norm.size,
        norm.cells,
        norm.forms,
        norm.channels,
        counts,
        np.empty(0),
        np.empty(0, bool),
    )
    return _calibrated(uncalibrated, train, reference, seed)


def _calibrated(bare: CopyReference, train: Numbers, held_out: NDArray[np.float64], seed: int) -> CopyReference:
    """A reference, after measuring on real windows what ratios are usual in each comparison."""
    search = partial(CopySearch, bare.norm, bare.windows, whitening=bare.whitening, size=bare.size)
    usual = [search(held_out[_choose(len(held_out), REAL_SAMPLE, seed)]).run()]
    # Training windows among the others too, if enough are left of those that do not overlap them.
    if len(bare.windows) >= 4 * NEIGHBOUR + 2 * train.shape[1]:
        at = _choose(len(bare.windows), REAL_SAMPLE, seed)
        real = np.asarray(train[bare.sources[at]], dtype=np.float64)
        usual.append(search(real, itself=at).run())
    # The smaller median means fewer dimensions, and so a smaller ratio before anybody is accused.
    medians = np.array([min(float(np.median(found[name][0])) for found in usual) for name in usual[0]])
    # The median of the least of four uniform numbers, solved for the exponent; the clip keeps logarithms away from 0
    # and 1.
    dimensions = math.log(1.0 - 0.5 ** (1.0 / (NEIGHBOUR - 1))) / np.log(np.clip(medians, 1e-3, 0.995))
    ready = replace(bare, dimensions=dimensions)
    expected = np.concatenate([_chances(ready, found)[0] < CHANCE for found in usual])
    return replace(ready, expected=expected)


def examine(reference: CopyReference, fake: Numbers, *, seed: int = 0) -> CopyReport:
    """Compare generated windows [k, t, d] with a reference; see :func:`detect_copies`."""
    theirs = answer("fake", fake, 3)
    if theirs.shape[1:] != reference.centre.shape:
        raise UsageError(
            f"fake windows have [steps, channels] = {list(theirs.shape[1:])}, expected {list(reference.centre.shape)}"
        )
    norm = reference.norm
    chosen = _choose(len(theirs), int(reference.counts[1]), seed)
    # Channels are decorrelated by the generated windows' own moments, so that no invertible map of the channels hides a
    # copy; few windows do not say enough of their moments.
    many = norm.steps_of(norm.rows(theirs[_choose(len(theirs), FORMED, seed)]))
    whitening = whitening_of(many.reshape(-1, many.shape[2])) if len(many) >= 4 * NEIGHBOUR else reference.whitening
    search = CopySearch(norm, reference.windows, theirs[chosen], whitening=whitening, size=size_of(many))
    with one_blas_thread():
        found = search.run()
    chances, which = _chances(reference, found)
    memorised, expected = chances < CHANCE, reference.expected
    share, usual = float(memorised.mean()), float(expected.mean())
    # The usual two-sample test of shares, with the variance both have if they are equal.
    pooled = (memorised.sum() + expected.sum()) / (len(memorised) + len(expected))
    error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / len(memorised) + 1.0 / len(expected)))
    rows, names = np.flatnonzero(memorised), list(found)
    return CopyReport(
        flagged=share - usual > max(EXCESS, STANDARD_ERRORS * error),
        memorised_share=share,
        held_out_share=usual,
        positions=chosen[memorised],
        sources=reference.sources[np.array([found[names[which[row]]][1][row] for row in rows], dtype=np.intp)],
        comparisons=tuple(names[which[row]] for row in rows),
    )


def detect_copies(train: Numbers, held_out: Numbers, fake: Numbers, *, seed: int = 0) -> CopyReport:
    """Compare generated windows with the training windows.

    Args:
        train: windows that the generator was given, [n, t, d], in order of time where they overlap; at least 20
            distinct ones.
        held_out: real windows that the generator was not given, [m, t, d]; at least 20.
        fake: generated windows, [k, t, d].
        seed: seed from which at most 400 windows, and sketches, are drawn; fixed by the task.

    Raises:
        DataError: the real windows are at fault or too few.
        UsageError: the generated windows are at fault.
    """
    return examine(copy_reference(train, held_out, seed=seed), fake, seed=seed)


def memorised_excess(train: Numbers, held_out: Numbers, fake: Numbers, *, seed: int = 0) -> float:
    """Share of memorised windows above the share among real ones, in [0, 1]; see :func:`detect_copies`."""
    report = detect_copies(train, held_out, fake, seed=seed)
    return max(0.0, report.memorised_share - report.held_out_share)


def _chances(reference: CopyReference, found: Found) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """For each window the least chance of its ratios, times the number of comparisons, and which comparison has it.

    Every family of comparisons has the same share of the chance, so that the many places a stretch may be moved to cost
    the two comparisons of whole windows little.
    """
    families = [name.split()[0] for name in found]
    sizes: Mapping[str, int] = {family: families.count(family) for family in set(families)}
    chances = np.empty((len(found), len(next(iter(found.values()))[0])))
    for row, ((ratios, _), family, dimension) in enumerate(
        zip(found.values(), families, reference.dimensions, strict=True)
    ):
        # The chance that the least of four uniform numbers is below ratio^m.
        chance = 1.0 - (1.0 - np.minimum(ratios, 1.0) ** dimension) ** (NEIGHBOUR - 1)
        chances[row] = np.where(ratios < LARGEST_RATIO[family], chance * sizes[family] * len(sizes), 1.0)
    which = chances.argmin(axis=0)
    return chances[which, np.arange(chances.shape[1])], which


def _norm(train: Numbers, seed: int) -> Norm:
    """How windows are brought into normal form, by moments of the training windows and draws from the seed."""
    rng = np.random.default_rng(seed)
    centre, scale = _moments(train)
    rows = (np.asarray(train[_choose(len(train), FORMED // 4, seed)], dtype=np.float64) - centre) / scale
    moving = (np.diff(rows, axis=1) ** 2).mean(axis=(0, 1)) if rows.shape[1] > 1 else np.ones(1)
    # Steps of independent values have twice their variance; those of a random walk a small part of it.
    wandering = bool(np.median(moving / np.maximum((rows**2).mean(axis=(0, 1)), 1e-12)) < 0.5)
    count, channels = rows.shape[1] - wandering, rows.shape[2]
    # Long Grams are sketched; stretches are compared in as many channels as make a bounded number of cells.
    sketched = count * (count + 1) // 2 > copy_forms.SKETCH
    forms = rng.standard_normal((2, copy_forms.SKETCH if sketched else 0, count)).astype(np.float32)
    per_stretch = int(
        np.clip(copy_forms.STRETCH_NUMBERS // (count - rows.shape[1] // copy_forms.SHIFT_PARTS), 1, channels)
    )
    chosen = np.sort(rng.choice(channels, per_stretch, replace=False)).astype(np.intp)
    # Made without the moments of steps first, which are taken of steps in its form.
    nothing = np.empty((0, 0), np.float32)
    bare = Norm(centre, scale, wandering, nothing, np.ones(channels, np.float32), nothing, forms, chosen)
    steps = bare.steps_of(rows.astype(np.float32))
    size, cells = size_of(steps), nothing
    # Cell by cell only where windows are short, and four times as many as there are cells.
    if count * channels <= copy_forms.SMALL_CELLS and len(steps) > 4 * count * channels:
        cells = whitening_of((steps / size).reshape(len(steps), -1), ridge=0.01)
    return replace(bare, whitening=whitening_of(steps.reshape(-1, channels)), size=size, cells=cells)


def _sample(norm: Norm, windows: int) -> int:
    """Number of generated windows to examine: fewer where there is much to compare with."""
    channels, stretch = len(norm.scale), (norm.steps - norm.shift) * len(norm.channels)
    products = norm.steps * channels * 8 + 4 * (norm.shift + 1) * stretch + 4 * copy_forms.SKETCH
    # Besides products there is what is done to each of their results.
    passes = 40 * (8 * channels + 4 * (norm.shift + 1) * len(norm.channels) + 24)
    return int(np.clip(WORK // (windows * (products + passes)), SMALLEST_SAMPLE, SAMPLE))


def _moments(train: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean window [t, d], and the deviation of each channel, 1 where it is 0."""
    total, count = np.zeros(1), 0
    for rows in _blocks(len(train)):
        block = known("train", train[rows], 3)
        total, count = total + block.sum(axis=0), count + len(block)
    # A second pass for the squares: from sums alone they would cancel where the level is large beside the deviation.
    mean, square = total / count, np.zeros(1)
    level = mean.mean(axis=0)
    for rows in _blocks(len(train)):
        square = square + ((np.asarray(train[rows], dtype=np.float64) - level) ** 2).sum(axis=(0, 1))
    deviation = np.sqrt(square / (count * train.shape[1]))
    return mean, np.where(deviation > 0.0, deviation, 1.0)


def _distinct(windows: NDArray[np.floating]) -> NDArray[np.intp]:
    """Positions of the first of each equal windows, in order."""
    seen: dict[bytes, int] = {}
    for position, window in enumerate(windows):
        seen.setdefault(window.tobytes(), position)
    return np.fromiter(seen.values(), dtype=np.intp, count=len(seen))


def _blocks(count: int) -> list[slice]:
    return [slice(start, start + READ_BLOCK) for start in range(0, max(count, 1), READ_BLOCK)]


def _choose(total: int, count: int, seed: int) -> NDArray[np.intp]:
    """Positions, in order, of at most ``count`` out of ``total``, drawn without replacement."""
    if total <= count:
        return np.arange(total, dtype=np.intp)
    return np.sort(np.random.default_rng(seed).choice(total, count, replace=False)).astype(np.intp)


METRICS = (
    Metric(
        "memorised_excess",
        memorised_excess,
        "copying",
        "share of memorised windows above that of real ones",
        "fraction",
        "this project; ratio of neighbours after Lowe 2004",
        (0.0, 1.0),
        stochastic=True,
        noise=0.1,
        minimum_rows=20,
    ),
)
