"""What an author is shown of a task's data: plain data of plots, which :mod:`openfingym.reports` draws.

Plots of hidden data are for the author of a task alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.recipe import stamps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array

PARTS = ("train", "public", "private")
"""Names of the training data and the two folds, in every plot in the same colours."""
MOST_SERIES = 4
"""Series, channels or symbols that are plotted of a task."""
MOST_VALUES = 200_000
"""Numbers that a distribution is made of at most."""


@dataclass(frozen=True, eq=False)
class PlotCurve:
    """A line of a plot."""

    name: str
    values: NDArray[np.float64]
    """float64[points], NaN where nothing is drawn."""
    tone: int = 0
    """Which colour; lines of one name and colour share an entry of the legend."""


@dataclass(frozen=True)
class Span:
    """A stretch of the horizontal axis that is shaded."""

    name: str
    first: float
    last: float
    """In units of the axis; of times, nanoseconds since 1970."""
    tone: int = 0


@dataclass(frozen=True, eq=False)
class LinePlot:
    """Values along an axis."""

    title: str
    x: NDArray[np.float64] | NDArray[np.datetime64]
    """[points], increasing: datetime64[ns], or numbers."""
    curves: tuple[PlotCurve, ...]
    spans: tuple[Span, ...] = ()
    note: str = ""


@dataclass(frozen=True, eq=False)
class Distribution:
    """How often values occur in each of some samples."""

    title: str
    samples: Mapping[str, NDArray[np.float64]]
    """float64[values] by name, finite and not empty."""
    note: str = ""


@dataclass(frozen=True)
class Shares:
    """A number for each of some groups, as bars."""

    title: str
    shares: Mapping[str, float]
    """Fractions by name."""
    note: str = field(default="")


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
        # Evenly spaced, so that no time is left out.
        flat = flat[:: max(1, len(flat) // MOST_VALUES)]
        if len(flat):
            samples[name] = flat
    return samples


def spans_of(times: Sequence[Array]) -> tuple[Span, ...]:
    """The stretches of time of the training data and of either fold.

    Args:
        times: datetime64[ns] of each, or numbers of rows that have no date, of any shape.
    """
    ends = [(part, np.asarray(moments).astype(np.int64)) for part, moments in zip(PARTS, times, strict=True)]
    return tuple(
        Span(part, float(moments.min()), float(moments.max()), number)
        for number, (part, moments) in enumerate(ends)
        if moments.size
    )


def in_time(pieces: Iterable[tuple[Array, Array]]) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
    """Overlapping windows as one series: each time once, in order.

    Args:
        pieces: times and values, of equal shapes.
    """
    moments, numbers = zip(*((np.asarray(t).reshape(-1), np.asarray(v).reshape(-1)) for t, v in pieces), strict=True)
    times, first = np.unique(stamps(np.concatenate(moments)), return_index=True)
    return times, np.concatenate(numbers)[first].astype(np.float64)


def shown_and_hidden(
    shown: tuple[NDArray[np.datetime64], NDArray[np.float64]],
    hidden: tuple[NDArray[np.datetime64], NDArray[np.float64]],
) -> tuple[NDArray[np.datetime64], tuple[PlotCurve, PlotCurve]]:
    """One series as two lines: what an agent sees, and the answers.

    Args:
        shown: times and values that are public, as :func:`in_time` gives them.
        hidden: times and values that are asked for.

    Returns:
        The times of both, and the lines. A run of answers begins at the value before it, so that one value alone is a
        line, too.
    """
    times, values = in_time((hidden, shown))
    asked = np.isin(times, hidden[0])
    led = asked | np.append(asked[1:], False)
    return times, (
        PlotCurve("shown to the agent", np.where(asked, np.nan, values), 0),
        PlotCurve("hidden", np.where(led, values, np.nan), 1),
    )


def more_of(count: int, what: str) -> str:
    """The note that says how many are not plotted; empty where all are."""
    return f"The first {MOST_SERIES} of {count} {what} are plotted." if count > MOST_SERIES else ""


def answer_plots(train: Array, best: Array, counts: tuple[int, int]) -> Iterator[Plot]:
    """How often each answer occurs, for a kind that says nothing of its own; none where answers are no numbers.

    Args:
        train: the answers of training.
        best: the best submission, whose rows are those of the public fold and then those of the private one.
        counts: rows of either fold.
    """
    if not all(np.issubdtype(array.dtype, np.number) for array in (train, best)):
        return
    # Where rows are no items of either fold, all of them count for the one that is scored.
    samples = parts_of(train, best, counts[0] if len(best) == sum(counts) else 0)
    if samples:
        yield Distribution("Answers", samples)
