"""The instances that rollouts are on: built here, from this verifier's own packages, and kept in memory while in use.

Nothing is taken from whoever begins a rollout but the split and the index. What is built follows from these and the
package, so a restart builds the same again. On the disk an instance is for the time of its build alone, below the state
directory, which is this verifier's own.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections import OrderedDict
from itertools import count
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from openfingym import store
from openfingym.errors import DataError, StoreError, TaskError, VerifierError
from openfingym.instances import InstanceSource, build_instance
from openfingym.kinds.instances import InstanceSplit
from openfingym_verifier.problems import Problem
from openfingym_verifier.scoring.truth import load_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor
    from pathlib import Path

    from openfingym.packages.package import BuiltPackage
    from openfingym_verifier.ledger.rows import RolloutRow
    from openfingym_verifier.scoring.truth import HiddenTask

MOST: Final = 64
"""Instances in memory; others are built again when asked for."""
MOST_BYTES: Final = 256 << 20
"""What the arrays of these may have together."""
FOLDER: Final = "instances"
"""Folder of the state directory in which they are built."""

Key = tuple[str, InstanceSplit, int]


class TaskInstances:
    """The instances of one verifier's tasks. Belongs to the event loop, but for :meth:`built_here` and
    :meth:`built`.
    """

    def __init__(
        self,
        state: Path,
        threads: Executor,
        *,
        most: int = MOST,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Remove what a verifier that was killed left in the state directory.

        Args:
            state: the verifier's state directory.
            threads: where instances are built.
            most: largest number of instances in memory.
            most_bytes: largest number of bytes that their arrays take together.
        """
        self._folder = state / FOLDER
        shutil.rmtree(self._folder, ignore_errors=True)
        self._threads = threads
        self._most, self._most_bytes = most, most_bytes
        self._kept: OrderedDict[Key, asyncio.Future[HiddenTask]] = OrderedDict()
        self._sources: dict[str, InstanceSource] = {}
        self._reading = threading.Lock()
        self._number = count(1)
        self.on_dropped: Callable[[HiddenTask], None] = lambda _: None
        """Called with each instance that is no longer kept in memory."""

    async def of(self, row: RolloutRow, task: HiddenTask) -> HiddenTask:
        """The instance that a rollout is on.

        Args:
            row: the rollout's row in the ledger.
            task: the task that the instance is cut from.

        Raises:
            Problem: ``task-unavailable``: the task was rebuilt since the rollout began.
            VerifierError: the instance cannot be built.
        """
        split, index = _place(row)
        instance = await self.get(task, split, index)
        _require_same(row, instance)
        return instance

    async def get(self, task: HiddenTask, split: InstanceSplit, index: int) -> HiddenTask:
        """An instance of a task, built if it is not in memory.

        Args:
            task: the task that the instance is cut from.
            split: the split of the instance.
            index: number of the instance within its split.

        Raises:
            UsageError: the task has no instances.
            VerifierError: the instance cannot be built.
        """
        key = (task.name, split, index)
        # The future is kept, not its result, so that requests that come together wait for one building.
        if key not in self._kept:
            loop = asyncio.get_running_loop()
            self._kept[key] = asyncio.ensure_future(loop.run_in_executor(self._threads, self.built, task, split, index))
        building = self._kept[key]
        self._kept.move_to_end(key)
        try:
            # A caller that gives up must not cancel the building that others wait for.
            return await asyncio.shield(building)
        except Exception:
            # A failure is not kept: the next caller tries again.
            if self._kept.get(key) is building:
                del self._kept[key]
            raise
        finally:
            self._shrink()

    def built_here(self, row: RolloutRow, task: HiddenTask) -> HiddenTask:
        """The instance that a rollout is on, built in this thread and not kept; raises what :meth:`of` does."""
        instance = self.built(task, *_place(row))
        _require_same(row, instance)
        return instance

    def built(self, task: HiddenTask, split: InstanceSplit, index: int) -> HiddenTask:
        """An instance, built in this thread and not kept; arguments and errors as for :meth:`get`."""
        # A folder of its own, since the same instance may be built by two threads at once.
        folder = self._folder / str(next(self._number))
        try:
            with store.writing(folder):
                folder.mkdir(mode=store.TRUTH_FOLDER, parents=True)
            package = build_instance(self._source(task), split, index, folder)
            identity = f"{task.name}/{split}/{index}"
            return load_task(package, _arrays(package.truth), identity=identity, held=_held(package, task), split=split)
        except (DataError, StoreError, TaskError) as error:
            raise VerifierError(f"{task.name}: instance {index} of {split} cannot be built: {error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _source(self, task: HiddenTask) -> InstanceSource:
        """The training data of a task, read once."""
        with self._reading:
            if task.name not in self._sources:
                # The files may have been changed since the verifier was started.
                task.package.verify_public()
                self._sources[task.name] = InstanceSource.of(task.package)
            return self._sources[task.name]

    def _shrink(self) -> None:
        """Let go of the instances that were used longest ago, until the rest is few and small enough."""
        done = [(key, building.result()) for key, building in self._kept.items() if _is_built(building)]
        size = sum(_size(task) for _, task in done)
        while done and (len(done) > self._most or size > self._most_bytes):
            key, task = done.pop(0)
            size -= _size(task)
            del self._kept[key]
            self.on_dropped(task)


def _place(row: RolloutRow) -> tuple[InstanceSplit, int]:
    assert row.instance is not None, "only asked of rollouts on an instance"
    assert row.split in get_args(InstanceSplit)
    return row.split, row.instance  # type: ignore[return-value]  # checked above


def _require_same(row: RolloutRow, instance: HiddenTask) -> None:
    if row.task_digest != instance.manifest.digest:
        raise Problem("task-unavailable", "The task was rebuilt since this rollout began; create a new rollout.")


def _arrays(folder: Path) -> dict[str, np.ndarray]:
    return {path.stem: np.load(path, allow_pickle=False) for path in sorted(folder.glob("*.npy"))}


def _held(package: BuiltPackage, task: HiddenTask) -> dict[str, np.ndarray]:
    """Public arrays that are read after the instance is loaded, when its folder is gone: those of episodes."""
    if not task.sequential:
        return {}
    held = _arrays(package.data)
    for array in held.values():
        array.setflags(write=False)
    return held


def _is_built(building: asyncio.Future[HiddenTask]) -> bool:
    return building.done() and not building.cancelled() and building.exception() is None


def _size(task: HiddenTask) -> int:
    """Bytes of the arrays that an instance keeps in memory."""
    return sum(array.nbytes for array in (*task.hidden.values(), *task.held.values(), task.grader.baseline))
