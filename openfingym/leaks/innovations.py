"""What is new in hidden values: what remains of them when all that came before is known.

Values that trend, turn with the season or move together would agree with many an honest sequence. So they are compared
only after each has been freed of what the ones before it tell, by a linear prediction from neighbours and from the same
channel a step earlier (prewhitening, after Box and Jenkins): the *innovations*. Nobody can know those, whatever the
trend; and what is compared with them goes through the same filter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from openfingym.leaks.known import lattice
from openfingym.leaks.readings import Floats
from openfingym.leaks.sequences import three_axes

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 3072
"""Most values of one order, half of them from the beginning of the last fold."""
ECHOES = 40
"""Distances up to which innovations may still have something in common."""
FEWEST = 64
"""Fewest values that can tell enough."""
CHANNELS = 8
"""Most channels that are taken by themselves."""
CLIP = 0.8
"""Standard deviations beyond which an innovation counts no more: agreement in many places weighs more than in a few."""
WINDOWS = 8
"""Fewest windows from which the mean of each place in a window is known."""
REPEATED = 0.9
"""Share of values that a window repeats of the one before, from which on the two overlap."""
NEIGHBOURS = 6
"""Channels beside one of which is known what they tell of it."""
_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Filter:
    """What has to be taken off sequences laid out as float64[windows, time, channels] for what is new in them."""

    first: Floats
    """Weights of the two values before, of the same channel, at the beginning of a window, float64[2]."""
    later: Floats
    """The same for all other times of a window."""
    beside: tuple[Floats, ...]
    """For each channel the weights of those before it at the same time, and of those near it at the time before."""
    new: NDArray[np.bool_]
    """Which times are no repetition of a window before, bool[windows, time]."""

    @classmethod
    def of(cls, values: Floats, new: NDArray[np.bool_]) -> Filter:
        """The filter that leaves of hidden values, less the mean of their places, what is new in them.

        Args:
            values: the values, float64[windows, time, channels].
            new: which times are no repetition of a window before.
        """
        one, two = _before(values)
        weights = [
            _solved(np.stack([one[:, times].reshape(-1), two[:, times].reshape(-1)]), values[:, times].reshape(-1))
            for times in (slice(0, 1), slice(1, None))
        ]
        d = values.shape[2]
        alone = cls(weights[0], weights[1], (), new)
        left = alone.in_time(values).reshape(-1, d)
        beside = tuple(_solved(_near(left, channel), left[:, channel]) for channel in range(d))
        return replace(alone, beside=beside)

    def in_time(self, values: Floats) -> Floats:
        """What the two values before of the same channel leave of each value; 0 where it is a repetition."""
        one, two = _before(values)
        left = np.empty_like(values)
        for times, (near, far) in ((slice(0, 1), self.first), (slice(1, None), self.later)):
            left[:, times] = values[:, times] - near * one[:, times] - far * two[:, times]
        return np.where(self.new[:, :, None], left, 0.0)

    def across(self, left: Floats) -> Floats:
        """What other channels leave of what is left of each."""
        flat = left.reshape(-1, left.shape[2])
        now, earlier = self._matrices
        out = flat - flat @ now
        out[1:] -= flat[:-1] @ earlier
        return np.where(self.new[:, :, None], out.reshape(left.shape), 0.0)

    @cached_property
    def _matrices(self) -> tuple[Floats, Floats]:
        """``beside`` as matrices: weights of each channel (rows) for every one, at the same time and the one before."""
        d = len(self.beside)
        now, earlier = np.zeros((d, d)), np.zeros((d, d))
        for channel, weights in enumerate(self.beside):
            low = max(channel - NEIGHBOURS, 0)
            now[low:channel, channel] = weights[: channel - low]
            earlier[low : channel + NEIGHBOURS, channel] = weights[channel - low :]
        return now, earlier


@dataclass(frozen=True, eq=False)
class Target:
    """The innovations of hidden values in one order, or the values that they are the changes of."""

    what: str
    """The hidden array, the order, and what of the values, as a phrase."""
    filter: Filter
    """What is taken off."""
    shape: tuple[int, int, int]
    """Windows, times and channels."""
    swapped: bool
    """Whether the times of a channel are told before its next channel."""
    changes: bool
    """Whether changes are told rather than values."""
    lags: tuple[int, ...]
    """Distances to the values before, in the order in which they are told, from which each is about predicted."""
    weights: tuple[float, ...]
    """Weights of these values."""
    news: Floats
    """The innovations, float32[n], clipped, of mean 0 and mean square 1."""
    excess: float
    """How many times more than independent ones such innovations can agree with a sequence by chance, since a rest of
    them follows from others."""
    channel: int = -1
    """The channel that the values are of; -1 for all."""
    close: bool = True
    """Whether these are the values; else they are digits of them, which only units of few kinds may stand for."""
    turned: bool = False
    """Whether they may have been told backwards, too."""
    _spectra: dict[int, NDArray[np.complexfloating]] = field(default_factory=dict)

    def spectrum(self, size: int) -> NDArray[np.complexfloating]:
        """The Fourier transform of the innovations, with zeros behind them up to ``size`` values."""
        if size not in self._spectra:
            self._spectra[size] = np.fft.rfft(self.news, size)
        return self._spectra[size]

    def about(self, rows: Floats) -> Floats:
        """About what is new in sequences float64[k, m] that lie anywhere; clipped, of mean square 1."""
        return clipped(_filtered(rows, self.lags, self.weights))

    def at(self, row: Floats, place: int) -> tuple[slice, Floats]:
        """What is new in a sequence float64[m] whose first number belongs to the hidden value at ``place``.

        Returns:
            The part of the innovations that lie beside it, and what is new in it there; clipped.
        """
        n, h, d = self.shape
        begin, end = max(place, 0), min(place + len(row), n * h * d)
        laid = np.full(n * h * d, np.nan)
        laid[begin:end] = row[begin - place : end - place]
        table = np.swapaxes(laid.reshape(n, d, h), 1, 2) if self.swapped else laid.reshape(n, h, d)
        there = np.isfinite(table)
        filled = np.where(there, table, 0.0)
        count = there.sum(axis=0)
        mean = np.where(count >= 3, filled.sum(axis=0) / np.maximum(count, 1), filled.sum() / max(int(there.sum()), 1))
        centred = np.where(there, table - mean, 0.0)
        left = self.filter.across(centred if self.changes else self.filter.in_time(centred))
        flat = (np.swapaxes(left, 1, 2) if self.swapped else left).reshape(-1)[begin:end]
        return slice(begin, end), clipped(flat[None])[0]


def targets(truths: Mapping[str, NDArray[np.generic]], folds: Sequence[int] = ()) -> list[Target]:
    """The innovations of every hidden array, in each order in which it may have been told.

    Args:
        truths: the hidden arrays by name, of one to four axes.
        folds: number of hidden rows of each fold, in the order of the folds.
    """
    last = sum(folds[:-1])
    return [target for name, truth in truths.items() for target in _of_array(name, three_axes(truth), last)]


def clipped(rows: Floats) -> Floats:
    """Rows less their mean, cut at ``CLIP`` of their usual size, and of mean square 1; zero where a row is constant."""
    # What is far away, such as the lines of another part of a text, would make all else small.
    tenths = [rows.shape[1] // 10, rows.shape[1] - 1 - rows.shape[1] // 10]
    low, high = np.partition(rows, tenths, axis=1)[:, tenths, None].swapaxes(0, 1)
    centred = np.where(high > low, np.minimum(np.maximum(rows, low), high), rows)
    centred -= _means(centred)
    most = CLIP * np.sqrt(_means(centred**2))
    cut = np.minimum(np.maximum(centred, -most), most)
    cut -= _means(cut)
    scale = np.sqrt(_means(cut**2))
    level = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    out: Floats = np.divide(cut, scale, out=np.zeros_like(cut), where=scale > 1e-9 * level)
    return out


def _means(rows: Floats) -> Floats:
    """The mean of each row, float64[k, 1], in a third of the time of :func:`numpy.mean` where rows are short."""
    means: Floats = np.add.reduce(rows, axis=1, keepdims=True) / rows.shape[1]
    return means


def _filtered(rows: Floats, lags: tuple[int, ...], weights: tuple[float, ...]) -> Floats:
    out = rows.copy()
    for lag, weight in zip(lags, weights, strict=True):
        out[:, lag:] -= weight * rows[:, :-lag]
    # Of what comes before the first values nothing is known.
    return out[:, max(lags, default=0) :]


def _of_array(name: str, truth: Floats, last: int) -> Iterator[Target]:
    n, h, d = truth.shape
    if truth.size < FEWEST or np.ptp(truth) == 0.0:
        return
    last = last if 0 < last < n else n // 2
    if n < WINDOWS or h * d > MOST // (2 * WINDOWS):  # long series: each time is a window
        truth, last, h = truth.reshape(n * h, 1, d), last * h, 1
    what = f"values of {name}"

    def some(values: Floats) -> Floats:
        """At most ``MOST`` values, in whole windows, of the beginning of the first and of the last fold."""
        half = max(MOST // 2 // (values.shape[1] * values.shape[2]), 1)
        if len(values) <= 2 * half:
            return values
        return np.concatenate([values[: min(half, last)], values[last : last + half]])

    # Of rows that are longer than a text only their channels are compared.
    every = some(truth[:, :, : MOST // (2 * WINDOWS)])
    new = _new(every)
    for found in _of_order(what, every, new, both=h > 1 and d > 1, alone=True):
        yield found if found.swapped or found.changes else replace(found, turned=True)
    for place, digits in _digits(every).items():
        for found in _of_order(f"{what}, last digits at {place}", digits, new):
            if not found.changes:
                yield replace(found, close=False)
    for channel in range(min(d, CHANNELS) if d > 1 else 0):
        one = some(truth[:, :, channel : channel + 1])
        for found in _of_order(what, one, _new(one)):
            yield replace(found, channel=channel)


def _of_order(
    what: str, truth: Floats, new: NDArray[np.bool_], *, both: bool = False, alone: bool = False
) -> Iterator[Target]:
    """The innovations of float64[windows, time, channels], told in the order of its axes; none if nothing is new.

    Args:
        what: array and order, as a phrase.
        truth: the values.
        new: which times repeat no value of the window before.
        both: whether the times of a channel may be told before its next channel, too.
        alone: whether it is the only channel.
    """
    n, h, d = truth.shape
    if truth.size < FEWEST:
        return
    centred = truth - truth.mean(axis=0)
    taken = Filter.of(centred, new)
    left = taken.in_time(centred)
    news = clipped(taken.across(left).reshape(-1, d).T).T.reshape(n, h, d)
    news = np.where(new[:, :, None], news - news.mean(axis=0), 0.0)
    for swapped in (False, True) if both else (False,):
        told, plain, rest = (
            np.swapaxes(part, 1, 2).reshape(-1) if swapped else part.reshape(-1) for part in (news, centred, left)
        )
        row, size = h if swapped else d, float(np.sqrt((told**2).mean()))
        if size == 0.0:
            return
        told = told / size
        name = f"{what}, channel after channel" if swapped else what
        # The neighbour, the same channel a step before, and the window before.
        lags = tuple(sorted({lag for lag in (1, 2, row, row + 1, h * d) if lag < len(told) // 4}))
        target = Target(
            name, taken, (n, h, d), swapped, False, lags, _weights(plain, lags), told.astype(np.float32), _excess(told)
        )
        yield target
        # If the filter has nothing to take off in time, changes are the values.
        if not swapped and (d > 1 or alone) and np.abs(taken.later).max(initial=float(np.abs(taken.first).max())) > 0.2:
            lags = (1,)
            yield replace(target, what=f"changes of {name}", changes=True, lags=lags, weights=_weights(rest, lags))


def _before(values: Floats) -> tuple[Floats, Floats]:
    """The value before of the same channel, and the one before that, of the shape of the values."""
    n, h, d = values.shape
    flat = np.concatenate([np.zeros((2, d)), values.reshape(-1, d)])
    return flat[1:-1].reshape(n, h, d), flat[:-2].reshape(n, h, d)


def _near(flat: Floats, channel: int) -> Floats:
    """Channels before one at the same time, and those near it at the time before: as rows, of float64[times, d]."""
    low = max(channel - NEIGHBOURS, 0)
    earlier = np.concatenate([np.zeros((1, flat.shape[1])), flat[:-1]])
    return np.concatenate([flat[:, low:channel], earlier[:, low : channel + NEIGHBOURS]], axis=1).T


def _new(truth: Floats) -> NDArray[np.bool_]:
    """Which times of float64[windows, time, channels] repeat no value of the window before, bool[windows, time]."""
    n, h, _ = truth.shape
    new = np.ones((n, h), dtype=np.bool_)
    for step in range(1, h if n > 1 else 0):
        if np.mean(truth[1:, : h - step] == truth[:-1, step:]) > REPEATED:
            new[1:, : h - step] = False
            break
    return new


def _solved(rows: Floats, values: Floats) -> Floats:
    """The weights of rows float64[k, n] with which their sum is closest to values."""
    gram = rows @ rows.T
    gram[np.diag_indices(len(gram))] *= 1.0 + _RIDGE
    gram[np.diag_indices(len(gram))] += 1e-300
    return np.asarray(np.linalg.solve(gram, rows @ values), dtype=np.float64)


def _excess(news: Floats) -> float:
    """How much the variance of sums of innovations can exceed that of independent ones: the highest of their spectrum,
    from what they have in common at distances of up to ``ECHOES``.
    """
    n = len(news)
    echoes = np.array([float(news[: n - lag] @ news[lag:]) / n for lag in range(1, min(ECHOES, n // 4) + 1)])
    # What chance explains is none.
    echoes = np.where(np.abs(echoes) > 3.0 / math.sqrt(n), echoes, 0.0)
    turns = np.exp(1j * np.outer(np.linspace(0.0, np.pi, 256), np.arange(1, len(echoes) + 1)))
    return max(1.0, float((1.0 + 2.0 * (turns @ echoes).real).max()))


def _less_places(values: Floats, period: int) -> Floats:
    """Values less the mean of their place in a period."""
    whole = len(values) // period * period
    means = values[:whole].reshape(-1, period).mean(axis=0)
    return values - np.resize(means, len(values))


def _weights(values: Floats, lags: tuple[int, ...]) -> tuple[float, ...]:
    """The least-squares prediction of each value from those before it."""
    first = max(lags)
    before = np.stack([values[first - lag : len(values) - lag] for lag in lags])
    return tuple(_solved(before, values[first:]).tolist())


def _digits(values: Floats) -> dict[str, Floats]:
    """The last digits of values, as places on a circle of ten."""
    quoted = lattice(values)
    steps = [quoted] if quoted else [10.0 ** (math.floor(math.log10(float(np.std(values)))) - more) for more in (1, 2)]
    found: dict[str, Floats] = {}
    for step in steps:
        turn = 2.0 * np.pi * np.floor(np.abs(values) / step + (0.5 if quoted else 1e-6)) / 10.0
        found |= {f"{step:g}": np.cos(turn), f"{step:g}, turned": np.sin(turn)}
    return found
