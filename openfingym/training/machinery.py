"""What all desks of a process share: launchers, places, and a janitor that ends what is left behind.

Nothing here is passed to another process: a desk that is pickled, or used after a fork, finds the machinery of the
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
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import RuntimeFailureError
from openfingym.training.places import Place, Places

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.rollouts.launcher import Launcher
    from openfingym.rollouts.local import LocalRollouts
    from openfingym.training.running import Running
    from openfingym.verifiers import VerifierAddress

_log = logging.getLogger(__name__)
LOOK_S = 0.5
"""How often deadlines and places are looked at."""
CLOSE_S = 20.0
"""Seconds that open rollouts are given to end in, where their desk is closed."""
PATIENCE_S = 60.0
"""Seconds to wait for an engine, or a verifier that runs elsewhere, while it does not answer."""

Key = tuple[tuple[str | Path, ...], str, "str | VerifierAddress | None", int]
"""Tasks, backend, verifier, places: desks that agree in them share their machinery."""


class Machinery:
    """One launcher, one verifier and a number of places, started when first used."""

    def __init__(self, key: Key) -> None:
        self.tasks, self.backend, self.verifier, size = key
        self.places = Places(size)
        self.users = 0
        self._lock = threading.Lock()
        self._preparing = threading.Lock()
        self._open: dict[Running, Place] = {}
        self._rollouts: LocalRollouts | None = None
        self._packages: dict[str, BuiltPackage] = {}
        self._closed = False

    @contextlib.contextmanager
    def borrowed(self, task: str, cancel: threading.Event) -> Iterator[tuple[Launcher, BuiltPackage]]:
        """The launcher and the package of a task, for one rollout.

        Raises:
            UsageError, TaskError: the tasks are none.
            OpenFinGymError: they cannot be built, or there is no verifier.
        """
        with self._preparing:
            rollouts = self._prepared()
        with rollouts.borrowed(cancel) as launcher:
            yield launcher, self._packages[task]

    def begin(self, place: Place, running: Running) -> None:
        """Begin a rollout in a place that was granted."""
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
        """End what is past its deadline, and see to those who wait for a place."""
        with self._lock:
            running = list(self._open)
        for one in running:
            if one.cut_at is not None and now >= one.cut_at:
                one.cut("its deadline passed before anything of it was accepted")
        # What does something moves, whether or not somebody asked for it.
        moved = max((one.used_at if one.driver.asking else now for one in running), default=now)
        self.places.look(moved)

    def close(self) -> None:
        """End every rollout, and then the verifier and whatever else was started."""
        with self._lock:
            self._closed = True
            running = list(self._open)
        for one in running:
            one.cut("its desk was closed")
        deadline = time.monotonic() + CLOSE_S
        for one in running:
            one.join(max(0.0, deadline - time.monotonic()))
        with self._preparing:
            rollouts, self._rollouts = self._rollouts, None
        if rollouts is not None:
            with contextlib.suppress(Exception):
                rollouts.close()

    def _prepared(self) -> LocalRollouts:
        if self._closed:
            raise RuntimeFailureError("the desk is closed")
        if self._rollouts is None:
            from openfingym import catalog
            from openfingym.packages.build import build
            from openfingym.rollouts.local import LocalRollouts
            from openfingym.rollouts.settings import RolloutSettings
            from openfingym.verifiers import find_verifiers

            loaded = [catalog.load_task(task) for task in self.tasks]
            verifiers = find_verifiers(self.verifier, loaded)
            self._packages = {task.name: build(task) for task in loaded}
            settings = RolloutSettings(backend=self.backend, verifiers=verifiers, patience_s=PATIENCE_S)
            self._rollouts = LocalRollouts(list(self._packages.values()), settings)
        return self._rollouts


class _Process:
    """The machinery of this process, and its janitor."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.all: dict[Key, Machinery] = {}
        # Filled by finalizers, which may run in any thread at any time, under any lock: it takes none.
        self.orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.janitor: threading.Thread | None = None

    def tidy(self) -> None:
        """Carry out what finalizers ask for, and look after what is open; the janitor's thread."""
        while True:
            with contextlib.suppress(queue.Empty):
                _carried_out(self.orders.get(timeout=LOOK_S))
            with self.lock:
                machinery = list(self.all.values())
            for one in machinery:
                one.look(time.monotonic())


_processes = [_Process()]
"""This process, and before it its parents by fork: kept, so that nothing of theirs is closed from here."""


def take(key: Key) -> Machinery:
    """The machinery of this process for desks of a kind, which is made where there is none; see :func:`give_back`."""
    process = _processes[-1]
    with process.lock:
        machinery = process.all.setdefault(key, Machinery(key))
        machinery.users += 1
        if process.janitor is None:
            process.janitor = threading.Thread(target=process.tidy, name="openfingym-desk", daemon=True)
            process.janitor.start()
    return machinery


def give_back(key: Key, pid: int) -> None:
    """Release a share of the machinery; the last one closes it."""
    process = _processes[-1]
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
    machinery.close()


def later(order: Callable[[], None], pid: int) -> None:
    """Have the janitor do something, for a finalizer."""
    if _processes[-1].pid == pid:
        _processes[-1].orders.put(order)


def _carried_out(order: Callable[[], None]) -> None:
    try:
        order()
    except Exception:
        _log.exception("what a desk left behind could not be ended")


def _close_all() -> None:
    """At the end of the process: end everything in order, while threads still can be started."""
    process = _processes[-1]
    with process.lock:
        machinery = list(process.all.values())
        process.all.clear()
    for one in machinery:
        one.close()


def _forked() -> None:
    """In the child of a fork: begin anew, and let go of what would keep the parent's verifier alive."""
    _processes.append(_Process())


os.register_at_fork(after_in_child=_forked)
# The pools of threads that the launcher uses are closed before what `atexit` calls.
getattr(threading, "_register_atexit", __import__("atexit").register)(_close_all)
