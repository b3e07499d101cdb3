"""What the desks of a process share: launchers, places, and a janitor thread that ends what is left behind.

Nothing here is passed to another process: a desk that was pickled, or is used after a fork, finds the machinery of the
process that it is in.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import BackendUnavailableError, RuntimeFailureError, UsageError
from openfingym.training.places import Place, Places

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.instances import Instances
    from openfingym.machine import Libraries
    from openfingym.models.meter import Allowance
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import SplitName
    from openfingym.rollouts.launcher import Launcher
    from openfingym.rollouts.local import LocalRollouts
    from openfingym.task import Task
    from openfingym.training.briefs import TaskBrief
    from openfingym.training.running import Running
    from openfingym.verifiers import VerifierAddress

_log = logging.getLogger(__name__)
LOOK_S = 0.5
"""Seconds between two looks at deadlines and places."""
CLOSE_S = 20.0
"""Seconds that open rollouts are given to end, where their desk is closed."""
PATIENCE_S = 60.0
"""Seconds to wait for an engine, or a verifier that runs elsewhere, while it does not answer."""

Key = tuple[tuple[str | Path, ...], str, "str | VerifierAddress | None", int]
"""Tasks, backend, verifier and places: desks that agree in all of them share their machinery."""


class Machinery:
    """One launcher, one verifier and a number of places, started when first used."""

    def __init__(self, key: Key) -> None:
        self.tasks, self.backend, self.verifier, size = key
        self.places = Places(size)
        self.users = 0
        """Desks that use it."""
        self._lock = threading.Lock()
        """Held for the open rollouts and whether all is closed; never while anything is waited for."""
        self._preparing = threading.Lock()
        """Held while tasks are built and the verifier is started, which takes long."""
        self._open: dict[Running, Place] = {}
        """Rollouts under way, each with its place."""
        self._rollouts: LocalRollouts | None = None
        self._packages: dict[str, BuiltPackage] = {}
        self._tasks: list[Task] = []
        self._instances: Instances | None = None
        self._closed = False

    @contextlib.contextmanager
    def borrowed(self, task: str, cancel: threading.Event) -> Iterator[tuple[Launcher, BuiltPackage]]:
        """The launcher and the package of a task, for one rollout.

        Raises:
            UsageError, TaskError: a task does not exist or is malformed.
            OpenFinGymError: a task cannot be built, or there is no verifier.
        """
        with self._preparing:
            rollouts = self._prepared()
        with rollouts.borrowed(cancel) as launcher:
            yield launcher, self._packages[task]

    def brief(
        self, task: str, split: SplitName, instance: int | None, agent: str | Agent, allowance: Allowance | None
    ) -> TaskBrief:
        """What an agent is told of a task or an instance; see :meth:`openfingym.training.Desk.brief`."""
        from openfingym.agents import resolve, with_sampling
        from openfingym.instances import Instances, place_of
        from openfingym.training.briefs import brief_of

        with self._preparing:
            self._built()
            if self._instances is None:
                self._instances = Instances()
            package, instances = self._packages[task], self._instances
        place = place_of(split, instance)
        with contextlib.nullcontext(package) if place is None else instances.hold(package, *place) as seen:
            return brief_of(seen, with_sampling(resolve(agent), append_only=True), allowance, self._libraries)

    @cached_property
    def _libraries(self) -> Libraries | None:
        """The libraries that programs will be able to import; None where nothing on this machine runs them."""
        from openfingym_runtime.backends import select

        try:
            return select(self.backend, trusted=False).libraries()
        except (BackendUnavailableError, UsageError):
            return None

    def begin(self, place: Place, running: Running) -> None:
        """Begin a rollout in a place that was granted.

        Raises:
            RuntimeFailureError: all was closed meanwhile.
        """
        # Entered before it is started, so that close either refuses it here or ends it.
        with self._lock:
            closed = self._closed
            if not closed:
                self._open[running] = place
        if closed:
            self.places.give_back(place)
            raise RuntimeFailureError("the desk was closed while an episode was opened")
        running.start()

    def ended(self, running: Running) -> None:
        """Give back the place of a rollout of which nothing is left."""
        with self._lock:
            place = self._open.pop(running, None)
        if place is not None:
            self.places.give_back(place)

    def look(self, now: float) -> None:
        """End rollouts that are past their deadline, and see to callers that wait for a place.

        Args:
            now: the time by the monotonic clock.
        """
        with self._lock:
            rollouts = list(self._open)
        for running in rollouts:
            if running.cut_at is not None and now >= running.cut_at:
                running.cut("its deadline passed before anything of it was accepted")
        # A rollout that does not wait for an answer is at work, and so is used just now.
        moved = max((running.used_at if running.driver.asking else now for running in rollouts), default=now)
        self.places.look(moved)

    def close(self) -> None:
        """End every rollout, and then the verifier and whatever else was started."""
        with self._lock:
            self._closed = True
            open_rollouts = list(self._open)
        # All are told first, so that they end at the same time.
        for running in open_rollouts:
            running.cut("its desk was closed")
        deadline = time.monotonic() + CLOSE_S
        for running in open_rollouts:
            running.join(max(0.0, deadline - time.monotonic()))
        with self._preparing:
            rollouts, self._rollouts = self._rollouts, None
            instances, self._instances = self._instances, None
        if instances is not None:
            instances.close()
        if rollouts is not None:
            with contextlib.suppress(Exception):
                rollouts.close()

    def _built(self) -> None:
        """Build the tasks, unless they are built; called with the lock for preparing held."""
        if not self._packages:
            from openfingym import catalog
            from openfingym.packages.build import build

            self._tasks = [catalog.load_task(task) for task in self.tasks]
            self._packages = {task.name: build(task) for task in self._tasks}

    def _prepared(self) -> LocalRollouts:
        """The launcher with its verifier, started where it is not yet; called with the lock for preparing held.

        Raises:
            RuntimeFailureError: the desk is closed.
        """
        if self._closed:
            raise RuntimeFailureError("the desk is closed")
        if self._rollouts is None:
            from openfingym.rollouts.local import LocalRollouts
            from openfingym.rollouts.settings import RolloutSettings
            from openfingym.verifiers import find_verifiers

            self._built()
            verifiers = find_verifiers(self.verifier, self._tasks)
            settings = RolloutSettings(backend=self.backend, verifiers=verifiers, patience_s=PATIENCE_S)
            self._rollouts = LocalRollouts(list(self._packages.values()), settings)
        return self._rollouts


class _Process:
    """The machinery of this process, and its janitor."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.all: dict[Key, Machinery] = {}
        # Filled by finalizers, which the garbage collector may run in any thread at any moment, whatever locks are held
        # there: a SimpleQueue may be put to even then.
        self.orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.janitor: threading.Thread | None = None

    def tidy(self) -> None:
        """Carry out what finalizers ask for, and look after what is open, for ever: the janitor's thread."""
        while True:
            with contextlib.suppress(queue.Empty):
                _carry_out(self.orders.get(timeout=LOOK_S))
            with self.lock:
                in_use = list(self.all.values())
            for machinery in in_use:
                machinery.look(time.monotonic())


_processes = [_Process()]
"""The state of this process, the last of the list, and of those that it was forked from. Those are kept: were they
collected in the child, their finalizers would close what the parent still uses."""


def take(key: Key) -> Machinery:
    """The machinery of this process for desks that agree in a key, made where there is none; see :func:`give_back`."""
    process = _processes[-1]
    with process.lock:
        machinery = process.all.setdefault(key, Machinery(key))
        machinery.users += 1
        if process.janitor is None:
            process.janitor = threading.Thread(target=process.tidy, name="openfingym-desk", daemon=True)
            process.janitor.start()
    return machinery


def give_back(key: Key, pid: int) -> None:
    """Release a desk's share of the machinery; the last one closes it.

    Args:
        key: what the desk took it by.
        pid: the process in which it was taken.
    """
    process = _processes[-1]
    # Taken before a fork: it is the parent's to close.
    if process.pid != pid:
        return
    with process.lock:
        machinery = process.all.get(key)
        if machinery is None:
            return
        machinery.users -= 1
        if machinery.users > 0:
            return
        del process.all[key]
    # Outside the lock: closing takes seconds, and other desks may be opened meanwhile.
    machinery.close()


def later(order: Callable[[], None], pid: int) -> None:
    """Have the janitor carry out an order of a finalizer, which was set up in the process ``pid``."""
    if _processes[-1].pid == pid:
        _processes[-1].orders.put(order)


def _carry_out(order: Callable[[], None]) -> None:
    try:
        order()
    except Exception:
        _log.exception("what a desk left behind could not be ended")


def _close_all() -> None:
    """Close everything at the end of the process, while threads can still be started."""
    process = _processes[-1]
    with process.lock:
        in_use = list(process.all.values())
        process.all.clear()
    for machinery in in_use:
        machinery.close()


def _forked() -> None:
    """Begin anew in the child of a fork: the parent's threads and locks are of no use there."""
    _processes.append(_Process())


os.register_at_fork(after_in_child=_forked)
# Thread pools are closed before anything that `atexit` calls, by a hook of threading's own, and closing needs them: so
# it is registered there too. The hook is private, and may be gone one day.
getattr(threading, "_register_atexit", __import__("atexit").register)(_close_all)
