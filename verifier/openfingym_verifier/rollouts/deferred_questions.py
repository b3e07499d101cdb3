"""Which questions a rollout is asked: made up, about a market as it is now, or those that the ledger has."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.kinds.asking import SECOND, QuestionsOrder, RolloutQuestions, ask_simulated
from openfingym.kinds.asking_real import FEWEST_GIVEN, ask_given, ask_real, can_ask, takes_questions
from openfingym.kinds.questions_contract import QuestionsContract, questions_contract
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts import deferred_rows as rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openfingym.questions import Question
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.rows import RolloutRow
    from openfingym_verifier.questions.providers import Providers
    from openfingym_verifier.scoring.truth import HiddenTask


class Asker:
    """Finds questions for rollouts."""

    def __init__(self, ledger: Ledger, providers: Providers) -> None:
        self._ledger = ledger
        self._providers = providers
        self._turns: dict[str, asyncio.Lock] = {}

    def require(self, order: QuestionsOrder, task: HiddenTask) -> None:
        """Return if a rollout of a task can be asked the questions that an order wants.

        Args:
            order: which questions are wanted, and by which clock.
            task: the task of the rollout.

        Raises:
            Problem: ``malformed-request``, with the reason.
        """
        if not task.deferred:
            raise Problem("malformed-request", f"{task.name} asks nothing that is resolved later; leave questions out.")
        if order.clock != REAL_CLOCK:
            return
        if not can_ask(task.spec.contract) and not takes_questions(task.spec.contract):
            raise Problem(
                "malformed-request",
                f"{task.name} is about no market that can be asked; ask with a simulated clock, or in rounds.",
            )
        if order.names and not takes_questions(task.spec.contract):
            raise Problem("malformed-request", f"{task.name} asks about its own market; name no questions.")

    @contextlib.asynccontextmanager
    async def turn(self, order: QuestionsOrder, row: RolloutRow) -> AsyncIterator[None]:
        """A rollout's turn to be asked and written, so that those of one task that begin together on the real clock are
        asked the same.
        """
        # Simulated questions are drawn for each rollout, and no two rollouts have the same.
        if order.clock != REAL_CLOCK:
            yield
            return
        async with self._turns.setdefault(row.task_digest, asyncio.Lock()):
            yield

    def ask(self, order: QuestionsOrder, row: RolloutRow, task: HiddenTask, now_ns: int) -> RolloutQuestions:
        """The questions of a rollout, and what it is shown of them; blocks while a market is asked.

        Args:
            order: which questions are wanted, and by which clock.
            row: the rollout's row, which is not written yet.
            task: the task of the rollout, on the rollout's own tape.
            now_ns: present Unix time in nanoseconds, by the verifier's own clock.

        Raises:
            UsageError: the ledger has no such questions.
            OpenFinGymError: the market cannot be asked.
        """
        contract, first = task.spec.contract, task.manifest.n_public
        if order.clock == REAL_CLOCK:
            names, count = list(task.contract_document["channels"]), task.manifest.n_private
            if takes_questions(contract):
                return ask_given(self._given(order, questions_contract(contract), count, now_ns), names, count, now_ns)
            return self._asked_before(row, task, now_ns) or self._ask_market(row, task, names, count, now_ns)
        return ask_simulated(contract, task.hidden, first, row.id, now_ns)

    def _ask_market(
        self, row: RolloutRow, task: HiddenTask, names: list[str], count: int, now_ns: int
    ) -> RolloutQuestions:
        """Questions about the market of a task as it is now."""
        contract = task.spec.contract
        provider = self._providers.get(questions_contract(contract).provider)
        asked = ask_real(contract, provider, names, count, row.id, now_ns)
        for question in asked.questions:
            provider.check(question)
        return asked

    def _asked_before(self, row: RolloutRow, task: HiddenTask, now_ns: int) -> RolloutQuestions | None:
        """The questions that a rollout of the same task was asked a moment ago, so that agents can be compared; None
        where there are none, or half of the time to answer them is over.
        """
        # No older: whoever begins late could know how the market moved since the price that all are shown.
        since = now_ns - questions_contract(task.spec.contract).window_s * SECOND // 2
        with self._ledger.read() as connection:
            other = rows.asked_since(connection, row.task_digest, since)
            if other is None:
                return None
            earlier, data = rows.outcomes_of(connection, other), rows.shown_to(connection, other)
        return RolloutQuestions(tuple(known.question for known in earlier.questions), data, data.pop("shown"))

    def _given(self, order: QuestionsOrder, contract: QuestionsContract, count: int, now_ns: int) -> list[Question]:
        """The questions that a task without a market of its own is asked.

        Raises:
            UsageError: one that is named cannot be asked, or there are too few, or too many.
        """
        with self._ledger.read() as connection:
            if order.names:
                known = rows.named_questions(connection, order.names)
            else:
                # Those that an agent has time for: open for as long as the task gives it to answer.
                known = rows.open_questions(connection, contract.form, now_ns + contract.window_s * SECOND)[:count]
        asked = [one.question for one in known]
        if unknown := set(order.names) - {question.id for question in asked}:
            raise UsageError(f"there is no question {min(unknown)[:100]!r}; ask it first, with POST /v1/questions")
        # Truths of simulated questions follow from a key on this machine; a real score may not rest on them.
        if made_up := [one.question.id for one in known if one.simulated]:
            raise UsageError(f"question {made_up[0]} is SIMULATED; on the real clock expected one of the real world")
        for question in asked:
            if (question.form, question.clock) != (contract.form, REAL_CLOCK):
                raise UsageError(
                    f"question {question.id} has the form {question.form} and the clock {question.clock}; this task "
                    f"asks {contract.form} on the real clock"
                )
            if question.deadline_ns <= now_ns:
                raise UsageError(f"the deadline of question {question.id} has passed; leave it out")
        if not FEWEST_GIVEN <= len(asked) <= count:
            where = "are named" if order.names else f"of the form {contract.form} take answers for another hour or more"
            where = where.replace("another hour", f"{contract.window_s / 60:g} minutes")
            raise UsageError(
                f"{len(asked)} questions {where}, expected {FEWEST_GIVEN} to {count}; ask some with --questions FILE, "
                "or in rounds (openfingym rounds)"
            )
        return asked
