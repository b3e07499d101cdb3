"""Pictures of an agent's answer: curves and histograms as plain numbers, which a page of a report draws.

A picture is made of the submission and of public arrays alone, and never of hidden ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import SubmissionError
from openfingym.trading.actions import HOLD, parse_decision
from openfingym.trading.orders import Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Reader

PICTURES = 6
"""Most pictures of one submission."""
PATHS = 12
"""Most paths drawn over one another, of generated ones and of known ones each."""
LINES = 8
"""Most series of one picture, each in a colour of its own."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a picture."""

    name: str
    """What the line shows, for the legend."""
    x: NDArray[np.float64]
    """Horizontal positions, float64[points], increasing."""
    y: NDArray[np.float64]
    """Values, float64[points]."""
    known: bool = False
    """Whether it is public data, which the agent was given, and not a part of its answer."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Curves over a common axis, or how often values occur."""

    title: str
    """Heading of the picture."""
    across: str
    """Label of the horizontal axis."""
    curves: tuple[Curve, ...] = ()
    """The lines of the picture; empty for a histogram."""
    zero: bool = False
    """Whether the vertical axis must include zero."""
    values: NDArray[np.float64] | None = None
    """Values of which a histogram is drawn, float64 of any shape; None for a picture of curves."""


@dataclass(frozen=True, eq=False)
class AgentAnswer:
    """An accepted submission, and the public data of its task."""

    values: NDArray[np.float64]
    """The submission, float64, in the task's submission shape."""
    actions: Sequence[Sequence[object]]
    """The actions in each private episode of a sequential task, in order, as JSON values; empty for a batch task."""
    labels: Sequence[str]
    """Names along the last axis of the submission; empty if it has none."""
    channels: Sequence[str]
    """Names of the channels of the inputs."""
    read: Reader
    """Reads a public array, given its name."""


def spread(count: int, most: int = PICTURES) -> list[int]:
    """Evenly spread positions among ``count`` items, the first and the last among them; at most ``most``."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)).tolist() if count else []


def histogram(values: NDArray[np.float64]) -> tuple[Picture, ...]:
    """How often values occur; no picture if there are none."""
    return (Picture("What was submitted", "value", values=values),) if values.size else ()


def paths(answer: AgentAnswer, *, with_contexts: bool = True) -> tuple[Picture, ...]:
    """Generated paths over training windows, one picture for each channel.

    Args:
        answer: the answer, whose values are [samples, rows, channels], or [contexts, futures, rows, channels].
        with_contexts: whether the contexts of the hidden windows are public, and are drawn too.
    """
    before, train = answer.read("train_inputs"), answer.read("train_targets")
    # Without contexts, each sample is the one future of a context without rows.
    samples = answer.values if answer.values.ndim == 4 else answer.values[:, None]
    before = before if with_contexts else before[:, :0]
    context = answer.read("test_inputs") if with_contexts else np.empty((len(samples), 0, samples.shape[3]))
    rows = context.shape[1]
    # The last row of the context is 0, and the first generated one is 1.
    x = np.arange(1.0 - rows, samples.shape[2] + 1.0)
    chosen, trained = spread(len(samples), PATHS), spread(len(train), PATHS)
    pictures = []
    for channel in range(min(PICTURES, samples.shape[3])):
        known = (np.concatenate([before[n, :, channel], train[n, :, channel]]) for n in trained)
        made = (np.concatenate([context[n, :, channel], samples[n, 0, :, channel]]) for n in chosen)
        lines = (*(Curve("training", x, y, True) for y in known), *(Curve("generated", x, y) for y in made))
        name = answer.labels[channel] if channel < len(answer.labels) else f"channel {channel}"
        pictures.append(Picture(name, "rows from the last of the context" if rows else "rows", lines))
    return tuple(pictures)


def by_step(title: str, labels: Sequence[str], values: NDArray[np.float64]) -> Picture:
    """A line for each label over the steps of an episode; of many labels, those with the largest values.

    Args:
        title: heading of the picture.
        labels: names of the columns.
        values: what is drawn, float64[steps, labels].
    """
    largest = np.sort(np.argsort(-np.abs(values).sum(axis=0), kind="stable")[:LINES])
    steps = np.arange(1.0, len(values) + 1.0)
    return Picture(title, "step", tuple(Curve(labels[n], steps, values[:, n]) for n in largest), zero=True)


def decided(symbols: Sequence[str], steps: int, actions: Sequence[object]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """What an agent decided in an episode of trading, step by step.

    Args:
        symbols: names of the symbols.
        steps: number of steps of the episode.
        actions: actions of the agent in order, as JSON values; one that cannot be read changes nothing.

    Yields:
        A title and float64[steps, symbols]: target weights, which hold until others are given; and units ordered so
        far, bought less sold. One of the two that the agent never used is left out.
    """
    weights, ordered = (np.zeros((steps, len(symbols))) for _ in range(2))
    for step in range(steps):
        try:
            # An agent that ends an episode early holds what it has to the end.
            decision = parse_decision(actions[step] if step < len(actions) else None, symbols)
        except SubmissionError:
            decision = HOLD
        # At step 0, step - 1 is the last row, which is still zero.
        weights[step] = weights[step - 1] if decision.weights is None else decision.weights
        ordered[step] = ordered[step - 1]
        for order in decision.orders:
            if 0 <= order.symbol < len(symbols):
                ordered[step, order.symbol] += order.quantity if order.side is Side.BUY else -order.quantity
    yield from (
        (title, values) for title, values in (("Weights", weights), ("Shares ordered", ordered)) if values.any()
    )
