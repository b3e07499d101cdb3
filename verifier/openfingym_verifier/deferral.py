"""Deferred rollouts: questions that are asked when a rollout is created, and the result once they are resolved.

What an agent submits for them is written as forecasts, in the transaction of the submission. The end of the rollout
gives a result in the state ``deferred``; when the last of its questions is scored or void, the final one is written
beside it, once, whoever resolved it and after however many restarts.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.digests import sha256_of, sha256_of_text
from openfingym.errors import OpenFinGymError, UsageError
from openfingym.kinds.asking import QuestionsOrder, clock_of, document_of
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier import deferred_rows as rows
from openfingym_verifier.deferred_asking import Asker
from openfingym_verifier.events import Settled
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions.events import (
    Acknowledgement,
    ClockAdvanced,
    QuestionAsked,
    TruthRecorded,
    deadline_passed,
)
from openfingym_verifier.questions.recorded import record
from openfingym_verifier.settling import deferred_result, settled_result
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from openfingym.kinds import Array
    from openfingym_verifier.deferred_rows import Kept
    from openfingym_verifier.ledger import Ledger
    from openfingym_verifier.ledger_rows import RolloutRow
    from openfingym_verifier.questions.events import ForecastReceived
    from openfingym_verifier.questions.reading import LedgerQuestion
    from openfingym_verifier.questions.service import QuestionService
    from openfingym_verifier.rollout import Rollout
    from openfingym_verifier.rollout_table import RolloutTable
    from openfingym_verifier.tapes import Tapes
    from openfingym_verifier.truth import HiddenTask
    from openfingym_verifier.writer import Transaction

SALT_BYTES = 16
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answered:
    """An answer to a question of a rollout, which is not written yet."""

    known: LedgerQuestion
    forecast: ForecastReceived
    later: Any
    """What is left to wait for of what its market shows; None for nothing."""


class Deferrals:
    """The deferred rollouts of one verifier. Belongs to the event loop, but for :meth:`asked`."""

    def __init__(
        self, ledger: Ledger, questions: QuestionService, tapes: Tapes, rollouts: RolloutTable, threads: Executor
    ) -> None:
        """Take part in drawing tapes and in resolving questions."""
        self._ledger = ledger
        self._questions = questions
        self._tapes = tapes
        self._rollouts = rollouts
        self._threads = threads
        self.asker = Asker(ledger, questions.providers)
        tapes.asked = self.asked
        questions.resolver.settled = self._resolved

    async def ask(self, row: RolloutRow, task: HiddenTask) -> Callable[[Transaction], None]:
        """Ask the questions of a rollout; returns the operation that writes them, behind that of the rollout.

        Args:
            row: the rollout, which is not written yet.
            task: its task, on its own tape.

        Raises:
            Problem: ``unavailable``: the market cannot be asked.
        """
        order, now_ns = order_of(row), self._questions.clocks.real()
        try:
            asked = await in_threads(self._threads, self.asker.ask, order, row, task, now_ns)
        except UsageError as error:
            raise Problem("malformed-request", str(error)) from None
        except OpenFinGymError as error:
            raise Problem("unavailable", f"No questions could be asked: {error}", retry_after_s=60.0) from error
        simulated = order.clock != REAL_CLOCK
        content = rows.packed({**asked.data, "shown": asked.shown})

        def write(transaction: Transaction) -> None:
            if simulated:
                _done(ClockAdvanced(clock_of(order, row.id), now_ns, now_ns).apply(transaction))
            for place, one in enumerate(asked.questions):
                number = _done(QuestionAsked(one, simulated, now_ns, now_ns).apply(transaction))
                transaction.connection.execute(
                    "INSERT INTO rollout_questions VALUES (?, ?, ?)", (row.id, place, number)
                )
                if asked.truths:
                    kept = record(
                        one,
                        {
                            "available_ns": one.evaluation_ns,
                            "truth": asked.truths[place],
                            "source": f"SIMULATED, as drawn for rollout {row.id}",
                            "reference": asked.references[place],
                        },
                    )
                    _done(TruthRecorded(one.id, kept, secrets.token_hex(SALT_BYTES), now_ns).apply(transaction))
            transaction.connection.execute("INSERT INTO rollout_data VALUES (?, ?)", (row.id, content))
            places = "\n".join(f"{place} {one.id}" for place, one in enumerate(asked.questions))
            entry = {"event": "rollout-asked", "at_ns": now_ns, "questions": sha256_of_text(places)}
            transaction.log(row.id, {**entry, "shown": sha256_of(content)})

        return write

    async def ready(self, row: RolloutRow) -> None:
        """Know the clock that the operation of :meth:`ask` has written."""
        order = order_of(row)
        if order.clock != REAL_CLOCK:
            await self._questions.clocks.advance(clock_of(order, row.id), await self._begun(row.id))

    def asked(self, rollout: str, task: HiddenTask) -> HiddenTask:
        """The task as a rollout is asked it: its own questions in the place of the private rows, without outcomes."""
        from openfingym_verifier.truth import load_task

        stored = self._shown_to(rollout)
        first = task.manifest.n_public

        def whole(name: str) -> Array:
            known = np.asarray(task.data[name] if name in task.data else task.package.array(name))
            return np.concatenate([known[:first], stored[name]])

        data = {**task.data, **{name: whole(name) for name in stored if name != "shown"}}
        hidden = {name: np.array(array) for name, array in task.hidden.items()}
        hidden["targets"][first:] = 0.0  # of what nobody is to know, this process knows nothing here either
        return load_task(task.package, hidden, data, f"{task.name}/{rollout}", task.spec)

    async def forecasts(self, rollout: Rollout, values: NDArray[np.float64], first: int) -> list[Answered]:
        """What a submission answers to those of the rollout's questions whose deadline has not passed, with the events
        by which it becomes forecasts.

        Args:
            rollout: the rollout.
            values: the whole submission.
            first: row of the first private question.

        Raises:
            Problem: ``deadline-passed``: that of all of them; or an answer is none.
        """
        kept = await self._kept(rollout.id)
        shown = (await in_threads(self._threads, self._shown_to, rollout.id))["shown"]
        who = (rollout.row.principal, rollout.row.agent or "unnamed", rollout.row.task_digest[:16])
        count = len(kept.questions)
        numbers = values[first : first + count].reshape(count, -1)  # rows behind the questions are unused
        # One time for all of them: a submission comes before a deadline or after it, whatever takes long here.
        now_ns = self._questions.clocks.now(kept.questions[0].question.clock)
        in_time = [place for place, known in enumerate(kept.questions) if now_ns < known.question.deadline_ns]
        if not in_time:
            last = max((known.question for known in kept.questions), key=lambda one: one.deadline_ns)
            raise deadline_passed(last.id, last.deadline_ns)

        async def one(place: int) -> Answered | None:
            known = kept.questions[place]
            answer = document_of(known.question, numbers[place], float(shown[place]))
            try:
                made = await self._questions.prepare(known, who, answer, now_ns, rollout_id=rollout.id)
                return Answered(known, *made)
            except Problem as problem:
                if problem.slug == "truth-known":
                    return None  # of a market that closed early, what was said before it did counts
                raise

        found = await asyncio.gather(*map(one, in_time))
        return [answered for answered in found if answered is not None]

    def written(self, answered: Sequence[Answered], receipts: Sequence[Acknowledgement | Problem]) -> None:
        """Add to forecasts that are written what their markets showed, where it is not known yet."""
        for one, receipt in zip(answered, receipts, strict=True):
            if one.later is not None and isinstance(receipt, Acknowledgement):
                self._questions.add_later(one.later, one.known, receipt.forecast)

    def result(self, rollout: Rollout, now_ns: int, kept: Kept) -> dict[str, object]:
        """The deferred result of a rollout with a submission, without ``log_head``."""
        return deferred_result(rollout, order_of(rollout.row), kept, now_ns)

    async def of(self, rollout: Rollout) -> Kept:
        """What the ledger holds of a rollout's questions."""
        return await self._kept(rollout.id)

    async def settle(self, rollout: Rollout) -> None:
        """Move the simulated clock of a rollout that has ended past its questions, and have them resolved.

        Raises:
            Problem: ``malformed-request`` where its clock is the real one, or it has not ended.
        """
        if rollout.row.questions is None or order_of(rollout.row).clock == REAL_CLOCK:
            raise Problem("malformed-request", "Only questions with a simulated clock are resolved when it is wanted.")
        if rollout.result is None:
            raise Problem("malformed-request", "The rollout has not ended; its clock stands until then.")
        kept, clock = await self._kept(rollout.id), clock_of(order_of(rollout.row), rollout.id)
        end = max(one.question.evaluation_ns for one in kept.questions)
        await self._questions.clocks.advance(clock, max(end, self._questions.clocks.now(clock)))
        await self._questions.resolver.run(clock=clock)

    async def _resolved(self, rows: Sequence[int] | None) -> None:
        """Settle the rollouts that wait for these questions alone; with None all that wait for nothing any more, such
        as those whose task was not held when they were resolved.
        """
        for rollout in await in_threads(self._threads, self._unsettled, None if rows is None else list(rows)):
            await self._settle(rollout)

    async def _settle(self, rollout_id: str) -> None:
        rollout = await self._rollouts.find(rollout_id)
        async with rollout.turn:
            kept = await self._kept(rollout_id)
            if rollout.task is None:
                logger.warning("rollout %s waits for a verifier that holds %s", rollout_id, rollout.row.task)
                return
            if not kept.over or rollout.result is None or rollout.result["state"] != "deferred":
                return
            try:
                task = await self._tapes.of(rollout)
                result = await in_threads(self._threads, self._final, rollout, task, kept)
            except (OpenFinGymError, Problem):
                logger.exception("rollout %s cannot be settled", rollout_id)
                return
            written = await self._ledger.writer.submit(Settled(rollout_id, self._questions.clocks.real(), result).apply)
            if isinstance(written, dict):
                rollout.result = written
            self._tapes.forget(rollout_id)

    def _final(self, rollout: Rollout, task: HiddenTask, kept: Kept) -> dict[str, object]:
        shown = self._shown_to(rollout.id)["shown"]
        return settled_result(rollout, order_of(rollout.row), task, kept, shown, self._questions.clocks.real())

    async def _kept(self, rollout_id: str) -> Kept:
        def look() -> Kept:
            with self._ledger.read() as connection:
                return rows.kept_of(connection, rollout_id)

        return await in_threads(self._threads, look)

    async def _begun(self, rollout_id: str) -> int:
        kept = await self._kept(rollout_id)
        return kept.questions[0].question.generated_ns

    def _shown_to(self, rollout_id: str) -> dict[str, Array]:
        with self._ledger.read() as connection:
            return rows.shown_to(connection, rollout_id)

    def _unsettled(self, questions: list[int] | None) -> list[str]:
        with self._ledger.read() as connection:
            return rows.unsettled(connection, questions)


def order_of(row: RolloutRow) -> QuestionsOrder:
    """Which questions a rollout is asked."""
    assert row.questions is not None, "only a rollout with questions has an order"
    return QuestionsOrder(**row.questions)  # type: ignore[arg-type]  # as QuestionsOrder.to_dict wrote it


def _done(found: object) -> object:
    if isinstance(found, Problem):
        raise found  # what was written of the others is rolled back
    return found
