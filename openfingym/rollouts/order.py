"""The order of a rollout: which data, session, questions or instance its caller asked for; the verifier is told of it,
and the result states it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from openfingym.kinds import is_live
from openfingym.kinds.question_range import QuestionRange
from openfingym.questions.question import REAL_CLOCK
from openfingym.results import RolloutResult, SplitName
from openfingym.rollouts.spec import player_digest

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.kinds.questions.asking import QuestionsOrder
    from openfingym.market.session.terms import SessionOrder
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import Isolation
    from openfingym.rollouts.resuming import RolloutNote
    from openfingym.verifiers.client import RolloutTicket, VerifiedResult, VerifierClient


@dataclass(frozen=True)
class RolloutOrder:
    """The order of one rollout.

    Attributes:
        seed: seed that the agent's program is given.
        fresh: whether the rollout gets hidden data of its own, where the task can have any.
        session: the live session that the private episode is to be; None for the package's own bars.
        questions: the questions about what has not happened yet that it is asked; None for the package's own.
        question_range: which of the package's own questions it is asked, such as ``1-10``; None for all.
        split: ``test`` for the task as it is; else the rollout is on an instance.
        instance: which instance of the split, from 0; None on the test split.
    """

    seed: int
    fresh: bool
    session: SessionOrder | None
    questions: QuestionsOrder | None
    question_range: str | None
    split: SplitName
    instance: int | None

    @classmethod
    def of(
        cls,
        package: BuiltPackage,
        *,
        seed: int,
        fresh: bool,
        session: SessionOrder | None,
        questions: QuestionsOrder | str | None,
        split: SplitName,
        instance: int | None,
    ) -> Self:
        """An order that was checked against the package, with a range of questions in its plain form.

        Args:
            package: the built package of the task.
            seed: seed that the agent's program is given.
            fresh: whether the rollout gets hidden data of its own, where the task can have any.
            session: the live session that the private episode is to be; None for the package's own bars.
            questions: an order of questions about what has not happened yet; or as text, such as ``1-10``, which of the
                package's own it is asked; None for all of these.
            split: ``test`` for the task as it is; else the rollout is on an instance.
            instance: which instance of the split, from 0; None on the test split.

        Raises:
            UsageError: the text is no range, or the task has no such questions; or its sessions cannot last that long.
        """
        contract = package.task.spec.contract
        if session is not None and session.duration_s is not None and is_live(contract):
            from openfingym.kinds.live import live_contract, session_terms

            session_terms(live_contract(contract), session.duration_s)
        if not isinstance(questions, str):
            return cls(seed, fresh, session, questions, None, split, instance)
        asked = QuestionRange.parse(questions)
        asked.require(contract, package.manifest.name, package.manifest.n_private)
        return cls(seed, fresh, session, None, str(asked), split, instance)

    @property
    def simulates_clock(self) -> bool:
        """Whether its questions are on a simulated clock, which is moved past their resolution when the agent is
        done.
        """
        return self.questions is not None and self.questions.clock == "simulated"

    def create(
        self, client: VerifierClient, package: BuiltPackage, agent: Agent, model: str | None, ttl_s: float
    ) -> RolloutTicket:
        """Have the verifier begin the rollout.

        Args:
            client: speaks to the verifier that scores the task.
            package: the package that the rollout is on.
            agent: the agent that acts.
            model: name of its language model; None where none is asked.
            ttl_s: seconds until the rollout's token expires.
        """
        return client.create_rollout(
            package.manifest.name,
            agent=agent.name,
            agent_digest=player_digest(agent, model),
            seed=self.seed,
            ttl_s=ttl_s,
            fresh=self.fresh,
            session=None if self.session is None else self.session.to_dict(),
            questions=self.question_range if self.questions is None else self.questions.to_dict(),
            split=self.split,
            instance=self.instance,
        )

    def resume_or_create(
        self,
        client: VerifierClient,
        note: RolloutNote | None,
        package: BuiltPackage,
        agent: Agent,
        model: str | None,
        ttl_s: float,
    ) -> RolloutTicket:
        """The ticket of the rollout that a note names, where that can be gone on with, else of a new one.

        Args:
            client: speaks to the verifier that scores the task.
            note: the note of a rollout that may have been begun before; None for a rollout that keeps none.
            package: the package that the rollout is on.
            agent: the agent that acts.
            model: name of its language model; None where none is asked.
            ttl_s: seconds until the rollout's token expires.
        """
        if note is not None:
            ticket = note.ticket(client, ttl_s, package, agent.name, self.seed, self.question_range)
            if ticket is not None:
                return ticket
        return self.create(client, package, agent, model, ttl_s)

    def finalize(self, client: VerifierClient, ticket: RolloutTicket, ttl_s: float) -> VerifiedResult:
        """End the rollout and get its result; questions on a simulated clock are resolved for it.

        Args:
            client: speaks to the verifier that scores the task.
            ticket: the rollout, as its verifier knows it.
            ttl_s: seconds until the rollout's token expires.
        """
        # A live session goes on to its end before it is scored, so that the answer may take as long.
        verified = client.finalize(ticket.rollout_id, None if self.session is None else ttl_s)
        if verified.state == "deferred" and self.simulates_clock:
            verified = client.settle(ticket.rollout_id)
        return verified

    def unscored(
        self,
        package: BuiltPackage,
        agent: Agent,
        ticket: RolloutTicket,
        *,
        backend: str,
        isolation: Isolation,
        model: str | None,
        started: datetime,
        resumed: int,
    ) -> RolloutResult:
        """The result as it stands before anything is scored; its state is ``error`` until something better is known.

        Args:
            package: the package that the rollout is on.
            agent: the agent that acts.
            ticket: the rollout, as its verifier knows it.
            backend: name of what isolates its programs; ``host`` where nothing is run.
            isolation: what of the agent runs in isolation.
            model: name of the language model; None where none is asked.
            started: time at which the rollout was begun, with a time zone.
            resumed: how often a launcher has gone on with the rollout where an earlier one had died.
        """
        # Questions on the real clock are about the real market, whatever the package's own rows are.
        of_real_market = self.questions is not None and self.questions.clock == REAL_CLOCK
        return RolloutResult(
            rollout_id=ticket.rollout_id,
            task=package.manifest.name,
            task_digest=package.manifest.digest,
            data_kind="real" if of_real_market else package.manifest.data_kind,
            agent=agent.name,
            backend=backend,
            isolation=isolation,
            seed=self.seed,
            state="error",
            model=model,
            budget=ticket.budget,
            tape=ticket.tape,
            split=self.split,
            instance=self.instance,
            questions=self.question_range,
            resumed=resumed,
            started_at=started.astimezone(UTC).isoformat(timespec="milliseconds"),
        )


def default_session(package: BuiltPackage) -> SessionOrder | None:
    """The live session of a rollout whose caller states none; None for a task that is not about a live market."""
    from openfingym.market.session.terms import SessionOrder

    return SessionOrder() if is_live(package.task.spec.contract) else None
