"""What of an answer is worth looking at: curves and histograms as plain numbers, which a page draws.

A picture is made of what the agent submitted and of public arrays alone. No hidden array comes near it.
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
"""Pictures of one submission at most."""
PATHS = 12
"""Paths drawn over one another, of each sort."""
LINES = 8
"""Series of one picture, each in a colour of its own."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a picture."""

    name: str
    x: NDArray[np.float64]
    """float64[points], increasing."""
    y: NDArray[np.float64]
    """float64[points]."""
    known: bool = False
    """Whether it is public data, which the agent was given, and not what it answered."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Curves over a common axis, or how often values occur."""

    title: str
    across: str
    """What the horizontal axis shows."""
    curves: tuple[Curve, ...] = ()
    zero: bool = False
    """Whether the vertical axis must hold zero."""
    values: NDArray[np.float64] | None = None
    """float64[...]: draws a histogram of these instead of curves."""


@dataclass(frozen=True, eq=False)
class AgentAnswer:
    """An accepted submission, and what is public of its task."""

    values: NDArray[np.float64]
    """float64, in the shape of a submission."""
    actions: Sequence[Sequence[object]]
    """Of a sequential task the JSON values of the actions, of each private episode in the order of its steps."""
    labels: Sequence[str]
    """Names along the last axis, as far as it has any."""
    channels: Sequence[str]
    """Names of the channels of the inputs."""
    read: Reader
    """Reads a public array."""


def spread(count: int, most: int = PICTURES) -> list[int]:
    """At most so many places among ``count``, evenly spread, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)).tolist() if count else []


def histogram(values: NDArray[np.float64]) -> tuple[Picture, ...]:
    """How often values occur."""
    return (Picture("What was submitted", "value", values=values),) if values.size else ()


def forecasts(answer: AgentAnswer, steps: Sequence[int]) -> tuple[Picture, ...]:
    """The inputs of some windows, and what was forecast to follow them; channel after channel in turn.

    Args:
        answer: the answer, whose values are [windows, steps, labels]; the public ``test_inputs`` are [windows, rows,
            channels].
        steps: steps ahead of the last input that are forecast.
    """
    inputs, ahead = answer.read("test_inputs"), np.asarray(steps, dtype=np.float64)
    pictures = []
    for number, window in enumerate(spread(len(answer.values))):
        label = number % answer.values.shape[2]
        name = answer.labels[label] if label < len(answer.labels) else ""
        channel = answer.channels.index(name) if name in answer.channels else label
        given, told = np.asarray(inputs[window, :, channel], dtype=np.float64), answer.values[window, :, label]
        before = np.arange(1.0 - len(given), 1.0)
        # A forecast of one step is a point, which has no line of its own: it is joined with what came before.
        curve = Curve("forecast", np.append(0.0, ahead), np.append(given[-1:], told)[-len(ahead) - 1 :])
        title = f"{name or 'Forecast'}, window {window}"
        pictures.append(Picture(title, "steps from the last input", (Curve("known input", before, given, True), curve)))
    return tuple(pictures)


def paths(answer: AgentAnswer) -> tuple[Picture, ...]:
    """Generated paths over windows of training, a picture a channel.

    Args:
        answer: the answer, whose values are [samples, rows, channels], or [contexts, futures, rows, channels].
    """
    context, train = answer.read("test_inputs"), answer.read("train_targets")
    before = answer.read("train_inputs")
    samples = answer.values if answer.values.ndim == 4 else answer.values[:, None]
    rows = context.shape[1]
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
    """A line for each label over the steps of an episode: those that are largest, where there are many.

    Args:
        title: heading of the picture.
        labels: names of the columns.
        values: float64[steps, labels].
    """
    largest = np.sort(np.argsort(-np.abs(values).sum(axis=0), kind="stable")[:LINES])
    steps = np.arange(1.0, len(values) + 1.0)
    return Picture(title, "step", tuple(Curve(labels[n], steps, values[:, n]) for n in largest), zero=True)


def decided(symbols: Sequence[str], steps: int, actions: Sequence[object]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """(title, float64[steps, symbols]) of what an agent decided in an episode of trading: target weights, which stay
    until others are given, and shares ordered so far, bought less sold; without what was never used.

    Args:
        symbols: names of the symbols.
        steps: steps of the episode.
        actions: JSON values of the actions in order; one that cannot be read changes nothing.
    """
    weights, ordered = (np.zeros((steps, len(symbols))) for _ in range(2))
    for step in range(steps):
        try:
            # Who ends an episode early holds to its end.
            decision = parse_decision(actions[step] if step < len(actions) else None, symbols)
        except SubmissionError:
            decision = HOLD
        weights[step] = weights[step - 1] if decision.weights is None else decision.weights
        ordered[step] = ordered[step - 1]
        for order in decision.orders:
            if 0 <= order.symbol < len(symbols):
                ordered[step, order.symbol] += order.quantity if order.side is Side.BUY else -order.quantity
    yield from (
        (title, values) for title, values in (("Weights", weights), ("Shares ordered", ordered)) if values.any()
    )
