"""What a rollout may be created on, and by whom: what the policy leaves to the operator alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.kinds import looks_ahead
from openfingym.kinds.asking import QuestionsOrder
from openfingym.kinds.question_range import QuestionRange
from openfingym.market.session.terms import SessionOrder
from openfingym_verifier.problems import Problem
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from openfingym.results import SplitName
    from openfingym_verifier.deferral import Deferrals
    from openfingym_verifier.instances import TaskInstances
    from openfingym_verifier.policy import Policy
    from openfingym_verifier.principals import Caller
    from openfingym_verifier.sessions import Sessions
    from openfingym_verifier.truth import HiddenTask


class CreationRules:
    """Says of a request for a rollout whether its caller may have it; every check is made before anything is drawn.

    Args:
        policy: what participants may have.
        sessions: live sessions, which know what of them can be begun here.
        instances: instances of the tasks.
        deferrals: knows what a rollout can be asked of what has not happened yet.
    """

    def __init__(self, policy: Policy, sessions: Sessions, instances: TaskInstances, deferrals: Deferrals) -> None:
        self._policy = policy
        self._sessions = sessions
        self._instances = instances
        self._deferrals = deferrals

    async def instance(
        self, task: HiddenTask, split: SplitName, index: int | None, caller: Caller | None, *, ordered: bool
    ) -> HiddenTask:
        """What a rollout of a split is on: the task itself, or one of its instances.

        Raises:
            Problem: ``malformed-request``: there is no such instance; ``forbidden``: the caller may have none.
            VerifierError: the instance cannot be built.
        """
        if split == "test":
            if index is not None:
                raise Problem("malformed-request", "The split test is the task as it is; leave out the instance.")
            return task
        if index is None:
            raise Problem("malformed-request", f"A rollout of the split {split} needs the number of an instance.")
        if ordered:
            raise Problem(
                "malformed-request",
                f"An instance of {split} has hidden data of its own; leave out fresh, session and questions.",
            )
        if caller is not None and not caller.operator and not self._policy.instances:
            raise Problem(
                "forbidden",
                f"Instances are the operator's under the {self._policy.name} policy; train against a verifier of your "
                "own, which builds the same ones.",
            )
        try:
            return await self._instances.get(task, split, index)
        except UsageError as error:
            raise Problem("malformed-request", str(error)) from None

    async def require_session(self, session: SessionOrder, task: HiddenTask, caller: Caller | None) -> None:
        """Return if the caller may have this live session of the task.

        Raises:
            Problem: ``malformed-request``: the task is not about a live market; ``forbidden``: where the market comes
                from is the operator's to say, since a tape that the caller has seen would be known to it.
        """
        if not task.live:
            raise Problem("malformed-request", f"{task.name} is not about a live market; leave out the session.")
        if caller is not None and not caller.operator and session != SessionOrder(duration_s=session.duration_s):
            raise Problem("forbidden", "Sessions on a real venue or on a tape are the operator's to begin.")
        await in_threads(self._sessions.threads, self._sessions.require, session, task)

    def require_questions(self, order: QuestionsOrder, task: HiddenTask, caller: Caller | None) -> None:
        """Return if the caller may say what a rollout is asked of what has not happened yet.

        Raises:
            Problem: ``forbidden``; ``malformed-request`` where the task asks no such questions.
        """
        if caller is not None and not caller.operator:
            raise Problem(
                "forbidden", "Questions of a rollout are the operator's to ask; take part with POST /v1/forecasts."
            )
        self._deferrals.asker.require(order, task)

    def require_known(self, task: HiddenTask, caller: Caller | None) -> None:
        """Return if the caller may have a rollout of the task at all.

        Raises:
            Problem: ``forbidden``: the task's tools look ahead, which shows a participant the answers.
        """
        if not looks_ahead(task.spec.contract) or caller is None or caller.operator or self._policy.question_ranges:
            return
        raise Problem(
            "forbidden",
            f"The tools of {task.name} show the answers; under the {self._policy.name} policy they are the operator's "
            "to try. Take the task without hindsight.",
        )

    def require_range(self, asked: QuestionRange, task: HiddenTask, caller: Caller | None, *, ordered: bool) -> None:
        """Return if the caller may have a rollout of these of the task's questions alone.

        Raises:
            Problem: ``malformed-request``: the task has no such questions; ``forbidden``: the score of a few questions
                would tell a participant their answers.
        """
        if ordered:
            raise Problem("malformed-request", "A slice is of a task's own questions; leave out fresh and session.")
        if caller is not None and not caller.operator and not self._policy.question_ranges:
            raise Problem(
                "forbidden",
                f"Under the {self._policy.name} policy a slice of questions is the operator's to ask, since the score "
                "of a few tells their answers; leave the questions out, and all are asked.",
            )
        try:
            asked.require(task.spec.contract, task.name, task.manifest.n_private)
        except UsageError as error:
            raise Problem("malformed-request", str(error)) from None
