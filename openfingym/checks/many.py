"""Checking many tasks at once, in a pool of processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from openfingym.checks.finding import Progress, silent
from openfingym.packages.many import TaskOutcome, each


def check_tasks(
    folders: Sequence[Path],
    *,
    jobs: int,
    real: bool = False,
    backend: str | None = None,
    adversarial: bool = False,
    on_all: bool = False,
    progress: Progress | None = None,
) -> Iterator[TaskOutcome[dict[str, object]]]:
    """Check task packages; yields the report on each as plain values when it is there, in any order.

    Args:
        folders: folders of the tasks.
        jobs: number of processes that check at the same time.
        real: whether real data that were pulled take the place of simulated data.
        backend: name of the backend for the smoke test; None to leave the smoke test out.
        adversarial: whether to score the answers without skill as well.
        on_all: whether to score the best of these on the whole private fold; see
            :func:`openfingym.checks.check.check_task`.
        progress: called with what is being done; of a single task alone, which is checked in this process.
    """
    told = progress if progress is not None and len(folders) == 1 else silent
    work = partial(_check, real=real, backend=backend, adversarial=adversarial, on_all=on_all, progress=told)
    return each(work, folders, jobs)


def _check(
    folder: Path, *, real: bool, backend: str | None, adversarial: bool, on_all: bool, progress: Progress
) -> dict[str, object]:
    from openfingym.catalog import load_task
    from openfingym.checks.check import check_task

    task = load_task(folder, real=real)
    return check_task(task, backend=backend, adversarial=adversarial, on_all=on_all, progress=progress).to_dict()
