"""Events of what came of a question, and of its scores: each is one operation on the ledger, with its rows of the log.

Each is guarded by the statement that writes it, so that it happens once, however many resolvers there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openfingym.digests import canonical_json, sha256_of_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym_verifier.ledger.writer import Transaction


@dataclass(frozen=True)
class Resolvable:
    """The evaluation time of a question has passed: from now on its provider is asked."""

    question_id: int
    """Row of the question in the ledger."""
    question: str
    """Id of the question."""
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
    """The truth that decides, that there is none, a later print of the figure, or another truth than before."""
    truth: str | None
    """The truth as canonical JSON; None where there is none."""
    value: float | None
    """The truth where it is one number; None otherwise."""
    source: str
    """Where the truth is from."""
    evidence: str
    """What the truth rests on, as canonical JSON."""
    vintage: str
    """Which print of a figure the truth is; empty where prints are not told apart."""
    provider_ns: int | None
    """Since when the truth was known, in nanoseconds since the epoch, by the provider; None where it does not say."""
    fetched_ns: int
    """When the verifier got it, in nanoseconds since the epoch by the verifier's own clock."""

    def write(self, transaction: Transaction, question_id: int, question: str, n: int, reason: str = "") -> None:
        """Write it with its row of the log.

        Args:
            transaction: the transaction of the event that it is part of.
            question_id: row of the question in the ledger.
            question: id of the question.
            n: which of the question's resolutions it is, from 1; the first decides.
            reason: why there will be no truth.
        """
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
        """Digest of all its fields, which the log holds."""
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
    """Row of the question in the ledger."""
    question: str
    """Id of the question."""
    resolution: Resolution
    """The resolution that decides, of the kind ``resolved`` or ``void``."""
    due_ns: int
    """When the provider is asked again whether it still says so, in nanoseconds by the question's clock."""
    reason: str = ""
    """Why there will be no truth; empty where there is one."""
    later: Sequence[Resolution] = ()
    """Later prints that are known already; they decide nothing."""

    def apply(self, transaction: Transaction) -> bool:
        """Write it; False where it was known already, and then nothing changes."""
        connection, first = transaction.connection, self.resolution
        # The state is compared in the statement that changes it: of two resolvers, the second changes nothing.
        written = connection.execute(
            "UPDATE questions SET state = ?, due_ns = ?, attempts = 0, reason = ?"
            " WHERE id = ? AND state IN ('resolvable', 'error')",
            (first.kind, self.due_ns, self.reason, self.question_id),
        )
        if written.rowcount != 1:
            return False
        if first.kind == "resolved" and first.provider_ns is not None:
            _leave_out_late(transaction, self.question_id, first.provider_ns)
        first.write(transaction, self.question_id, self.question, 1, self.reason)
        for n, print_ in enumerate(self.later, 2):
            print_.write(transaction, self.question_id, self.question, n)
        return True


def _leave_out_late(transaction: Transaction, question_id: int, known_ns: int) -> None:
    """Let those forecasts count that were the latest when the truth became known; later ones could have seen it."""
    connection = transaction.connection
    # Usually there are none, and a look at the index of forecasts that count costs less than writing all of them.
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
    """Row of the question in the ledger."""
    question: str
    """Id of the question."""
    resolutions: Sequence[Resolution]
    """What the provider says, of the kind ``vintage`` or ``correction``, in order; empty where it said nothing."""
    due_ns: int | None
    """When the provider is asked again, in nanoseconds by the question's clock; None to leave that as it is."""

    def apply(self, transaction: Transaction) -> bool:
        """Write what is new; False where nothing is."""
        connection = transaction.connection
        known = connection.execute(
            "SELECT truth, vintage FROM resolutions WHERE question = ? ORDER BY n", (self.question_id,)
        ).fetchall()
        if self.due_ns is not None:
            connection.execute("UPDATE questions SET due_ns = ? WHERE id = ?", (self.due_ns, self.question_id))
        before = len(known)
        for resolution in self.resolutions if known else ():
            said = (resolution.truth, resolution.vintage)
            # A print is known by its vintage; without one, only what was said last can be the same.
            if said not in (known if resolution.vintage else known[-1:]):
                resolution.write(transaction, self.question_id, self.question, len(known) + 1)
                known.append(said)
        return len(known) > before


@dataclass(frozen=True)
class Postponed:
    """A provider knew nothing final yet, or could not be asked; it is asked again later."""

    question_id: int
    """Row of the question in the ledger."""
    question: str
    """Id of the question."""
    failed: bool
    """Whether the provider could not be asked, which is an error of ours."""
    reason: str
    """What the provider said, or what kept it from being asked."""
    due_ns: int
    """When the provider is asked again, in nanoseconds by the question's clock."""
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
        # A question may be asked about hundreds of times; the log says what changed.
        if before != (state, self.reason):
            event = "question-error" if self.failed else "question-waiting"
            transaction.log("", {"event": event, "at_ns": self.at_ns, "question": self.question, "reason": self.reason})
        return True


@dataclass(frozen=True)
class ForecastScore:
    """The score of one forecast."""

    forecast: int
    """Number of the forecast."""
    rollout_id: str | None
    """The rollout whose submission it is part of; None for one that was sent by itself."""
    principal: str
    """Name of the principal who made it."""
    loss: float
    """Loss of the forecast; lower is better."""
    naive_loss: float | None
    """Loss of the naive forecast; None where there is none."""
    market_loss: float | None
    """Loss of what the market showed; None where nothing was captured."""
    correct: bool | None
    """Whether the forecast counts as correct; None for a question none of whose forecasts does."""


@dataclass(frozen=True)
class ForecastsScored:
    """Forecasts of a resolved question got their scores; a second time changes nothing."""

    question_id: int
    """Row of the question in the ledger."""
    question: str
    """Id of the question."""
    scores: Sequence[ForecastScore]
    """Scores of some of the question's forecasts that count."""
    at_ns: int

    def apply(self, transaction: Transaction) -> bool:
        """Write them; True if these were the last of the question, which is scored then."""
        connection = transaction.connection
        for score in self.scores:
            written = connection.execute(
                "UPDATE forecasts SET loss = ?, naive_loss = ?, market_loss = ?, correct = ?,"
                " score_row = ? WHERE id = ? AND question = ? AND counts = 1 AND loss IS NULL",
                (
                    score.loss,
                    score.naive_loss,
                    score.market_loss,
                    score.correct,
                    transaction.seq + 1,
                    score.forecast,
                    self.question_id,
                ),
            )
            if written.rowcount == 1:
                entry = {"event": "forecast-scored", "at_ns": self.at_ns, "question": self.question}
                entry |= {"forecast": score.forecast, "loss": score.loss, "naive_loss": score.naive_loss}
                entry |= {"market_loss": score.market_loss, "correct": score.correct, "principal": score.principal}
                transaction.log(score.rollout_id or "", entry)
        # Scores are written some at a time; the question is scored with the last of them, in the same transaction.
        written = connection.execute(
            "UPDATE questions SET state = 'scored' WHERE id = ? AND state = 'resolved' AND NOT EXISTS"
            " (SELECT 1 FROM forecasts WHERE question = questions.id AND counts = 1 AND loss IS NULL)",
            (self.question_id,),
        )
        if written.rowcount == 1:
            transaction.log("", {"event": "question-scored", "at_ns": self.at_ns, "question": self.question})
        return written.rowcount == 1
