"""The resolver: finds what is due, asks who knows the truth, and has it written and scored once.

Nothing of a pass is kept but what is in the ledger, so that whichever step a pass breaks off at, the next one goes on
from there. That a question is resolved once is up to the statement that writes it, however many resolvers there are.
"""

from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from openfingym.errors import OpenFinGymError
from openfingym.questions import Question
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.ledger.question_schema import NEVER
from openfingym_verifier.ledger.writer import HEAVY_BYTES
from openfingym_verifier.questions.asking import LONGEST_REASON, DueQuestion, ask, plain, resolution
from openfingym_verifier.questions.reading import question_of
from openfingym_verifier.questions.resolution_events import Postponed, Resolvable, Resolved, Revised
from openfingym_verifier.questions.unscored import next_scores
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from openfingym.questions import ProviderAnswer
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.writer import Transaction
    from openfingym_verifier.questions.asking import DueAnswer
    from openfingym_verifier.questions.clocks import Clocks
    from openfingym_verifier.questions.providers import Providers
    from openfingym_verifier.questions.resolution_events import Resolution

VOID_AFTER_S = 14 * 86_400.0
"""How long after its evaluation time a question is void without a truth (Li et al. 2026, section 3.1)."""
VOID_LOOKS = 3
"""How often a provider was asked at least before its question is void on the real clock: one late look is too few."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 86_400.0
"""Pauses between two looks, in seconds: a minute, twice as long each time, a day at most."""
RECHECK_S, RECHECK_FOR_S = 86_400.0, 7 * 86_400.0
"""Pause between two questions to a provider whether it still says the same, and how long after the evaluation time it
is asked that, in seconds."""
MOVED_RECHECK_S = 7 * 86_400.0
"""The pause by a simulated clock, for a figure that is restated: all else stays the same there for ever."""
RESTATED_FOR_S = 60 * 86_400.0
"""How long after the evaluation time a provider is asked about a figure that is restated: its second print may come a
month after the first."""
BATCH = 500
"""Largest number of questions that are asked about together."""
CHUNK = 250
"""Largest number of events that are written together; forecasts wait meanwhile."""
LIGHT = 20
"""Largest number of events that are staged on the event loop; more would hold it up."""
THREADS = 8
MOST_PROBLEMS = 20
"""Largest number of questions of which a pass says why they failed."""

logger = logging.getLogger(__name__)


@dataclass
class Pass:
    """What one pass of the resolver did, in numbers of questions."""

    resolved: int = 0
    void: int = 0
    waiting: int = 0
    error: int = 0
    revised: int = 0
    scored: int = 0
    forecasts: int = 0
    """Forecasts that were scored."""
    problems: dict[str, str] = field(default_factory=dict)
    """Why something failed, by question; the first few."""

    def fail(self, question: str, reason: str) -> None:
        """Say why a question has no truth or no score."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems[question] = reason


class Resolver:
    """Resolves the questions of one ledger. Belongs to the event loop; providers are asked in its own threads."""

    def __init__(
        self, ledger: Ledger, clocks: Clocks, providers: Providers, *, void_after_s: float | None = None
    ) -> None:
        """Resolve questions of a ledger.

        Args:
            ledger: the ledger of the verifier.
            clocks: the clocks of the questions.
            providers: the providers that know the truths.
            void_after_s: seconds after its evaluation time that a question is void without a truth; None for two weeks.
        """
        self._ledger = ledger
        self._clocks = clocks
        self._providers = providers
        self._void_after_ns = int((VOID_AFTER_S if void_after_s is None else void_after_s) * 1e9)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="resolver")
        self._turn = asyncio.Lock()
        self.on_ended: Callable[[Sequence[int] | None], Awaitable[None]] | None = None
        """Called with the rows of questions that have become scored or void, and with None at the end of a pass."""

    def close(self) -> None:
        """Wait for no provider any longer."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(
        self, *, everything: bool = True, void_after_s: float | None = None, clock: str | None = None
    ) -> Pass:
        """Resolve and score what is due.

        Args:
            everything: whether to ask about every question whose evaluation time has passed; otherwise only about those
                whose pause after the last look is over.
            void_after_s: seconds after its evaluation time that a question is void without a truth; None for what the
                verifier was started with.
            clock: name of the clock whose questions are looked at; None for all.
        """
        done = Pass()
        void_after_ns = self._void_after_ns if void_after_s is None else int(void_after_s * 1e9)
        # A second pass at the same time would ask everything twice, for nothing.
        async with self._turn:
            clocks = {REAL_CLOCK: self._clocks.real(), **self._clocks.simulated}
            for name, now_ns in clocks.items() if clock is None else [(clock, clocks[clock])]:
                due = await in_threads(self._threads, self._due, name, now_ns, everything)
                # Batch by batch, so that a pass that breaks off has finished with all batches before.
                for start in range(0, len(due), BATCH):
                    batch = await in_threads(self._threads, self._load, due[start : start + BATCH])
                    await self._resolve(done, batch, now_ns, void_after_ns)
            if self.on_ended is not None:
                await self.on_ended(None)
        return done

    async def watch(self, every_s: float) -> None:
        """Resolve what is due, again and again, until it is cancelled."""
        while True:
            try:
                await self.run(everything=False)
            except Exception:  # the disk may be full, and not so the next time
                logger.exception("resolving failed and is tried again")
            await asyncio.sleep(every_s)

    async def score(self, done: Pass, rows: Sequence[int]) -> None:
        """Score what has no score yet of these questions, if they are resolved."""
        position: tuple[int, int, int] | None = (0, 0, 0)
        while position is not None:
            computed, position = await in_threads(
                self._threads, next_scores, self._ledger, rows, position, self._clocks.real()
            )
            done.forecasts += sum(len(event.scores) for event in computed.events)
            for name, reason in computed.failures.items():
                done.fail(name, reason)
            scored = await self.write([event.apply for event in computed.events])
            done.scored += sum(map(bool, scored))
            await self.notify_ended(
                [event.question_id for event, last in zip(computed.events, scored, strict=True) if last]
            )

    async def notify_ended(self, rows: Sequence[int]) -> None:
        """Let the rollouts that wait for these questions know that they are scored or void."""
        if self.on_ended is not None and rows:
            await self.on_ended(rows)

    async def write(self, operations: Sequence[Callable[[Transaction], object]]) -> list[object]:
        """Run operations on the ledger, many of them together; returns their results."""
        results: list[object] = []
        for start in range(0, len(operations), CHUNK):
            chunk = operations[start : start + CHUNK]

            def together(transaction: Transaction, chunk: Sequence[Callable[[Transaction], object]] = chunk) -> object:
                return [operation(transaction) for operation in chunk]

            written = await self._ledger.writer.submit(together, size=HEAVY_BYTES + 1 if len(chunk) > LIGHT else 0)
            assert isinstance(written, list)
            results += written
        return results

    def _due(self, clock: str, now_ns: int, everything: bool) -> list[int]:
        """Rows of the questions to ask about: open ones, those that a pass left without scores, and those to ask again.

        Each part is a range of one index, so that a look costs nothing where nothing is due.
        """
        query = (
            "SELECT id FROM questions WHERE clock = :clock AND state IN ('pending', 'scored', 'void')"
            " AND due_ns <= :now UNION ALL"
            " SELECT id FROM questions WHERE clock = :clock AND state IN ('resolvable', 'error')"
            " AND (:all OR due_ns <= :now)"
            " UNION ALL SELECT id FROM questions WHERE clock = :clock AND state = 'resolved'"
        )
        with self._ledger.read() as connection:
            rows = connection.execute(query, {"clock": clock, "now": now_ns, "all": everything})
            return sorted(row["id"] for row in rows)

    def _load(self, rows: Sequence[int]) -> list[DueQuestion]:
        """The questions in these rows, as they are by now."""
        among = "id IN (SELECT value FROM json_each(?))"
        restated = "EXISTS (SELECT 1 FROM resolutions WHERE question = questions.id AND vintage != '')"
        # The text is put together from constants.
        columns = f"id, content, state, attempts, {restated} AS restated"
        query = f"SELECT {columns} FROM questions WHERE {among} ORDER BY id"  # noqa: S608
        with self._ledger.read() as connection:
            return [
                DueQuestion(
                    row["id"],
                    question_of(row["content"]),
                    row["state"],
                    row["attempts"],
                    bool(row["restated"]),
                )
                for row in connection.execute(query, (json.dumps(rows),))
            ]

    async def _resolve(self, done: Pass, batch: Sequence[DueQuestion], now_ns: int, void_after_ns: int) -> None:
        """Ask about some questions of one clock, and write and score what comes of it.

        Args:
            done: the numbers of the pass, which are added to.
            batch: the questions to ask about, all of the same clock.
            now_ns: where their clock stands, in nanoseconds.
            void_after_ns: nanoseconds after its evaluation time that a question is void without a truth.
        """
        at_ns = self._clocks.real()
        # From now on a question takes no forecasts, before its truth is asked for: nobody can see it and still answer.
        new = [Resolvable(due.row, due.question.id, at_ns) for due in batch if due.state == "pending"]
        await self.write([event.apply for event in new])
        by_provider: dict[str, list[DueQuestion]] = {}
        for due in batch:
            # One that an earlier pass resolved, and did not come to score, is not asked about again.
            if due.state != "resolved":
                by_provider.setdefault(due.question.provider, []).append(due)
        asked = [ask(self._providers, self._threads, name, due, now_ns) for name, due in by_provider.items()]
        for answers in await asyncio.gather(*asked):
            await self._record(done, answers, now_ns, void_after_ns)
        await self.score(done, [due.row for due in batch])

    async def _record(self, done: Pass, answers: Sequence[DueAnswer], now_ns: int, void_after_ns: int) -> None:
        """Write what a provider said of questions, and add it to the numbers of a pass."""
        at_ns = self._clocks.real()
        events = [self._event(due, answer, now_ns, at_ns, void_after_ns) for due, answer in answers]
        written = await self.write([event.apply for _, event in events])
        void = []
        for (due, answer), (what, _), new in zip(answers, events, written, strict=True):
            if not new:
                continue
            setattr(done, what, getattr(done, what) + 1)
            if what == "void":
                void.append(due.row)
            if isinstance(answer, OpenFinGymError):
                done.fail(due.question.id, plain(str(answer), LONGEST_REASON))
        await self.notify_ended(void)

    def _event(
        self, due: DueQuestion, answer: ProviderAnswer | OpenFinGymError, now_ns: int, at_ns: int, void_after_ns: int
    ) -> tuple[str, Resolved | Revised | Postponed]:
        """What becomes of a question: the name of that among the numbers of a pass, and the event.

        Args:
            due: the question that was asked about.
            answer: what the question's provider said, or why it could not be asked.
            now_ns: where the question's clock stands.
            at_ns: time of the event, by the verifier's own clock.
            void_after_ns: nanoseconds after its evaluation time that a question is void without a truth.
        """
        name, question = due.question.id, due.question
        # A question that is decided stays so; what its provider says now is kept beside that.
        if due.state in {"scored", "void"}:
            return "revised", self._revised(due, answer, now_ns, at_ns)
        if isinstance(answer, OpenFinGymError):
            return "error", Postponed(
                due.row, name, True, plain(str(answer), LONGEST_REASON), _next_look(due, now_ns), at_ns
            )
        reason = plain(answer.reason, LONGEST_REASON)
        if answer.status == "waiting":
            # A provider that was away for a while, and is asked once after it, is not proof that there is no truth:
            # on the real clock a question is void after several looks only.
            overdue = now_ns - question.evaluation_ns >= void_after_ns
            if not overdue or (due.attempts + 1 < VOID_LOOKS and question.clock == REAL_CLOCK):
                return "waiting", Postponed(due.row, name, False, reason, _next_look(due, now_ns), at_ns)
            reason = f"no truth in time{f': {reason}' if reason else ''}"
        kind: Literal["resolved", "void"] = "resolved" if answer.status == "resolved" else "void"
        later = [resolution("vintage", print_, at_ns) for print_ in answer.later] if kind == "resolved" else []
        first = resolution(kind, answer, at_ns)
        again = recheck(question, now_ns, restated=bool(first.vintage))
        return kind, Resolved(due.row, name, first, again, reason, later)

    def _revised(self, due: DueQuestion, answer: ProviderAnswer | OpenFinGymError, now_ns: int, at_ns: int) -> Revised:
        """The event of a look at a question that is decided."""
        prints: list[Resolution] = []
        if not isinstance(answer, OpenFinGymError) and answer.status != "waiting":
            prints = [
                resolution("vintage" if print_.vintage else "correction", print_, at_ns)
                for print_ in (answer, *answer.later)
            ]
        restated = due.restated or any(print_.vintage for print_ in prints)
        return Revised(due.row, due.question.id, prints, recheck(due.question, now_ns, restated=restated))


def _next_look(due: DueQuestion, now_ns: int) -> int:
    """When a question without a truth is asked about again, in nanoseconds by its clock."""
    if due.question.clock != REAL_CLOCK:
        return now_ns  # only its operator moves it
    # The exponent is bounded, or after a thousand attempts the power would be beyond the range of a float.
    return now_ns + int(min(FIRST_PAUSE_S * 2.0 ** min(due.attempts, 30), LONGEST_PAUSE_S) * 1e9)


def recheck(question: Question, now_ns: int, *, restated: bool = False) -> int:
    """When a provider is asked whether it still says the same, in nanoseconds by the question's clock.

    Args:
        question: the question, which is decided.
        now_ns: where its clock stands.
        restated: whether its truth is a figure of which later prints are told apart.
    """
    if question.clock != REAL_CLOCK and not restated:
        return NEVER
    again = now_ns + int((RECHECK_S if question.clock == REAL_CLOCK else MOVED_RECHECK_S) * 1e9)
    over = question.evaluation_ns + int((RESTATED_FOR_S if restated else RECHECK_FOR_S) * 1e9)
    return again if again <= over else NEVER
