"""Events of what came of a question, and of its scores: each is one operation on the ledger, with its rows of the log.

Each is guarded by the statement that writes it, so that it happens once, however many resolvers there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openfingym.digests import canonical_json, sha256_of_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym_verifier.writer import Transaction


@dataclass(frozen=True)
class Resolvable:
    """The evaluation time of a question has passed: from now on its provider is asked."""

    question_id: int
    question: str
    at_ns: int

    def apply(self, transaction: Transaction) -> bool:
        """Write it; False where that was known."""
        written = transaction.connection.execute(
            "UPDATE questions SET state = 'resolvable' WHERE id = ? AND state = 'pending'", (self.question_id,)
        )
        if written.rowcount == 1:
            transaction.log("", {"event": "question-resolvable", "at_ns": self.at_ns, "question": self.question})
        return written.rowcount == 1


@dataclass(frozen=True)
class Resolution:
    """What was found out about a question."""

    kind: Literal["resolved", "void", "vintage", "correction"]
    truth: str | None
    """Canonical JSON."""
    value: float | None
    """The truth where it is one number."""
    source: str
    evidence: str
    """Canonical JSON."""
    vintage: str
    provider_ns: int | None
    fetched_ns: int
    """By the verifier's own clock."""

    def write(self, transaction: Transaction, question_id: int, question: str, n: int, reason: str = "") -> None:
        """Write it as the n-th of a question, with its row of the log."""
        transaction.connection.execute(
            "INSERT INTO resolutions (question, n, kind, truth, value, source, evidence, vintage, provider_ns,"
            " fetched_ns, log_row) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                question_id,
                n,
                self.kind,
                self.truth,
                self.value,
                self.source,
                self.evidence,
                self.vintage,
                self.provider_ns,
                self.fetched_ns,
                transaction.seq + 1,
            ),
        )
        entry = {"event": f"question-{self.kind}", "at_ns": self.fetched_ns, "question": question, "n": n}
        entry |= {"resolution": self.digest} | ({"reason": reason} if reason else {})
        transaction.log("", entry)

    @property
    def digest(self) -> str:
        """What the log knows it by."""
        return sha256_of_text(
            canonical_json(
                [
                    self.kind,
                    self.truth,
                    self.source,
                    self.evidence,
                    self.vintage,
                    self.provider_ns,
                    self.fetched_ns,
                    self.value,
                ]
            ).decode()
        )


@dataclass(frozen=True)
class Resolved:
    """The truth of a question is known, or it is known that there will be none: once, whoever finds it out."""

    question_id: int
    question: str
    resolution: Resolution
    """Of the kind ``resolved`` or ``void``."""
    due_ns: int
    """When the provider is asked again whether it still says so, by the question's clock."""
    reason: str = ""
    later: Sequence[Resolution] = ()
    """Later prints that are known already; they decide nothing."""

    def apply(self, transaction: Transaction) -> bool:
        """Write it; False where it was known already, and then nothing changes."""
        connection, found = transaction.connection, self.resolution
        written = connection.execute(
            "UPDATE questions SET state = ?, due_ns = ?, attempts = 0, reason = ?"
            " WHERE id = ? AND state IN ('resolvable', 'error')",
            (found.kind, self.due_ns, self.reason, self.question_id),
        )
        if written.rowcount != 1:
            return False
        if found.kind == "resolved" and found.provider_ns is not None:
            _leave_out_late(transaction, self.question_id, found.provider_ns)
        found.write(transaction, self.question_id, self.question, 1, self.reason)
        for n, one in enumerate(self.later, 2):
            one.write(transaction, self.question_id, self.question, n)
        return True


def _leave_out_late(transaction: Transaction, question_id: int, known_ns: int) -> None:
    """Let those forecasts count that were the latest when the truth became known; later ones could have seen it."""
    connection = transaction.connection
    late = connection.execute(
        "SELECT 1 FROM forecasts WHERE question = ? AND counts = 1 AND received_ns >= ? LIMIT 1",
        (question_id, known_ns),
    )
    if late.fetchone() is None:
        return
    connection.execute(
        "UPDATE forecasts SET counts = id IN (SELECT max(id) FROM forecasts WHERE question = ? AND received_ns < ?"
        " GROUP BY forecaster, rollout_id) WHERE question = ?",
        (question_id, known_ns, question_id),
    )


@dataclass(frozen=True)
class Revised:
    """The provider was asked again; what it says now and did not before is kept beside the first, which decided."""

    question_id: int
    question: str
    resolutions: Sequence[Resolution]
    """Of the kind ``vintage`` or ``correction``, in their order; none where the provider said nothing."""
    due_ns: int | None
    """When the provider is asked again, by the question's clock; None for when it was to be."""

    def apply(self, transaction: Transaction) -> bool:
        """Write what is new; False where nothing is."""
        connection = transaction.connection
        known = connection.execute(
            "SELECT truth, vintage FROM resolutions WHERE question = ? ORDER BY n", (self.question_id,)
        ).fetchall()
        if self.due_ns is not None:
            connection.execute("UPDATE questions SET due_ns = ? WHERE id = ?", (self.due_ns, self.question_id))
        before = len(known)
        for one in self.resolutions if known else ():
            said = (one.truth, one.vintage)
            # A print is known by its vintage; without one, only what was said last can be the same.
            if said not in (known if one.vintage else known[-1:]):
                one.write(transaction, self.question_id, self.question, len(known) + 1)
                known.append(said)
        return len(known) > before


@dataclass(frozen=True)
class Postponed:
    """A provider knew nothing final yet, or could not be asked; it is asked again later."""

    question_id: int
    question: str
    failed: bool
    """Whether it could not be asked, which is an error of ours."""
    reason: str
    due_ns: int
    at_ns: int

    def apply(self, transaction: Transaction) -> bool:
        """Write it, with a row of the log where it says anything new; False where the question is resolved."""
        connection, state = transaction.connection, "error" if self.failed else "resolvable"
        before = connection.execute(
            "SELECT state, reason FROM questions WHERE id = ? AND state IN ('resolvable', 'error')", (self.question_id,)
        ).fetchone()
        if before is None:
            return False
        connection.execute(
            "UPDATE questions SET state = ?, reason = ?, due_ns = ?, attempts = attempts + 1 WHERE id = ?",
            (state, self.reason, self.due_ns, self.question_id),
        )
        if before != (state, self.reason):
            event = "question-error" if self.failed else "question-waiting"
            transaction.log("", {"event": event, "at_ns": self.at_ns, "question": self.question, "reason": self.reason})
        return True


@dataclass(frozen=True)
class ForecastScore:
    """The score of one forecast."""

    forecast: int
    rollout_id: str | None
    principal: str
    loss: float
    naive_loss: float | None
    market_loss: float | None
    correct: bool | None


@dataclass(frozen=True)
class ForecastsScored:
    """Forecasts of a resolved question got their scores; a second time changes nothing."""

    question_id: int
    question: str
    scores: Sequence[ForecastScore]
    at_ns: int

    def apply(self, transaction: Transaction) -> bool:
        """Write them; True where that were the last of the question, which is scored then."""
        connection = transaction.connection
        for one in self.scores:
            written = connection.execute(
                "UPDATE forecasts SET loss = ?, naive_loss = ?, market_loss = ?, correct = ?,"
                " score_row = ? WHERE id = ? AND question = ? AND counts = 1 AND loss IS NULL",
                (
                    one.loss,
                    one.naive_loss,
                    one.market_loss,
                    one.correct,
                    transaction.seq + 1,
                    one.forecast,
                    self.question_id,
                ),
            )
            if written.rowcount == 1:
                entry = {"event": "forecast-scored", "at_ns": self.at_ns, "question": self.question}
                entry |= {"forecast": one.forecast, "loss": one.loss, "naive_loss": one.naive_loss}
                entry |= {"market_loss": one.market_loss, "correct": one.correct, "principal": one.principal}
                transaction.log(one.rollout_id or "", entry)
        written = connection.execute(
            "UPDATE questions SET state = 'scored' WHERE id = ? AND state = 'resolved' AND NOT EXISTS"
            " (SELECT 1 FROM forecasts WHERE question = questions.id AND counts = 1 AND loss IS NULL)",
            (self.question_id,),
        )
        if written.rowcount == 1:
            transaction.log("", {"event": "question-scored", "at_ns": self.at_ns, "question": self.question})
        return written.rowcount == 1
