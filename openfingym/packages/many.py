"""Building many tasks at once, in a pool of processes.

A task that fails is an outcome like any other, and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from openfingym.errors import OpenFinGymError
from openfingym.machine import cores

T = TypeVar("T")


@dataclass(frozen=True)
class TaskOutcome(Generic[T]):
    """The outcome of one task: a value or an error."""

    name: str
    value: T | None
    """The result of the work; None where it failed."""
    error: OpenFinGymError | None = None
    """Why the work failed; None where it did not."""


@dataclass(frozen=True)
class Built:
    """A package that is in the store."""

    task: str
    """Name of the task."""
    digest: str
    """Digest of the task: of both halves of the package."""
    package: str
    """Path of the public half."""


def build_tasks(
    folders: Sequence[Path], *, jobs: int, force: bool = False, real: bool = False
) -> Iterator[TaskOutcome[Built]]:
    """Build task packages, as many at once as ``jobs``; yields each when it is done, in any order."""
    return each(partial(_build, force=force, real=real), folders, jobs)


def default_jobs() -> int:
    """Processes that fit this machine: one a core, at most four, as a large task needs some hundred megabytes."""
    return min(4, cores())


def _build(folder: Path, *, force: bool, real: bool) -> Built:
    from openfingym.catalog import load_task
    from openfingym.packages.build import build

    package = build(load_task(folder, real=real), force=force)
    return Built(package.manifest.name, package.manifest.digest, str(package.public))


def each(work: Callable[[Path], T], folders: Sequence[Path], jobs: int) -> Iterator[TaskOutcome[T]]:
    """Call ``work`` on each task folder, ``jobs`` of them at once; yields outcomes as they come, in any order."""
    if jobs == 1 or len(folders) == 1:
        yield from (_guarded(work, folder) for folder in folders)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    # Spawned: a fork would copy locks that threads of this process (of BLAS, say) hold at that moment.
    executor = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_prepare)
    try:
        futures = [executor.submit(_guarded, work, folder) for folder in folders]
        for future in as_completed(futures):
            yield future.result()
    finally:
        # A caller that stops iterating, or a user who presses Ctrl-C, must not wait for tasks that have not begun.
        executor.shutdown(cancel_futures=True)


def _prepare() -> None:
    import signal

    from threadpoolctl import threadpool_limits

    # Without this, every process prints a traceback of its own when the user presses Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # There is a process for each core already; BLAS threads on top would only compete.
    threadpool_limits(1)


def _guarded(work: Callable[[Path], T], folder: Path) -> TaskOutcome[T]:
    try:
        return TaskOutcome(folder.name, work(folder))
    except OpenFinGymError as error:
        return TaskOutcome(folder.name, None, error)
