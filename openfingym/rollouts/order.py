"""The order of a rollout: which data, session, questions or instance its caller asked for; the verifier is told of it,
and the result states it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from openfingym.kinds import is_live
from openfingym.kinds.question_range import QuestionRange
from openfingym.questions.question import REAL_CLOCK
from openfingym.results import RolloutResult, SplitName
from openfingym.rollouts.spec import player_digest

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.kinds.asking import QuestionsOrder
    from openfingym.market.session.terms import SessionOrder
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import Isolation
    from openfingym.rollouts.resuming import RolloutNote
    from openfingym.verifiers.client import RolloutTicket, VerifiedResult, VerifierClient


@dataclass(frozen=True)
class RolloutOrder:
    """The order of one rollout."""

    seed: int = 0
    """Seed that the agent's program is given."""
    fresh: bool = False
    """Whether it gets hidden data of its own, where the task can have any; the result's ``tape`` says which it had."""
    session: SessionOrder | None = None
    """The live session that the private episode is to be, of a task about a live market; None for the package's own
    bars."""
    questions: QuestionsOrder | str | None = None
    """The questions that it is asked, of a task about what has not happened yet: with a simulated clock they are
    resolved before the rollout ends, with the real one its result is ``deferred``. A text such as ``1-10``: which of
    its own questions a task that asks them one by one is to ask, counted from 1 with both ends; the baseline is scored
    on the same ones. None for all of the package's own."""
    split: SplitName = "test"
    """``test`` for the task as it is; ``train`` or ``validation`` for one of its instances, which are cut from its
    training data, and whose results are no scores."""
    instance: int | None = None
    """Which instance of the split, from 0; None on the test split."""

    def checked(self, package: BuiltPackage) -> Self:
        """The order, checked against the package that it is for, with a range of questions in its plain form.

        Args:
            package: the built package of the task.

        Raises:
            UsageError: the text is no range, or the task has no such questions; or its sessions cannot last that long.
        """
        contract = package.task.spec.contract
        if self.session is not None and self.session.duration_s is not None and is_live(contract):
            from openfingym.kinds.live import live_contract, session_terms

            session_terms(live_contract(contract), self.session.duration_s)
        if not isinstance(self.questions, str):
            return self
        asked = QuestionRange.parse(self.questions)
        asked.require(contract, package.manifest.name, package.manifest.n_private)
        return replace(self, questions=str(asked))

    @property
    def question_range(self) -> str | None:
        """Which of the package's own questions it is asked, such as ``1-10``; None where it is not asked a slice."""
        return self.questions if isinstance(self.questions, str) else None

    @property
    def upcoming(self) -> QuestionsOrder | None:
        """The questions about what has not happened yet that it is asked; None for the package's own."""
        return None if isinstance(self.questions, str) else self.questions

    @property
    def simulates_clock(self) -> bool:
        """Whether its questions are on a simulated clock, which is moved past their resolution when the agent is
        done.
        """
        return self.upcoming is not None and self.upcoming.clock == "simulated"

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
            questions=self.question_range if self.upcoming is None else self.upcoming.to_dict(),
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
        of_real_market = self.upcoming is not None and self.upcoming.clock == REAL_CLOCK
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
