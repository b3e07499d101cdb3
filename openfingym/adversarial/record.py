"""The record of what answers without skill reach on each task, as it was last measured.

``skillless.json`` beside this module has a row for each task that comes with the library; ``openfingym task check --all
--adversarial --record PATH`` makes such a file. A row belongs to one build of its task and to one version of each
metric that ranks, and says nothing of any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import StoreError
from openfingym.files.whole import write_text

if TYPE_CHECKING:
    from openfingym.adversarial.promise import Survey
    from openfingym.packages.package import BuiltPackage
    from openfingym.task import Task
    from openfingym.task.scoring import Scoring

RECORD = Path(__file__).with_name("skillless.json")


@dataclass(frozen=True)
class Reached:
    """The best answer without skill on one task, and its relative total."""

    task: str
    digest: str
    """Digest of the task, as in every result."""
    build: str
    """Key of the build; see :func:`openfingym.packages.build.build_key`."""
    metrics: Mapping[str, int]
    """Version of each metric in the relative total, by name."""
    best: str | None
    """Name of the best answer; None if the task refuses every one."""
    relative: float | None
    """Relative total of the best answer on the private fold; lower is better, 1 is the baseline."""
    answers: int
    """Number of answers that were tried."""
    refused: int
    """Number of these that the task refuses."""
    kind: str = ""
    """Kind of the task, such as ``generation``."""
    reference: int = 1
    """Version of the kind's baseline, to which the total is relative."""


def reached_by(task: Task, package: BuiltPackage, survey: Survey) -> Reached:
    """The row that records a survey.

    Args:
        task: the task as its author wrote it.
        package: the package that was built of it, and surveyed.
        survey: the scores of the answers without skill.
    """
    from openfingym.kinds import reference_version
    from openfingym.packages.build import build_key

    best = survey.best
    return Reached(
        task=task.name,
        digest=package.manifest.digest,
        build=build_key(task),
        metrics=versions(package.task.spec.scoring),
        best=best.name if best else None,
        relative=survey.reached,
        answers=len(survey.trials),
        refused=survey.refused,
        kind=package.task.spec.contract.kind,
        reference=reference_version(package.task.spec.contract.kind),
    )


def versions(scoring: Scoring) -> dict[str, int]:
    """Version of each metric that is in the relative total, by name."""
    from openfingym.metrics import find_metric
    from openfingym.metrics.scoring import relative_weights

    return {name: find_metric(name).version for name, weight in relative_weights(scoring).items() if weight > 0.0}


def recorded(path: Path = RECORD) -> list[Reached]:
    """The rows of a record, in the order of their tasks' names.

    Raises:
        StoreError: the record is missing or damaged.
    """
    try:
        return [Reached(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(
            f"{path}: no readable record of answers without skill ({error}); make one with "
            "`openfingym task check --all --adversarial --record PATH`"
        ) from error


def record(rows: Iterable[Reached], path: Path) -> None:
    """Write a record, whole or not at all, in place of one that is there.

    Raises:
        StoreError: the record cannot be written.
    """
    # A line a row, so that a comparison of two records shows which tasks changed.
    lines = ",\n".join(json.dumps(asdict(row)) for row in sorted(rows, key=lambda row: row.task))
    write_text(path, f"[\n{lines}\n]\n")


@lru_cache(maxsize=1024)
def reached_on(digest: str) -> Reached | None:
    """The row of one build of a task; None if there is none, or if a metric that ranks has changed since.

    Args:
        digest: digest of the task, as a result states it.

    Raises:
        StoreError: the record that comes with the library is damaged.
    """
    row = _rows().get(digest)
    return row if row is not None and is_current(row) else None


def reached_in(build: str) -> Reached | None:
    """The same as :func:`reached_on`, by the key of the build, which is known before anything is built.

    Args:
        build: key of the build, from :func:`openfingym.packages.build.build_key`.
    """
    return next((row for row in _rows().values() if row.build == build and is_current(row)), None)


@cache
def _rows() -> Mapping[str, Reached]:
    return {row.digest: row for row in recorded()}


def is_current(row: Reached) -> bool:
    """Whether a row was measured with the present versions of the metrics that rank and of the kind's baseline."""
    # Imported only for a row that is asked for: a report of tasks that have none needs no metric and no kind.
    from openfingym.kinds import reference_version
    from openfingym.metrics import METRICS

    # A row of an older record states no kind.
    if row.kind and row.reference != reference_version(row.kind):
        return False
    return all(name in METRICS and METRICS[name].version == version for name, version in row.metrics.items())
