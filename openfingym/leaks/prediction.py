"""How much of the hidden values a trace predicts, in bits, without knowing how it was made.

The innovations of a trace and of the hidden values are laid beside each other at every distance. For an honest text the
products of the two are as often positive as negative, whatever the trace is like; the sum of n such products, over the
root of their squares, exceeds t with a probability below ``exp(-t^2 / 2)`` (Hoeffding; de la Pena's self-normalised
bound). So ``t^2 / 2`` in bits, less those of the number of ways in which it was looked for, is what the trace tells.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from openfingym.leaks.innovations import Target
from openfingym.leaks.readings import Floats
from openfingym.leaks.traces import FEWEST, Traces

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEEDED = 10.0
"""Bits, beyond those of all ways in which it was looked for, that a trace must tell to be reported."""
TOGETHER = 14.0
"""Bits more that rows of one measure must tell together, since the bound holds for each by itself."""
WAYS = 18.0
"""Bits of the number of traces of a package and of targets."""
PIECE = 768
"""Most units of a trace that are compared at a time: in a longer one a short message would be lost."""
WORTH = 15.0
"""Bits that a trace must tell as a whole for its parts to be looked at."""
PLACES = 6
"""Distances at which the sum is largest that are looked at closely."""
AT_ONCE = 64
"""Traces that are compared at a time."""
EDGES = 16
"""Into how many pieces a trace is cut in search of the part that tells most."""
PECULIAR = 3.0
"""How many times more the trace must tell at the right distance than at one in a hundred others: what agrees at many
distances has a season in common with the hidden values, and no message."""
_BITS = 0.5 / math.log(2.0)


@dataclass(frozen=True, eq=False)
class Predicted:
    """Hidden values that a trace predicts."""

    trace: str
    """What was measured, as a phrase."""
    target: Target
    """What it predicts."""
    count: int
    """Units that predict a value each."""
    bits: float
    """Bits that they tell beyond chance."""


def predicted(traces: Iterable[Traces], targets: Sequence[Target]) -> Iterator[Predicted]:
    """What traces predict of hidden values: of each trace the target of which it tells most, if that is enough."""
    some = iter(traces)
    while group := list(islice(some, AT_ONCE)):
        best: list[dict[str, Predicted]] = [{} for _ in group]
        for alike in _alike(group):
            for target in targets:
                if target.close or group[alike[0][0]].finite:
                    for number, found in _compared(group, alike, target):
                        known = best[number].get(found.trace)
                        if known is None or found.bits > known.bits:
                            best[number][found.trace] = found
        for trace, each in zip(group, best, strict=True):
            yield from (each[what] for what in dict.fromkeys(trace.what) if what in each)


def _alike(group: Sequence[Traces]) -> list[list[tuple[int, Floats]]]:
    """The pieces of traces, each with the number of its trace, in lists of those of one form: these are compared
    together, since much of the time of comparing one is that of calling NumPy.
    """
    found: dict[tuple[object, ...], list[tuple[int, Floats]]] = defaultdict(list)
    for number, trace in enumerate(group):
        for piece in _pieces(trace.rows):
            found[trace.together, trace.finite, piece.shape].append((number, piece))
    return list(found.values())


def _pieces(rows: Floats) -> Iterator[Floats]:
    length = rows.shape[1]
    for begin in range(0, max(length - PIECE // 2, 1), PIECE // 2):
        yield rows[:, begin : begin + PIECE]


def _compared(
    group: Sequence[Traces], alike: list[tuple[int, Floats]], target: Target
) -> Iterator[tuple[int, Predicted]]:
    """What pieces of one form tell of a target, each with the number of its trace."""
    k, m = alike[0][1].shape
    if m - max(target.lags, default=0) < FEWEST:
        return
    together = group[alike[0][0]].together
    rows = np.concatenate([piece for _, piece in alike])
    whats = [(number, what) for number, _ in alike for what in group[number].what]
    for turned in (rows, rows[:, ::-1]) if target.turned else (rows,):
        news = target.about(turned)
        terms = _sums(news, target)
        if together:
            terms = terms.reshape(len(alike), k, -1).sum(axis=1)
        terms = terms / target.excess
        width = len(rows) // len(terms)
        for place, most in enumerate(terms.max(axis=1).tolist()):
            row = terms[place]
            if _exceeding(most, width) < WORTH or most < PECULIAR * float(np.quantile(row, 0.99)):
                continue
            number, what = whats[place]
            measures = slice(place * width, (place + 1) * width)
            for bits, count in _looked_at(turned[measures], news[measures], row, target):
                if bits >= NEEDED + TOGETHER * together:
                    yield number, Predicted(what, target, count, bits)


def _looked_at(part: Floats, about: Floats, terms: Floats, target: Target) -> Iterator[tuple[float, int]]:
    """Bits that parts of a piece tell at the distances at which the sum is largest, and of how many units.

    Args:
        part: a piece of one measure or of several, float64[k, m].
        about: about what is new in it, float64[k, m - skipped].
        terms: what is summed at every distance.
        target: what it is compared with.
    """
    length = about.shape[1]
    for place in np.argpartition(terms, -PLACES)[-PLACES:].tolist():
        first = place - (length - 1)
        # By the filter of the order in which values are told, and by the one of the places that they have then.
        laid = [target.at(measure, first - (part.shape[1] - length)) for measure in part]
        beside = target.news[max(first, 0) : max(first, 0) + length]
        for told, values in (
            (about[:, max(-first, 0) :][:, : len(beside)], beside),
            (np.stack([exact for _, exact in laid]), target.news[laid[0][0]]),
        ):
            yield _closely(told, values[: told.shape[1]].astype(np.float64), target.excess, len(terms))


def _exceeding(terms: float, k: int) -> float:
    """Bits of the sum of k squares of which each is at most so large by chance, by Chernoff's bound."""
    return _BITS * (terms - k - k * math.log(max(terms / k, 1.0))) if k > 1 else _BITS * terms - 1.0


def _sums(rows: Floats, target: Target) -> Floats:
    """Squared sums of products at every distance, over the squares of what of the trace is there.

    Returns:
        float64[k, m + n - 1]; place j holds hidden value ``i + j - m + 1`` beside unit i of the trace.
    """
    m, n = rows.shape[1], len(target.news)
    size = _size(m + n - 1)
    spectrum = np.fft.rfft(rows[:, ::-1].astype(np.float32), size) * target.spectrum(size)
    sums = np.fft.irfft(spectrum, size)[:, : m + n - 1]
    out: Floats = sums**2 * _over_beside(m, n)
    return out


@functools.lru_cache(maxsize=256)
def _over_beside(m: int, n: int) -> NDArray[np.float32]:
    """One over how many of m units of a trace have one of n hidden values beside them, at every distance; 0 where too
    few have. Their squares are 1 on average.
    """
    distance = np.arange(m + n - 1) - (m - 1)
    beside = np.minimum(n - distance, m) - np.maximum(-distance, 0)
    return np.where(beside >= FEWEST, 1.0 / np.maximum(beside, 1), 0.0).astype(np.float32)


def _size(least: int) -> int:
    """A length of at least so many of which Fourier transforms are fast."""
    power = 1 << max((least - 1).bit_length() - 4, 0)
    return next(factor * power for factor in (9, 10, 12, 15, 16) if factor * power >= least)


def _closely(told: Floats, beside: Floats, excess: float, distances: int) -> tuple[float, int]:
    """The most bits that a part of a trace tells of the hidden values beside it, and how many units that part has.

    Args:
        told: what is new in the trace, float64[k, m].
        beside: what is new in the hidden values, float64[m]; 0 where nothing is.
        excess: see :class:`Target`.
        distances: number of distances that were tried.
    """
    # Where windows overlap, most values are not new.
    told, beside = told[:, beside != 0.0], beside[None, beside != 0.0]
    k, m = told.shape
    if m < FEWEST:
        return 0.0, 0
    edges, begin, end = _parts(m)
    products = told * beside
    terms = np.concatenate(
        [told, products, products**2, told**2, told * products, products * beside, beside, beside**2]
    )
    running = np.zeros((len(terms), len(edges)))
    np.cumsum(np.add.reduceat(terms, edges[:-1], axis=1), axis=1, out=running[:, 1:])
    totals: Floats = running[:, end] - running[:, begin]
    xy, xxyy, xx, xxy, xyy = (totals[place * k : (place + 1) * k] for place in range(1, 6))
    # Less the means of a part: a text that goes up and hidden values that do have nothing in common.
    length = edges[end] - edges[begin]
    x, y, yy = totals[:k] / length, totals[-2] / length, totals[-1]
    sums = xy - length * x * y
    squares = xxyy - 2 * (y * xxy + x * xyy) + y**2 * xx + x**2 * yy + 4 * x * y * xy - 3 * length * x**2 * y**2
    terms = np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 1e-6 * length).sum(axis=0)
    best = int(terms.argmax())
    bits = _exceeding(float(terms[best]) / excess, k)
    return bits - math.log2(2 * distances * len(terms)) - WAYS, int(length[best])


@functools.lru_cache(maxsize=1024)
def _parts(m: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The parts of m units in which a message may lie: places of their edges, and the first and last edge of each."""
    edges = np.unique(np.linspace(0, m, EDGES + 1).astype(np.int64))
    begin, end = np.triu_indices(len(edges), 1)
    long = edges[end] - edges[begin] >= FEWEST
    return edges, begin[long], end[long]
