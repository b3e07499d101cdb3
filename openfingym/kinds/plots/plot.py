"""Plots of a task's data for its author: plain data, which :mod:`openfingym.reports` draws.

They show hidden data, and are for nobody but the author.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.recipe import stamps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array

PARTS = ("train", "public", "private")
"""Names of the training data and the two folds, which have the same colours in every plot."""
MOST_SERIES = 4
"""Most series, channels or symbols of a task that are plotted."""
MOST_VALUES = 200_000
"""About the most numbers that a distribution is made from."""


@dataclass(frozen=True, eq=False)
class PlotCurve:
    """A line of a plot."""

    name: str
    """What the line shows, for the legend."""
    values: NDArray[np.float64]
    """Values, float64[points]; NaN where nothing is drawn."""
    tone: int = 0
    """Number of the colour; lines of one name and colour share an entry of the legend."""


@dataclass(frozen=True)
class Span:
    """A stretch of the horizontal axis that is shaded."""

    name: str
    """What the stretch is, for the legend."""
    first: float
    """Where it begins, in units of the axis; for times, in nanoseconds since 1970."""
    last: float
    """Where it ends, in the same unit."""
    tone: int = 0
    """Number of the colour."""


@dataclass(frozen=True, eq=False)
class LinePlot:
    """Values along an axis."""

    title: str
    """Heading of the plot."""
    x: NDArray[np.float64] | NDArray[np.datetime64]
    """Horizontal positions, increasing: datetime64[ns][points] or float64[points]."""
    curves: tuple[PlotCurve, ...]
    """The lines of the plot."""
    spans: tuple[Span, ...] = ()
    """Stretches of the axis that are shaded."""
    note: str = ""
    """A remark below the plot; empty for none."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """How often values occur in each of some samples."""

    title: str
    """Heading of the plot."""
    samples: Mapping[str, NDArray[np.float64]]
    """The samples by name, float64[values] each; finite and not empty."""
    note: str = ""
    """A remark below the plot; empty for none."""


@dataclass(frozen=True)
class Shares:
    """A number for each of some groups, as bars."""

    title: str
    """Heading of the plot."""
    shares: Mapping[str, float]
    """Fractions by name of the group."""
    note: str = ""
    """A remark below the plot; empty for none."""


Plot = LinePlot | Distribution | Shares


def parts_of(train: Array, hidden: Array, n_public: int) -> dict[str, NDArray[np.float64]]:
    """Finite values of the training data and of either fold, as samples; a part without any is left out.

    Args:
        train: training values, of any shape.
        hidden: hidden values, one item an entry of the first axis, those of the public fold first.
        n_public: number of items in the public fold.
    """
    samples = {}
    for name, values in zip(PARTS, (train, hidden[:n_public], hidden[n_public:]), strict=True):
        flat = np.asarray(values, dtype=np.float64).reshape(-1)
        flat = flat[np.isfinite(flat)]
        # If there are too many, every n-th, so that they are from all times.
        flat = flat[:: max(1, len(flat) // MOST_VALUES)]
        if len(flat):
            samples[name] = flat
    return samples


def spans_of(times: Sequence[Array]) -> tuple[Span, ...]:
    """The stretches of time of the training data and of both folds.

    Args:
        times: times of the training data, of the public and of the private fold: datetime64[ns], or numbers of rows
            without dates; of any shape.
    """
    ends = [(part, np.asarray(moments).astype(np.int64)) for part, moments in zip(PARTS, times, strict=True)]
    return tuple(
        Span(part, float(moments.min()), float(moments.max()), number)
        for number, (part, moments) in enumerate(ends)
        if moments.size
    )


def in_time(pieces: Iterable[tuple[Array, Array]]) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
    """Put overlapping windows together as one series, in which each time occurs once, in order.

    Args:
        pieces: times and values of windows, of equal shapes; where windows overlap, the first value is taken.
    """
    moments, numbers = zip(*((np.asarray(t).reshape(-1), np.asarray(v).reshape(-1)) for t, v in pieces), strict=True)
    times, first = np.unique(stamps(np.concatenate(moments)), return_index=True)
    return times, np.concatenate(numbers)[first].astype(np.float64)


def shown_and_hidden(
    shown: tuple[NDArray[np.datetime64], NDArray[np.float64]],
    hidden: tuple[NDArray[np.datetime64], NDArray[np.float64]],
) -> tuple[NDArray[np.datetime64], tuple[PlotCurve, PlotCurve]]:
    """One series as two lines: what an agent sees, and the hidden answers.

    Args:
        shown: times and values that are public, as :func:`in_time` returns them.
        hidden: times and values of the answers, in the same form.

    Returns:
        The times of both, and the two lines. A run of answers begins at the value before it, so that a single answer is
        visible as a line too.
    """
    times, values = in_time((hidden, shown))
    asked = np.isin(times, hidden[0])
    # One point to the left of each run of answers.
    led = asked | np.append(asked[1:], False)
    return times, (
        PlotCurve("shown to the agent", np.where(asked, np.nan, values), 0),
        PlotCurve("hidden", np.where(led, values, np.nan), 1),
    )


def more_of(count: int, what: str) -> str:
    """The note that not all of ``count`` things are plotted; empty if all are."""
    return f"The first {MOST_SERIES} of {count} {what} are plotted." if count > MOST_SERIES else ""


def answer_plots(train: Array, best: Array, counts: tuple[int, int]) -> Iterator[Plot]:
    """The distribution of answers, for a kind without plots of its own; no plot if answers are not numbers.

    Args:
        train: the answers to the training items.
        best: the best submission, whose first rows are those of the public fold.
        counts: hidden items of the public and of the private fold.
    """
    if not all(np.issubdtype(array.dtype, np.number) for array in (train, best)):
        return
    # If the rows are not the hidden items one by one, all of them are taken for the private fold.
    samples = parts_of(train, best, counts[0] if len(best) == sum(counts) else 0)
    if samples:
        yield Distribution("Answers", samples)


def listed_names(listed: object) -> Sequence[str]:
    """Names as the facts of an instruction list them."""
    assert isinstance(listed, list)
    return [str(name) for name in listed]
