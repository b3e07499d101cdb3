"""Scores of forecasts whose question is resolved, and which have none yet."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openfingym.errors import OpenFinGymError
from openfingym.questions import Question
from openfingym.questions.answer import read_answer
from openfingym.questions.scoring import Scores, scores
from openfingym_verifier.questions.reading import question_of
from openfingym_verifier.questions.resolution_events import ForecastScore, ForecastsScored

if TYPE_CHECKING:
    import sqlite3

    from openfingym_verifier.ledger.ledger import Ledger

MOST = 1000
"""Largest number of forecasts that are scored at once."""

logger = logging.getLogger(__name__)


@dataclass
class NextScores:
    """Some scores, and why there are none of some questions."""

    events: list[ForecastsScored] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    """Why a question cannot be scored, by its id."""


def next_scores(
    ledger: Ledger, rows: Sequence[int], position: tuple[int, int, int], at_ns: int
) -> tuple[NextScores, tuple[int, int, int] | None]:
    """The next scores of these questions, and where to go on; None at their end.

    Args:
        ledger: the ledger, which is read.
        rows: rows of questions; those that are not resolved, or scored already, are passed over.
        position: index into ``rows``, and the forecaster and the id of its forecast after which to go on; zeros at
            first.
        at_ns: Unix time in nanoseconds that the events bear.
    """
    result, left = NextScores(), MOST
    place, forecaster, forecast = position
    with ledger.read() as connection:
        while place < len(rows):
            truth = _truth(connection, rows[place])
            if truth is not None:
                some = _forecasts(connection, rows[place], forecaster, forecast, left)
                try:
                    scored = tuple(_score(truth[0], truth[1], one) for one in some)
                except (OpenFinGymError, ValueError) as error:
                    # One question that fails keeps no other from being scored; it stays resolved, and is tried again.
                    logger.exception("question %s cannot be scored", truth[0].id)
                    result.failures[truth[0].id] = f"cannot be scored: {error}"
                else:
                    # Also without a forecast to score: the event makes the question scored.
                    result.events.append(ForecastsScored(rows[place], truth[0].id, scored, at_ns))
                left -= len(some)
                if left <= 0:
                    return result, (place, some[-1]["forecaster"], some[-1]["id"])
            place, forecaster, forecast = place + 1, 0, 0
    return result, None


def _truth(connection: sqlite3.Connection, row: int) -> tuple[Question, str] | None:
    """A question that is resolved and not scored, with the truth that decides, as JSON; None of any other."""
    resolved = connection.execute(
        "SELECT content, truth FROM questions JOIN resolutions ON question = questions.id AND n = 1"
        " WHERE questions.id = ? AND state = 'resolved'",
        (row,),
    ).fetchone()
    if resolved is None:
        return None
    return question_of(resolved["content"]), resolved["truth"]


def _forecasts(
    connection: sqlite3.Connection, row: int, forecaster: int, forecast: int, most: int
) -> list[sqlite3.Row]:
    """The next forecasts of a question that count and have no score, after a forecaster and a forecast."""
    # In the order of an index, so that to go on from a position costs nothing, however many there are.
    return connection.execute(
        "SELECT forecasts.id, forecaster, rollout_id, answer, reference, principal FROM forecasts JOIN forecasters"
        " ON forecasters.id = forecaster WHERE question = ? AND counts = 1 AND loss IS NULL"
        " AND (forecaster, forecasts.id) > (?, ?) ORDER BY forecaster, forecasts.id LIMIT ?",
        (row, forecaster, forecast, most),
    ).fetchall()


def recomputed(question: Question, answer: str, truth: str, reference: str | None) -> Scores:
    """The score of a forecast, from what the ledger has of it.

    Args:
        question: the question that was forecast.
        answer: the answer as JSON.
        truth: the truth that decides, as JSON.
        reference: what the market showed, as JSON; None where nothing was captured.
    """
    values = read_answer(question, json.loads(answer)).values
    known = json.loads(truth)
    shown = None if reference is None else json.loads(reference)
    return scores(question, values, tuple(known) if isinstance(known, list) else known, shown)


def _score(question: Question, truth: str, row: sqlite3.Row) -> ForecastScore:
    computed = recomputed(question, row["answer"], truth, row["reference"])
    losses = computed.loss, computed.naive_loss, computed.market_loss, computed.correct
    return ForecastScore(row["id"], row["rollout_id"], row["principal"], *losses)
