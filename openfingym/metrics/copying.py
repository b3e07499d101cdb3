"""Copy detection: has a generator memorised its training windows?

A window's *neighbour ratio* is its distance to the nearest training window over its distance to
the fifth nearest. A fresh window has several training windows about equally near, whether the
market is calm or wild there, so its ratio is close to 1; a copy has one window far nearer than
all others, so its ratio is close to 0. A ratio, unlike a distance, does not accuse a generator
of calm windows, nor clear one that copies wild ones.

A window counts as *memorised* when its ratio is below 0.3 of the median ratio of held-out real
windows. Held-out windows fall there now and then, more often where windows have few degrees of
freedom, so a generator is flagged when its share of memorised windows exceeds theirs by more
than 0.05 and by more than three standard errors. A block bootstrap whose blocks are up to about
two thirds of a window is not flagged: the rest of each window breaks the match.

Distances are Euclidean over whole windows, each channel divided by its standard deviation in
training. Training windows that occur more than once count once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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
SAMPLE = 1000
"""Windows examined of the generated and of the held-out ones."""
BLOCK = 128


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


def detect_copies(train: Numbers, held_out: Numbers, fake: Numbers, *, seed: int = 0) -> CopyReport:
    """Compare generated windows with the training windows.

    Args:
        train: [n, t, d], what the generator was given; at least 20 distinct windows.
        held_out: [m, t, d], real windows the generator was not given; at least 20.
        fake: [k, t, d].
        seed: of the drawing of at most 1,000 windows a side; fixed by the task.

    Raises:
        DataError: the real windows are at fault or too few.
        UsageError: the generated windows are at fault.
    """
    ours, reference, theirs = known("train", train, 3), known("held_out", held_out, 3), answer("fake", fake, 3)
    if reference.shape[1:] != ours.shape[1:]:
        raise DataError(f"held-out windows have shape {reference.shape[1:]}, training windows {ours.shape[1:]}")
    if theirs.shape[1:] != ours.shape[1:]:
        raise UsageError(f"fake windows have [steps, channels] = {list(theirs.shape[1:])}, expected {list(ours.shape[1:])}")
    deviation = ours.std(axis=(0, 1))
    scale = np.where(deviation > 0.0, deviation, 1.0)
    flat = (ours / scale).reshape(len(ours), -1)
    _, occurrences = np.unique(flat, axis=0, return_index=True)
    occurrences.sort()
    if min(len(occurrences), len(reference)) < 4 * NEIGHBOUR:
        raise DataError(f"copy detection needs {4 * NEIGHBOUR} distinct training windows and as many held out")
    generator = np.random.default_rng(seed)
    chosen_reference, chosen = _choose(len(reference), generator), _choose(len(theirs), generator)
    base = flat[occurrences]
    with np.errstate(over="ignore", invalid="ignore"):
        expected, _ = neighbour_ratios((reference[chosen_reference] / scale).reshape(len(chosen_reference), -1), base)
        found, source = neighbour_ratios((theirs[chosen] / scale).reshape(len(chosen), -1), base)
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
        sources=occurrences[source[memorised]],
    )


def memorised_excess(train: Numbers, held_out: Numbers, fake: Numbers, *, seed: int = 0) -> float:
    """Share of memorised windows above the share among held-out real ones, in [0, 1]; see :func:`detect_copies`."""
    report = detect_copies(train, held_out, fake, seed=seed)
    return max(0.0, report.memorised_share - report.held_out_share)


def neighbour_ratios(queries: NDArray[np.float64], base: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Distance to the nearest over distance to the fifth nearest row of ``base``, and which row is nearest.

    Args:
        queries: [n, c].
        base: [m, c], m >= 5, distinct.
    """
    ratios, sources = np.empty(len(queries)), np.empty(len(queries), dtype=np.intp)
    norms = np.einsum("ij,ij->i", base, base)
    for start in range(0, len(queries), BLOCK):
        block = queries[start : start + BLOCK]
        closeness = norms - 2.0 * (block @ base.T)
        near = np.argpartition(closeness, NEIGHBOUR - 1, axis=1)[:, :NEIGHBOUR]
        # The product loses the small distances that matter here, so the few nearest are measured again.
        gaps = base[near] - block[:, None, :]
        distances = np.sqrt(np.einsum("ijk,ijk->ij", gaps, gaps))
        best = distances.argmin(axis=1)
        rows = np.arange(len(block))
        farthest = distances.max(axis=1)
        usable = np.isfinite(farthest) & (farthest > 0.0)
        ratio = np.divide(distances[rows, best], farthest, out=np.ones(len(block)), where=usable)
        ratios[start : start + BLOCK], sources[start : start + BLOCK] = ratio, near[rows, best]
    return ratios, sources


def _choose(count: int, generator: np.random.Generator) -> NDArray[np.intp]:
    if count <= SAMPLE:
        return np.arange(count, dtype=np.intp)
    return np.sort(generator.choice(count, SAMPLE, replace=False)).astype(np.intp)


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
