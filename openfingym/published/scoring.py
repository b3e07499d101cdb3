"""Scoring an answer under a published protocol."""

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
    """One metric under a protocol, and the paper's own figures of it."""

    metric: str
    unit: str
    mean: float
    """Over repeats, and over columns where the measure has several."""
    sd: float | None
    """Over repeats, ddof 0 as in the papers' codes, its mean over columns; None where nothing is repeated."""
    repeats: int
    real_windows: int
    """Real windows of a repeat."""
    generated_windows: int
    """Generated windows of a repeat."""
    paper: tuple[PaperFigure, ...]
    """What the paper states; see ``differs`` before setting one beside the other."""


@dataclass(frozen=True)
class PublishedScore:
    """An answer under a published protocol. Never a verified score."""

    task: str
    task_digest: str
    data_kind: str
    protocol: str
    paper: str
    table: str
    code: str
    seed: int
    values: tuple[PublishedValue, ...]
    differs: tuple[str, ...]
    """Why a number here is not one of the paper's."""
    assumed: tuple[str, ...]
    """What neither paper nor code says, or what is done otherwise."""
    verified: bool = False
    """Always false: these numbers are no part of a result."""

    def to_dict(self) -> dict[str, object]:
        """Plain values for ``--json``."""
        values = [{**asdict(value), "paper": [one.model_dump() for one in value.paper]} for value in self.values]
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
        protocol: the protocol; it is for the task.
        task: name of the task.
        windows: what is compared.
        seed: seed of draws, networks and batches.
        only: names of the metrics wanted; none for all.
        tell: is told what is done next.

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
        windows = windows.scaled(pool)
        pool = windows.pool(protocol.drawing)
    found = []
    for metric in metrics:
        if not only or metric.name in only:
            tell(metric.name)
            samples = [-1] if metric.once else range(protocol.repeats)
            found.append(_value(protocol, task, metric, windows, pool, samples, seed))
    return tuple(found)


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
        tuple(one for one in protocol.figures if (one.task, one.metric) == (task, metric.name)),
    )
