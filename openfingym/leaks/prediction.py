"""How much of the hidden values a trace predicts, in bits, without knowing how it was made.

The innovations of a trace and of the hidden values are laid beside each other at every distance. For an honest text the
products of the two are as often positive as negative, whatever the trace is like; the sum of n such products, over the
root of their squares, exceeds t with a probability below ``exp(-t^2 / 2)`` (Hoeffding; de la Pena's self-normalised
bound). So ``t^2 / 2`` in bits, less those of the number of ways in which it was looked for, is what the trace tells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from openfingym.leaks.innovations import Target
from openfingym.leaks.readings import Floats
from openfingym.leaks.traces import FEWEST, Traces

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
    for trace in traces:
        best: dict[str, Predicted] = {}
        for piece in _pieces(trace.rows):
            for target in targets:
                if target.close or trace.finite:
                    for found in _compared(trace, piece, target):
                        if found.trace not in best or found.bits > best[found.trace].bits:
                            best[found.trace] = found
        yield from best.values()


def _pieces(rows: Floats) -> Iterator[Floats]:
    length = rows.shape[1]
    for begin in range(0, max(length - PIECE // 2, 1), PIECE // 2):
        yield rows[:, begin : begin + PIECE]


def _compared(trace: Traces, rows: Floats, target: Target) -> Iterator[Predicted]:
    if rows.shape[1] - max(target.lags, default=0) < FEWEST:
        return
    for turned in (rows, rows[:, ::-1]) if target.turned else (rows,):
        news = target.about(turned)
        skipped = rows.shape[1] - news.shape[1]
        squares = _sums(news, target)
        parts = [turned] if trace.together else turned[:, None]
        terms = (squares.sum(axis=0)[None] if trace.together else squares) / target.excess
        abouts = [news] if trace.together else news[:, None]
        for what, part, about, row in zip(trace.what, parts, abouts, terms, strict=True):
            most = float(row.max())
            if _exceeding(most, len(part)) < WORTH or most < PECULIAR * float(np.quantile(row, 0.99)):
                continue
            for place in np.argpartition(row, -PLACES)[-PLACES:].tolist():
                first = place - (news.shape[1] - 1)
                # By the filter of the order in which values are told, and by the one of the places that they have then.
                laid = [target.at(measure, first - skipped) for measure in part]
                beside = target.news[max(first, 0) : max(first, 0) + news.shape[1]]
                for told, values in (
                    (about[:, max(-first, 0) :][:, : len(beside)], beside),
                    (np.stack([exact for _, exact in laid]), target.news[laid[0][0]]),
                ):
                    found, count = _closely(told, values[: told.shape[1]].astype(np.float64), target.excess, len(row))
                    if found >= NEEDED + TOGETHER * trace.together:
                        yield Predicted(what, target, count, found)


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
    # As many units of the trace have a hidden value beside them, and their squares are 1 on average.
    distance = np.arange(m + n - 1) - (m - 1)
    beside = np.minimum(n - distance, m) - np.maximum(-distance, 0)
    weights = np.where(beside >= FEWEST, 1.0 / np.maximum(beside, 1), 0.0).astype(np.float32)
    out: Floats = sums**2 * weights
    return out


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
    # Running sums up to each of some places between which a part may lie.
    edges = np.unique(np.linspace(0, m, EDGES + 1).astype(int))
    begin, end = np.triu_indices(len(edges), 1)
    begin, end = begin[long := edges[end] - edges[begin] >= FEWEST], end[long]
    if not len(begin):
        return 0.0, 0

    def total(values: Floats) -> Floats:
        running = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)[:, edges]
        sums: Floats = running[:, end] - running[:, begin]
        return sums

    # Less the means of a part: a text that goes up and hidden values that do have nothing in common.
    length = edges[end] - edges[begin]
    x, y = total(told) / length, total(beside) / length
    xy, xxyy = total(told * beside), total((told * beside) ** 2)
    xx, yy, xxy, xyy = total(told**2), total(beside**2), total(told**2 * beside), total(told * beside**2)
    sums = xy - length * x * y
    squares = xxyy - 2 * (y * xxy + x * xyy) + y**2 * xx + x**2 * yy + 4 * x * y * xy - 3 * length * x**2 * y**2
    terms = np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 1e-6 * length).sum(axis=0)
    best = int(terms.argmax())
    bits = _exceeding(float(terms[best]) / excess, k)
    return bits - math.log2(2 * distances * len(terms)) - WAYS, int(length[best])
