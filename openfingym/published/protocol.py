"""A published protocol, as its file states it."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from openfingym.errors import UsageError
from openfingym.task.toml import checked, read_toml

Text = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


class Drawing(_Part):
    """Which windows are drawn for a repeat."""

    pool: Literal["all", "hidden"]
    """Which windows the real ones are drawn from: training and hidden windows, or hidden windows alone."""
    how: Literal["resampled", "permuted", "whole", "contexts"]
    """``resampled``: real windows with replacement, generated ones without, as many. ``permuted``: both without.
    ``whole``: every real window, generated ones without replacement. ``contexts``: contexts with replacement, and for
    each its real future and one of its generated ones."""
    windows: Annotated[int, Field(ge=2)] | None = None
    """Number of windows of a side in a repeat; None for as many as there are."""
    held_out: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.2
    """Share of the windows on which classifiers are tested and not trained."""


class PublishedMetric(_Part):
    """A metric of a protocol."""

    name: Text
    """What the paper calls the metric."""
    measure: Text
    """Name in :data:`openfingym.published.measures.MEASURES`."""
    unit: Text = "none"
    options: dict[str, Any] = {}
    """Arguments of the measure, by name."""
    tasks: tuple[str, ...] = ()
    """Tasks that the metric is for; empty for all tasks of the protocol."""
    once: bool = False
    """Whether it is computed once, on all windows: because it repeats something itself, or nothing is repeated."""


class TaskNote(_Part):
    """What applies to one task of a protocol."""

    scaling: Literal["none", "min-max"] = "none"
    """``min-max``: values are mapped to [0, 1] by the smallest and largest real value of each channel."""
    differs: Annotated[tuple[Text, ...], Field(min_length=1)]
    """How the task's data differs from the paper's, one phrase each."""


class PaperFigure(_Part):
    """A figure that the paper states."""

    task: Text
    """Name of our task."""
    metric: Text
    """Name of the metric, as :class:`PublishedMetric` has it."""
    model: Text
    """What the paper calls the model."""
    mean: float
    sd: float | None = None
    """Standard deviation over repeats; None where the paper states none."""
    place: Text
    """Where in the paper the figure is, and where it was read if not there."""


class PaperProtocol(_Part):
    """A published protocol."""

    name: Text
    paper: Text
    table: Text
    """Table of the paper whose numbers the protocol gives."""
    code: Text
    """The authors' code that the protocol follows."""
    repeats: Annotated[int, Field(ge=1)]
    """How often windows are drawn and metrics computed."""
    drawing: Drawing
    metrics: Annotated[tuple[PublishedMetric, ...], Field(min_length=1)]
    tasks: Annotated[dict[str, TaskNote], Field(min_length=1)]
    figures: tuple[PaperFigure, ...] = ()
    assumed: tuple[Text, ...] = ()
    """What neither paper nor code says, or what is done otherwise here, one phrase each."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for metric in self.metrics:
            if unknown := set(metric.tasks) - set(self.tasks):
                raise ValueError(f"metric {metric.name!r} names tasks the protocol is not for: {sorted(unknown)}")
        for task in self.tasks:
            names = [metric.name for metric in self.of(task)]
            if len(set(names)) != len(names):
                raise ValueError(f"a metric is stated twice for {task}")
            if unknown := {figure.metric for figure in self.figures if figure.task == task} - set(names):
                raise ValueError(f"figures of {task} name unknown metrics: {sorted(unknown)}")
        if unknown := {figure.task for figure in self.figures} - set(self.tasks):
            raise ValueError(f"figures name tasks the protocol is not for: {sorted(unknown)}")
        return self

    def of(self, task: str) -> tuple[PublishedMetric, ...]:
        """The metrics for one task, in order."""
        return tuple(metric for metric in self.metrics if not metric.tasks or task in metric.tasks)


@functools.cache
def protocols() -> tuple[PaperProtocol, ...]:
    """Every protocol, by name.

    Raises:
        UsageError: a file does not state a protocol.
    """
    with resources.as_file(resources.files("openfingym.published") / "protocols") as folder:
        return tuple(
            checked(PaperProtocol, read_toml(path, "the protocol"), path.name) for path in sorted(folder.glob("*.toml"))
        )


def protocol_of(task: str) -> PaperProtocol:
    """The protocol that a task follows.

    Raises:
        UsageError: the task follows no protocol; the message names those that do.
    """
    for protocol in protocols():
        if task in protocol.tasks:
            return protocol
    known = ", ".join(sorted(name for protocol in protocols() for name in protocol.tasks))
    raise UsageError(
        f"{task} follows no published protocol (docs/metrics.md says why); tasks that do: {known}. "
        f"`openfingym score` gives the library's own metrics"
    )
