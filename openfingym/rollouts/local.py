"""Running rollouts on this machine: one verifier for all tasks of a run, replaced when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from openfingym.errors import RuntimeFailureError, VerifierError
from openfingym.kinds.asking import QuestionsOrder
from openfingym.models.meter import Allowance
from openfingym.results import RolloutResult
from openfingym.rollouts.folders import note_of
from openfingym.rollouts.hooks import RolloutHooks
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder, default_session
from openfingym.rollouts.preparation import is_resumable
from openfingym.rollouts.settings import RolloutSettings
from openfingym.rollouts.spec import RolloutSpec, agent_digest
from openfingym.verifiers import VerifierAddress
from openfingym.verifiers.local import start_on

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage


WATCH_S = 1.0
"""Seconds between two looks at whether the verifier of this process still lives."""
logger = logging.getLogger(__name__)


class Runner(Protocol):
    """Where rollouts are run: on this machine, or on the nodes of a cluster."""

    async def run(self, spec: RolloutSpec, out: Path, started: Callable[[], None]) -> RolloutResult:
        """Run one rollout once a place is free.

        Cancelling it ends the rollout's program, and returns when nothing of it is left.

        Args:
            spec: the rollout to run: task, agent, model, seed and attempt.
            out: folder below which its run is written.
            started: called when the rollout has a place; makes the folder ``out``, or raises where the rollout may not
                begin any more.

        Returns:
            The result, with the folder of its run; its state is ``error`` where our machinery failed.

        Raises:
            OpenFinGymError: there is no result at all, or ``started`` raised.
        """

    async def close(self) -> None:
        """End everything that was started, and wait until it has ended."""


@dataclass
class _Started:
    """A launcher, with the rollouts that are using it."""

    launcher: Launcher
    stack: contextlib.ExitStack
    """Closes the launcher and its verifier."""
    socket: Path | None
    """Socket of a verifier that this process started; None for one that runs elsewhere."""
    running: set[threading.Event] = field(default_factory=set)
    """One event for each rollout that uses the launcher; setting it cancels the rollout."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set when the launcher is closed, so that nobody watches its verifier any more."""

    @property
    def lives(self) -> bool:
        """Whether the verifier still listens; True for one that runs elsewhere, which this process could not
        replace.
        """
        if self.socket is None:
            return True
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(self.socket))
            except OSError:
                return False
            return True

    def watch(self) -> None:
        """Wait until the launcher is closed; if the verifier dies before, cancel the rollouts that would wait for it
        in vain.
        """
        while not self.over.wait(WATCH_S):
            if not self.lives:
                # A copy, since rollouts begin and end in other threads meanwhile.
                for cancel in tuple(self.running):
                    cancel.set()


class LocalRollouts:
    """Runs rollouts of some tasks on this machine; may be used from many threads.

    Where no verifiers are given, one verifier process is started for all tasks, which holds the labels of them all.
    Where that takes too much memory, or scoring too much time, run verifiers for parts of the tasks elsewhere.
    """

    def __init__(self, packages: Sequence[BuiltPackage], settings: RolloutSettings | None = None) -> None:
        """Start nothing before the first rollout.

        Args:
            packages: the built packages of the tasks.
            settings: how the rollouts are run; None for the defaults.
        """
        self._settings = settings or RolloutSettings()
        # A rollout with data of its own cannot have its workspace started before that data is known.
        on_package = [
            spec for spec in self._settings.upcoming if not spec.fresh and spec.clock is None and spec.split == "test"
        ]
        in_workspaces = [spec for spec in on_package if spec.agent.acts is not None]
        self._upcoming = Counter(map(_workspace_key, in_workspaces))
        """Number of rollouts to come that can use the same workspaces."""
        self._examples = {_workspace_key(spec): spec for spec in in_workspaces}
        """One rollout for each key of :attr:`_upcoming`."""
        self._packages = {package.manifest.name: package for package in packages}
        self._lock = threading.Lock()
        """Held while :attr:`_started` or its set of rollouts changes, and while a verifier is started."""
        self._started: _Started | None = None
        self._closed = False

    def run(self, spec: RolloutSpec, out: Path, cancel: threading.Event) -> RolloutResult:
        """Run one rollout to its end.

        Args:
            spec: the rollout to run.
            out: folder below which its run is written.
            cancel: ends the rollout early when set; it is set from here too, where the verifier dies.

        Raises:
            RuntimeFailureError: the package on this machine is another build of the task than the one planned.
            OpenFinGymError: an error of :meth:`Launcher.run`.
        """
        package = self._packages.get(spec.task)
        if package is None or package.manifest.digest != spec.task_digest:
            has = "not at all" if package is None else f"as {package.manifest.digest[:16]}"
            raise RuntimeFailureError(
                f"the run is about build {spec.task_digest[:16]} of {spec.task!r}, which this machine has {has}; "
                "install one version of OpenFinGym and of the task everywhere"
            )
        with self.borrowed(cancel) as launcher:
            # Not before: a launcher that is started for this rollout is to start a workspace for it as well.
            with self._lock:
                self._upcoming[_workspace_key(spec)] -= 1
            try:
                return launcher.run(
                    package,
                    spec.agent,
                    RolloutOrder(
                        seed=spec.seed,
                        fresh=spec.fresh,
                        session=default_session(package) if spec.split == "test" else None,
                        questions=spec.questions if spec.clock is None else QuestionsOrder(spec.clock),
                        split=spec.split,
                        instance=spec.instance,
                    ),
                    model=self._settings.models.find(spec.model) if spec.model else None,
                    allowance=spec.allowance,
                    prices=self._settings.models.prices,
                    out=out,
                    hooks=RolloutHooks(cancel=cancel),
                    note=None
                    if self._settings.notes is None or not is_resumable(spec, package)
                    else note_of(self._settings.notes, spec),
                )
            except CancelledError:
                # Cancelled by the watch over the verifier; or by a caller, who does not look at the error any more.
                raise VerifierError(f"the verifier died while {spec.title} ran") from None

    def close(self) -> None:
        """Stop the verifier, once nobody uses it any more; a second call does nothing."""
        with self._lock:
            self._closed = True
            started, self._started = self._started, None
        # Where rollouts still use the launcher, the last of them closes it; see borrowed().
        if started is not None and not started.running:
            started.stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def borrowed(self, cancel: threading.Event) -> Iterator[Launcher]:
        """The launcher, for the time of one rollout.

        Args:
            cancel: set if the launcher's verifier dies meanwhile.

        Raises:
            OpenFinGymError: no verifier can be started.
        """
        with self._lock:
            # The rollouts of a dead verifier are cancelled by its watch; whoever comes next gets a new verifier.
            if self._started is not None and not self._started.lives:
                dead, self._started = self._started, None
                if not dead.running:
                    dead.stack.close()
            if self._started is None:
                self._started = self._begin()
            started = self._started
            started.running.add(cancel)
        try:
            yield started.launcher
        finally:
            # A launcher that was replaced or closed meanwhile ends with the last rollout that uses it.
            with self._lock:
                started.running.discard(cancel)
                over = started is not self._started and not started.running
            if over:
                started.stack.close()

    def _begin(self) -> _Started:
        """Start a launcher, with a verifier of its own where none are given; the lock is held."""
        if self._closed:
            raise RuntimeFailureError("these rollouts are closed")
        with contextlib.ExitStack() as stack:
            verifiers, uds = self._settings.verifiers, None
            if verifiers is None:
                from openfingym_verifier.embedded import EmbeddedVerifier

                packages, state = list(self._packages.values()), self._settings.state
                embedded = stack.enter_context(
                    EmbeddedVerifier.start(packages) if state is None else start_on(state, packages, logger.warning)
                )
                uds = embedded.uds
                verifiers = dict.fromkeys(self._packages, VerifierAddress(str(uds), embedded.admin_token))
            else:
                # Before anything is shown, so that all agents of a plan were there before it.
                for address in set(verifiers.values()):
                    with address.connect() as client:
                        client.file_agents(self._settings.filed)
            launcher = stack.enter_context(
                Launcher(
                    list(self._packages.values()),
                    backend=self._settings.backend,
                    verifiers=verifiers,
                    patience_s=self._settings.patience_s,
                )
            )
            # The plus sign leaves out the counts that have come down to 0.
            for key, rollouts in (+self._upcoming).items():
                first = self._examples[key]
                launcher.warm(
                    self._packages[first.task],
                    first.agent,
                    rollouts,
                    allowance=first.allowance,
                    size=self._settings.places,
                )
            started = _Started(launcher, stack.pop_all(), uds)
        if uds is not None:
            watch = threading.Thread(target=started.watch, name="verifier-watch", daemon=True)
            watch.start()
            # Called in reverse: the watch is told to end, then waited for, then launcher and verifier are closed.
            started.stack.callback(watch.join)
            started.stack.callback(started.over.set)
        return started


def _workspace_key(spec: RolloutSpec) -> tuple[str, str, Allowance]:
    """The properties that rollouts must have in common to use the same workspaces."""
    return spec.task, agent_digest(spec.agent), spec.allowance


class LocalRunner:
    """Runs rollouts on this machine, a few at once."""

    def __init__(self, rollouts: LocalRollouts, places: int) -> None:
        """Start nothing yet.

        Args:
            rollouts: what runs one rollout in the calling thread; it is closed with the runner.
            places: the most rollouts that run at once.
        """
        self._rollouts = rollouts
        self._places = asyncio.Semaphore(places)
        self._pool = ThreadPoolExecutor(places, thread_name_prefix="rollout")

    async def run(self, spec: RolloutSpec, out: Path, started: Callable[[], None]) -> RolloutResult:
        """See :meth:`Runner.run`."""
        async with self._places:
            started()
            cancel = threading.Event()
            future = asyncio.get_running_loop().run_in_executor(self._pool, self._rollouts.run, spec, out, cancel)
            try:
                # Without the shield, cancelling would give up the future while its thread goes on.
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                cancel.set()
                # The place is free again only when nothing of the rollout is left.
                await asyncio.gather(future, return_exceptions=True)
                raise

    async def close(self) -> None:
        """See :meth:`Runner.close`."""
        # In threads, since both block: the loop has to go on for rollouts that are being cancelled.
        await asyncio.to_thread(self._pool.shutdown)
        await asyncio.to_thread(self._rollouts.close)
