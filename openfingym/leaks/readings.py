"""Readings: ways in which hidden values may have been written out.

A reading is one of ``TRANSFORMS`` of the hidden values, in one of ``ORDERS`` of their axes, compared in one of
``FORMS``. Shift, scale and sign do not matter in any of them, so that units, percent, basis points and standardised
values need no transforms. A further way of writing hidden values is one row of a table here.
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
"""Magnitude up to which exponentials are taken: beyond it, one value would outweigh all others."""


def _differences(x: Floats) -> Floats:
    return np.diff(x, axis=1)


def _sums(x: Floats) -> Floats:
    return np.cumsum(x, axis=1)


def _short_sums(x: Floats) -> NDArray[np.bool_]:
    return _every(np.abs(_sums(x)) < _LARGEST_EXPONENT)


def _ranks(blocks: Floats) -> Floats:
    """The rank of each value in its row, from 0; equal values get the mean of their ranks."""
    # In sorted order, the first and the last position of each run of equal values.
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
    """Something that may have been computed from values float64[windows, time, channels], one by one or along time."""

    make: Change
    """Computes it."""
    possible: Callable[[Floats], NDArray[np.bool_]] = lambda x: np.ones(len(x), dtype=np.bool_)
    """Of which windows it can be computed, bool[windows]."""
    slope: Change = np.ones_like
    """Its derivative at the values, float64[windows, time, channels], which stretches the steps of quoted values."""
    monotone: bool = False
    """Whether it keeps the order of values, or reverses it."""
    coarse: bool = False
    """Whether its values are few, such as signs."""
    along: bool = False
    """Whether it is computed along time, so that windows must have several times."""


TRANSFORMS: Mapping[str, Transform] = {
    "": Transform(lambda x: x),
    "logarithms": Transform(np.log, lambda x: _every(x > 0.0), np.reciprocal, monotone=True),
    "logarithms of 1 + x": Transform(np.log1p, lambda x: _every(x > -1.0), lambda x: 1.0 / (1.0 + x), monotone=True),
    "exponentials": Transform(np.exp, lambda x: _every(np.abs(x) < _LARGEST_EXPONENT), np.exp, monotone=True),
    "squares": Transform(np.square, slope=lambda x: 2.0 * x),
    "square roots": Transform(np.sqrt, lambda x: _every(x > 0.0), lambda x: 0.5 / np.sqrt(x), monotone=True),
    # Only where some values are negative: else these would be the values themselves.
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
"""What may then be computed along a whole row float64[blocks, values], whatever its axes were; only for values that are
not transformed."""


@dataclass(frozen=True)
class AxisOrder:
    """An order in which the axes may have been written out."""

    name: str
    """The order in words; empty for the order of the array."""
    rows: Callable[[Floats], Floats]
    """Puts float64[windows, time, channels] into rows, float64[rows, values]."""
    channels: bool = False
    """Whether a row is a channel over all windows; else it is a window."""
    rare: bool = False
    """Whether it is looked for in untransformed values only."""


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
    """How much of the order of values is kept when blocks are compared."""

    name: str
    """The form in words; empty for values in their order."""
    hidden: Change
    """Puts hidden blocks float64[blocks, values] into this form."""
    public: Change
    """Puts as many public values into this form."""
    sliding: Callable[[Floats, int], Directions]
    """Puts all windows of a public sequence into this form, as directions; see :mod:`openfingym.leaks.sliding`."""
    whole: bool = False
    """Whether only whole rows can be compared, because values are in another order."""
    ranks: bool = False
    """Whether ranks are compared."""


FORMS: tuple[Form, ...] = (
    Form("", lambda blocks: blocks, lambda blocks: blocks, in_order),
    Form("as ranks", _ranks, _ranks, as_ranks, ranks=True),
    Form("in another order", _sorted, _sorted, in_rising_order, whole=True),
    Form("negated in another order", lambda blocks: _sorted(-blocks), _sorted, in_rising_order, whole=True),
)
