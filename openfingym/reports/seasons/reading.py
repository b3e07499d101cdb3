"""Reading a season from the ledger of a verifier, which may be writing to it at the same time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.reports.forecasts.columns import DATA_KINDS, ForecasterId
from openfingym.reports.forecasts.reading import data_kind, opened
from openfingym.reports.seasons.columns import SeasonColumns, SeasonQuestion

if TYPE_CHECKING:
    from openfingym.reports.seasons.records import SeasonRecords

FORMS = ("value", "probability")
"""Forms of the questions of a season."""
QUESTIONS = """
SELECT questions.id, name, content, form, market, round, clock, generated_ns, deadline_ns, evaluation_ns, simulated,
    state, reason, value, evidence, kind
FROM questions LEFT JOIN resolutions ON question = questions.id AND n = 1
WHERE round >= :first AND round < :behind
ORDER BY questions.id
"""
FORECASTS = """
SELECT question, principal, agent, version, counts, p, correct
FROM forecasts JOIN forecasters ON forecaster = forecasters.id
WHERE question IN (SELECT id FROM questions WHERE round >= :first AND round < :behind)
ORDER BY forecasts.id
"""


def read_season(ledger: Path, series: str, records: SeasonRecords) -> list[SeasonColumns]:
    """Read the season of a series.

    Args:
        ledger: the state folder of a verifier, or its ``ledger.db``; it is only read.
        series: name of the series, with which the names of its rounds begin.
        records: the records of its agents' runs.

    Returns:
        The questions and forecasts of each kind of data; none if no question of the series states track and level.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
    """
    with opened(ledger) as connection:
        asked = connection.execute(QUESTIONS, _bounds(series)).fetchall()
        answered = connection.execute(FORECASTS, _bounds(series)).fetchall()
    questions: dict[str, dict[int, SeasonQuestion]] = {kind: {} for kind in DATA_KINDS}
    for row in asked:
        question = _question(row, records)
        if question is not None:
            questions[data_kind(row[6], bool(row[10]))][row[0]] = question
    return [_columns(kind, of_kind, answered, records) for kind, of_kind in questions.items() if of_kind]


def is_season(ledger: Path, series: str) -> bool:
    """Whether some question of a series states track and level, as those of a season do.

    Args:
        ledger: the state folder of a verifier, or its ``ledger.db``; it is only read.
        series: name of the series.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
    """
    with opened(ledger) as connection:
        row = connection.execute(
            "SELECT 1 FROM questions WHERE round >= :first AND round < :behind AND form IN ('value', 'probability')"
            " AND json_extract(content, '$.query.track') != '' AND json_extract(content, '$.query.level') != ''"
            " LIMIT 1",
            _bounds(series),
        ).fetchone()
    return row is not None


def _bounds(series: str) -> dict[str, str]:
    """The names between which those of the rounds of a series are, which begin with the series and a slash."""
    # By two comparisons, for which SQLite uses its index, unlike for LIKE.
    return {"first": f"{series}/", "behind": f"{series}{chr(ord('/') + 1)}"}


def _question(row: Sequence[Any], records: SeasonRecords) -> SeasonQuestion | None:
    """The question of a row; None if it is not one of a season."""
    _, name, content, form, market, in_round, _, generated, deadline, evaluation, _, state, reason, *truth = row
    document = json.loads(content)
    query = document.get("query", {})
    stated = {key: str(query.get(key, "")) for key in ("track", "level", "horizon", "subtype", "subject", "vault")}
    if form not in FORMS or not (stated["track"] and stated["level"]):
        return None
    value, evidence, kind = truth
    known = value if value is not None and kind == "resolved" else float("nan")
    # A payout between 0 and 1 decides nothing: no forecast of the event is right or wrong.
    if form == "probability" and known not in {0.0, 1.0}:
        known = float("nan")
    return SeasonQuestion(
        name=name,
        text=document.get("text", ""),
        market=market,
        week=in_round.rpartition("/")[2],
        is_event=form == "probability",
        unit=document.get("unit", ""),
        generated_ns=generated,
        deadline_ns=deadline,
        evaluation_ns=evaluation,
        state=state,
        reason=reason or _void_reason(kind, evidence),
        truth=known,
        proposal=_proposal(evidence) or records.proposals.get(name, ""),
        **stated | {"subject": stated["subject"] or market},
    )


def _void_reason(kind: str | None, evidence: str | None) -> str:
    """Why a question was made void by a rule; empty if it was not."""
    return str(_document(evidence).get("rule", "")) if kind == "void" else ""


def _proposal(evidence: str | None) -> str:
    """The verdict that was proposed to the person who decided; empty if there was none."""
    proposal = _document(evidence).get("proposal")
    return str(proposal.get("outcome") or "") if isinstance(proposal, Mapping) else ""


def _document(text: str | None) -> Mapping[str, Any]:
    """A JSON object; empty if the text is none."""
    try:
        document = json.loads(text or "{}")
    except ValueError:
        return {}
    return document if isinstance(document, Mapping) else {}


def _columns(
    kind: str, questions: Mapping[int, SeasonQuestion], answered: Sequence[tuple[Any, ...]], records: SeasonRecords
) -> SeasonColumns:
    """The columns of one kind of data.

    Args:
        kind: the kind of data.
        questions: its questions, by their row ids in the ledger.
        answered: rows of the query :data:`FORECASTS`, of all kinds of data.
        records: the records of agents' runs.
    """
    asked = tuple(questions.values())
    column = {number: place for place, number in enumerate(questions)}
    rows = [(column[row[0]], ForecasterId(row[2], row[3], row[1]), *row[4:]) for row in answered if row[0] in column]
    people = tuple(sorted({row[1] for row in rows}))
    line = {who: place for place, who in enumerate(people)}
    shape = (len(people), len(asked))
    count, forecast, lost, judged, correct = (np.zeros(shape) for _ in range(5))
    there: set[tuple[int, str]] = set()
    for place, who, counts, p, right in rows:
        question, cell = asked[place], (line[who], place)
        there.add((line[who], question.week))
        if counts and p is not None:
            count[cell] += 1.0
            forecast[cell] += p
            if right is not None and question.is_scored:
                judged[cell] += 1.0
                correct[cell] += right
                lost[cell] += loss_of(question, p)
    # An agent whose answers could not be read took part too, although the ledger has nothing of it.
    there |= {(line[who], week) for who in people for week in records.weeks_tried(who)}
    weeks = np.array([question.week for question in asked])
    took_part = np.zeros(shape, dtype=np.bool_)
    for number, week in there:
        took_part[number, weeks == week] = True
    # Means over attempts; 0 / 0 is NaN, which says that there is nothing.
    with np.errstate(invalid="ignore", divide="ignore"):
        return SeasonColumns(kind, asked, people, forecast / count, correct / judged, lost / judged, took_part)


def loss_of(question: SeasonQuestion, forecast: float) -> float:
    """The loss of a forecast, from 0 to 1: Brier's (p - y)^2 for an event; |f - y| / (|f| + |y|) for a number, which is
    0 if both are 0.

    Args:
        question: the question, whose truth is known.
        forecast: the probability or the number that was forecast.
    """
    distance = abs(forecast - question.truth)
    if question.is_event:
        return distance * distance
    return distance / (abs(forecast) + abs(question.truth)) if distance else 0.0
