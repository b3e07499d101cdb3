"""Deferred rollouts: questions that are asked when a rollout is created, and the result once they are resolved.

What an agent submits for them is written as forecasts, in the transaction of the submission. The end of the rollout
gives a result in the state ``deferred``; when the last of its questions is scored or void, the final one is written
beside it, once, whoever resolved it and after however many restarts.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import secrets
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.digests import sha256_of
from openfingym.errors import OpenFinGymError, SubmissionError, UsageError
from openfingym.kinds import kind_named, score_with_replicates
from openfingym.kinds.asking import (
    FEWEST,
    Asked,
    QuestionsOrder,
    ask_real,
    ask_simulated,
    can_ask,
    clock_of,
    document_of,
    numbers_of,
    target_of,
)
from openfingym.kinds.questions import questions_contract
from openfingym.questions import Question, utc_text
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.events import Settled
from openfingym_verifier.finalize import final_result, judge
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions.events import Acknowledgement, ClockAdvanced, QuestionAsked, TruthRecorded
from openfingym_verifier.questions.reading import LedgerQuestion
from openfingym_verifier.questions.recorded import record
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from openfingym.kinds import Array, Fold
    from openfingym_verifier.ledger import Ledger, RolloutRow
    from openfingym_verifier.questions.events import ForecastReceived
    from openfingym_verifier.questions.service import QuestionService
    from openfingym_verifier.rollout import Rollout
    from openfingym_verifier.rollout_table import RolloutTable
    from openfingym_verifier.tapes import Tapes
    from openfingym_verifier.truth import HiddenTask
    from openfingym_verifier.writer import Transaction

SALT_BYTES = 16
logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Kept:
    """What the ledger holds of a deferred rollout's questions, in the order of its private rows."""

    questions: tuple[LedgerQuestion, ...]
    states: tuple[str, ...]
    truths: tuple[Any, ...]
    """None where there is none."""
    answers: tuple[Any, ...]
    """The answers that count, as JSON values; None where there is none."""

    @property
    def over(self) -> bool:
        """Whether every question is scored or void."""
        return all(state in {"scored", "void"} for state in self.states)


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
        tapes.asked = self.asked
        questions.resolver.settled = self._resolved

    def require(self, order: QuestionsOrder, task: HiddenTask) -> None:
        """Return if a task can be asked questions so.

        Raises:
            Problem: ``malformed-request``, with the reason.
        """
        if not task.deferred:
            raise Problem("malformed-request", f"{task.name} asks nothing that is resolved later; leave questions out.")
        if order.clock == REAL_CLOCK and not can_ask(task.spec.contract):
            raise Problem(
                "malformed-request",
                f"{task.name} is about no market that can be asked; ask with a simulated clock, or in rounds.",
            )

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
            asked = await in_threads(self._threads, self._asked_of, order, row, task, now_ns)
        except UsageError as error:
            raise Problem("malformed-request", str(error)) from None
        except OpenFinGymError as error:
            raise Problem("unavailable", f"No questions could be asked: {error}", retry_after_s=60.0) from error
        simulated = order.clock != REAL_CLOCK
        content = _packed({**asked.data, "shown": asked.shown})

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
            entry = {"event": "rollout-asked", "at_ns": now_ns, "questions": len(asked.questions)}
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

        stored = self._data(rollout)
        first = task.manifest.n_public

        def whole(name: str) -> Array:
            known = np.asarray(task.data[name] if name in task.data else task.package.array(name))
            return np.concatenate([known[:first], stored[name]])

        data = {**task.data, **{name: whole(name) for name in stored if name != "shown"}}
        hidden = {name: np.array(array) for name, array in task.hidden.items()}
        hidden["targets"][first:] = 0.0  # of what nobody is to know, this process knows nothing here either
        return load_task(task.package, hidden, data, f"{task.name}/{rollout}", task.spec)

    async def forecasts(self, rollout: Rollout, values: NDArray[np.float64], first: int) -> list[Answered]:
        """What a submission answers to the rollout's questions, with the events by which it becomes forecasts.

        Args:
            rollout: the rollout.
            values: the whole submission.
            first: row of the first private question.

        Raises:
            Problem: ``deadline-passed``, or an answer is none.
        """
        kept, shown = await self._kept(rollout.id), (await in_threads(self._threads, self._data, rollout.id))["shown"]
        who = (rollout.row.principal, rollout.row.agent or "unnamed", rollout.row.task_digest[:16])
        rows = np.atleast_2d(values[first:].reshape(len(kept.questions), -1))

        async def one(place: int) -> Answered | None:
            known = kept.questions[place]
            now_ns = self._questions.clocks.now(known.question.clock)
            answer = document_of(known.question, rows[place], float(shown[place]))
            try:
                made = await self._questions.prepare(known, who, answer, now_ns, rollout_id=rollout.id)
                return Answered(known, *made)
            except Problem as problem:
                if problem.slug == "truth-known":
                    return None  # of a market that closed early, what was said before it did counts
                raise

        found = await asyncio.gather(*map(one, range(len(rows))))
        return [answered for answered in found if answered is not None]

    def written(self, answered: Sequence[Answered], receipts: Sequence[Acknowledgement | Problem]) -> None:
        """Add to forecasts that are written what their markets showed, where it is not known yet."""
        for one, receipt in zip(answered, receipts, strict=True):
            if one.later is not None and isinstance(receipt, Acknowledgement):
                self._questions.add_later(one.later, one.known, receipt.forecast)

    def result(self, rollout: Rollout, now_ns: int, kept: Kept) -> dict[str, object]:
        """The deferred result of a rollout with a submission, without ``log_head``."""
        order = order_of(rollout.row)
        reason = f"its {len(kept.questions)} questions are resolved from {self._first(kept)} to {self._last(kept)}"
        return final_result(rollout, ("deferred", reason), None, [], now_ns, questions=_said(order, kept))

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
        """The final result: the score on what was resolved, or that too little was."""
        now_ns, order, shown = self._questions.clocks.real(), order_of(rollout.row), self._data(rollout.id)["shown"]
        places = [
            place for place, state in enumerate(kept.states) if state == "scored" and kept.answers[place] is not None
        ]
        said = _said(order, kept)
        if len(places) < max(2, FEWEST * len(kept.states)):
            reason = f"{len(places)} of {len(kept.states)} questions have a truth, expected half of them at least"
            return final_result(rollout, ("void", reason), None, [], now_ns, questions=said)
        asked = [kept.questions[place].question for place in places]
        prices = [float(shown[place]) for place in places]
        targets = np.array([target_of(*one) for one in zip(asked, _of(kept.truths, places), prices, strict=True)])
        answers = [numbers_of(*one) for one in zip(asked, _of(kept.answers, places), prices, strict=True)]
        values = np.array(answers).reshape(len(places), *task.shape[1:])
        try:
            score, baseline = scores_on(task, np.array(places), targets, values)
            outcome: Any = judge(task, score, baseline)
        except SubmissionError as error:
            return final_result(rollout, str(error), None, [], now_ns, questions=said)
        return final_result(rollout, outcome, baseline, [], now_ns, questions=said)

    def _asked_of(self, order: QuestionsOrder, row: RolloutRow, task: HiddenTask, now_ns: int) -> Asked:
        contract, first = task.spec.contract, task.manifest.n_public
        if order.clock == REAL_CLOCK:
            provider = self._questions.providers.get(questions_contract(contract).provider)
            names = list(task.told["channels"])
            asked = ask_real(contract, provider, names, task.manifest.n_private, row.id, now_ns)
            for one in asked.questions:
                provider.check(one)
            return asked

        def read(name: str) -> Array:
            return np.asarray(task.data[name] if name in task.data else task.package.array(name))

        return ask_simulated(contract, read, task.hidden["targets"], first, row.id, now_ns)

    async def _kept(self, rollout_id: str) -> Kept:
        def look() -> Kept:
            query = (
                "SELECT questions.id, questions.content, simulated, state, truth, forecasts.answer"
                " FROM rollout_questions JOIN questions ON questions.id = rollout_questions.question"
                " LEFT JOIN resolutions ON resolutions.question = questions.id AND n = 1"
                " LEFT JOIN forecasts ON forecasts.question = questions.id AND counts = 1"
                " AND forecasts.rollout_id = rollout_questions.rollout_id"
                " WHERE rollout_questions.rollout_id = ? ORDER BY row"
            )
            with self._ledger.read() as connection:
                rows = connection.execute(query, (rollout_id,)).fetchall()
            known = [LedgerQuestion(row[0], Question.from_dict(json.loads(row[1])), bool(row[2])) for row in rows]
            parsed = [[None if text is None else json.loads(text) for text in (row[4], row[5])] for row in rows]
            states, truths = tuple(row[3] for row in rows), tuple(one[0] for one in parsed)
            return Kept(tuple(known), states, truths, tuple(one[1] for one in parsed))

        return await in_threads(self._threads, look)

    async def _begun(self, rollout_id: str) -> int:
        kept = await self._kept(rollout_id)
        return kept.questions[0].question.generated_ns

    def _data(self, rollout_id: str) -> dict[str, Array]:
        with self._ledger.read() as connection:
            (content,) = connection.execute(
                "SELECT content FROM rollout_data WHERE rollout_id = ?", (rollout_id,)
            ).fetchone()
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return dict(arrays)

    def _unsettled(self, questions: list[int] | None) -> list[str]:
        """Rollouts with a deferred result none of whose questions is open; of some questions, or of all."""
        query = (
            "SELECT DISTINCT rollouts.id FROM rollouts JOIN rollout_questions ON rollout_id = rollouts.id"
            " WHERE rollouts.questions IS NOT NULL AND settled IS NULL AND json_extract(result, '$.state') = 'deferred'"
            " AND (:some IS NULL OR question IN (SELECT value FROM json_each(:some))) AND NOT EXISTS (SELECT 1 FROM"
            " rollout_questions AS other JOIN questions ON questions.id = other.question"
            " WHERE other.rollout_id = rollouts.id AND state NOT IN ('scored', 'void'))"
        )
        with self._ledger.read() as connection:
            some = None if questions is None else json.dumps(questions)
            return [row[0] for row in connection.execute(query, {"some": some})]

    @staticmethod
    def _first(kept: Kept) -> str:
        return utc_text(min(one.question.evaluation_ns for one in kept.questions) // 10**9 * 10**9)

    @staticmethod
    def _last(kept: Kept) -> str:
        return utc_text(max(one.question.evaluation_ns for one in kept.questions) // 10**9 * 10**9)


def order_of(row: RolloutRow) -> QuestionsOrder:
    """Which questions a rollout is asked."""
    assert row.questions is not None, "only a rollout with questions has an order"
    return QuestionsOrder(**row.questions)  # type: ignore[arg-type]  # as QuestionsOrder.to_dict wrote it


def scores_on(
    task: HiddenTask, places: NDArray[np.int64], targets: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[Any, Any]:
    """Scores of an answer and of the baseline on some of the private rows.

    Args:
        task: the task as the rollout was asked it.
        places: which rows, counted from the first private one.
        targets: their outcomes.
        values: the answers to them.
    """
    contract, scoring, kind = task.spec.contract, task.spec.scoring, kind_named(task.spec.contract)
    first, counts = task.manifest.n_public, (task.manifest.n_public, task.manifest.n_private)
    hidden = {"targets": np.array(task.hidden["targets"])}
    hidden["targets"][first + places] = targets

    def read(name: str) -> Array:
        return np.asarray(task.data[name] if name in task.data else task.package.array(name))

    whole = kind.folds(task.spec, read, hidden, counts, task.grader.private.truth.seed)[1]
    fold, reference = kind.resampled(contract, whole, task.grader.baseline[whole.rows], places)
    design = kind.resampling(contract, fold)
    found = [score_with_replicates(contract, scoring, _all(fold), one, design) for one in (values, reference)]
    return found[0], found[1]


def _all(fold: Fold) -> Fold:
    return replace(fold, rows=slice(None))


def _said(order: QuestionsOrder, kept: Kept) -> dict[str, object]:
    """What a result says of its questions."""
    counts = {name: sum(state == name for state in kept.states) for name in ("scored", "void")}
    return {
        "clock": order.clock,
        "simulated": order.clock != REAL_CLOCK,
        "asked": len(kept.states),
        **counts,
        "open": len(kept.states) - sum(counts.values()),
        "deadline": utc_text(min(one.question.deadline_ns for one in kept.questions)),
        "resolved_from": utc_text(max(one.question.evaluation_ns for one in kept.questions)),
    }


def _of(values: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [values[place] for place in places]


def _done(found: object) -> object:
    if isinstance(found, Problem):
        raise found  # what was written of the others is rolled back
    return found


def _packed(arrays: Mapping[str, Array]) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    return stream.getvalue()
