"""Checking questions, forecasts and resolutions against the log, entry by entry.

Everything that decides a score is compared: contents, times, answers, references, truths, evidence, losses, and which
forecasts count. When a question is due next and how often it was asked about is only the resolver's own schedule.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openfingym.digests import sha256_of_text
from openfingym.errors import OpenFinGymError, VerifierError
from openfingym.questions.answer import read_answer
from openfingym_verifier.questions.events import forecast_digest
from openfingym_verifier.questions.reading import question_of
from openfingym_verifier.questions.resolution_events import Resolution
from openfingym_verifier.questions.unscored import recomputed

if TYPE_CHECKING:
    import sqlite3

TABLES = ("questions", "forecasts", "resolutions", "recordings", "clocks")
AFTER = {
    "resolvable": {"pending"},
    "waiting": {"resolvable", "error"},
    "error": {"resolvable", "error"},
    "resolved": {"resolvable", "error"},
    "void": {"resolvable", "error"},
    "scored": {"resolved"},
}
"""States that a question may be in before an event."""


class QuestionRowsCheck:
    """Checks rows about questions against the log: :meth:`add` for every entry in order, then :meth:`finish`.

    Raises:
        VerifierError: with the first thing that does not fit.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        # A ledger that no verifier has opened since there are questions has no tables of them.
        self._there = set(TABLES) <= tables
        self._connection = connection
        self._seen = dict.fromkeys(TABLES, 0)
        """Rows of each table that the log speaks of."""
        self._scored = 0
        """Forecasts that have a score by the log."""
        self._states: dict[str, tuple[int, str, str]] = {}
        """Row, state and reason of each question, as the entries so far have it."""
        self._clocks: dict[str, int] = {}
        """Where each simulated clock stands, as the entries so far have it."""
        self._unreferenced: set[int] = set()
        """Forecasts that have no reference by the entries so far."""
        self._checks = {
            "question-asked": self._asked,
            "forecast": self._forecast,
            "forecast-referenced": self._referenced,
            "forecast-scored": self._score,
            "clock-advanced": self._clock,
            "truth-recorded": self._recorded,
            "question-resolved": self._resolution,
            "question-void": self._resolution,
            "question-vintage": self._resolution,
            "question-correction": self._resolution,
            "question-resolvable": self._transition,
            "question-waiting": self._transition,
            "question-error": self._transition,
            "question-scored": self._transition,
        }

    def add(self, seq: int, entry: dict[str, Any]) -> None:
        """Compare what one entry states with the ledger."""
        check = self._checks.get(str(entry.get("event")))
        if check is None:
            return
        if not self._there:
            raise VerifierError(f"log row {seq} is about a question, and the ledger has no table of them")
        try:
            check(seq, entry)
        except (KeyError, TypeError, ValueError, OpenFinGymError) as error:
            if isinstance(error, VerifierError):
                raise
            raise VerifierError(f"what log row {seq} is about cannot be read from the ledger: {error}") from error

    def finish(self) -> None:
        """Check that there is nothing that the log does not speak of."""
        if not self._there:
            return
        self._seen["clocks"] = len(self._clocks)
        for table, seen in self._seen.items():
            (there,) = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608  # a constant
            _same(f"number of rows in the table {table}", seen, there)
        for name, row, state, reason in self._connection.execute("SELECT name, id, state, reason FROM questions"):
            _same(f"state of question {name}", self._states.get(name), (row, state, reason))
        _same("time of the simulated clocks", self._clocks, dict(self._connection.execute("SELECT * FROM clocks")))
        (scored,) = self._connection.execute(
            "SELECT count(*) FROM forecasts WHERE coalesce(loss, naive_loss, market_loss, correct, score_row)"
            " IS NOT NULL"
        ).fetchone()
        _same("number of scores", self._scored, scored)
        for number in sorted(self._unreferenced):
            (reference,) = self._row("SELECT reference FROM forecasts WHERE id = ?", number)
            _same(f"reference of forecast {number}", None, reference)
        wrong = self._connection.execute(_WRONG_COUNTS).fetchone()
        if wrong is not None:
            raise VerifierError(f"whether forecast {wrong[0]} counts was changed: it is not what the times say")

    def _row(self, query: str, *bound: object) -> Any:
        """The row that an entry speaks of, which must be there."""
        row = self._connection.execute(query, bound).fetchone()
        if row is None:
            raise VerifierError(f"what the log says of {bound[0]} is not in the ledger")
        return row

    def _asked(self, seq: int, entry: dict[str, Any]) -> None:
        name = entry["question"]
        row = self._row(
            "SELECT id, content, provider, form, category, market, round, clock, generated_ns, deadline_ns,"
            " evaluation_ns, simulated, log_row FROM questions WHERE name = ?",
            name,
        )
        self._seen["questions"] += 1
        _same(f"content of question {name}", entry["content"], sha256_of_text(row[1]))
        content = json.loads(row[1])
        # The columns repeat what the content says, so that questions can be looked up by them.
        names = ("provider", "form", "category", "market", "round", "clock", "generated_ns", "deadline_ns")
        stated = (*(content[column] for column in names), content["evaluation_ns"], int(entry["simulated"]), seq)
        _same(f"columns of question {name}", stated, tuple(row[2:]))
        # Ids are given in order: a question that was removed or put in between would shift them.
        _same(f"place of question {name}", self._seen["questions"], row[0])
        self._states[name] = (row[0], "pending", "")

    def _forecast(self, seq: int, entry: dict[str, Any]) -> None:
        number = entry["forecast"]
        self._seen["forecasts"] += 1
        _same("number of a forecast", self._seen["forecasts"], number)
        row = self._row(
            "SELECT questions.name, principal, agent, version, received_ns, digest, idempotency_key,"
            " coalesce(rollout_id, ''), forecasts.log_row, answer, salt, reference, p, questions.content FROM forecasts"
            " JOIN questions ON questions.id = question JOIN forecasters ON forecasters.id = forecaster"
            " WHERE forecasts.id = ?",
            number,
        )
        names = ("question", "principal", "agent", "version", "received_ns", "payload", "key", "rollout")
        _same(f"columns of forecast {number}", (*(entry[column] for column in names), seq), tuple(row[:9]))
        answer, salt, reference, p, content = row[9:]
        _same(f"answer of forecast {number}", entry["payload"], forecast_digest(salt, answer))
        question = question_of(content)
        values = read_answer(question, json.loads(answer)).values
        _same(f"number of forecast {number}", values[0] if question.form in {"probability", "value"} else None, p)
        if entry["reference"] is None:
            self._unreferenced.add(number)
        else:
            _same(f"reference of forecast {number}", entry["reference"], reference and sha256_of_text(reference))

    def _referenced(self, _seq: int, entry: dict[str, Any]) -> None:
        """Check a reference that came after its forecast."""
        number = entry["forecast"]
        if number not in self._unreferenced:
            raise VerifierError(f"forecast {number} got a reference twice")
        self._unreferenced.remove(number)
        (reference,) = self._row("SELECT reference FROM forecasts WHERE id = ?", number)
        _same(f"reference of forecast {number}", entry["reference"], reference and sha256_of_text(reference))

    def _score(self, seq: int, entry: dict[str, Any]) -> None:
        number = entry["forecast"]
        *columns, content, answer, reference, truth = self._row(
            "SELECT loss, naive_loss, market_loss, correct, score_row, counts, content, answer, reference, truth"
            " FROM forecasts JOIN questions ON questions.id = forecasts.question"
            " LEFT JOIN resolutions ON resolutions.question = questions.id AND n = 1 WHERE forecasts.id = ?",
            number,
        )
        correct = entry["correct"] if entry["correct"] is None else int(entry["correct"])
        stated = (entry["loss"], entry["naive_loss"], entry["market_loss"], correct)
        _same(f"score of forecast {number}", (*stated, seq, 1), tuple(columns))
        if truth is None:
            raise VerifierError(f"forecast {number} has a score in log row {seq}, and its question no truth")
        computed = recomputed(question_of(content), answer, truth, reference)
        if stated != (computed.loss, computed.naive_loss, computed.market_loss, computed.correct):
            raise VerifierError(f"the score of forecast {number} does not follow from its answer and the truth")
        self._scored += 1

    def _clock(self, _seq: int, entry: dict[str, Any]) -> None:
        if entry["now_ns"] <= self._clocks.get(entry["clock"], 0):
            raise VerifierError(f"the clock {entry['clock']} was moved backwards")
        self._clocks[entry["clock"]] = entry["now_ns"]

    def _recorded(self, _seq: int, entry: dict[str, Any]) -> None:
        content, salt = self._row(
            "SELECT recordings.content, salt FROM recordings JOIN questions ON question = questions.id WHERE name = ?",
            entry["question"],
        )
        self._seen["recordings"] += 1
        _same(f"recorded truth of {entry['question']}", entry["payload"], forecast_digest(salt, content))

    def _resolution(self, seq: int, entry: dict[str, Any]) -> None:
        name, n, kind = entry["question"], entry["n"], str(entry["event"]).removeprefix("question-")
        *columns, row = self._row(
            "SELECT kind, truth, value, source, evidence, vintage, provider_ns, fetched_ns, resolutions.log_row"
            " FROM resolutions JOIN questions ON questions.id = question WHERE name = ? AND n = ?",
            name,
            n,
        )
        self._seen["resolutions"] += 1
        stored = Resolution(*columns)
        _same(f"resolution {n} of {name}", (kind, entry["resolution"], seq), (stored.kind, stored.digest, row))
        # The first decides, and there is no other of its kind.
        first = kind in {"resolved", "void"}
        if first != (n == 1):
            raise VerifierError(f"{name} was resolved twice: its resolution {n} is in log row {seq}")
        if first:
            self._transition(seq, entry)

    def _transition(self, seq: int, entry: dict[str, Any]) -> None:
        name, event = entry["question"], str(entry["event"]).removeprefix("question-")
        if name not in self._states:
            raise VerifierError(f"log row {seq} is about {name}, which was not asked before")
        row, state, reason = self._states[name]
        if state not in AFTER[event]:
            raise VerifierError(f"log row {seq} says that {name} is {event}, and it was {state} before")
        # A provider that has no truth yet leaves the question where it is.
        now = "resolvable" if event == "waiting" else event
        self._states[name] = (row, now, reason if event == "scored" else str(entry.get("reason", "")))


# Of a forecaster's forecasts on a question, in each rollout by itself, the latest before the truth was known counts.
_WRONG_COUNTS = """
SELECT id FROM forecasts WHERE counts != (id IN (
    SELECT max(forecasts.id) FROM forecasts LEFT JOIN resolutions
    ON resolutions.question = forecasts.question AND n = 1 AND kind = 'resolved'
    WHERE provider_ns IS NULL OR received_ns < provider_ns
    GROUP BY forecasts.question, forecaster, rollout_id
)) LIMIT 1
"""


def _same(what: str, logged: object, stored: object) -> None:
    if logged != stored:
        raise VerifierError(f"the {what} is not the one in the log")
