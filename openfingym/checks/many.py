"""Checking many tasks at once, one process a task in hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from openfingym.packages.many import TaskOutcome, each


def check_tasks(
    folders: Sequence[Path],
    *,
    jobs: int,
    real: bool = False,
    backend: str | None = None,
    adversarial: bool = False,
    on_all: bool = False,
) -> Iterator[TaskOutcome[dict[str, object]]]:
    """Check task packages, as many at once as ``jobs``; yields each report as plain values, in any order.

    ``real`` is that of :func:`openfingym.catalog.load_task`, the others are those of
    :func:`openfingym.checks.check.check_task`.
    """
    return each(partial(_check, real=real, backend=backend, adversarial=adversarial, on_all=on_all), folders, jobs)


def _check(folder: Path, *, real: bool, backend: str | None, adversarial: bool, on_all: bool) -> dict[str, object]:
    from openfingym.catalog import load_task
    from openfingym.checks.check import check_task

    return check_task(load_task(folder, real=real), backend=backend, adversarial=adversarial, on_all=on_all).to_dict()
