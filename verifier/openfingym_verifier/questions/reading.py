"""What the ledger says of questions and forecasts, for answers over HTTP and for commands that read the file."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.digests import canonical_json
from openfingym.questions import Question, utc_text
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.ledger.question_schema import NEVER

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from openfingym_verifier.principals import Caller

STATES = ("pending", "resolvable", "resolved", "scored", "void", "error")
MOST = 1000
"""Largest number of rows in one answer."""


@dataclass(frozen=True)
class LedgerQuestion:
    """A question as the ledger knows it, without what changes."""

    row: int
    """Id of the question's row."""
    question: Question
    simulated: bool
    """Whether the question's clock or its truth is made up."""
    principal: str | None = None
    """Principal to whom the rollout belongs that the question was asked in, who alone may know of it; None for a
    question that is asked everybody.
    """

    def is_for(self, caller: Caller) -> bool:
        """Whether a caller may know of the question."""
        return caller.operator or self.principal in {None, caller.name}


_OTHERS = (
    "EXISTS (SELECT 1 FROM rollout_questions JOIN rollouts ON rollouts.id = rollout_id"
    " WHERE question = questions.id AND rollouts.principal IS NOT :principal)"
)
"""Questions that were asked in somebody else's rollout."""


@functools.lru_cache(maxsize=4096)
def question_of(content: str) -> Question:
    """A question from its content in the ledger; cached, since it is read when it is forecast, resolved and scored."""
    return Question.from_dict(json.loads(content))


def known(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, LedgerQuestion]:
    """Questions by their ids, without those that are not in the ledger."""
    rows = connection.execute(
        "SELECT name, questions.id, content, simulated, rollouts.principal FROM questions LEFT JOIN rollout_questions"
        " ON question = questions.id LEFT JOIN rollouts ON rollouts.id = rollout_id"
        " WHERE name IN (SELECT value FROM json_each(?))",
        (json.dumps(names),),
    )
    return {
        row["name"]: LedgerQuestion(row["id"], question_of(row["content"]), bool(row["simulated"]), row["principal"])
        for row in rows
    }


def questions(
    connection: sqlite3.Connection,
    *,
    principal: str | None = None,
    state: str | None = None,
    round_name: str | None = None,
    open_at: dict[str, int] | None = None,
    after: str = "",
    limit: int = MOST,
) -> list[dict[str, Any]]:
    """Questions in the order in which they were asked.

    Args:
        connection: a reader of the ledger.
        principal: name of the principal who asks, and sees no questions of others' rollouts; None for who sees all.
        state: state of the questions; None for any.
        round_name: name of the round that they are of; None for any, and for questions of no round.
        open_at: where each clock stands, in nanoseconds by name, for questions that take forecasts alone; None for
            those that take none as well.
        after: id of the question after which to go on; empty for the first.
        limit: largest number of questions.
    """
    # A question whose clock is not named is not open: its deadline is compared with itself.
    query = (
        "SELECT id, name, content, simulated, state, reason, due_ns, attempts, log_row FROM questions"
        " WHERE id > coalesce((SELECT id FROM questions WHERE name = :after), 0)"
        " AND (:state IS NULL OR state = :state) AND (:round IS NULL OR round = :round)"
        " AND (:clocks IS NULL OR (state = 'pending' AND deadline_ns >"
        " coalesce((SELECT value FROM json_each(:clocks) WHERE key = clock), deadline_ns)))"
    )
    # The operator sees all, and is spared the look-up for every question.
    query += ("" if principal is None else f" AND NOT {_OTHERS}") + " ORDER BY id LIMIT :limit"
    clocks = None if open_at is None else json.dumps(open_at)
    bound = {"after": after, "state": state, "round": round_name, "clocks": clocks, "limit": limit}
    bound |= {"principal": principal}
    rows = connection.execute(query, bound).fetchall()
    counts = _counts(connection, [row["id"] for row in rows])
    return [_question(row, counts.get(row["id"], 0)) for row in rows]


def question(connection: sqlite3.Connection, name: str) -> dict[str, Any] | None:
    """A question with its resolutions, the one that decides first; None where there is none."""
    row = connection.execute(
        "SELECT id, name, content, simulated, state, reason, due_ns, attempts, log_row FROM questions WHERE name = ?",
        (name,),
    ).fetchone()
    if row is None:
        return None
    resolutions = connection.execute("SELECT * FROM resolutions WHERE question = ? ORDER BY n", (row["id"],))
    return _question(row, _counts(connection, [row["id"]]).get(row["id"], 0)) | {
        "resolutions": list(map(_resolution, resolutions))
    }


def forecasts(
    connection: sqlite3.Connection,
    *,
    principal: str | None,
    question_name: str | None = None,
    agent: str | None = None,
    after: int = 0,
    limit: int = MOST,
) -> list[dict[str, Any]]:
    """Forecasts in the order in which they came.

    Args:
        connection: a reader of the ledger.
        principal: name of the principal who asks, and sees forecasts of others once their question is scored or void,
            but none of others' rollouts; None for who sees all.
        question_name: id of the question that they answer; None for any.
        agent: name of the agent that made them; None for any.
        after: number of the forecast after which to go on; 0 for the first.
        limit: largest number of forecasts.
    """
    query = (
        "SELECT forecasts.*, questions.name, questions.state, questions.simulated, principal, agent, version"
        " FROM forecasts JOIN questions ON questions.id = question JOIN forecasters ON forecasters.id = forecaster"
        " WHERE forecasts.id > :after AND (:question IS NULL OR questions.name = :question)"
        " AND (:agent IS NULL OR agent = :agent)"
        " AND (:principal IS NULL OR principal = :principal OR (state IN ('scored', 'void') AND rollout_id IS NULL))"
        " ORDER BY forecasts.id LIMIT :limit"
    )
    bound = {"after": after, "question": question_name, "agent": agent, "principal": principal, "limit": limit}
    return [_forecast(row) for row in connection.execute(query, bound)]


def forecast_of(connection: sqlite3.Connection, forecast: int) -> dict[str, Any] | None:
    """A forecast by its number; None where there is none."""
    for row in forecasts(connection, principal=None, after=forecast - 1, limit=1):
        number = row["forecast"]
        if number == forecast:
            return row | {"content": canonical_json(row["answer"]).decode()}
    return None


def forecast_by_key(connection: sqlite3.Connection, forecaster: tuple[str, str, str], key: str) -> sqlite3.Row | None:
    """The row of the forecast that a forecaster (principal, agent, version) made under an idempotency key; None where
    there is none.
    """
    row: sqlite3.Row | None = connection.execute(
        "SELECT forecasts.* FROM forecasts JOIN forecasters ON forecasters.id = forecaster"
        " WHERE principal = ? AND agent = ? AND version = ? AND idempotency_key = ?",
        (*forecaster, key),
    ).fetchone()
    return row


def status(connection: sqlite3.Connection, now_ns: int) -> dict[str, Any]:
    """How many questions and forecasts there are in each state, and what is due.

    Args:
        connection: a reader of the ledger.
        now_ns: time on the real clock, in Unix nanoseconds; where simulated clocks stand is in the ledger.
    """
    by_state = dict.fromkeys(STATES, 0)
    by_state |= dict(map(tuple, connection.execute("SELECT state, count(*) FROM questions GROUP BY state")))
    # Counted along an index of forecasts that count, question by question, before questions are looked up.
    counting = dict.fromkeys(STATES, 0)
    counting |= dict(
        map(
            tuple,
            connection.execute(
                "SELECT state, sum(n) FROM (SELECT question, count(*) AS n FROM forecasts WHERE counts = 1"
                " GROUP BY question) JOIN questions ON questions.id = question GROUP BY state"
            ),
        )
    )
    clocks = {REAL_CLOCK: now_ns} | clocks_of(connection)
    due = sum(count_due(connection, name, at) for name, at in clocks.items())
    (total,) = connection.execute("SELECT count(*) FROM forecasts").fetchone()
    # Numbers of the log have no gaps; to count rows would read them all.
    (entries,) = connection.execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()
    (asked,) = connection.execute(
        "SELECT min(due_ns) FROM questions WHERE clock = 'real' AND state IN ('pending', 'resolvable', 'error')"
    ).fetchone()
    return {
        "questions": by_state,
        "forecasts": total,
        "counting": counting,
        "due": due,
        "next_due": None if asked is None else _moment(asked),
        "now": utc_text(now_ns),
        "clocks": {name: utc_text(at) for name, at in clocks.items() if name != REAL_CLOCK},
        "log_entries": entries,
    }


def clocks_of(connection: sqlite3.Connection) -> dict[str, int]:
    """Where each simulated clock stands, in nanoseconds since the epoch, by name."""
    return dict(map(tuple, connection.execute("SELECT name, now_ns FROM clocks")))


def count_due(connection: sqlite3.Connection, clock: str, now_ns: int) -> int:
    """How many questions of a clock wait for their truth or its scores, with their evaluation time behind them."""
    query = (
        "SELECT count(*) FROM questions WHERE clock = ? AND state IN ('pending', 'resolvable', 'error', 'resolved')"
        " AND evaluation_ns <= ?"
    )
    return int(connection.execute(query, (clock, now_ns)).fetchone()[0])


def _counts(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, int]:
    """Number of forecasts that count, by row of the question."""
    query = (
        "SELECT question, count(*) FROM forecasts WHERE counts = 1 AND question IN (SELECT value FROM json_each(?))"
        " GROUP BY question"
    )
    return dict(map(tuple, connection.execute(query, (json.dumps(ids),))))


def _moment(at_ns: int) -> str | None:
    """When a question is due, as text; None for one that is never asked about again."""
    return None if at_ns == NEVER else utc_text(at_ns)


def _question(row: sqlite3.Row, count: int) -> dict[str, Any]:
    return {
        "question": json.loads(row["content"]),
        "state": row["state"],
        "reason": row["reason"],
        "simulated": bool(row["simulated"]),
        "due_at": _moment(row["due_ns"]),
        "attempts": row["attempts"],
        "forecasts": count,
        "log_row": row["log_row"],
    }


def _resolution(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "n": row["n"],
        "kind": row["kind"],
        "truth": None if row["truth"] is None else json.loads(row["truth"]),
        "source": row["source"],
        "evidence": json.loads(row["evidence"]),
        "vintage": row["vintage"],
        "known_at": None if row["provider_ns"] is None else utc_text(row["provider_ns"]),
        "fetched_at": utc_text(row["fetched_ns"]),
        "log_row": row["log_row"],
    }


def _forecast(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "forecast": row["id"],
        "question": row["name"],
        "state": row["state"],
        "simulated": bool(row["simulated"]),
        "principal": row["principal"],
        "agent": row["agent"],
        "version": row["version"],
        "rollout_id": row["rollout_id"],
        "received_at": utc_text(row["received_ns"]),
        "answer": json.loads(row["answer"]),
        "salt": row["salt"],
        "digest": row["digest"],
        "reference": None if row["reference"] is None else json.loads(row["reference"]),
        "counts": bool(row["counts"]),
        "loss": row["loss"],
        "naive_loss": row["naive_loss"],
        "market_loss": row["market_loss"],
        "correct": None if row["correct"] is None else bool(row["correct"]),
        "log_row": row["log_row"],
        "score_row": row["score_row"],
    }
