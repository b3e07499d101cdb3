"""The record of baselines: scores of fair, simple agents on every task, in ``baselines.json`` beside this module."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from openfingym.errors import StoreError
from openfingym.files.whole import write_text
from openfingym.results.result import INTERVALS

RECORD = Path(__file__).with_name("baselines.json")
"""The record that comes with the library."""
CHECKS = ("oracle", "nop")
"""Agents that are run on every task besides the baselines: one that knows the truth, and one that does nothing."""


@dataclass(frozen=True)
class BaselineResult:
    """The result of one baseline on one task."""

    task: str
    """Name of the task."""
    family: str
    """Family of the task."""
    data_kind: str
    """Kind of the task's data, such as ``real``."""
    key: str
    """Key of the build, the metrics and the program with which the result was measured; see
    :func:`openfingym.reports.baselines.key_of`."""
    agent: str
    """Name of the baseline."""
    state: str
    """How the rollout ended: ``scored``, ``rejected`` or ``error``."""
    reason: str | None
    """Why there is no score; None if there is one."""
    total: float | None
    """The source paper's loss on the private fold, lower is better; None without a score."""
    relative_total: float | None
    """The loss relative to that of the task's baseline, lower is better and 1 is the baseline; None without a score."""
    metrics: dict[str, float]
    """The metrics on the private fold, by name."""
    wall_s: float
    """Seconds of the rollout, scoring included, on the machine that recorded it."""
    seed: int
    """The seed that the program was given."""
    relative_interval: tuple[float, float] | None = None
    """95 % interval of ``relative_total``; None if there is none."""
    total_interval: tuple[float, float] | None = None
    """95 % interval of ``total``; None if there is none."""
    standard_errors: dict[str, float] = field(default_factory=dict)
    """Standard errors of the metrics, by name."""

    @property
    def success(self) -> bool:
        """Whether the rollout ended with a score."""
        return self.state == "scored"


def recorded(path: Path = RECORD) -> list[BaselineResult]:
    """The results of a record, sorted by family, task and agent.

    Raises:
        StoreError: the record is missing or damaged.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [BaselineResult(**{**row, **_intervals(row)}) for row in rows]
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(
            f"{path}: no readable record of baselines ({error}); make one with `openfingym report baselines --run`"
        ) from error


def _intervals(row: Mapping[str, list[float] | None]) -> dict[str, tuple[float, ...]]:
    """The intervals of a row of the record, as tuples."""
    return {name: tuple(ends) for name in INTERVALS if (ends := row.get(name)) is not None}


def record(results: Iterable[BaselineResult], path: Path = RECORD) -> None:
    """Write results to a record in the place of what it has, whole or not at all.

    Raises:
        StoreError: the record cannot be written.
    """
    ordered = sorted(results, key=lambda row: (row.family, row.task, row.agent))
    lines = ",\n".join(json.dumps(asdict(row)) for row in ordered)
    write_text(path, f"[\n{lines}\n]\n")
