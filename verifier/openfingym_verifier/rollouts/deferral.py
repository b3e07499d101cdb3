"""Deferred rollouts: questions that are asked when a rollout is created, and the result once they are resolved.

What an agent answers to them is written as forecasts, in the transaction of the answer to their window. The end of the
rollout gives a result in the state ``deferred``; when the last of its questions is scored or void, the final one is
written beside it, once, whoever resolved it and after however many restarts.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.digests import sha256_of, sha256_of_text
from openfingym.errors import OpenFinGymError, UsageError
from openfingym.kinds.asking import QuestionsOrder, clock_of, document_of
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions.events import (
    Acknowledgement,
    ClockAdvanced,
    QuestionAsked,
    TruthRecorded,
    deadline_passed,
)
from openfingym_verifier.questions.recorded import record
from openfingym_verifier.rollouts import deferred_rows as rows
from openfingym_verifier.rollouts.deferred_questions import Asker
from openfingym_verifier.rollouts.events import Settled
from openfingym_verifier.rollouts.settlement import deferred_result, settled_result
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from openfingym.kinds.material import Array
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.rows import RolloutRow
    from openfingym_verifier.ledger.writer import Transaction
    from openfingym_verifier.questions.events import ForecastReceived
    from openfingym_verifier.questions.reading import LedgerQuestion
    from openfingym_verifier.questions.service import QuestionService
    from openfingym_verifier.rollouts.deferred_rows import QuestionOutcomes
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.rollouts.table import RolloutTable
    from openfingym_verifier.rollouts.tapes import Tapes
    from openfingym_verifier.scoring.truth import HiddenTask

SALT_BYTES = 16

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answered:
    """An answer to a question of a rollout, which is not written yet."""

    known: LedgerQuestion
    """The question that is answered."""
    forecast: ForecastReceived
    """The event by which the answer becomes a forecast."""
    pending: asyncio.Future[str | None] | None
    """What the question's market shows, as JSON, while the provider has not answered; None if nothing is waited for."""


class Deferrals:
    """The deferred rollouts of one verifier. Belongs to the event loop, but for :meth:`asked`."""

    def __init__(
        self, ledger: Ledger, questions: QuestionService, tapes: Tapes, rollouts: RolloutTable, threads: Executor
    ) -> None:
        """Take part in drawing tapes and in resolving questions.

        Args:
            ledger: the ledger of the verifier.
            questions: asks questions, takes forecasts and resolves; it tells of each question that has ended.
            tapes: the tapes of rollouts, which show a deferred rollout its own questions from now on.
            rollouts: the rollouts in memory.
            threads: where the ledger is read and markets are asked.
        """
        self._ledger = ledger
        self._questions = questions
        self._tapes = tapes
        self._rollouts = rollouts
        self._threads = threads
        self.asker = Asker(ledger, questions.providers)
        tapes.asked = self.asked
        questions.resolver.on_ended = self._settle_all

    async def ask(self, row: RolloutRow, task: HiddenTask) -> Callable[[Transaction], None]:
        """Ask the questions of a rollout; returns the operation that writes them, behind that of the rollout.

        Args:
            row: the rollout's row, which is not written yet.
            task: the task of the rollout, on the rollout's own tape.

        Raises:
            Problem: ``malformed-request``: the ledger has no such questions; ``unavailable``: the market cannot be
                asked.
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
                _require_written(ClockAdvanced(clock_of(order, row.id), now_ns, now_ns).apply(transaction))
            for place, question in enumerate(asked.questions):
                number = _require_written(QuestionAsked(question, simulated, now_ns, now_ns).apply(transaction))
                transaction.connection.execute(
                    "INSERT INTO rollout_questions VALUES (?, ?, ?)", (row.id, place, number)
                )
                if asked.truths:
                    # With the question, before any answer: so the log shows that no truth was chosen afterwards.
                    content_of_truth = record(
                        question,
                        {
                            "available_ns": question.evaluation_ns,
                            "truth": asked.truths[place],
                            "source": f"SIMULATED, as drawn for rollout {row.id}",
                            "reference": asked.references[place],
                        },
                    )
                    salt = secrets.token_hex(SALT_BYTES)
                    _require_written(TruthRecorded(question.id, content_of_truth, salt, now_ns).apply(transaction))
            transaction.connection.execute("INSERT INTO rollout_data VALUES (?, ?)", (row.id, content))
            places = "\n".join(f"{place} {question.id}" for place, question in enumerate(asked.questions))
            entry = {"event": "rollout-asked", "at_ns": now_ns, "questions": sha256_of_text(places)}
            transaction.log(row.id, {**entry, "shown": sha256_of(content)})

        return write

    async def start_clock(self, row: RolloutRow) -> None:
        """Take the simulated clock into memory that the operation of :meth:`ask` has written."""
        order = order_of(row)
        if order.clock != REAL_CLOCK:
            outcomes = await self._outcomes(row.id)
            # To where it stands: this writes nothing, and the clock is known from then on.
            await self._questions.clocks.advance(clock_of(order, row.id), outcomes.questions[0].question.generated_ns)

    def asked(self, rollout: str, task: HiddenTask) -> HiddenTask:
        """The task as a rollout is asked it: its own questions in the place of the private rows, without outcomes.

        Args:
            rollout: id of the rollout.
            task: the task of the rollout, on the tape that the rollout would have without questions.
        """
        from openfingym_verifier.scoring.truth import load_task

        stored, first = self._shown_to(rollout), task.manifest.n_public
        hidden = {
            name: np.concatenate([array[:first], stored[name]]) if name in stored else np.array(array)
            for name, array in task.hidden.items()
        }
        hidden["targets"][first:] = 0.0  # of what nobody is to know, this process knows nothing here either
        return load_task(task.package, hidden, task.data, f"{task.name}/{rollout}", task.spec)

    async def forecasts(self, rollout: Rollout, values: NDArray[np.float64], first: int) -> list[Answered]:
        """What the answer to a window says of those of its questions whose deadline has not passed, with the events by
        which it becomes forecasts.

        Args:
            rollout: the rollout whose answer it is.
            values: the answer to the window, its rows of a submission; float64.
            first: place of the window's first question among those of the rollout.

        Raises:
            Problem: ``deadline-passed``: the deadlines of all questions of the window have passed; or an answer is not
                of the form that its question asks for.
        """
        window = slice(first, first + len(values))
        asked = (await self._outcomes(rollout.id)).questions[window]
        shown = (await in_threads(self._threads, self._shown_to, rollout.id))["shown"][window]
        forecaster = (rollout.row.principal, rollout.row.agent or "unnamed", rollout.row.task_digest[:16])
        numbers = values.reshape(len(values), -1)  # rows behind the questions are unused
        # One time for all of them: an answer comes before a deadline or after it, whatever takes long here.
        now_ns = self._questions.clocks.now(asked[0].question.clock)
        in_time = [place for place, known in enumerate(asked) if now_ns < known.question.deadline_ns]
        if not in_time:
            last = max((known.question for known in asked), key=lambda question: question.deadline_ns)
            raise deadline_passed(last.id, last.deadline_ns)

        async def answered(place: int) -> Answered | None:
            known = asked[place]
            document = document_of(known.question, numbers[place], float(shown[place]))
            try:
                forecast, pending = await self._questions.prepare(
                    known, forecaster, document, now_ns, rollout_id=rollout.id
                )
            except Problem as problem:
                if problem.slug == "truth-known":
                    return None  # of a market that closed early, what was said before it did counts
                raise
            return Answered(known, forecast, pending)

        # Together: each may wait for what its market shows, and they are asked about in one request where possible.
        answers = await asyncio.gather(*map(answered, in_time))
        return [answer for answer in answers if answer is not None]

    async def write(self, answered: Sequence[Answered], step: Callable[[Transaction], None]) -> None:
        """Write the answer to a window together with the forecasts that it makes, or neither; what their markets showed
        is added later where it is not known yet.

        Args:
            answered: the answers of one window, from :meth:`forecasts`.
            step: writes the step by which the window was answered.

        Raises:
            Problem: a forecast is refused.
        """

        def write(transaction: Transaction) -> list[Acknowledgement | Problem]:
            step(transaction)
            receipts = [answer.forecast.apply(transaction) for answer in answered]
            for refused in receipts:
                # A market that closed a moment ago takes no forecast; the answers to the others count all the same.
                # Any other refusal is one of the whole answer, of which then nothing is written.
                if isinstance(refused, Problem) and refused.slug != "truth-known":
                    raise refused
            return receipts

        receipts = await self._ledger.writer.submit(write)
        assert isinstance(receipts, list)
        for answer, receipt in zip(answered, receipts, strict=True):
            if answer.pending is not None and isinstance(receipt, Acknowledgement):
                self._questions.add_later(answer.pending, answer.known, receipt.forecast)

    def result(self, rollout: Rollout, now_ns: int, outcomes: QuestionOutcomes) -> dict[str, object]:
        """The deferred result of a rollout with a submission, without ``log_head``.

        Args:
            rollout: the rollout that has ended.
            now_ns: Unix time in nanoseconds at which it ended.
            outcomes: what the rollout was asked, from :meth:`outcomes`.
        """
        return deferred_result(rollout, order_of(rollout.row), outcomes, now_ns)

    async def outcomes(self, rollout: Rollout) -> QuestionOutcomes:
        """What a rollout was asked, and what has come of it so far, by the ledger."""
        return await self._outcomes(rollout.id)

    async def settle(self, rollout: Rollout) -> None:
        """Move the simulated clock of a rollout that has ended past its questions, and have them resolved.

        Raises:
            Problem: ``malformed-request``: the rollout's clock is the real one, or the rollout has not ended.
        """
        if rollout.row.questions is None or order_of(rollout.row).clock == REAL_CLOCK:
            raise Problem("malformed-request", "Only questions with a simulated clock are resolved when it is wanted.")
        if rollout.result is None:
            raise Problem("malformed-request", "The rollout has not ended; its clock stands until then.")
        outcomes, clock = await self._outcomes(rollout.id), clock_of(order_of(rollout.row), rollout.id)
        end = max(known.question.evaluation_ns for known in outcomes.questions)
        # Never backwards, which would be refused: a repetition finds the clock past the last question.
        await self._questions.clocks.advance(clock, max(end, self._questions.clocks.now(clock)))
        await self._questions.resolver.run(clock=clock)

    async def _settle_all(self, rows: Sequence[int] | None) -> None:
        """Settle the rollouts that wait for these questions alone; with None all that wait for nothing any more, such
        as those whose task was not held when they were resolved.
        """
        for rollout in await in_threads(self._threads, self._unsettled, None if rows is None else list(rows)):
            await self._settle(rollout)

    async def _settle(self, rollout_id: str) -> None:
        """Write the final result of a deferred rollout, if all of its questions have ended and it has none yet."""
        rollout = await self._rollouts.find(rollout_id)
        async with rollout.turn:
            outcomes = await self._outcomes(rollout_id)
            if rollout.task is None:
                logger.warning("rollout %s waits for a verifier that holds %s", rollout_id, rollout.row.task)
                return
            # Looked at in the rollout's turn: another pass may have settled it since it was found.
            if not outcomes.all_ended or rollout.result is None or rollout.result["state"] != "deferred":
                return
            try:
                task = await self._tapes.of(rollout)
                result = await in_threads(self._threads, self._final, rollout, task, outcomes)
            except (OpenFinGymError, Problem):
                # One rollout that fails must not keep others from being settled; the next pass tries it again.
                logger.exception("rollout %s cannot be settled", rollout_id)
                return
            written = await self._ledger.writer.submit(Settled(rollout_id, self._questions.clocks.real(), result).apply)
            if isinstance(written, dict):
                rollout.result = written
            self._tapes.forget(rollout_id)

    def _final(self, rollout: Rollout, task: HiddenTask, outcomes: QuestionOutcomes) -> dict[str, object]:
        """The final result of a rollout whose questions have all ended; in a thread, since it is scored here."""
        shown = self._shown_to(rollout.id)["shown"]
        return settled_result(rollout, order_of(rollout.row), task, outcomes, shown, self._questions.clocks.real())

    async def _outcomes(self, rollout_id: str) -> QuestionOutcomes:
        def look() -> QuestionOutcomes:
            with self._ledger.read() as connection:
                return rows.outcomes_of(connection, rollout_id)

        return await in_threads(self._threads, look)

    def _shown_to(self, rollout_id: str) -> dict[str, Array]:
        with self._ledger.read() as connection:
            return rows.shown_to(connection, rollout_id)

    def _unsettled(self, questions: list[int] | None) -> list[str]:
        with self._ledger.read() as connection:
            return rows.unsettled(connection, questions)


def order_of(row: RolloutRow) -> QuestionsOrder:
    """Which questions a rollout of this row is to be asked."""
    assert row.questions is not None, "only a rollout with questions has an order"
    return QuestionsOrder(**row.questions)  # type: ignore[arg-type]  # as QuestionsOrder.to_dict wrote it


def _require_written(written: object) -> object:
    """What an event returned, unless that is a refusal: raised, it rolls back what was written of the others."""
    if isinstance(written, Problem):
        raise written
    return written
