"""Reading a season from the ledger of a verifier, which may be writing to it at the same time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.reports.forecasts.columns import DATA_KINDS, ForecasterId
from openfingym.reports.forecasts.reading import data_kind, opened
from openfingym.rounds.passes import first_name, later_bounds
from openfingym.rounds.status import SETTLED
from openfingym_suites.seasons.columns import SeasonColumns, SeasonQuestion

if TYPE_CHECKING:
    from openfingym_suites.seasons.records import SeasonRecords

FORMS = ("value", "probability")
"""Forms of the questions of a season."""
QUESTIONS = """
SELECT questions.id, name, content, form, market, round, clock, generated_ns, deadline_ns, evaluation_ns, simulated,
    state, reason, value, evidence, kind
FROM questions LEFT JOIN resolutions ON question = questions.id AND n = 1
WHERE round >= :first AND round < :behind
ORDER BY questions.id
"""
# The last column says whether the question is settled, which that of another pass may not be yet.
FORECASTS = """
SELECT question, principal, agent, version, counts, p, correct, questions.state IN ('scored', 'void')
FROM forecasts JOIN forecasters ON forecaster = forecasters.id JOIN questions ON question = questions.id
WHERE round >= :first AND round < :behind
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
        passes = (_bounds(series), later_bounds(series))
        asked = [row for bounds in passes for row in connection.execute(QUESTIONS, bounds)]
        answered = [row for bounds in passes for row in connection.execute(FORECASTS, bounds)]
    asked, answered = _as_one_pass(asked, answered)
    questions: dict[str, dict[int, SeasonQuestion]] = {kind: {} for kind in DATA_KINDS}
    for row in asked:
        question = _question(row, records)
        if question is not None:
            questions[data_kind(row[6], bool(row[10]))][row[0]] = question
    return [_columns(kind, of_kind, answered, records) for kind, of_kind in questions.items() if of_kind]


def _as_one_pass(
    asked: Sequence[tuple[Any, ...]], answered: Sequence[tuple[Any, ...]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The questions and forecasts of all passes of a season as those of one.

    Of a question, the row of a pass in which it is settled stands for all, the first of them. Of a forecaster, the
    forecasts of the first pass in which it answered a question count, such as of the reference forecasters, which are
    entered in each.

    Args:
        asked: rows of the query :data:`QUESTIONS`, those of the first pass first.
        answered: rows of the query :data:`FORECASTS`, in the same order.
    """
    same: dict[str, list[tuple[Any, ...]]] = {}
    for row in asked:
        same.setdefault(first_name(row[1]), []).append(row)
    standing = {name: min(rows, key=lambda row: row[11] not in SETTLED) for name, rows in same.items()}
    # A question of the same name that asks something else, by a definition that was changed, stands for itself.
    number = {row[0]: standing[name][0] for name, rows in same.items() for row in rows if _asks_as(row, standing[name])}
    chosen = [(*row[:1], name, *row[2:5], first_name(row[5]), *row[6:]) for name, row in standing.items()]
    first: dict[tuple[Any, ...], int] = {}
    kept = []
    for question, *forecast in answered:
        if question in number and first.setdefault((number[question], *forecast[:3]), question) == question:
            kept.append((number[question], *forecast))
    return chosen, kept


def _asks_as(row: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two rows of questions ask the same at the same moments, whatever their passes are."""
    documents = [json.loads(one[2]) for one in (row, other)]
    mine, theirs = ([one.get(key) for key in ("text", "query", "unit", "outcomes")] for one in documents)
    return mine == theirs and tuple(row[3:5]) == tuple(other[3:5]) and tuple(row[7:10]) == tuple(other[7:10])


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
    waiting: set[tuple[int, int]] = set()
    for place, who, counts, p, right, settled in rows:
        question, cell = asked[place], (line[who], place)
        there.add((line[who], question.week))
        if question.is_scored and not settled:
            waiting.add(cell)
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
    # A forecast that has its truth in another pass alone is neither right nor wrong yet, and not missing either.
    for cell in waiting:
        took_part[cell] = False
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
