"""Questions and forecasts of one verifier, apart from HTTP. Belongs to the event loop."""

from __future__ import annotations

import asyncio
import secrets
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError, OpenFinGymError, SubmissionError, UsageError
from openfingym.questions import Question
from openfingym.questions.answer import read_answer
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.ledger.storage import EVENT_BYTES
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
from openfingym_verifier.questions.forecasters import Forecasters
from openfingym_verifier.questions.providers import Providers
from openfingym_verifier.questions.recorded import record
from openfingym_verifier.questions.references import References
from openfingym_verifier.questions.resolving import Resolver
from openfingym_verifier.submissions.intake import refusal
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openfingym.questions.answer import Answer
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.storage import Storage
    from openfingym_verifier.ledger.writer import Transaction
    from openfingym_verifier.principals import Caller
    from openfingym_verifier.questions.reading import LedgerQuestion

MOST_KNOWN = 16_384
"""Largest number of questions that are kept in memory."""
NUMBERS = frozenset({"probability", "value"})
"""Forms whose answer is one number, by which forecasts can be compared in the ledger."""
SALT_BYTES = 16
SHOWN_S = 30.0
"""Seconds that the operator waits for what a market shows at most."""


class QuestionService:
    """Asks questions, takes forecasts, and has both resolved."""

    def __init__(
        self, ledger: Ledger, threads: Executor, secret: bytes, storage: Storage, *, void_after_s: float | None = None
    ) -> None:
        """Read the simulated clocks.

        Args:
            ledger: the ledger, in which questions and forecasts are recorded.
            threads: threads in which the ledger is read, and documents are checked.
            secret: key from which simulated providers make up their truths.
            storage: what participants may have stored, of which a forecast takes its part.
            void_after_s: seconds after its evaluation time that a question is void without a truth; None for two weeks.
        """
        self._ledger = ledger
        self._threads = threads
        self._storage = storage
        self.clocks = Clocks(ledger)
        self.providers = Providers(ledger, secret)
        self._references = References(self.providers, self.clocks, ledger.writer)
        self.resolver = Resolver(ledger, self.clocks, self.providers, void_after_s=void_after_s)
        self._known: dict[str, LedgerQuestion] = {}
        """Questions by id; what of them changes is not in memory."""
        self._forecasters = Forecasters(ledger)

    def close(self) -> None:
        """Let go of providers; what is underway is finished by nobody, and found again at the next start."""
        self._references.close()
        self.resolver.close()
        self.providers.close()

    async def ask(self, documents: Sequence[Mapping[str, Any]]) -> list[LedgerQuestion]:
        """Ask questions, all or none of them; those that were asked before, with the same content, stay as they are.

        Args:
            documents: the questions, each as :meth:`openfingym.questions.Question.to_dict` writes it.

        Raises:
            Problem: ``malformed-request``; ``deadline-passed``; ``idempotency-conflict``: another question has the id;
                ``not-found``: there is no such clock.
        """
        # Reading thousands takes a second, in which others are to be answered.
        questions, simulated = await in_threads(self._threads, self._checked, documents)
        clocks = [self.clocks.now(question.clock) for question in questions]
        at_ns = self.clocks.real()
        asked = [
            QuestionAsked(question, made_up, at_ns, now)
            for question, made_up, now in zip(questions, simulated, clocks, strict=True)
        ]

        def write(transaction: Transaction) -> list[int]:
            rows = []
            for event in asked:
                row = event.apply(transaction)
                if isinstance(row, Problem):
                    raise row  # what was written of the others is rolled back
                rows.append(row)
            return rows

        rows = await self._ledger.writer.submit(write, size=sum(len(question.text) for question in questions))
        assert isinstance(rows, list)
        return [reading.LedgerQuestion(*known) for known in zip(rows, questions, simulated, strict=True)]

    def _checked(self, documents: Sequence[Mapping[str, Any]]) -> tuple[list[Question], list[bool]]:
        """Questions, and whether the truth or the clock of each is made up; in a thread, since a provider's module is
        loaded.
        """
        questions, simulated = [_read(document) for document in documents], []
        if len({question.id for question in questions}) < len(questions):
            raise Problem("malformed-request", "Two of these questions have the same id.")
        for question in questions:
            try:
                provider = self.providers.get(question.provider)
                provider.check(question)
            except UsageError as error:
                raise Problem("malformed-request", str(error)) from None
            # Of a past that is replayed, the clock is moved and the truths are real.
            simulated.append(provider.simulated or not (question.clock == REAL_CLOCK or question.replayed))
        return questions, simulated

    async def record(self, truths: Sequence[Mapping[str, Any]]) -> int:
        """Put truths of past questions aside, all or none of them, until the clock of their replay has come to them.

        Args:
            truths: one mapping a question, with its id as ``question``, and the rest as the document that
                :func:`openfingym_verifier.questions.recorded.record` reads.

        Raises:
            Problem: ``not-found``, ``malformed-request`` or ``idempotency-conflict``.
        """
        events = []
        # Together: a look into the ledger for each costs more than all the rest.
        await self.load([str(document.get("question")) for document in truths])
        for document in truths:
            known = await self.find(str(document.get("question")))
            rest = {name: value for name, value in document.items() if name != "question"}
            try:
                content = record(known.question, rest)
            except (UsageError, DataError, ValueError) as error:
                raise Problem("malformed-request", str(error)) from None
            events.append(TruthRecorded(known.question.id, content, secrets.token_hex(SALT_BYTES), self.clocks.real()))

        def write(transaction: Transaction) -> None:
            for event in events:
                refused = event.apply(transaction)
                if refused is not None:
                    raise refused  # what was written of the others is rolled back

        await self._ledger.writer.submit(write, size=sum(len(event.content) for event in events))
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
        """Take a forecast; the latest before the deadline counts, of each principal, agent and version.

        Args:
            caller: the operator or the participant who sends it.
            question: id of the question that it answers.
            answer: the answer as it was sent, JSON values; see :func:`openfingym.questions.answer.read_answer`.
            agent: name of the agent that made it.
            version: version of the agent.
            idempotency_key: key under which it may be sent again; None for a request without one.

        Raises:
            Problem: ``not-found``, ``deadline-passed``, ``truth-known``, ``idempotency-conflict``, ``rate-limited``,
                ``storage-exhausted``, or what is wrong with the answer; nothing was recorded.
        """
        known = await self.find(question, caller)
        # Taken before anything is awaited that a provider could delay.
        received_ns = self.clocks.now(known.question.clock)
        self._forecasters.take_token(caller, self.clocks.real())
        forecaster = (caller.name, agent, version)
        try:
            forecast, pending = await self.prepare(
                known, forecaster, answer, received_ns, idempotency_key=idempotency_key
            )
            size = EVENT_BYTES + len(forecast.answer.encode())
            self._storage.require(caller.name, size)
        except Problem as problem:
            if problem.slug not in {"deadline-passed", "truth-known", "storage-exhausted"}:
                raise
            # What was acknowledged before is acknowledged again, whatever has become of the question meanwhile, and of
            # the room for more.
            return await self.acknowledged(known, forecaster, answer, idempotency_key, problem)
        with self._storage.taking(caller.name, size):
            receipt = await self._ledger.writer.submit(forecast.apply, overtakes=True)
        assert isinstance(receipt, Acknowledgement)
        if not receipt.new:
            # It came later, and what its market shows is of another moment than the forecast.
            self._storage.give_back(caller.name, size)
        elif pending is not None:
            self._references.add_later(pending, known, receipt.forecast)
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
    ) -> tuple[ForecastReceived, asyncio.Future[str | None] | None]:
        """The event of a forecast, with what the market shows, and what is left to wait for of that.

        Args:
            known: the question that the forecast answers.
            forecaster: principal, agent and version.
            answer: the answer as it was sent, JSON values.
            received_ns: when the forecast came, in nanoseconds by the question's clock.
            idempotency_key: key under which it may be sent again; None for a request without one.
            rollout_id: the rollout whose submission it is part of; None for a forecast that was sent by itself.

        Raises:
            Problem: the answer is not of the question's form, the deadline has passed, or the market shows that the
                truth is known.
        """
        question = known.question
        read = _answer(question, answer)
        if self.clocks.is_over(question, received_ns):
            # Before anything is written or asked, such as the name of a new forecaster.
            raise deadline_passed(question.id, question.deadline_ns)
        forecaster_id = await self._forecasters.row_of(forecaster)
        reference, pending = await self._references.capture(known, received_ns)
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
        return forecast, pending

    async def look_together(self, questions: Sequence[LedgerQuestion]) -> None:
        """Have what the markets of these questions show by their clocks, of which :meth:`prepare` is then a look-up."""
        open_ = [known for known in questions if not self.clocks.is_over(known.question, self._now(known))]
        await self._references.look_together([(known, self._now(known)) for known in open_])

    def _now(self, known: LedgerQuestion) -> int:
        return self.clocks.now(known.question.clock)

    async def acknowledged(
        self, known: LedgerQuestion, forecaster: tuple[str, str, str], answer: object, key: str | None, refused: Problem
    ) -> Acknowledgement:
        """The receipt of a forecast that a key has written already.

        Args:
            known: the question that is answered.
            forecaster: principal, agent and version.
            answer: the answer as it was sent, JSON values.
            key: the idempotency key; None for a request without one.
            refused: why the question takes no forecasts any more.

        Raises:
            Problem: ``refused``, or that the truth is known, where the key has written none; ``idempotency-conflict``
                where it has written another one.
        """
        row = None if key is None else await self.read(reading.forecast_by_key, forecaster, key)
        if row is None:
            # The deadline of a question that is resolved has passed as well; that its truth is known says more.
            if refused.slug == "deadline-passed":
                raise await self.read(refusal_of, known.row, known.question.id)
            raise refused
        text = _answer(known.question, answer).canonical.decode()
        if (row["question"], row["answer"]) != (known.row, text):
            raise Problem("idempotency-conflict", f"This key was used for forecast {row['id']} with another content.")
        return Acknowledgement(
            row["id"],
            row["received_ns"],
            row["digest"],
            row["salt"],
            row["reference"] is not None,
            row["log_row"],
            new=False,
        )

    def add_later(self, pending: asyncio.Future[str | None], known: LedgerQuestion, forecast: int) -> None:
        """Add to a forecast that is written what the market showed, once its provider has answered.

        Args:
            pending: what is left to wait for, from :meth:`prepare`.
            known: the question that the forecast answers.
            forecast: number of the forecast.
        """
        self._references.add_later(pending, known, forecast)

    async def shown(self, document: Mapping[str, Any]) -> dict[str, Any] | None:
        """What the market shows of a question now, by its clock; None where it shows nothing.

        Args:
            document: the question as :meth:`openfingym.questions.Question.to_dict` writes it; it need not have been
                asked.

        Raises:
            Problem: ``malformed-request``; ``not-found``: there is no such clock; ``unavailable``: the provider cannot
                be asked.
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
                reference = provider.reference(question, now_ns)
            except OpenFinGymError as error:
                raise Problem("unavailable", f"{question.provider} cannot be asked: {error}") from None
            return None if reference is None else dict(reference)

        try:
            async with asyncio.timeout(SHOWN_S):
                return await in_threads(self._threads, look)
        except TimeoutError:
            raise Problem("unavailable", f"{question.provider} did not answer within {SHOWN_S:g} s.") from None

    async def find(self, name: str, caller: Caller | None = None) -> LedgerQuestion:
        """A question by its id.

        Args:
            name: id of the question.
            caller: the operator or the participant who asks; None for the verifier itself.

        Raises:
            Problem: ``not-found``: there is no such question, or the caller may not know of it, which is told in the
                same words.
        """
        await self.load([name])
        known = self._known.get(name)
        if known is None or not (caller is None or known.is_for(caller)):
            raise Problem("not-found", f"There is no question {name[:100]!r}; see GET /v1/questions.")
        return known

    async def load(self, names: Sequence[str]) -> None:
        """Have questions in memory, of which :meth:`find` is then a look-up; those that are not there stay unknown."""
        lacking = [name for name in dict.fromkeys(names) if name not in self._known]
        if not lacking:
            return
        found = await self.read(reading.known, lacking)
        if len(self._known) + len(found) > MOST_KNOWN:
            self._known.clear()
        self._known.update(found)

    async def read(self, query: Any, *arguments: Any, **named: Any) -> Any:
        """What a function of :mod:`openfingym_verifier.questions.reading` finds in the ledger.

        Args:
            query: the function, whose first argument is a reader of the ledger.
            arguments: its other arguments.
            named: its arguments by name.
        """

        def look() -> object:
            with self._ledger.read() as connection:
                return query(connection, *arguments, **named)

        return await in_threads(self._threads, look)


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
