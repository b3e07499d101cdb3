"""Running a rollout: verifier, gate, backend and agent put together.

One :class:`Launcher` runs many rollouts, which share a verifier (its own process, or those that are running elsewhere)
and the parts in :mod:`openfingym.rollouts.launcher_parts`. :func:`openfingym.rollouts.single.run` is one rollout with
a launcher of its own, and :class:`openfingym.training.Desk` has rollouts whose model's answers come from outside.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from openfingym import catalog
from openfingym.agents import Agent, suited
from openfingym.agents.llm.resources import RolloutResources
from openfingym.errors import UsageError, VerifierError
from openfingym.instances import Instances, place_of
from openfingym.models.endpoint import PATIENCE_S
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.packages.view import seen_with
from openfingym.results import RolloutResult
from openfingym.results.run_folder import write_run
from openfingym.rollouts.acting import act
from openfingym.rollouts.bounds import gate_bounds, lifetime_s, limits_of
from openfingym.rollouts.hooks import RolloutHooks
from openfingym.rollouts.isolation import isolation_of
from openfingym.rollouts.launcher_parts import LauncherParts, VerifierLine
from openfingym.rollouts.order import RolloutOrder
from openfingym.rollouts.resuming import RolloutNote
from openfingym.rollouts.run_files import VerifierRecords, evidence_of, files_of
from openfingym.rollouts.verdict import OURS, Acted, Contact, failed, judged, unexpected_is_ours
from openfingym.task import Task
from openfingym.verifiers import VerifierAddress, find_verifiers
from openfingym.verifiers.finding import require_same_build, require_served
from openfingym.verifiers.local import start_on

if TYPE_CHECKING:
    from openfingym.agents.llm.setup import ModelSetup
    from openfingym.models.meter import Allowance
    from openfingym.models.model import LanguageModel
    from openfingym.models.prices import PriceTable
    from openfingym.models.spec import ModelSpec
    from openfingym.verifiers.client import RolloutTicket, VerifierClient
    from openfingym_runtime.job import Backend

INTERRUPTED_S = 10.0
"""Seconds to wait for the end of an interrupted rollout's live session; a session that takes longer ends with its
verifier."""


class Launcher:
    """Runs rollouts of some tasks; a context manager.

    Attributes:
        packages: the built packages it serves, in the order given.
        instances: the instances that its rollouts are on.
    """

    def __init__(
        self,
        packages: Sequence[BuiltPackage],
        *,
        backend: str = "auto",
        verifiers: Mapping[str, VerifierAddress] | None = None,
        patience_s: float = PATIENCE_S,
        state: Path | None = None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Start nothing yet.

        Args:
            packages: the built packages of the tasks.
            backend: how programs are isolated: ``docker``, ``sandbox`` or ``inline``; ``auto`` for the strongest that
                works here.
            verifiers: addresses of running verifiers, by the names of their tasks; None starts one for all tasks.
            patience_s: seconds to wait for a model's endpoint, the Docker engine or a verifier that runs elsewhere,
                while it does not answer.
            state: folder for the ledger of a verifier that is started here; None for a ledger that is removed with its
                verifier.
            notice: called with a line for people when something is waited for.
        """
        self.packages = list(packages)
        self._verifiers = verifiers
        self._patience_s = patience_s
        self._state, self._notice = state, notice
        self._elsewhere = verifiers is not None
        self._parts = LauncherParts(self.packages, backend, patience_s)
        self._stack = contextlib.ExitStack()
        self.instances = Instances()

    @classmethod
    def for_tasks(
        cls,
        tasks: Sequence[str | Path | Task],
        *,
        backend: str = "auto",
        verifier: str | VerifierAddress | None = None,
        real: bool = False,
        patience_s: float = PATIENCE_S,
        state: Path | None = None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> Launcher:
        """A launcher for tasks that are given by name, folder or value; those that are not built yet are built.

        Args:
            tasks: tasks by name, by folder, or loaded.
            backend: how programs are isolated: ``docker``, ``sandbox`` or ``inline``; ``auto`` for the strongest that
                works here.
            verifier: location of a running verifier, or a registry file of several; None for what
                ``$OPENFINGYM_VERIFIER`` names, or a verifier that is started for this launcher.
            real: whether to use pulled real data where a task's own data is simulated.
            patience_s: seconds to wait for a model's endpoint, the Docker engine or a verifier that runs elsewhere,
                while it does not answer.
            state: folder for the ledger of a verifier that is started here; None for a ledger that is removed with its
                verifier.
            notice: called with a line for people when something is waited for.

        Raises:
            UsageError: two tasks have the same name, or it is not clear which running verifier serves a task.
            VerifierError: one of the verifiers cannot be used for its tasks.
        """
        loaded = [task if isinstance(task, Task) else catalog.load_task(task, real=real) for task in tasks]
        names = [task.name for task in loaded]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"{', '.join(repeated)}: named more than once; name each task once")
        # A wrong address is reported before anything is built, which may take minutes.
        verifiers = find_verifiers(verifier, loaded)
        packages = [build(task) for task in loaded]
        if verifiers is not None:
            require_served(packages, verifiers)
        return cls(packages, backend=backend, verifiers=verifiers, patience_s=patience_s, state=state, notice=notice)

    def __enter__(self) -> Self:
        if self._verifiers is None:
            from openfingym_verifier.embedded import EmbeddedVerifier

            # In a process of its own, which keeps the labels out of this one's memory.
            embedded = self._stack.enter_context(
                EmbeddedVerifier.start(self.packages)
                if self._state is None
                else start_on(self._state, self.packages, self._notice)
            )
            address = VerifierAddress(str(embedded.uds), embedded.admin_token)
            self._verifiers = {package.manifest.name: address for package in self.packages}
        self._parts.connect(self._verifiers)
        return self

    def __exit__(self, *_: object) -> None:
        # What uses the packages of instances and the verifier is closed before these are.
        with self._stack, self.instances:
            self._parts.close()

    def client_for(self, package: BuiltPackage) -> VerifierClient:
        """A client of the verifier that scores a task.

        Args:
            package: one of the built packages in :attr:`packages`.
        """
        return self._parts.line_of(package).client

    def run(
        self,
        package: BuiltPackage,
        agent: Agent,
        order: RolloutOrder | None = None,
        *,
        model: ModelSpec | LanguageModel | None = None,
        allowance: Allowance | None = None,
        prices: PriceTable | None = None,
        out: Path | None = None,
        note: Path | None = None,
        hooks: RolloutHooks | None = None,
    ) -> RolloutResult:
        """Run one rollout to its verified result.

        Args:
            package: one of the built packages in :attr:`packages`.
            agent: the agent that acts in the rollout.
            order: the rollout's seed, data, session, questions and instance; None for the defaults.
            model: the language model, for agents that ask one; None for others. An object is asked on the launcher's
                event loop, which runs in a thread of its own; :func:`openfingym.models.on_loop` has it asked on its
                own, and :func:`openfingym.models.from_function` in threads.
            allowance: what an agent with a model may spend; limits on turns and time that it does not state follow from
                the size of the task.
            prices: prices of models; None for the table that comes with the library.
            out: folder below which the run is kept; None keeps nothing.
            note: file that names the rollout while it is open, of a task that asks questions one by one: a rollout of
                the same order that it names already is gone on with. Whoever keeps the result removes the file.
            hooks: what its caller is told while it runs, and by what it may be cancelled; None for nothing.

        Returns:
            The result; ``state`` is ``error`` where our machinery failed.

        Raises:
            BackendUnavailableError: no backend can run the program here.
            CancelledError: the rollout was cancelled, and ``note`` says where to go on.
            StoreError: the run could not be written.
            UsageError: a built-in agent is not for this task, or its model cannot be asked; or the oracle is to know
                another tape; or the task has no such instance, or no such questions.
        """
        order, hooks = (order or RolloutOrder()).checked(package), hooks or RolloutHooks()
        with contextlib.ExitStack() as held:
            package = held.enter_context(self._seen(package, order))
            agent = suited(agent, package.task)
            setup = held.enter_context(self._parts.model_setup(package, agent, model, allowance, prices))
            if setup is not None:
                setup = replace(setup, listener=hooks.listener, opened=hooks.opened)
            return self._run(
                package, agent, order, setup, out=out, note=None if note is None else RolloutNote(note), hooks=hooks
            )

    def _seen(self, package: BuiltPackage, order: RolloutOrder) -> contextlib.AbstractContextManager[BuiltPackage]:
        """The package that a rollout is on: the task's own, or one of its instances."""
        place = place_of(order.split, order.instance)
        return contextlib.nullcontext(package) if place is None else self.instances.hold(package, *place)

    def _run(
        self,
        package: BuiltPackage,
        agent: Agent,
        order: RolloutOrder,
        setup: ModelSetup | None,
        *,
        out: Path | None,
        note: RolloutNote | None,
        hooks: RolloutHooks,
    ) -> RolloutResult:
        """Run a rollout whose model is open, on the package that its agent sees; see :meth:`run`."""
        cancel = hooks.cancel or threading.Event()
        backend, line = self._parts.backend_for(agent), self._parts.line_of(package)
        # An engine that does not answer is waited for before the rollout exists, so that its time has not begun.
        if backend is not None:
            backend.ready(self._patience_s, cancel)
        if backend is None and order.upcoming is not None:
            raise UsageError("the oracle does not know what has not happened yet; run it without --clock")
        started = datetime.now(UTC)
        ttl_s = lifetime_s(package, setup.open_s if setup else None)
        # A verifier elsewhere may be restarted and come back; one of our own that dies stays dead, and is not waited
        # for.
        client = line.client.patient(self._patience_s, cancel) if self._elsewhere else line.client
        model = setup.model.name if setup and setup.model else None
        ticket = order.resume_or_create(client, note, package, agent, model, ttl_s)
        if note is not None:
            setup = _noted(note, ticket, setup)
        # Asked for each rollout, since a verifier that runs elsewhere may be restarted with another build.
        require_same_build(package, ticket.task_digest, line.address)
        backend_name = backend.name if backend else "host"
        result = order.unscored(
            package,
            agent,
            ticket,
            backend=backend_name,
            isolation=isolation_of(agent, backend_name, model_is_object=setup is not None and setup.is_object),
            model=model,
            started=started,
            resumed=0 if note is None else note.resumed,
        )
        # Filled in as the agent acts, so that what it was told of hidden data is known also where it fails on the way.
        contact = Contact()
        acted, evidence, own = Acted(contact=contact), VerifierRecords(), {}
        try:
            own = {} if ticket.tape == "given" and order.upcoming is None else client.data(ticket.rollout_id)
            with seen_with(package, own) as seen, contact.acting.running():
                resources = self._resources(backend, client, line, seen)
                with unexpected_is_ours():
                    acted = act(seen, agent, setup, ticket, resources, seed=order.seed, cancel=cancel, contact=contact)
            _require_not_left(note, cancel)
            if hooks.ended is not None and acted.outcome is not None:
                hooks.ended(acted.outcome)
            if acted.played is not None and acted.played.failure is not None:
                raise acted.played.failure
            with contact.finalizing.running():
                verified = order.finalize(client, ticket, ttl_s)
            final = judged(result, verified, acted)
            # Before the result becomes a score: one without its evidence could be checked by nobody.
            evidence = evidence_of(client, package, ticket.rollout_id, own) if out else evidence
            result = final
        except OURS as error:
            result = failed(result, error, acted)
            # By the client without patience, since the verifier may have been waited for already.
            with contextlib.suppress(VerifierError):
                evidence = evidence_of(line.client, package, ticket.rollout_id, own) if out else evidence
        except BaseException:
            # Interrupted: the rollout is ended at the verifier too, so that its token opens nothing any more; unless
            # somebody is to go on with it.
            with contextlib.suppress(VerifierError):
                if note is None:
                    line.client.finalize(ticket.rollout_id, None if order.session is None else INTERRUPTED_S)
            raise
        result = replace(result, wall_s=round(acted.own_s, 3), verifier_s=round(acted.verifier_s, 3))
        if out is None:
            return result
        return write_run(out, result, files_of(package, agent, setup, backend, result, acted, evidence))

    def _resources(
        self, backend: Backend | None, client: VerifierClient, line: VerifierLine, seen: BuiltPackage
    ) -> RolloutResources:
        """What an agent acts with on the package that it sees."""
        body, calls = gate_bounds(seen)
        return RolloutResources(
            backend=backend,
            client=client,
            gates=partial(self._parts.gate_keeper, line),
            conversations=self._parts.conversations,
            limits=limits_of(seen),
            max_body_bytes=body,
            max_calls=calls,
            pool=self._parts.pool_for(line, seen),
        )

    def warm(
        self, package: BuiltPackage, agent: Agent, rollouts: int, *, allowance: Allowance | None = None, size: int = 2
    ) -> None:
        """Have workspaces started ahead of need, for rollouts of an agent with a model or a command.

        Args:
            package: one of the built packages in :attr:`packages`.
            agent: the agent that will act in the rollouts.
            rollouts: how many such rollouts will come.
            allowance: what the agent may spend in each of them; None for the defaults of the task.
            size: the most workspaces that wait, all tasks together, shared out among the verifiers; the first call
                decides.

        Raises:
            BackendUnavailableError: no backend can run the agent's programs here.
        """
        self._parts.warm(package, agent, rollouts, allowance=allowance, size=size)


def _require_not_left(note: RolloutNote | None, cancel: threading.Event) -> None:
    """Return unless a rollout that can be gone on with was cancelled, which has no result yet.

    Raises:
        CancelledError: the rollout was cancelled, and its note says where to go on.
    """
    if note is not None and cancel.is_set():
        raise CancelledError


def _noted(note: RolloutNote, ticket: RolloutTicket, setup: ModelSetup | None) -> ModelSetup | None:
    """Write the note of a rollout, and have the agent's meter begin with what was spent on it before."""
    note.begin(ticket.rollout_id)
    return None if setup is None else replace(setup, before=note.spent, charged=note.charge)
