"""Ways in which hidden values may be written out: what was made of them, in which order, and how much of the order is
kept.

A reading is one of ``TRANSFORMS`` of the hidden values, in one of ``ORDERS``, compared in one of ``FORMS``. Shift,
scale and sign are of no account in any of them, so that units, percent, basis points and standardised values are no
transforms. A new way of writing hidden values is one row of a table here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openfingym.leaks.sliding import Directions, as_ranks, in_order, in_rising_order

Floats = NDArray[np.float64]
Change = Callable[[Floats], Floats]

_LARGEST_EXPONENT = 50.0


def _differences(x: Floats) -> Floats:
    return np.diff(x, axis=1)


def _sums(x: Floats) -> Floats:
    return np.cumsum(x, axis=1)


def _short_sums(x: Floats) -> NDArray[np.bool_]:
    return _every(np.abs(_sums(x)) < _LARGEST_EXPONENT)


def _ranks(blocks: Floats) -> Floats:
    """The rank of each value in its row, the mean of them where values are equal."""
    order = np.argsort(blocks, axis=1)
    rising = np.take_along_axis(blocks, order, axis=1)
    places = np.arange(blocks.shape[1])
    fresh = np.concatenate([np.ones((len(blocks), 1), dtype=np.bool_), rising[:, 1:] != rising[:, :-1]], axis=1)
    first = np.maximum.accumulate(np.where(fresh, places, 0), axis=1)
    last = np.minimum.accumulate(np.where(np.roll(fresh, -1, axis=1), places, blocks.shape[1])[:, ::-1], axis=1)[
        :, ::-1
    ]
    ranks = np.empty(blocks.shape)
    np.put_along_axis(ranks, order, 0.5 * (first + last), axis=1)
    return ranks


def _sorted(blocks: Floats) -> Floats:
    return np.sort(blocks, axis=1)


def _every(condition: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray(condition.all(axis=(1, 2)))


@dataclass(frozen=True)
class Transform:
    """Something that may have been made of values float64[windows, time, channels], one by one or along time."""

    make: Change
    possible: Callable[[Floats], NDArray[np.bool_]] = lambda x: np.ones(len(x), dtype=np.bool_)
    """bool[windows], of which windows it can be made."""
    slope: Change = np.ones_like
    """Its derivative, float64[windows, time, channels] of the values it is made of, by which a lattice is stretched."""
    monotone: bool = False
    """Whether it keeps the order of values, or turns it around."""
    coarse: bool = False
    """Whether it leaves no more than a few different values."""
    along: bool = False
    """Whether it is made along time, of which there must be some."""


TRANSFORMS: Mapping[str, Transform] = {
    "": Transform(lambda x: x),
    "logarithms": Transform(np.log, lambda x: _every(x > 0.0), np.reciprocal, monotone=True),
    "logarithms of 1 + x": Transform(np.log1p, lambda x: _every(x > -1.0), lambda x: 1.0 / (1.0 + x), monotone=True),
    "exponentials": Transform(np.exp, lambda x: _every(np.abs(x) < _LARGEST_EXPONENT), np.exp, monotone=True),
    "squares": Transform(np.square, slope=lambda x: 2.0 * x),
    "square roots": Transform(np.sqrt, lambda x: _every(x > 0.0), lambda x: 0.5 / np.sqrt(x), monotone=True),
    "absolute values": Transform(np.abs, lambda x: ~_every(x >= 0.0)),
    "reciprocals": Transform(np.reciprocal, lambda x: _every(x > 0.0), lambda x: x**-2.0, monotone=True),
    "signs": Transform(np.sign, lambda x: ~_every(x >= 0.0), coarse=True),
    "differences": Transform(_differences, along=True),
    "signs of differences": Transform(lambda x: np.sign(_differences(x)), coarse=True, along=True),
    "log returns": Transform(
        lambda x: _differences(np.log(x)), lambda x: _every(x > 0.0), lambda x: 1.0 / x[:, 1:], along=True
    ),
    "sums": Transform(_sums, along=True),
    "compounded": Transform(lambda x: np.exp(_sums(x)), _short_sums, lambda x: np.exp(_sums(x)), along=True),
    "compounded, from percent": Transform(
        lambda x: np.exp(_sums(0.01 * x)),
        lambda x: _short_sums(0.01 * x),
        lambda x: 0.01 * np.exp(_sums(0.01 * x)),
        along=True,
    ),
    "products of 1 + x": Transform(
        lambda x: np.asarray(np.cumprod(1.0 + x, axis=1), dtype=np.float64),
        lambda x: _every(np.abs(x) < 1.0),
        along=True,
    ),
}

ALONG: Mapping[str, Change] = {
    "": lambda blocks: blocks,
    "differences along the row": lambda blocks: np.diff(blocks, axis=1),
    "sums along the row": lambda blocks: np.cumsum(blocks, axis=1),
}
"""What may then be made of a whole row float64[blocks, values], whatever its axes were; of untransformed values
only."""


@dataclass(frozen=True)
class AxisOrder:
    """An order in which the axes may be written out."""

    name: str
    rows: Callable[[Floats], Floats]
    """float64[rows, values] of float64[windows, time, channels]."""
    channels: bool = False
    """Whether its rows are channels, each over all windows, and not windows."""
    rare: bool = False
    """Whether it is only looked for in values as they are."""


ORDERS: tuple[AxisOrder, ...] = (
    AxisOrder("", lambda x: x.reshape(len(x), -1)),
    AxisOrder("channel after channel", lambda x: np.swapaxes(x, 1, 2).reshape(len(x), -1)),
    AxisOrder("backwards", lambda x: x.reshape(len(x), -1)[:, ::-1], rare=True),
    AxisOrder("times backwards", lambda x: x[:, ::-1].reshape(len(x), -1), rare=True),
    AxisOrder("channels backwards", lambda x: x[:, :, ::-1].reshape(len(x), -1), rare=True),
    AxisOrder("a channel of all windows", lambda x: np.moveaxis(x, 2, 0).reshape(x.shape[2], -1), channels=True),
)


@dataclass(frozen=True)
class Form:
    """How much of a row is compared."""

    name: str
    hidden: Change
    """The form of hidden blocks, float64[blocks, values]."""
    public: Change
    """The form of as many public values."""
    sliding: Callable[[Floats, int], Directions]
    """The form of all windows of a public sequence, as directions; see :mod:`openfingym.leaks.sliding`."""
    whole: bool = False
    """Whether a part of a row means nothing without the rest of it."""
    ranks: bool = False


FORMS: tuple[Form, ...] = (
    Form("", lambda blocks: blocks, lambda blocks: blocks, in_order),
    Form("as ranks", _ranks, _ranks, as_ranks, ranks=True),
    Form("in another order", _sorted, _sorted, in_rising_order, whole=True),
    Form("negated in another order", lambda blocks: _sorted(-blocks), _sorted, in_rising_order, whole=True),
)
