"""The metrics of a published protocol, computed on an answer's windows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.published.measures import MEASURES
from openfingym.published.sample import draw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openfingym.published.protocol import PaperFigure, PaperProtocol, PublishedMetric
    from openfingym.published.sample import SampleWindows


@dataclass(frozen=True)
class PublishedValue:
    """One metric under a protocol, with the figures that the paper states for it."""

    metric: str
    unit: str
    mean: float
    """Mean over repeats, and over columns where the measure has several."""
    sd: float | None
    """Standard deviation over repeats (ddof 0, as in the papers' code), averaged over columns; None where nothing is
    repeated."""
    repeats: int
    real_windows: int
    """Number of real windows in a repeat."""
    generated_windows: int
    """Number of generated windows in a repeat."""
    paper: tuple[PaperFigure, ...]
    """Figures that the paper states; read ``differs`` before you set one beside the other."""


@dataclass(frozen=True)
class PublishedScore:
    """An answer's scores under a published protocol. Never a verified score."""

    task: str
    """Name of the task."""
    task_digest: str
    """Hex digest of the task."""
    data_kind: str
    """What the task's data is: ``real``, ``simulated`` or ``specified``."""
    protocol: str
    """Name of the protocol."""
    paper: str
    table: str
    """Table of the paper whose numbers the protocol gives."""
    code: str
    """The authors' code that the protocol follows."""
    seed: int
    """Seed of draws, networks and batches."""
    values: tuple[PublishedValue, ...]
    differs: tuple[str, ...]
    """Why a number here cannot be compared with the paper's as it is, one phrase each."""
    assumed: tuple[str, ...]
    """What neither paper nor code says, or what is done in another way here, one phrase each."""
    verified: bool = False
    """Always false: these numbers are no part of a result."""

    def to_dict(self) -> dict[str, object]:
        """Plain values for ``--json``."""
        values = [{**asdict(value), "paper": [figure.model_dump() for figure in value.paper]} for value in self.values]
        return {**asdict(self), "values": values, "differs": list(self.differs), "assumed": list(self.assumed)}


def score_windows(
    protocol: PaperProtocol,
    task: str,
    windows: SampleWindows,
    *,
    seed: int = 0,
    only: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[PublishedValue, ...]:
    """Every metric of a protocol for one task.

    Args:
        protocol: the protocol, of which the task is one.
        task: name of the task.
        windows: all windows of the task, real and generated.
        seed: seed of draws, networks and batches.
        only: names of the metrics wanted; all metrics if empty.
        tell: called with the name of each metric before it is computed.

    Raises:
        UsageError: a metric is unknown, PyTorch is not there, or there are too few windows.
        DataError: the real windows leave a metric undefined.
    """
    metrics = protocol.of(task)
    if unknown := set(only) - {metric.name for metric in metrics}:
        raise UsageError(
            f"{protocol.name} has no metric {sorted(unknown)[0]!r} for {task}; "
            f"it has {', '.join(metric.name for metric in metrics)}"
        )
    pool = windows.pool(protocol.drawing)
    if protocol.tasks[task].scaling == "min-max":
        # Scaled by the real windows that are drawn from, which then have to be taken again.
        windows = windows.scaled(pool)
        pool = windows.pool(protocol.drawing)
    values = []
    for metric in metrics:
        if not only or metric.name in only:
            tell(metric.name)
            # -1 draws all windows, once.
            repeats = [-1] if metric.once else range(protocol.repeats)
            values.append(_value(protocol, task, metric, windows, pool, repeats, seed))
    return tuple(values)


def _value(
    protocol: PaperProtocol,
    task: str,
    metric: PublishedMetric,
    windows: SampleWindows,
    pool: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    repeats: Sequence[int],
    seed: int,
) -> PublishedValue:
    rows = []
    for repeat in repeats:
        sample = draw(protocol.drawing, windows, pool, repeat, seed)
        rows.append(np.atleast_1d(MEASURES[metric.measure](sample, **metric.options)))
    # A column that is undefined in one repeat is left out of all, so that repeats are of the same columns.
    table = np.stack(rows)
    defined = ~np.isnan(table).any(axis=0)
    if not defined.any():
        raise DataError(f"{metric.name} is undefined on these windows")
    table = table[:, defined]
    mean = float(table.mean())
    if not math.isfinite(mean):
        raise UsageError(f"{metric.name} is too large for float64; the values must be of a plausible size")
    return PublishedValue(
        metric.name,
        metric.unit,
        mean,
        float(table.std(axis=0).mean()) if len(table) > 1 else None,
        len(table),
        len(sample.real),
        len(sample.fake),
        tuple(figure for figure in protocol.figures if (figure.task, figure.metric) == (task, metric.name)),
    )
