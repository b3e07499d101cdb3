"""Questions and forecasts of one verifier, apart from HTTP. Belongs to the event loop."""

from __future__ import annotations

import asyncio
import secrets
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError, OpenFinGymError, SubmissionError, UsageError
from openfingym.questions import Question, read_answer
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.bucket import Bucket, Rate, take
from openfingym_verifier.intake import refusal
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions import reading
from openfingym_verifier.questions.clocks import Clocks
from openfingym_verifier.questions.events import (
    Acknowledgement,
    ForecastReceived,
    QuestionAsked,
    TruthRecorded,
    deadline_passed,
    forecast_digest,
    refusal_of,
)
from openfingym_verifier.questions.providers import Providers
from openfingym_verifier.questions.recorded import record
from openfingym_verifier.questions.references import References
from openfingym_verifier.questions.resolving import Resolver
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openfingym.questions import Answer
    from openfingym_verifier.ledger import Ledger
    from openfingym_verifier.principals import Caller
    from openfingym_verifier.questions.reading import LedgerQuestion
    from openfingym_verifier.writer import Transaction

RATE = Rate(per_second=2.0, burst=5000)
"""Forecasts of a participant, each of which takes room on the disk for ever: a few hundred megabytes a day at most."""
MOST_NAMES = 10_000
"""Agents and versions of a principal: a report tells a million of them apart, of all principals together."""
MOST_KNOWN = 16_384
"""Questions and forecasters that are kept in memory."""
NUMBERS = frozenset({"probability", "value"})
"""Forms whose answer is one number, by which forecasts can be compared in the ledger."""
SALT_BYTES = 16
SHOWN_S = 30.0
"""Longest that the operator waits for what a market shows."""


class QuestionService:
    """Asks questions, takes forecasts, and has both resolved."""

    def __init__(self, ledger: Ledger, threads: Executor, secret: bytes, *, void_after_s: float | None = None) -> None:
        """Read the simulated clocks.

        Args:
            ledger: where questions and forecasts are recorded.
            threads: where the ledger is read.
            secret: key from which simulated providers make up their truths.
            void_after_s: seconds after its evaluation time that a question is void without a truth; None for two weeks.
        """
        self._ledger = ledger
        self._threads = threads
        self.clocks = Clocks(ledger)
        self.providers = Providers(ledger, secret)
        self._references = References(self.providers, self.clocks, ledger.writer)
        self.resolver = Resolver(ledger, self.clocks, self.providers, void_after_s=void_after_s)
        self._known: dict[str, LedgerQuestion] = {}
        self._forecasters: dict[tuple[str, str, str], int] = {}
        self._buckets: dict[str, Bucket] = {}

    def close(self) -> None:
        """Let go of providers; what is underway is finished by nobody, and found again at the next start."""
        self._references.close()
        self.resolver.close()
        self.providers.close()

    async def ask(self, documents: Sequence[Mapping[str, Any]]) -> list[LedgerQuestion]:
        """Ask questions, all or none of them; those that were asked before, with the same content, stay as they are.

        Raises:
            Problem: ``malformed-request``, ``deadline-passed``, ``idempotency-conflict``, or ``not-found`` for a clock.
        """
        # Reading thousands takes a second, in which others are to be answered.
        found, simulated = await in_threads(self._threads, self._checked, documents)
        clocks = [self.clocks.now(one.clock) for one in found]
        at_ns = self.clocks.real()
        asked = [
            QuestionAsked(one, made_up, at_ns, now) for one, made_up, now in zip(found, simulated, clocks, strict=True)
        ]

        def write(transaction: Transaction) -> list[int]:
            rows = []
            for one in asked:
                row = one.apply(transaction)
                if isinstance(row, Problem):
                    raise row  # what was written of the others is rolled back
                rows.append(row)
            return rows

        rows = await self._ledger.writer.submit(write, size=sum(len(one.text) for one in found))
        assert isinstance(rows, list)
        return [reading.LedgerQuestion(*one) for one in zip(rows, found, simulated, strict=True)]

    def _checked(self, documents: Sequence[Mapping[str, Any]]) -> tuple[list[Question], list[bool]]:
        """Questions, and whether the truth or the clock of each is made up; in a thread, since a provider's module is
        loaded.
        """
        questions, found = [_read(document) for document in documents], []
        if len({one.id for one in questions}) < len(questions):
            raise Problem("malformed-request", "Two of these questions have the same id.")
        for one in questions:
            try:
                provider = self.providers.get(one.provider)
                provider.check(one)
            except UsageError as error:
                raise Problem("malformed-request", str(error)) from None
            # Of a past that is replayed, the clock is moved and the truths are real.
            found.append(provider.simulated or not (one.clock == REAL_CLOCK or one.replayed))
        return questions, found

    async def record(self, truths: Sequence[Mapping[str, Any]]) -> int:
        """Put truths of past questions aside, all or none of them, until the clock of their replay has come to them.

        Args:
            truths: one mapping a question, with its id as ``question``, and the rest as the document that
                :func:`openfingym_verifier.questions.recorded.record` reads.

        Raises:
            Problem: ``not-found``, ``malformed-request`` or ``idempotency-conflict``.
        """
        events = []
        for document in truths:
            known = await self.find(str(document.get("question")))
            rest = {name: value for name, value in document.items() if name != "question"}
            try:
                content = record(known.question, rest)
            except (UsageError, DataError, ValueError) as error:
                raise Problem("malformed-request", str(error)) from None
            events.append(TruthRecorded(known.question.id, content, secrets.token_hex(SALT_BYTES), self.clocks.real()))

        def write(transaction: Transaction) -> None:
            for one in events:
                refused = one.apply(transaction)
                if refused is not None:
                    raise refused

        await self._ledger.writer.submit(write, size=sum(len(one.content) for one in events))
        return len(events)

    async def forecast(
        self,
        caller: Caller,
        question: str,
        answer: object,
        *,
        agent: str,
        version: str,
        idempotency_key: str | None = None,
    ) -> Acknowledgement:
        """Take a forecast; its latest before the deadline counts, of each principal, agent and version.

        Raises:
            Problem: ``not-found``, ``deadline-passed``, ``truth-known``, ``idempotency-conflict``, ``rate-limited``, or
                what is wrong with the answer; nothing was recorded.
        """
        known = await self.find(question, caller)
        # Taken before anything is awaited that a provider could delay.
        received_ns = self.clocks.now(known.question.clock)
        self._take_token(caller)
        who = (caller.name, agent, version)
        try:
            forecast, later = await self.prepare(known, who, answer, received_ns, idempotency_key=idempotency_key)
        except Problem as problem:
            if problem.slug not in {"deadline-passed", "truth-known"}:
                raise
            # What was acknowledged before is acknowledged again, whatever has become of the question meanwhile.
            return await self._acknowledged(known, who, answer, idempotency_key, problem)
        receipt = await self._ledger.writer.submit(forecast.apply, overtakes=True)
        if isinstance(receipt, Problem):
            raise receipt
        assert isinstance(receipt, Acknowledgement)
        if later is not None and receipt.new:
            self._references.add_later(later, known, receipt.forecast)
        return receipt

    async def prepare(
        self,
        known: LedgerQuestion,
        forecaster: tuple[str, str, str],
        answer: object,
        received_ns: int,
        *,
        idempotency_key: str | None = None,
        rollout_id: str | None = None,
    ) -> tuple[ForecastReceived, Any]:
        """The event of a forecast, with what the market shows, and what is left to wait for of that.

        Args:
            known: the question that it answers.
            forecaster: principal, agent and version.
            answer: the answer as it was sent.
            received_ns: when it came, by the question's clock.
            idempotency_key: under which it may be sent again.
            rollout_id: the rollout that it belongs to.

        Raises:
            Problem: the answer is none, the deadline has passed, or the market shows that its truth is known.
        """
        question = known.question
        read = _answer(question, answer)
        if self.clocks.is_over(question, received_ns):
            # Before anything is written or asked, such as the name of a new forecaster.
            raise deadline_passed(question.id, question.deadline_ns)
        forecaster_id = await self._forecaster(forecaster)
        reference, later = await self._references.capture(known, received_ns)
        text, salt = read.canonical.decode(), secrets.token_hex(SALT_BYTES)
        forecast = ForecastReceived(
            question_id=known.row,
            question=question.id,
            forecaster_id=forecaster_id,
            forecaster=forecaster,
            rollout_id=rollout_id,
            received_ns=received_ns,
            at_ns=self.clocks.real(),
            answer=text,
            salt=salt,
            digest=forecast_digest(salt, text),
            idempotency_key=idempotency_key,
            reference=reference,
            p=read.values[0] if question.form in NUMBERS else None,
            simulated=question.clock != REAL_CLOCK,
        )
        return forecast, later

    async def _acknowledged(
        self, known: LedgerQuestion, forecaster: tuple[str, str, str], answer: object, key: str | None, refused: Problem
    ) -> Acknowledgement:
        """The receipt of a forecast that a key has written already.

        Raises:
            Problem: ``refused``, or that the truth is known, where it has written none; ``idempotency-conflict`` where
                another one.
        """
        found = None if key is None else await self.read(reading.forecast_by_key, forecaster, key)
        if found is None:
            if refused.slug == "deadline-passed":
                raise await self.read(refusal_of, known.row, known.question.id)
            raise refused
        text = _answer(known.question, answer).canonical.decode()
        if (found["question"], found["answer"]) != (known.row, text):
            raise Problem("idempotency-conflict", f"This key was used for forecast {found['id']} with another content.")
        return Acknowledgement(
            found["id"],
            found["received_ns"],
            found["digest"],
            found["salt"],
            found["reference"] is not None,
            found["log_row"],
            new=False,
        )

    def add_later(self, later: Any, known: LedgerQuestion, forecast: int) -> None:
        """Add to a forecast that is written what the market showed, once its provider has answered."""
        self._references.add_later(later, known, forecast)

    async def shown(self, document: Mapping[str, Any]) -> dict[str, Any] | None:
        """What the market shows of a question now, by its clock; None where it shows nothing.

        Args:
            document: the question, which need not have been asked.

        Raises:
            Problem: ``malformed-request``, ``not-found`` for its clock, or ``unavailable`` where its provider cannot be
                asked.
        """
        question = _read(document)
        now_ns = self.clocks.now(question.clock)

        def look() -> dict[str, Any] | None:
            try:
                provider = self.providers.get(question.provider)
                provider.check(question)
            except UsageError as error:
                raise Problem("malformed-request", str(error)) from None
            try:
                found = provider.reference(question, now_ns)
            except OpenFinGymError as error:
                raise Problem("unavailable", f"{question.provider} cannot be asked: {error}") from None
            return None if found is None else dict(found)

        try:
            async with asyncio.timeout(SHOWN_S):
                found: dict[str, Any] | None = await in_threads(self._threads, look)
        except TimeoutError:
            raise Problem("unavailable", f"{question.provider} did not answer within {SHOWN_S:g} s.") from None
        return found

    async def find(self, name: str, caller: Caller | None = None) -> LedgerQuestion:
        """A question by its id.

        Args:
            name: the id.
            caller: who asks; None for the verifier itself.

        Raises:
            Problem: ``not-found``, also of one that is nobody's to know but its rollout's owner.
        """
        found = self._known.get(name)
        if found is None:
            found = await in_threads(self._threads, self._load, name)
            if found is not None:
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[name] = found
        if found is None or not (caller is None or found.is_for(caller)):
            raise Problem("not-found", f"There is no question {name[:100]!r}; see GET /v1/questions.")
        return found

    async def read(self, query: Any, *arguments: Any, **named: Any) -> Any:
        """What a function of :mod:`openfingym_verifier.questions.reading` finds in the ledger."""

        def look() -> object:
            with self._ledger.read() as connection:
                return query(connection, *arguments, **named)

        return await in_threads(self._threads, look)

    def _load(self, name: str) -> LedgerQuestion | None:
        with self._ledger.read() as connection:
            return reading.known(connection, name)

    async def _forecaster(self, forecaster: tuple[str, str, str]) -> int:
        found = self._forecasters.get(forecaster)
        if found is None:
            written = await self._ledger.writer.submit(partial(_named, forecaster), overtakes=True)
            if isinstance(written, Problem):
                raise written
            assert isinstance(written, int)
            if len(self._forecasters) >= MOST_KNOWN:
                self._forecasters.clear()
            # LedgerQuestion only once it is on the disk: a group that fails is rolled back.
            found = self._forecasters[forecaster] = written
        return found

    def _take_token(self, caller: Caller) -> None:
        if caller.operator:
            return
        now_ns = self.clocks.real()
        bucket = self._buckets.get(caller.name) or Bucket(float(RATE.burst), now_ns)
        self._buckets[caller.name], wait_s = take(bucket, RATE, now_ns)
        if wait_s:
            raise Problem(
                "rate-limited",
                f"At most {RATE.per_second:g} forecasts a second; try again in {wait_s:.2f} s.",
                retry_after_s=wait_s,
            )


def _named(forecaster: tuple[str, str, str], transaction: Transaction) -> int | Problem:
    """Row of a forecaster (principal, agent, version), which is written where it is new."""
    connection = transaction.connection
    query = "SELECT id FROM forecasters WHERE principal = ? AND agent = ? AND version = ?"
    row = connection.execute(query, forecaster).fetchone()
    if row is not None:
        return int(row[0])
    (names,) = connection.execute("SELECT count(*) FROM forecasters WHERE principal = ?", forecaster[:1]).fetchone()
    if names >= MOST_NAMES:
        return Problem("malformed-request", f"{forecaster[0]} forecasts under {names} names already; use one of them.")
    written = connection.execute("INSERT INTO forecasters (principal, agent, version) VALUES (?, ?, ?)", forecaster)
    assert written.lastrowid is not None
    return written.lastrowid


def _answer(question: Question, document: object) -> Answer:
    try:
        return read_answer(question, document)
    except SubmissionError as error:
        raise refusal(error) from None


def _read(document: Mapping[str, Any]) -> Question:
    try:
        return Question.from_dict(document)
    except (UsageError, TypeError, ValueError, AttributeError) as error:
        raise Problem("malformed-request", str(error)[:1000]) from None
