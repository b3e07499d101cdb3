"""The events of a rollout, each one operation on the ledger together with its log entry."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from openfingym.digests import canonical_json, sha256_of, sha256_of_json, sha256_of_text
from openfingym.errors import VerifierError
from openfingym_verifier.disclosure.disclosure import disclosed, told_digest
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    from openfingym.results.result import Disclosure
    from openfingym.task.episodes import FoldName
    from openfingym.task.exposure import Exposure
    from openfingym_verifier.bucket import Bucket
    from openfingym_verifier.ledger.rows import EpisodeRow, RolloutRow
    from openfingym_verifier.ledger.writer import Transaction


SEASON_OVER = (
    "SELECT 1 FROM rollouts JOIN seasons ON seasons.name = season WHERE rollouts.id = ? AND closed_ns IS NOT NULL"
    " AND policy = 'strict' AND split = 'test' AND session IS NULL AND accepted = 0 AND principal NOT IN (?, ?)"
)
"""Query of whether the season of a participant's rollout was closed before it began to play a private fold."""


def hidden_instruments(exposure: Exposure | None) -> tuple[str, ...]:
    """The instruments of which a task hides days; none where that is not known."""
    return () if exposure is None else tuple(sorted(exposure.hides))


def file_agent(transaction: Transaction, principal: str, digest: str, at_ns: int) -> None:
    """Write that a principal has an agent of this digest from now on, if it had none before."""
    transaction.connection.execute(
        "INSERT INTO agents (principal, digest, filed_ns) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (principal, digest, at_ns),
    )


def keep_exposure(transaction: Transaction, task_digest: str, exposure: Exposure | None) -> None:
    """Write what a task shows and hides, if that is known and was not written before."""
    if exposure is not None:
        transaction.connection.execute(
            "INSERT INTO exposures (task_digest, content) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (task_digest, json.dumps(exposure.to_dict())),
        )


@dataclass(frozen=True)
class HiddenDataKnown:
    """A task is served of which an older ledger has rollouts, without saying which hidden data they are on."""

    task_digest: str
    hidden_digest: str
    exposure: Exposure | None

    def apply(self, transaction: Transaction) -> None:
        """Write it into these rollouts, and where the data are retired."""
        keep_exposure(transaction, self.task_digest, self.exposure)
        transaction.connection.execute(
            "UPDATE rollouts SET hidden_digest = ?, instruments = ? WHERE task_digest = ? AND hidden_digest IS NULL"
            " AND tape = 'given' AND split = 'test' AND session IS NULL",
            (self.hidden_digest, json.dumps(hidden_instruments(self.exposure)), self.task_digest),
        )
        transaction.connection.execute(
            "UPDATE OR REPLACE retired SET fold = ?, task_digest = ? WHERE fold = ?",
            (self.hidden_digest, self.task_digest, self.task_digest),
        )


@dataclass(frozen=True)
class AgentsFiled:
    """A principal filed agents before it runs them."""

    principal: str
    digests: tuple[str, ...]
    """Their digests in hex."""
    at_ns: int

    def apply(self, transaction: Transaction) -> None:
        """Write it."""
        for digest in self.digests:
            file_agent(transaction, self.principal, digest, self.at_ns)
        entry = {"event": "agents-filed", "at_ns": self.at_ns, "principal": self.principal}
        transaction.log("", {**entry, "agents": list(self.digests)})


@dataclass(frozen=True)
class Created:
    """A rollout was created."""

    rollout: RolloutRow
    """The row of the rollout, as it begins."""
    exposure: Exposure | None = None
    """What its given tape shows and hides, which is kept once for each task; None where that is not known."""

    def apply(self, transaction: Transaction) -> None:
        """Write it."""
        row = self.rollout
        transaction.connection.execute(
            "INSERT INTO rollouts (id, task, task_digest, agent, seed, budget, created_ns, expires_ns, bucket_tokens, "
            "bucket_ns,"
            " principal, season, policy, tape, tape_commitment, session, questions, split, instance,"
            " question_range, agent_digest, hidden_digest, instruments)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.id,
                row.task,
                row.task_digest,
                row.agent,
                row.seed,
                row.budget,
                row.created_ns,
                row.expires_ns,
                *astuple(row.bucket),
                row.principal,
                row.season,
                row.policy,
                row.tape,
                row.tape_commitment,
                None if row.session is None else json.dumps(row.session),
                None if row.questions is None else json.dumps(row.questions),
                row.split,
                row.instance,
                row.question_range,
                row.agent_digest,
                row.hidden_digest,
                json.dumps(row.instruments),
            ),
        )
        keep_exposure(transaction, row.task_digest, self.exposure)
        if row.agent_digest is not None:
            file_agent(transaction, row.principal, row.agent_digest, row.created_ns)
        entry = {"event": "rollout-created", "at_ns": row.created_ns, "task": row.task, "task_digest": row.task_digest}
        entry |= {"principal": row.principal, "season": row.season, "policy": row.policy}
        entry |= {"tape": row.tape, "tape_commitment": row.tape_commitment}
        # What a rollout has not is left out, as in entries that were written before there was any.
        entry |= {} if row.session is None else {"session": row.session}
        entry |= {} if row.questions is None else {"questions": row.questions}
        entry |= {} if row.split == "test" else {"split": row.split, "instance": row.instance}
        entry |= {} if row.question_range is None else {"question_range": row.question_range}
        entry |= {} if row.agent_digest is None else {"agent_digest": row.agent_digest}
        transaction.log(
            row.id, {**entry, "agent": row.agent, "seed": row.seed, "budget": row.budget, "expires_ns": row.expires_ns}
        )


@dataclass(frozen=True)
class Extended:
    """A rollout is open for longer, since somebody goes on with it."""

    rollout_id: str
    at_ns: int
    expires_ns: int
    """Unix time in nanoseconds until which the rollout is open."""

    def apply(self, transaction: Transaction) -> None:
        """Write it."""
        written = transaction.connection.execute(
            "UPDATE rollouts SET expires_ns = ? WHERE id = ? AND result IS NULL", (self.expires_ns, self.rollout_id)
        )
        if written.rowcount != 1:
            raise VerifierError(f"rollout {self.rollout_id}: the ledger has no such open rollout")
        entry = {"event": "extended", "at_ns": self.at_ns, "expires_ns": self.expires_ns}
        transaction.log(self.rollout_id, entry)


@dataclass(frozen=True)
class Accepted:
    """A submission passed every check: one unit of budget is spent, and its values are kept."""

    rollout_id: str
    n: int
    """Counts the rollout's accepted submissions, from 1."""
    received_ns: int
    """Unix time in nanoseconds at which the submission's turn came, its body being there."""
    idempotency_key: str | None
    """Key under which the same request may be sent again; None for a request without one."""
    body_digest: str | None
    """Hex SHA-256 of the body as it came, which a repetition must have; None without a key."""
    payload: memoryview
    """The values: little-endian float64, C order."""
    payload_digest: str
    """Hex SHA-256 of the values."""
    bucket: Bucket
    """State of the rate limit after the request."""

    def apply(self, transaction: Transaction) -> None:
        """Write it."""
        connection = transaction.connection
        spent = connection.execute(
            "UPDATE rollouts SET accepted = accepted + 1, bucket_tokens = ?, bucket_ns = ?"
            " WHERE id = ? AND accepted = ? AND result IS NULL",
            (self.bucket.tokens, self.bucket.at_ns, self.rollout_id, self.n - 1),
        )
        # The condition in the statement is the budget's last guard, whatever memory says.
        if spent.rowcount != 1:
            raise VerifierError(f"rollout {self.rollout_id}: the ledger does not expect submission {self.n}")
        row = connection.execute(
            "INSERT INTO submissions (rollout_id, n, received_ns, idempotency_key, body_digest) VALUES (?, ?, ?, ?, ?)",
            (self.rollout_id, self.n, self.received_ns, self.idempotency_key, self.body_digest),
        )
        connection.execute("INSERT INTO payloads (submission, content) VALUES (?, ?)", (row.lastrowid, self.payload))
        entry = {"event": "accepted", "at_ns": self.received_ns, "submission": self.n, "payload": self.payload_digest}
        transaction.log(self.rollout_id, entry)


@dataclass(frozen=True)
class Rejected:
    """A submission or an action was refused: it costs rate, and no budget."""

    rollout_id: str
    at_ns: int
    slug: str
    """Slug of the problem that was answered, a key of :data:`openfingym_verifier.problems.KINDS`."""
    detail: str
    """What the agent was told."""
    bucket: Bucket
    """State of the rate limit after the request."""

    def apply(self, transaction: Transaction) -> None:
        """Write it."""
        transaction.connection.execute(
            "UPDATE rollouts SET rejected = rejected + 1, last_refusal = ?, bucket_tokens = ?, bucket_ns = ? WHERE id "
            "= ?",
            (f"{self.slug}: {self.detail}", self.bucket.tokens, self.bucket.at_ns, self.rollout_id),
        )
        transaction.log(self.rollout_id, {"event": "rejected", "at_ns": self.at_ns, "problem": self.slug})


@dataclass(frozen=True)
class Scored:
    """An accepted submission got its feedback; a second time changes nothing."""

    rollout_id: str
    n: int
    at_ns: int
    feedback: dict[str, object]
    """Feedback as the agent is told it; where it is told nothing, a note that it is withheld."""

    def apply(self, transaction: Transaction) -> None:
        """Write it."""
        text = canonical_json(self.feedback)
        # The first score stands, whoever computes it again.
        written = transaction.connection.execute(
            "UPDATE submissions SET feedback = ? WHERE rollout_id = ? AND n = ? AND feedback IS NULL",
            (text.decode(), self.rollout_id, self.n),
        )
        if written.rowcount == 1:
            digest = sha256_of(text)
            transaction.log(
                self.rollout_id, {"event": "scored", "at_ns": self.at_ns, "submission": self.n, "feedback": digest}
            )
            # Feedback that was withheld tells nothing.
            if self.feedback["total"] is not None:
                disclose(transaction, self.rollout_id, "public", self.n, self.at_ns)


@dataclass(frozen=True)
class EpisodeStarted:
    """A rollout began an episode; a private one is begun once."""

    rollout_id: str
    episode: EpisodeRow
    begun: int
    """Number of private episodes that the rollout had begun before."""
    at_ns: int

    def apply(self, transaction: Transaction) -> Problem | None:
        """Write it; returns why it cannot be begun, or None."""
        connection, row = transaction.connection, self.episode
        # Whoever looked at a fold after the close would be shown what it hides, for no entry that is on the board.
        if (
            row.fold == "private"
            and connection.execute(SEASON_OVER, (self.rollout_id, LOCAL_USER, OPERATOR)).fetchone()
        ):
            return Problem(
                "season-closed",
                "The season of this rollout is closed: the private fold is no longer played in it. Create a rollout in "
                "the next one.",
            )
        # Private episodes are the budget of a sequential task: counted in the statement that compares the count.
        if row.fold == "private":
            begun = connection.execute(
                "UPDATE rollouts SET accepted = accepted + 1 WHERE id = ? AND accepted = ? AND result IS NULL",
                (self.rollout_id, self.begun),
            )
            if begun.rowcount != 1:
                raise VerifierError(
                    f"rollout {self.rollout_id}: the ledger does not expect private episode {row.number}"
                )
        connection.execute(
            "INSERT INTO episodes (rollout_id, n, fold, number, started_ns, idempotency_key) VALUES (?, ?, ?, ?, ?, ?)",
            (self.rollout_id, row.n, row.fold, row.number, self.at_ns, row.idempotency_key),
        )
        entry = {
            "event": "episode-started",
            "at_ns": self.at_ns,
            "episode": row.n,
            "fold": row.fold,
            "number": row.number,
        }
        transaction.log(self.rollout_id, entry)
        return None


@dataclass(frozen=True)
class Stepped:
    """An action was taken in the latest episode of a rollout."""

    rollout_id: str
    n: int
    """Which of the rollout's episodes, from 1."""
    step: int
    """Which of the episode's actions, from 1."""
    action: str
    """The action as canonical JSON."""
    at_ns: int

    def apply(self, transaction: Transaction) -> None:
        """Write it."""
        # The table's key is episode and step, so that a step is written once, whatever memory says.
        written = transaction.connection.execute(
            "INSERT INTO steps (episode, step, action) SELECT id, ?, ? FROM episodes WHERE rollout_id = ? AND n = ?",
            (self.step, self.action, self.rollout_id, self.n),
        )
        if written.rowcount != 1:
            raise VerifierError(f"rollout {self.rollout_id} has no episode {self.n}")
        digest = sha256_of_text(self.action)
        transaction.log(
            self.rollout_id,
            {"event": "stepped", "at_ns": self.at_ns, "episode": self.n, "step": self.step, "action": digest},
        )


@dataclass(frozen=True)
class Practised:
    """A walk through the public fold was ended, and got its feedback."""

    rollout_id: str
    n: int
    """Counts the rollout's walks through the public fold, from 1."""
    at_ns: int
    payload: memoryview
    """The answers, with NaN for the private fold: little-endian float64, C order."""
    feedback: dict[str, object]
    """Feedback as the agent is told it; where it is told nothing, a note that it is withheld."""

    def apply(self, transaction: Transaction) -> None:
        """Write it."""
        text = canonical_json(self.feedback)
        row = transaction.connection.execute(
            "INSERT INTO submissions (rollout_id, n, received_ns, feedback) VALUES (?, ?, ?, ?)",
            (self.rollout_id, self.n, self.at_ns, text.decode()),
        )
        transaction.connection.execute(
            "INSERT INTO payloads (submission, content) VALUES (?, ?)", (row.lastrowid, self.payload)
        )
        entry = {"event": "practised", "at_ns": self.at_ns, "submission": self.n, "payload": sha256_of(self.payload)}
        transaction.log(self.rollout_id, entry)
        entry = {"event": "scored", "at_ns": self.at_ns, "submission": self.n, "feedback": sha256_of(text)}
        transaction.log(self.rollout_id, entry)
        # Feedback that was withheld tells nothing.
        if self.feedback["total"] is not None:
            disclose(transaction, self.rollout_id, "public", self.n, self.at_ns)


@dataclass(frozen=True)
class EpisodePlayed:
    """A rollout of episodes got its result; their outcomes are its last submission."""

    rollout_id: str
    n: int
    """Number of the submission: one more than the walks through the public fold that were ended."""
    at_ns: int
    payload: memoryview
    """The outcomes of all episodes, of a walk with NaN where a private window was left unanswered: little-endian
    float64, C order."""
    finalized: Finalized
    """The result of the rollout."""

    def apply(self, transaction: Transaction) -> dict[str, object]:
        """Write both, or neither; returns the complete result."""
        row = transaction.connection.execute(
            "INSERT INTO submissions (rollout_id, n, received_ns) VALUES (?, ?, ?)",
            (self.rollout_id, self.n, self.at_ns),
        )
        transaction.connection.execute(
            "INSERT INTO payloads (submission, content) VALUES (?, ?)", (row.lastrowid, self.payload)
        )
        entry = {"event": "played", "at_ns": self.at_ns, "submission": self.n, "payload": sha256_of(self.payload)}
        transaction.log(self.rollout_id, entry)
        return self.finalized.apply(transaction)


@dataclass(frozen=True)
class Finalized:
    """A rollout got its result, once and for all."""

    rollout_id: str
    at_ns: int
    result: dict[str, object]
    """The result as it was computed, without ``log_head``, which this operation adds."""
    disclosure: Disclosure
    """How much of it its principal is told."""

    def apply(self, transaction: Transaction) -> dict[str, object]:
        """Write it; returns the complete result."""
        # Of the result without log_head: that is the hash of the very row that holds the digest.
        digest = sha256_of_json(self.result)
        entry = {"event": "finalized", "at_ns": self.at_ns, "result": digest, "disclosure": self.disclosure}
        # Whoever is told less than all can check that by a digest as well.
        if self.disclosure != "full":
            entry["told"] = told_digest(self.result)
        if self.disclosure == "held":
            # What its principal has until then holds nothing hidden, and so needs no salt.
            entry["held"] = sha256_of_json(disclosed(self.result, "held"))
        else:
            # Its principal may read the entry: how a held result ended, and what was noticed, is held as well.
            entry |= {"state": self.result["state"], "flags": self.result["flags"]}
        complete = {
            **self.result,
            "log_head": transaction.log(self.rollout_id, entry),
        }
        written = transaction.connection.execute(
            "UPDATE rollouts SET result = ?, disclosure = ? WHERE id = ? AND result IS NULL",
            (canonical_json(complete).decode(), self.disclosure, self.rollout_id),
        )
        if written.rowcount != 1:
            raise VerifierError(f"rollout {self.rollout_id} already has a result")
        # A rung, or that there is none, is told of a result that is held otherwise.
        if "ladder" in self.result or (self.result["state"] == "scored" and self.disclosure != "held"):
            disclose(transaction, self.rollout_id, "private", 1, self.at_ns)
        return complete


@dataclass(frozen=True)
class Settled:
    """A deferred rollout got its final result, once and for all: its questions are resolved."""

    rollout_id: str
    at_ns: int
    result: dict[str, object]
    """The result as it was computed, without ``log_head``, which this operation adds."""

    def apply(self, transaction: Transaction) -> dict[str, object] | None:
        """Write it beside the deferred one; returns the complete result, or None where it was settled before."""
        # Looked up before the log is appended to, which cannot be taken back within the transaction.
        row = transaction.connection.execute(
            "SELECT 1 FROM rollouts WHERE id = ? AND json_extract(result, '$.state') = 'deferred' AND settled IS NULL",
            (self.rollout_id,),
        ).fetchone()
        if row is None:
            return None
        entry = {"event": "settled", "at_ns": self.at_ns, "state": self.result["state"]}
        head = transaction.log(self.rollout_id, {**entry, "result": sha256_of_json(self.result)})
        complete = {**self.result, "log_head": head}
        transaction.connection.execute(
            "UPDATE rollouts SET settled = ? WHERE id = ?", (canonical_json(complete).decode(), self.rollout_id)
        )
        return complete


def disclose(transaction: Transaction, rollout_id: str, fold: FoldName, n: int, at_ns: int) -> None:
    """Record that a principal was told something of a fold's hidden data; what instances hide is training data, and is
    not counted.

    Args:
        transaction: the transaction of the event that tells it.
        rollout_id: the rollout whose principal is told.
        fold: the fold that it was told about.
        n: number of the submission of the rollout; 1 for its result.
        at_ns: Unix time in nanoseconds.
    """
    # The same disclosure a second time tells nothing new.
    transaction.connection.execute(
        "INSERT INTO disclosures (rollout_id, fold, n, at_ns) SELECT id, ?, ?, ? FROM rollouts WHERE id = ? AND split ="
        " 'test' ON CONFLICT DO NOTHING",
        (fold, n, at_ns, rollout_id),
    )
