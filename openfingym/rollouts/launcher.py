"""Running a rollout: verifier, gate, backend and agent put together.

One :class:`Launcher` holds what rollouts share: the verifier (its own process, or those that are
running elsewhere), the gate keepers and the backend. :func:`openfingym.rollouts.single.run` is one
rollout with a launcher of its own, and :class:`openfingym.training.Desk` has rollouts whose model's
answers come from outside.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from openfingym import catalog
from openfingym.agents import Agent, require_model, suited
from openfingym.errors import UsageError, VerifierError
from openfingym.instances import Instances, place_of
from openfingym.kinds import is_live
from openfingym.models.endpoint import PATIENCE_S
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.packages.view import seen_with
from openfingym.results import RolloutResult, SplitName, write_run
from openfingym.rollouts.acting import ActingParts, act
from openfingym.rollouts.bounds import lifetime_s, limits_of
from openfingym.rollouts.order import RolloutOrder
from openfingym.rollouts.resuming import RolloutNote
from openfingym.rollouts.run_files import VerifierRecords, evidence_of, files_of
from openfingym.rollouts.verdict import OURS, Acted, Contact, failed, judged
from openfingym.task import Task
from openfingym.verifiers import VerifierAddress, find_verifiers
from openfingym.verifiers.finding import require_same_build, require_served
from openfingym.verifiers.local import start_on

if TYPE_CHECKING:
    from openfingym.agents.llm.conversation_runner import ConversationRunner
    from openfingym.agents.llm.launching import ModelSetup
    from openfingym.agents.llm.session import Conversation, Listener
    from openfingym.kinds.asking import QuestionsOrder
    from openfingym.market.session.terms import SessionOrder
    from openfingym.models.meter import Allowance
    from openfingym.models.model import LanguageModel
    from openfingym.models.prices import PriceTable
    from openfingym.models.spec import ModelSpec
    from openfingym.verifiers.client import RolloutTicket, VerifierClient
    from openfingym.workspace import WorkspacePool
    from openfingym_runtime.gate import GateKeeper
    from openfingym_runtime.job import Backend, Outcome

INTERRUPTED_S = 10.0
"""Seconds that an interrupted rollout's live session is waited for; its verifier breaks it off with itself."""


@dataclass
class _Line:
    """What is needed to use one verifier: a client, gates, and a pool of workspaces for its tasks."""

    address: VerifierAddress
    client: VerifierClient
    gates: GateKeeper | None = None
    pool: WorkspacePool | None = None


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
            patience_s: seconds to wait for what is away: a model's endpoint, the Docker engine, a verifier that runs
                elsewhere.
            state: folder of the ledger of a verifier that is started here, which stays; None for one that goes with it.
            notice: told what is waited for.
        """
        self.packages = list(packages)
        self._backend_name = backend
        self._verifiers = verifiers
        self._patience_s = patience_s
        self._state, self._notice = state, notice
        self._elsewhere = verifiers is not None
        self._lines: dict[VerifierAddress, _Line] = {}
        self._stack = contextlib.ExitStack()
        self._runners = contextlib.ExitStack()
        self._runner: ConversationRunner | None = None
        self._warmed: set[str] = set()
        self._backends: dict[bool, Backend] = {}
        self.instances = Instances()
        # Rollouts in several threads share a launcher, and make its parts when first needed.
        self._lock = threading.Lock()

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
        """A launcher for tasks given by name, folder or value, building what is not built.

        Args:
            tasks: tasks by name, by folder, or loaded.
            backend: how programs are isolated; see the constructor.
            verifier: where a running one is, or a registry file; None for what the environment says, or one of its own.
            real: whether to use pulled real data where a task's own data is simulated.
            patience_s: seconds to wait for what is away; see the constructor.
            state: folder of a ledger that stays; see the constructor.
            notice: told what is waited for.

        Raises:
            UsageError: a task is named twice, or none or two of the running verifiers are for it.
            VerifierError: one of the verifiers cannot be used for its tasks.
        """
        loaded = [task if isinstance(task, Task) else catalog.load_task(task, real=real) for task in tasks]
        names = [task.name for task in loaded]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"{', '.join(twice)}: named more than once; name each task once")
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
        for package in self.packages:
            address = self._verifiers[package.manifest.name]
            if address not in self._lines:
                self._lines[address] = _Line(address, self._stack.enter_context(contextlib.closing(address.connect())))
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack, self.instances:
            self._runners.close()  # before the gates of its conversations
            for backend in self._backends.values():
                backend.tidy()

    def client_for(self, package: BuiltPackage) -> VerifierClient:
        """A client of the verifier that scores a task.

        Args:
            package: one of the built packages in :attr:`packages`.
        """
        return self._line(package).client

    def _line(self, package: BuiltPackage) -> _Line:
        assert self._verifiers is not None, "the launcher has not been entered"
        return self._lines[self._verifiers[package.manifest.name]]

    def run(
        self,
        package: BuiltPackage,
        agent: Agent,
        *,
        model: ModelSpec | LanguageModel | None = None,
        allowance: Allowance | None = None,
        prices: PriceTable | None = None,
        seed: int = 0,
        out: Path | None = None,
        cancel: threading.Event | None = None,
        listener: Listener | None = None,
        fresh: bool = False,
        session: SessionOrder | None = None,
        questions: QuestionsOrder | str | None = None,
        split: SplitName = "test",
        instance: int | None = None,
        ended: Callable[[Outcome], None] | None = None,
        opened: Callable[[Conversation], None] | None = None,
        note: Path | None = None,
    ) -> RolloutResult:
        """Run one rollout to its verified result.

        Args:
            package: one of the built packages in :attr:`packages`.
            agent: the agent that acts in the rollout.
            model: the language model, for agents that ask one; None for others. An object is asked on the launcher's
                event loop, which runs in a thread of its own; :func:`openfingym.models.on_loop` has it asked on its
                own, and :func:`openfingym.models.from_function` in threads.
            allowance: what such an agent may spend; where it states no turns or no time, the task's size does.
            prices: prices of models; by default the package's own table.
            seed: seed that is given to the agent's program.
            out: folder below which the run is kept; None keeps nothing.
            cancel: ends the program early when set.
            listener: told what an agent that talks says and does, as it does; called in another thread.
            fresh: whether the rollout gets hidden data of its own, where the task can have any; the result's ``tape``
                says which it had.
            session: the live session that the private episode is to be, of a task about a live market; without one it
                is played on the package's own bars.
            questions: the questions that it is to be asked, of a task about what has not happened yet; without them it
                is asked the package's own. With a simulated clock they are resolved before this returns, with the real
                one the result is ``deferred``. Or a text such as ``1-10``: which of its own questions a task that asks
                them one by one is to ask, counted from 1 with both ends; the baseline is scored on the same ones.
            split: ``test`` for the task as it is; ``train`` or ``validation`` for one of its instances, which are cut
                from its training data, and whose results are no scores.
            instance: which instance of the split, from 0.
            ended: told how the program of an agent that is one ended, and what it printed, before it is scored.
            opened: told the conversation of an agent that talks, before it begins, in the thread of its event loop; it
                may be read from any.
            note: file in which a rollout is noted while it is open, of a task that asks questions one by one: if it
                names one of the same order, that one is gone on with. Whoever keeps the result removes it.

        Returns:
            The result; ``state`` is ``error`` where our machinery failed.

        Raises:
            BackendUnavailableError: no backend can run the program here.
            CancelledError: it was cancelled, and ``note`` says where to go on.
            StoreError: the run could not be written.
            UsageError: a built-in agent is not for this task, or its model cannot be asked; or the oracle is to know
                another tape; or the task has no such instance, or no such questions.
        """
        order = RolloutOrder.of(
            package, seed=seed, fresh=fresh, session=session, questions=questions, split=split, instance=instance
        )
        with contextlib.ExitStack() as held:
            package = held.enter_context(self._seen(package, split, instance))
            agent = suited(agent, package.task)
            setup = held.enter_context(self._model_setup(package, agent, model, allowance, prices))
            return self._run(
                package,
                agent,
                order,
                None if setup is None else replace(setup, listener=listener, opened=opened),
                out=out,
                cancel=cancel or threading.Event(),
                ended=ended,
                note=None if note is None else RolloutNote(note),
            )

    def _seen(
        self, package: BuiltPackage, split: SplitName, instance: int | None
    ) -> contextlib.AbstractContextManager[BuiltPackage]:
        """What a rollout of a split is on: the package itself, or one of its instances."""
        place = place_of(split, instance)
        return contextlib.nullcontext(package) if place is None else self.instances.hold(package, *place)

    def _run(
        self,
        package: BuiltPackage,
        agent: Agent,
        order: RolloutOrder,
        setup: ModelSetup | None,
        *,
        out: Path | None,
        cancel: threading.Event,
        ended: Callable[[Outcome], None] | None,
        note: RolloutNote | None,
    ) -> RolloutResult:
        """Run a rollout whose model is open, on the package that its agent sees; see :meth:`run`."""
        backend, line = self._backend(agent), self._line(package)
        # An engine that is away is waited for before the rollout exists, so that its time has not begun.
        if backend is not None:
            backend.ready(self._patience_s, cancel)
        if backend is None and order.questions is not None:
            raise UsageError("the oracle does not know what has not happened yet; run it without --clock")
        started = datetime.now(UTC)
        ttl_s = lifetime_s(package, setup.open_s if setup else None)
        client = line.client.patient(self._patience_s, cancel) if self._elsewhere else line.client
        asked = order.question_range
        ticket = None if note is None else note.ticket(client, ttl_s, package, agent.name, order.seed, asked)
        ticket = ticket or order.create(client, package, agent, ttl_s)
        if note is not None:
            setup = _noted(note, ticket, setup)
        # Asked for each rollout, since a verifier that runs elsewhere may be restarted with another build.
        require_same_build(package, ticket.task_digest, line.address)
        result = order.unscored(
            package,
            agent,
            ticket,
            backend=backend.name if backend else "host",
            model=setup.model.name if setup and setup.model else None,
            started=started,
            resumed=0 if note is None else note.resumed,
        )
        contact = Contact()
        acted, evidence = Acted(contact=contact), VerifierRecords()
        try:
            own = {} if ticket.tape == "given" and order.questions is None else client.data(ticket.rollout_id)
            with seen_with(package, own) as seen, contact.acting.running():
                pool = self._pool_for(line, seen)
                parts = ActingParts(backend, client, partial(self._gate_keeper, line), self._conversation_runner, pool)
                acted = act(seen, agent, setup, ticket, parts, seed=order.seed, cancel=cancel, contact=contact)
            _require_not_left(note, cancel)
            if ended is not None and acted.outcome is not None:
                ended(acted.outcome)
            if acted.played is not None and acted.played.failure is not None:
                raise acted.played.failure
            with contact.finalizing.running():
                verified = client.finalize(ticket.rollout_id, None if order.session is None else ttl_s)
                if verified.state == "deferred" and order.simulates_clock:
                    verified = client.settle(ticket.rollout_id)
            final = judged(result, verified, acted)
            # A score without its evidence would be one that nobody can check.
            evidence = evidence_of(client, package, ticket.rollout_id) if out else evidence
            result = final
        except OURS as error:
            result = failed(result, error, acted)
            with contextlib.suppress(VerifierError):  # it may have been waited for already
                evidence = evidence_of(line.client, package, ticket.rollout_id) if out else evidence
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

    def warm(
        self, package: BuiltPackage, agent: Agent, rollouts: int, *, allowance: Allowance | None = None, size: int = 2
    ) -> None:
        """Have workspaces started for so many rollouts to come of an agent that asks a model, or of a command.

        At most ``size`` of them wait, all tasks together, shared out among the verifiers; the first call decides.

        Raises:
            BackendUnavailableError: no backend can run the agent's programs here.
        """
        from openfingym.agents.llm.launching import open_pool, with_defaults

        backend, line, conversations = self._backend(agent), self._line(package), self._conversation_runner()
        assert backend is not None, "the oracle needs no workspace"
        gates = self._gate_keeper(line)
        with self._lock:
            if line.pool is None:
                line.pool = open_pool(conversations, backend, gates, max(1, size // len(self._lines)))
            self._warmed.add(package.manifest.digest)
        limits = replace(limits_of(package), timeout_s=with_defaults(allowance, package).wall_s or 0.0)
        conversations.call(partial(line.pool.expect, package, rollouts, limits=limits))

    def _pool_for(self, line: _Line, seen: BuiltPackage) -> WorkspacePool | None:
        """The workspaces that wait, where they were started over the data that this rollout sees."""
        own = seen.public in {known.public for known in self.packages}
        return line.pool if own and seen.manifest.digest in self._warmed else None

    @contextlib.contextmanager
    def _model_setup(
        self,
        package: BuiltPackage,
        agent: Agent,
        model: ModelSpec | LanguageModel | None,
        allowance: Allowance | None,
        prices: PriceTable | None,
    ) -> Iterator[ModelSetup | None]:
        """What an agent that talks needs, during the block; None for any other."""
        require_model(agent, given=model is not None)
        if agent.acts is None:
            yield None
            return
        from openfingym.agents.llm.launching import model_setup

        with model_setup(self._conversation_runner(), package, agent.acts, model, allowance, prices) as setup:
            yield setup

    def _conversation_runner(self) -> ConversationRunner:
        with self._lock:
            if self._runner is None:
                from openfingym.agents.llm.conversation_runner import ConversationRunner

                self._runner = self._runners.enter_context(ConversationRunner(patience_s=self._patience_s))
            return self._runner

    def _backend(self, agent: Agent) -> Backend | None:
        if agent.kind == "oracle":
            return None
        with self._lock:
            if agent.trusted not in self._backends:
                from openfingym_runtime.backends import select

                self._backends[agent.trusted] = select(self._backend_name, trusted=agent.trusted)
            return self._backends[agent.trusted]

    def _gate_keeper(self, line: _Line) -> GateKeeper:
        with self._lock:
            if line.gates is None:
                from openfingym_runtime.gate import GateKeeper

                where = line.address.location
                line.gates = self._stack.enter_context(GateKeeper(where if line.address.is_url else Path(where)))
            return line.gates


def _require_not_left(note: RolloutNote | None, cancel: threading.Event) -> None:
    """Return unless somebody is to go on with a rollout that was cancelled, which has no result then.

    Raises:
        CancelledError: it is gone on with.
    """
    if note is not None and cancel.is_set():
        raise CancelledError


def _noted(note: RolloutNote, ticket: RolloutTicket, setup: ModelSetup | None) -> ModelSetup | None:
    """What an agent talks with in a rollout that is noted, and on which something may have been spent."""
    note.begin(ticket.rollout_id)
    return None if setup is None else replace(setup, before=note.spent, charged=note.charge)


def default_session(package: BuiltPackage) -> SessionOrder | None:
    """The session of a rollout where nobody asks for another one: None for a task that is not about a live market."""
    from openfingym.market.session.terms import SessionOrder

    return SessionOrder() if is_live(package.task.spec.contract) else None
