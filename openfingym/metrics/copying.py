"""Copy detection: has a generator memorised its training windows?

A window's *neighbour ratio* is its distance to the nearest training window over its distance to
the fifth nearest. A fresh window has several training windows about equally near, whether the
market is calm or wild there, so its ratio is close to 1; a copy has one window far nearer than
all others, so its ratio is close to 0. A ratio, unlike a distance, does not accuse a generator
of calm windows, nor clear one that copies wild ones.

What is compared is every stretch of four fifths of a window with the first and the last such stretch of
every training window; then the window backward in time, and upside down. So a copy that was shifted by up
to a fifth, turned or mirrored is one too, and the smallest of these ratios counts.

A window counts as *memorised* when its ratio is below 0.3 of the median ratio of held-out real
windows, found in the same way. Held-out windows fall there now and then, more often where windows
have few degrees of freedom, so a generator is flagged when its share of memorised windows exceeds
theirs by more than 0.05 and by more than three standard errors. A block bootstrap whose blocks are
up to about two thirds of a window is not flagged: the rest of each window breaks the match.

Distances are Euclidean, each channel divided by its standard deviation in training. Stretches of more
than 64 cells are projected to 64 dimensions first, at random but always the same way, which keeps ratios of
distances (Johnson and Lindenstrauss 1984); so all training windows can be compared with, however
many. Those that occur more than once count once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, known
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEIGHBOUR = 5
"""The neighbour a nearest distance is compared with; four near-duplicates of a training window cannot hide a copy."""
THRESHOLD = 0.3
"""Fraction of the held-out median ratio below which a window is memorised."""
EXCESS = 0.05
"""Share of memorised windows above the held-out share that is tolerated."""
STANDARD_ERRORS = 3.0
SAMPLE, SMALLEST_SAMPLE = 400, 100
"""Windows examined of the generated and of the held-out ones, and how few where that would take long."""
COMPARISONS = 200_000_000
"""Pairs of stretches compared for one side, about."""
SHIFT_PARTS = 5
"""A copy may be shifted by one such part of a window and still be found."""
DIMENSIONS = 64
"""Numbers a stretch is compared by, at most."""
READ_BLOCK = 2000
"""Training windows read at once."""
BLOCK_CELLS = 4_000_000
"""Distances held at once."""
FAR = 1e9
"""Deviations beyond which a value is as far from any training window as it can be."""


@dataclass(frozen=True)
class CopyReport:
    """What the detector found."""

    flagged: bool
    memorised_share: float
    """Share of the examined generated windows that are memorised."""
    held_out_share: float
    """Share of held-out real windows below the same threshold."""
    cutoff: float
    """Ratio below which a window counts as memorised."""
    positions: NDArray[np.intp]
    """Positions, in the submission, of the memorised windows among those examined."""
    sources: NDArray[np.intp]
    """Training window each of them is nearest to (position among the distinct ones' first occurrences)."""


@dataclass(frozen=True, eq=False)
class CopyReference:
    """Training and held-out windows, ready for many comparisons; arrays alone."""

    base: NDArray[np.float32]
    """[stretches, at most 64], the distinct ones."""
    sources: NDArray[np.intp]
    """[stretches], the training window each was taken from."""
    centre: NDArray[np.float64]
    """[d], subtracted from every value."""
    scale: NDArray[np.float64]
    """[d], what every value is divided by after that."""
    expected: NDArray[np.float64]
    """Ratios of held-out windows."""
    size: NDArray[np.int64]
    """Rows of a window, by how many of them a copy may be shifted, and windows examined."""


def copy_reference(train: Numbers, held_out: Numbers, *, seed: int = 0) -> CopyReference:
    """Prepare what generated windows are compared with; training windows are read in blocks.

    Args:
        train: [n, t, d], what the generator was given; at least 20 distinct windows.
        held_out: [m, t, d], real windows the generator was not given; at least 20.
        seed: of the drawing of held-out windows.

    Raises:
        DataError: the windows are at fault or too few.
    """
    reference = known("held_out", held_out, 3)
    centre, scale = _moments(train)
    if reference.shape[1:] != train.shape[1:]:
        raise DataError(f"held-out windows have shape {reference.shape[1:]}, training windows {train.shape[1:]}")
    steps, shift = train.shape[1], train.shape[1] // SHIFT_PARTS
    stretches, sources = [], []
    for rows in _blocks(len(train)):
        block = (np.asarray(train[rows], dtype=np.float64) - centre) / scale
        for stretch in (block[:, : steps - shift], block[:, shift:])[: 1 + (shift > 0)]:
            stretches.append(_sketch(stretch))
            sources.append(np.arange(rows.start, rows.start + len(block), dtype=np.intp))
    base, source = np.concatenate(stretches), np.concatenate(sources)
    _, first = np.unique(base, axis=0, return_index=True)
    first.sort()
    if min(len(np.unique(source[first])), len(reference)) < 4 * NEIGHBOUR:
        raise DataError(f"copy detection needs {4 * NEIGHBOUR} distinct training windows and as many held out")
    count = min(SAMPLE, max(SMALLEST_SAMPLE, COMPARISONS // (len(first) * (shift + 3))))
    size = np.array([steps, shift, count], dtype=np.int64)
    made = CopyReference(base[first], source[first], centre, scale, np.empty(0), size)
    expected, _ = _smallest_ratios(made, reference[_choose(len(reference), count, seed)])
    return replace(made, expected=expected)


def examine(reference: CopyReference, fake: Numbers, *, seed: int = 0) -> CopyReport:
    """Compare generated windows [k, t, d] with a reference; see :func:`detect_copies`."""
    theirs = answer("fake", fake, 3)
    shape = (int(reference.size[0]), len(reference.scale))
    if theirs.shape[1:] != shape:
        raise UsageError(f"fake windows have [steps, channels] = {list(theirs.shape[1:])}, expected {list(shape)}")
    chosen = _choose(len(theirs), int(reference.size[2]), seed)
    found, nearest = _smallest_ratios(reference, theirs[chosen])
    expected = reference.expected
    cutoff = THRESHOLD * float(np.median(expected))
    memorised = found < cutoff
    share, usual = float(memorised.mean()), float((expected < cutoff).mean())
    pooled = (memorised.sum() + (expected < cutoff).sum()) / (len(found) + len(expected))
    error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / len(found) + 1.0 / len(expected)))
    return CopyReport(
        flagged=share - usual > max(EXCESS, STANDARD_ERRORS * error),
        memorised_share=share,
        held_out_share=usual,
        cutoff=cutoff,
        positions=chosen[memorised],
        sources=reference.sources[nearest[memorised]],
    )


def detect_copies(train: Numbers, held_out: Numbers, fake: Numbers, *, seed: int = 0) -> CopyReport:
    """Compare generated windows with the training windows.

    Args:
        train: [n, t, d], what the generator was given; at least 20 distinct windows.
        held_out: [m, t, d], real windows the generator was not given; at least 20.
        fake: [k, t, d].
        seed: of the drawing of at most 400 windows a side; fixed by the task.

    Raises:
        DataError: the real windows are at fault or too few.
        UsageError: the generated windows are at fault.
    """
    return examine(copy_reference(train, held_out, seed=seed), fake, seed=seed)


def memorised_excess(train: Numbers, held_out: Numbers, fake: Numbers, *, seed: int = 0) -> float:
    """Share of memorised windows above the share among held-out real ones, in [0, 1]; see :func:`detect_copies`."""
    report = detect_copies(train, held_out, fake, seed=seed)
    return max(0.0, report.memorised_share - report.held_out_share)


def neighbour_ratios(queries: NDArray[np.floating], base: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Distance to the nearest over distance to the fifth nearest row of ``base``, and which row is nearest.

    Args:
        queries: [n, c].
        base: [m, c], m >= 5, distinct.
    """
    ratios, sources = np.empty(len(queries)), np.empty(len(queries), dtype=np.intp)
    norms = np.einsum("ij,ij->i", base, base)
    size = max(1, BLOCK_CELLS // len(base))
    for start in range(0, len(queries), size):
        block = queries[start : start + size]
        closeness = norms - 2.0 * (block @ base.T)
        near = np.argpartition(closeness, NEIGHBOUR - 1, axis=1)[:, :NEIGHBOUR]
        # The product loses the small distances that matter here, so the few nearest are measured again.
        gaps = base[near].astype(np.float64) - block[:, None, :]
        distances = np.sqrt(np.einsum("ijk,ijk->ij", gaps, gaps))
        best = distances.argmin(axis=1)
        rows = np.arange(len(block))
        farthest = distances.max(axis=1)
        usable = np.isfinite(farthest) & (farthest > 0.0)
        ratio = np.divide(distances[rows, best], farthest, out=np.ones(len(block)), where=usable)
        ratios[start : start + size], sources[start : start + size] = ratio, near[rows, best]
    return ratios, sources


def _smallest_ratios(reference: CopyReference, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The smallest ratio over the ways in which a window may be a copy, and the stretch it is nearest to."""
    steps, shift = (int(count) for count in reference.size[:2])
    length = steps - shift
    with np.errstate(over="ignore", invalid="ignore"):
        ready = np.clip((values - reference.centre) / reference.scale, -FAR, FAR)
        views = [ready[:, offset : offset + length] for offset in range(shift + 1)]
        views += [ready[:, ::-1][:, :length], -ready[:, :length]]
        found = [neighbour_ratios(_sketch(view), reference.base) for view in views]
    ratios, sources = (np.stack(part) for part in zip(*found, strict=True))
    best, rows = ratios.argmin(axis=0), np.arange(len(values))
    return ratios[best, rows], sources[best, rows]


def _sketch(stretches: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scaled stretches of windows as rows of at most 64 numbers."""
    flat = stretches.reshape(len(stretches), -1)
    cells = flat.shape[1]
    if cells > DIMENSIONS:
        flat = flat @ (np.random.default_rng(cells).standard_normal((cells, DIMENSIONS)) / math.sqrt(DIMENSIONS))
    return flat.astype(np.float32)


def _moments(train: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of each channel, the latter 1 where it is 0."""
    total, count = np.zeros(1), 0
    for rows in _blocks(len(train)):
        block = known("train", train[rows], 3)
        total, count = total + block.sum(axis=(0, 1)), count + block.shape[0] * block.shape[1]
    mean, square = total / count, np.zeros(1)
    for rows in _blocks(len(train)):
        square = square + ((np.asarray(train[rows], dtype=np.float64) - mean) ** 2).sum(axis=(0, 1))
    deviation = np.sqrt(square / count)
    return mean, np.where(deviation > 0.0, deviation, 1.0)


def _blocks(count: int) -> list[slice]:
    return [slice(start, start + READ_BLOCK) for start in range(0, max(count, 1), READ_BLOCK)]


def _choose(total: int, count: int, seed: int) -> NDArray[np.intp]:
    if total <= count:
        return np.arange(total, dtype=np.intp)
    return np.sort(np.random.default_rng(seed).choice(total, count, replace=False)).astype(np.intp)


METRICS = (
    Metric(
        "memorised_excess",
        memorised_excess,
        "copying",
        "share of memorised windows above that of held-out ones",
        "fraction",
        "this project; ratio of neighbours after Lowe 2004",
        (0.0, 1.0),
        stochastic=True,
        noise=0.1,
        minimum_rows=20,
    ),
)
