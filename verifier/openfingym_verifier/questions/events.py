"""Events before a question is resolved: each is one operation on the ledger, together with its rows of the log.

What is refused is returned, not raised: an operation that fails has those of its group written one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from openfingym.digests import canonical_json, sha256_of_text
from openfingym.questions import utc_text
from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from openfingym.questions import Question
    from openfingym_verifier.ledger.writer import Transaction


def forecast_digest(salt: str, answer: str) -> str:
    """Digest that the log holds of a forecast, or of a recorded truth; salted, since few answers are likely."""
    return sha256_of_text(salt + answer)


@dataclass(frozen=True)
class QuestionAsked:
    """A question was asked; the same one again changes nothing."""

    question: Question
    simulated: bool
    """Whether the question's clock or its truth is made up."""
    at_ns: int
    """Unix time in nanoseconds by the verifier's own clock, as in all events."""
    clock_ns: int
    """The same moment by the question's clock."""

    def apply(self, transaction: Transaction) -> int | Problem:
        """Write it; returns its row's id, or ``idempotency-conflict`` or ``deadline-passed``, and then writes
        nothing.
        """
        question, connection = self.question, transaction.connection
        content = canonical_json(question.to_dict()).decode()
        known = connection.execute("SELECT id, content FROM questions WHERE name = ?", (question.id,)).fetchone()
        # Before its deadline is looked at: to ask the same question again is right at any time.
        if known is not None:
            if known[1] != content:
                return Problem("idempotency-conflict", f"Another question has the id {question.id}; choose a new one.")
            return int(known[0])
        if question.deadline_ns <= self.clock_ns:
            return Problem(
                "deadline-passed", f"The deadline of {question.id} has passed; a question is asked before it."
            )
        columns = (
            question.id,
            content,
            question.provider,
            question.form,
            question.category,
            question.market,
            question.round,
            question.clock,
        )
        times = (question.generated_ns, question.deadline_ns, question.evaluation_ns)
        written = connection.execute(
            "INSERT INTO questions (name, content, provider, form, category, market, round, clock, generated_ns,"
            " deadline_ns, evaluation_ns, simulated, state, due_ns, log_row)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)",
            # The number of the log row that is appended below: the row of a question does not change afterwards.
            (*columns, *times, self.simulated, question.evaluation_ns, transaction.seq + 1),
        )
        entry = {
            "event": "question-asked",
            "at_ns": self.at_ns,
            "question": question.id,
            "content": sha256_of_text(content),
        }
        transaction.log("", {**entry, "simulated": self.simulated})
        assert written.lastrowid is not None
        return written.lastrowid


class Acknowledgement(NamedTuple):
    """What a forecaster gets for a forecast that is on the disk."""

    forecast: int
    """Number of the forecast."""
    received_ns: int
    """When it was received, in nanoseconds since the epoch by the question's clock."""
    digest: str
    """Hex SHA-256 of salt and answer, which the log holds."""
    salt: str
    referenced: bool
    """Whether what the market showed is recorded beside it."""
    row: int
    """Number of the forecast's row of the log."""
    new: bool = True
    """Whether it was written by this request; False where the same key had written it before."""


@dataclass(frozen=True)
class ForecastReceived:
    """A forecast was received in time; the latest of a forecaster counts."""

    question_id: int
    """Row of the question in the ledger."""
    question: str
    """Id of the question."""
    forecaster_id: int
    """Row of the forecaster in the ledger."""
    forecaster: tuple[str, str, str]
    """Principal, agent and version."""
    rollout_id: str | None
    """The rollout whose submission it is part of; None for one that was sent by itself."""
    received_ns: int
    """When it was received, in nanoseconds since the epoch by the question's clock."""
    at_ns: int
    answer: str
    """The answer as canonical JSON."""
    salt: str
    digest: str
    """Hex SHA-256 of salt and answer, which the log holds."""
    idempotency_key: str | None
    """Key under which the same forecast may be sent again; None for a request without one."""
    reference: str | None
    """What the market showed, as JSON; None where that is not known, or not yet."""
    p: float | None
    """The answer where it is one number; None for other forms."""
    simulated: bool
    """Whether the question has a simulated clock."""

    def apply(self, transaction: Transaction) -> Acknowledgement | Problem:
        """Write it, unless the same key wrote it before; returns what the forecaster gets, or ``deadline-passed``,
        ``truth-known`` or ``idempotency-conflict``, and then writes nothing.
        """
        connection = transaction.connection
        if self.idempotency_key is not None and (known := self._replayed(transaction)) is not None:
            return known
        # The condition is the last guard, whatever memory says: between the check and the write the question may have
        # been resolved, and a simulated clock may have moved.
        written = connection.execute(
            _INSERT_SIMULATED if self.simulated else _INSERT_FORECAST,
            (
                self.forecaster_id,
                self.rollout_id,
                self.received_ns,
                self.answer,
                self.salt,
                self.digest,
                self.idempotency_key,
                self.reference,
                self.p,
                transaction.seq + 1,
                self.question_id,
                self.received_ns,
            ),
        )
        if written.rowcount != 1:
            return refusal_of(connection, self.question_id, self.question)
        forecast = written.lastrowid
        assert forecast is not None
        principal, agent, version = self.forecaster
        entry = {
            "event": "forecast",
            "at_ns": self.at_ns,
            "forecast": forecast,
            "question": self.question,
            "principal": principal,
            "agent": agent,
            "version": version,
            "received_ns": self.received_ns,
            "payload": self.digest,
            "reference": None if self.reference is None else sha256_of_text(self.reference),
            "key": self.idempotency_key,
        }
        transaction.log(self.rollout_id or "", entry)
        referenced = self.reference is not None
        return Acknowledgement(forecast, self.received_ns, self.digest, self.salt, referenced, transaction.seq)

    def _replayed(self, transaction: Transaction) -> Acknowledgement | Problem | None:
        """What a forecaster gets for a key that has written a forecast before; None for a new key."""
        row = transaction.connection.execute(
            "SELECT id, question, answer, received_ns, digest, salt, reference IS NOT NULL, log_row FROM forecasts"
            " WHERE forecaster = ? AND idempotency_key = ?",
            (self.forecaster_id, self.idempotency_key),
        ).fetchone()
        if row is None:
            return None
        if (row[1], row[2]) != (self.question_id, self.answer):
            return Problem(
                "idempotency-conflict", f"This key was used for forecast {row[0]} with another content; use a new key."
            )
        return Acknowledgement(row[0], row[3], row[4], row[5], bool(row[6]), row[7], new=False)


def refusal_of(connection: sqlite3.Connection, question_id: int, question: str) -> Problem:
    """Why a question takes no forecast any more."""
    query = "SELECT state, deadline_ns FROM questions WHERE id = ?"
    state, deadline_ns = connection.execute(query, (question_id,)).fetchone()
    if state in {"resolved", "scored", "void"}:
        return Problem("truth-known", f"{question} is {state}; it takes no forecasts.")
    return deadline_passed(question, deadline_ns)


def deadline_passed(question: str, deadline_ns: int) -> Problem:
    """The refusal of a forecast that comes at the deadline of a question, or after it."""
    return Problem("deadline-passed", f"The deadline of {question} was {utc_text(deadline_ns)}; it takes no forecasts.")


_INSERT_FORECAST = (
    "INSERT INTO forecasts (question, forecaster, rollout_id, received_ns, answer, salt, digest, idempotency_key,"
    " reference, p, log_row) SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM questions"
    " WHERE id = ? AND state = 'pending' AND deadline_ns > ?"
)
_CLOCK_BEFORE_DEADLINE = "deadline_ns > (SELECT now_ns FROM clocks WHERE clocks.name = questions.clock)"
_INSERT_SIMULATED = f"{_INSERT_FORECAST} AND {_CLOCK_BEFORE_DEADLINE}"


@dataclass(frozen=True)
class Referenced:
    """What the market showed came after forecasts of a question had been acknowledged, and is kept beside them."""

    question: str
    """Id of the question."""
    forecasts: Sequence[int]
    """Numbers of the forecasts."""
    reference: str
    """What the market showed, as JSON."""
    at_ns: int

    def apply(self, transaction: Transaction) -> None:
        """Write it to the forecasts that have no reference and no score yet."""
        # Not to a forecast with a score, which is of the reference that it had.
        for forecast in self.forecasts:
            written = transaction.connection.execute(
                "UPDATE forecasts SET reference = ? WHERE id = ? AND reference IS NULL AND loss IS NULL",
                (self.reference, forecast),
            )
            if written.rowcount == 1:
                entry = {"event": "forecast-referenced", "at_ns": self.at_ns, "question": self.question}
                transaction.log("", {**entry, "forecast": forecast, "reference": sha256_of_text(self.reference)})


@dataclass(frozen=True)
class ClockAdvanced:
    """A simulated clock was made, or moved forward; to where it stands already, nothing changes."""

    name: str
    now_ns: int
    """Where the clock is to stand, in nanoseconds since the epoch."""
    at_ns: int

    def apply(self, transaction: Transaction) -> Problem | None:
        """Write it; returns ``clock-backwards`` if the clock is later already, and then writes nothing."""
        row = transaction.connection.execute("SELECT now_ns FROM clocks WHERE name = ?", (self.name,)).fetchone()
        if row is not None and row[0] >= self.now_ns:
            if row[0] == self.now_ns:
                return None
            return Problem("clock-backwards", f"The clock {self.name} is later already; it moves forward alone.")
        transaction.connection.execute(
            "INSERT INTO clocks VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET now_ns = excluded.now_ns",
            (self.name, self.now_ns),
        )
        transaction.log("", {"event": "clock-advanced", "at_ns": self.at_ns, "clock": self.name, "now_ns": self.now_ns})
        return None


@dataclass(frozen=True)
class TruthRecorded:
    """The truth of a past question was put aside, until the clock of its replay has come to it."""

    question: str
    """Id of the question."""
    content: str
    """The truth as canonical JSON, as :mod:`openfingym_verifier.questions.recorded` reads it."""
    salt: str
    at_ns: int

    def apply(self, transaction: Transaction) -> Problem | None:
        """Write it; returns ``not-found``, ``idempotency-conflict`` or ``malformed-request``, and then writes
        nothing.
        """
        connection = transaction.connection
        row = connection.execute(
            "SELECT questions.id, provider, recordings.content FROM questions LEFT JOIN recordings"
            " ON question = questions.id WHERE name = ?",
            (self.question,),
        ).fetchone()
        if row is None:
            return Problem("not-found", f"There is no question {self.question}.")
        if row[1] != "recorded":
            return Problem("malformed-request", f"{self.question} is resolved by {row[1]}, not from a record.")
        if row[2] is not None:
            if row[2] != self.content:
                return Problem("idempotency-conflict", f"Another truth of {self.question} is recorded.")
            return None
        made = connection.execute("SELECT 1 FROM forecasts WHERE question = ? LIMIT 1", row[:1]).fetchone()
        if made is not None:
            # Whoever records it could have read them first.
            return Problem(
                "malformed-request",
                f"{self.question} has forecasts already; the truth of a replay is recorded before the first of them.",
            )
        connection.execute("INSERT INTO recordings VALUES (?, ?, ?)", (row[0], self.content, self.salt))
        entry = {"event": "truth-recorded", "at_ns": self.at_ns, "question": self.question}
        transaction.log("", {**entry, "payload": forecast_digest(self.salt, self.content)})
        return None
