"""What a rollout may be created on, and by whom: what the policy leaves to the operator alone."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.kinds import looks_ahead
from openfingym.kinds.asking import QuestionsOrder
from openfingym.kinds.question_range import QuestionRange
from openfingym.market.session.terms import SessionOrder
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.bucket import Bucket
from openfingym_verifier.ledger.rows import RolloutRow
from openfingym_verifier.problems import Problem
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from openfingym.results import SplitName
    from openfingym.results.result import PolicyName, TapePolicy
    from openfingym_verifier.episodes.instances import TaskInstances
    from openfingym_verifier.episodes.sessions import Sessions
    from openfingym_verifier.policy import Policy
    from openfingym_verifier.principals import Caller
    from openfingym_verifier.rollouts.deferral import Deferrals
    from openfingym_verifier.scoring.truth import HiddenTask

DEFAULT_TTL_S = 24 * 3600.0


@dataclass(frozen=True)
class CreationRequest:
    """A request for a rollout: its task, and which hidden data it is to be on."""

    task: str
    """Name of the task, which the verifier must hold."""
    agent: str | None = None
    """Name of the agent, which is recorded with the result."""
    agent_digest: str | None = None
    """Hex digest of the agent, its seed left out; None where its caller does not say which agent it is."""
    seed: int | None = None
    """Seed of the agent, which is recorded with the result."""
    ttl_s: float = DEFAULT_TTL_S
    """Seconds until the rollout's token expires."""
    fresh: bool = False
    """Whether the rollout is to have hidden data of its own, where the task can have any; some policies always do."""
    session: SessionOrder | None = None
    """The live session that its private episode is to be, of a task about a live market; None for an episode on the
    package's bars."""
    questions: QuestionsOrder | None = None
    """The questions that it is to be asked in the place of the package's private ones; None for the package's own."""
    question_range: QuestionRange | None = None
    """Which of the package's own questions it is asked and scored on, the others being left out; None for all."""
    split: SplitName = "test"
    """``test`` for the task as it is; else the rollout is on an instance, cut from the task's training data."""
    instance: int | None = None
    """Number of the instance within its split; None on the task as it is."""

    @property
    def changes_private_rows(self) -> bool:
        """Whether the order asks for other private rows than those of the package, or for some of these alone."""
        return self.fresh or self.session is not None or self.questions is not None or self.question_range is not None

    def wants_own_tape(self, policy: TapePolicy) -> bool:
        """Whether the rollout is to have a tape of its own, if its task can have any.

        Args:
            policy: the verifier's policy of tapes; ``fresh`` gives every rollout one.
        """
        # Instances, sessions and slices have private rows from elsewhere: there is no tape to choose.
        if self.split != "test" or self.session is not None or self.question_range is not None:
            return False
        # The outcomes of questions with a simulated clock are those of a drawn tape.
        simulated = self.questions is not None and self.questions.clock != REAL_CLOCK
        return self.fresh or simulated or policy == "fresh"


def new_row(
    order: CreationRequest,
    task: HiddenTask,
    hidden: HiddenTask,
    *,
    principal: str,
    season: str,
    policy: PolicyName,
    now_ns: int,
) -> RolloutRow:
    """The row of the ledger with which a rollout begins, on the given tape.

    Args:
        order: the request for the rollout.
        task: the task that the order names.
        hidden: what the rollout is on: the task itself, or one of its instances.
        principal: name of the principal to whom the rollout belongs.
        season: name of the season in which it begins.
        policy: name of the verifier's policy.
        now_ns: Unix time in nanoseconds at which it begins.
    """
    return RolloutRow(
        # 80 random bits, so that no id is met twice: a rollout's token and its tape follow from it.
        id=f"r{secrets.token_hex(10)}",
        task=order.task,
        task_digest=hidden.manifest.digest,
        agent=order.agent,
        agent_digest=order.agent_digest,
        seed=order.seed,
        # Each question of a range is an episode, and each episode is played once.
        budget=hidden.budget if order.question_range is None else len(order.question_range),
        created_ns=now_ns,
        expires_ns=now_ns + int(order.ttl_s * 1e9),
        accepted=0,
        rejected=0,
        last_refusal=None,
        bucket=Bucket(float(task.spec.verification.burst), now_ns),
        result=None,
        principal=principal,
        season=season,
        policy=policy,
        session=None if order.session is None else order.session.to_dict(),
        questions=None if order.questions is None else order.questions.to_dict(),
        split=order.split,
        instance=order.instance,
        question_range=None if order.question_range is None else str(order.question_range),
    )


class CreationRules:
    """Says of a request for a rollout whether its caller may have it; every check is made before anything is drawn.

    Args:
        policy: the verifier's policy, which says what participants may have.
        sessions: the live sessions of the verifier, which know what can be begun here.
        instances: the instances of the verifier's tasks.
        deferrals: the deferred rollouts, which know what can be asked about what has not happened yet.
    """

    def __init__(self, policy: Policy, sessions: Sessions, instances: TaskInstances, deferrals: Deferrals) -> None:
        self._policy = policy
        self._sessions = sessions
        self._instances = instances
        self._deferrals = deferrals

    async def require(self, order: CreationRequest, task: HiddenTask, caller: Caller | None) -> HiddenTask:
        """Check every rule, and return what the rollout is to be on: the task itself, or one of its instances.

        Args:
            order: the request for the rollout.
            task: the task that the order names, as the verifier holds it.
            caller: the participant who asks; None for the operator.

        Raises:
            Problem: ``malformed-request``: the task has no such instance, session or questions; ``forbidden``: the
                caller may not have it.
            VerifierError: the instance cannot be built.
        """
        self._require_no_hindsight(task, caller)
        hidden = await self._instance(order, task, caller)
        if order.session is not None:
            await self._require_session(order.session, task, caller)
        if order.questions is not None:
            self._require_questions(order.questions, task, caller)
        if order.question_range is not None:
            self._require_range(order, order.question_range, task, caller)
        return hidden

    async def _instance(self, order: CreationRequest, task: HiddenTask, caller: Caller | None) -> HiddenTask:
        """What a rollout of a split is on: the task itself, or one of its instances.

        Raises:
            Problem: ``malformed-request``: there is no such instance; ``forbidden``: the caller may have none.
            VerifierError: the instance cannot be built.
        """
        split, index = order.split, order.instance
        if split == "test":
            if index is not None:
                raise Problem("malformed-request", "The split test is the task as it is; leave out the instance.")
            return task
        if index is None:
            raise Problem("malformed-request", f"A rollout of the split {split} needs the number of an instance.")
        if order.changes_private_rows:
            raise Problem(
                "malformed-request",
                f"An instance of {split} has hidden data of its own; leave out fresh, session and questions.",
            )
        if _is_participant(caller) and not self._policy.instances:
            raise Problem(
                "forbidden",
                f"Instances are the operator's under the {self._policy.name} policy; train against a verifier of your "
                "own, which builds the same ones.",
            )
        try:
            return await self._instances.get(task, split, index)
        except UsageError as error:
            raise Problem("malformed-request", str(error)) from None

    async def _require_session(self, session: SessionOrder, task: HiddenTask, caller: Caller | None) -> None:
        """Return if the caller may have this live session of the task.

        Raises:
            Problem: ``malformed-request``: the task is not about a live market; ``forbidden``: where the market comes
                from is the operator's to say, since a tape that the caller has seen would be known to it.
        """
        if not task.live:
            raise Problem("malformed-request", f"{task.name} is not about a live market; leave out the session.")
        # A participant may choose the length, and nothing else: any other field says where the market comes from.
        if _is_participant(caller) and session != SessionOrder(duration_s=session.duration_s):
            raise Problem("forbidden", "Sessions on a real venue or on a tape are the operator's to begin.")
        # In a thread of the sessions, since the header of a tape is read from the disk.
        await in_threads(self._sessions.threads, self._sessions.require, session, task)

    def _require_questions(self, order: QuestionsOrder, task: HiddenTask, caller: Caller | None) -> None:
        """Return if the caller may say what a rollout is asked of what has not happened yet.

        Raises:
            Problem: ``forbidden``: the caller is a participant; ``malformed-request``: the task asks no such questions.
        """
        if _is_participant(caller):
            raise Problem(
                "forbidden", "Questions of a rollout are the operator's to ask; take part with POST /v1/forecasts."
            )
        self._deferrals.asker.require(order, task)

    def _require_no_hindsight(self, task: HiddenTask, caller: Caller | None) -> None:
        """Return if the caller may have a rollout of the task at all.

        Raises:
            Problem: ``forbidden``: the task's tools look ahead, which shows a participant the answers.
        """
        if not looks_ahead(task.spec.contract) or not _is_participant(caller) or self._policy.question_ranges:
            return
        raise Problem(
            "forbidden",
            f"The tools of {task.name} show the answers; under the {self._policy.name} policy they are the operator's "
            "to try. Take the task without hindsight.",
        )

    def _require_range(
        self, order: CreationRequest, asked: QuestionRange, task: HiddenTask, caller: Caller | None
    ) -> None:
        """Return if the caller may have a rollout of these of the task's questions alone.

        Raises:
            Problem: ``malformed-request``: the task has no such questions; ``forbidden``: the score of a few questions
                would tell a participant their answers.
        """
        if order.fresh or order.session is not None:
            raise Problem("malformed-request", "A slice is of a task's own questions; leave out fresh and session.")
        if _is_participant(caller) and not self._policy.question_ranges:
            raise Problem(
                "forbidden",
                f"Under the {self._policy.name} policy a slice of questions is the operator's to ask, since the score "
                "of a few tells their answers; leave the questions out, and all are asked.",
            )
        try:
            asked.require(task.spec.contract, task.name, task.manifest.n_private)
        except UsageError as error:
            raise Problem("malformed-request", str(error)) from None


def _is_participant(caller: Caller | None) -> bool:
    return caller is not None and not caller.operator
