"""The scored forecasts of a ledger as columns.

Rows are packed into few numbers by SQLite, since what costs time is every value that Python makes of one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.errors import StoreError, UsageError
from openfingym.reports.forecasts.columns import Coded, ForecasterId, Forecasts, ScoredQuestions

if TYPE_CHECKING:
    import sqlite3

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.integer[Any]]

TRACKS: Mapping[str, str] = {
    "probability": "events",
    "probabilities": "events",
    "choice": "choices",
    "value": "values",
    "quantiles": "quantiles",
    "interval": "intervals",
}
"""Forms whose losses are of one size, by the name under which they are reported together."""
HORIZONS = (
    (1, "up to an hour"),
    (24, "up to a day"),
    (168, "up to a week"),
    (720, "up to 30 days"),
    (2208, "up to 92 days"),
)
"""Largest hours from deadline to evaluation of each class of horizons; what is longer is the last."""
LONGEST_HORIZON = "longer"
OF_QUESTIONS = ("category", "market", "round", "provider", "form", "clock")
OF_FORECASTERS = ("agent", "version", "principal")
FIRST_VERSION = 7
"""Version of the ledger that first had forecasts."""
MOST_FORECASTERS = 1 << 20
"""So that a question, a forecaster and what is correct fit into the 53 bits of a float64."""
QUESTIONS = """
SELECT category, market, round, form, provider, clock, questions.id, simulated, deadline_ns, evaluation_ns, value,
    CASE form WHEN 'interval' THEN json_extract(content, '$.levels[0]') END
FROM questions LEFT JOIN resolutions ON question = questions.id AND n = 1
WHERE state = 'scored'
"""
FORECASTS = """
SELECT question * 4194304 + forecaster * 4 + ifnull(correct, 2), ifnull(p, -1), loss, ifnull(naive_loss, -1),
    ifnull(market_loss, -1)
FROM forecasts
WHERE counts = 1 AND loss IS NOT NULL AND (:questions IS NULL OR question IN (SELECT value FROM json_each(:questions)))
    AND (:people IS NULL OR forecaster IN (SELECT value FROM json_each(:people)))
ORDER BY id
"""
INTERVALS = """
SELECT forecaster, question, loss, json_extract(answer, '$.interval[0]'), json_extract(answer, '$.interval[1]')
FROM forecasts
WHERE counts = 1 AND loss IS NOT NULL AND (:questions IS NULL OR question IN (SELECT value FROM json_each(:questions)))
    AND (:people IS NULL OR forecaster IN (SELECT value FROM json_each(:people)))
    AND question IN (SELECT id FROM questions WHERE form = 'interval' AND state = 'scored')
"""
_HOUR_NS = 3_600 * 10**9
_DAY_NS = 24 * _HOUR_NS

Where = Mapping[str, "str | Sequence[str]"]
"""What forecasts are looked at: by a column of questions or forecasters, a name or some, in which ``*`` and ``?`` stand
for any text and any character."""


def read_forecasts(ledger: Path, where: Where | None = None) -> Forecasts:
    """Read a ledger, which a verifier may be writing to meanwhile.

    Args:
        ledger: ``ledger.db`` of a state folder, or the folder; opened read-only.
        where: what is looked at; everything by default.

    Raises:
        StoreError: there is no ledger, it cannot be read, or it is of a version without forecasts.
        UsageError: ``where`` names what is none of the columns that can be chosen by.
    """
    with opened(ledger) as connection:
        return _read(connection, where or {})


@contextmanager
def opened(ledger: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads all tables of a ledger as they are at one moment.

    Args:
        ledger: ``ledger.db`` of a state folder, or the folder; opened read-only.

    Raises:
        StoreError: there is no ledger, it cannot be read, or it is of a version without forecasts.
    """
    import sqlite3

    file = ledger / "ledger.db" if ledger.is_dir() else ledger
    if not file.is_file():
        raise StoreError(f"{file}: no such ledger; give the state folder of a verifier, or its ledger.db")
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version < FIRST_VERSION:
                raise StoreError(
                    f"{file}: a ledger of format {version}, which has no forecasts (they came with {FIRST_VERSION}); "
                    "start a verifier of this version on its folder, which upgrades it"
                )
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{file}: the ledger cannot be read: {error}") from error


def _read(connection: sqlite3.Connection, where: Where) -> Forecasts:
    if unknown := sorted(where.keys() - {*OF_QUESTIONS, *OF_FORECASTERS}):
        raise UsageError(
            f"forecasts cannot be chosen by {unknown[0]!r}; expected some of "
            f"{', '.join((*OF_QUESTIONS, *OF_FORECASTERS))}"
        )
    rows = connection.execute(QUESTIONS).fetchall()
    rows = _chosen(rows, where, ("category", "market", "round", "form", "provider", "clock"))
    ids, *columns = zip(*[row[6:] + row[:4] for row in rows], strict=True) if rows else ((),) * 10
    questions = _questions(columns)
    everybody = connection.execute("SELECT agent, version, principal, id FROM forecasters ORDER BY id").fetchall()
    if everybody and everybody[-1][3] >= MOST_FORECASTERS:
        raise StoreError(f"the ledger has over {MOST_FORECASTERS:,} forecasters, more than can be told apart")
    people = _chosen(everybody, where, OF_FORECASTERS)
    some = {
        "questions": json.dumps(ids) if where.keys() & set(OF_QUESTIONS) else None,
        "people": json.dumps([one[3] for one in people]) if where.keys() & set(OF_FORECASTERS) else None,
    }
    packed = _matrix(connection.execute(FORECASTS, some), 5)
    covering = np.isfinite(questions.level).any()
    intervals = _matrix(connection.execute(INTERVALS, some), 5) if covering else np.empty((0, 5))
    last = connection.execute("SELECT ifnull(max(id), 0) FROM questions").fetchone()[0]
    return _forecasts(questions, ids, last, people, packed, intervals)


def _chosen(rows: list[tuple[Any, ...]], where: Where, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows whose texts, which come first and in the order of the columns, are wanted."""
    for place, column in enumerate(columns):
        if column in where:
            wanted = where[column]
            # A bracket is itself here; for fnmatch it begins a set of characters.
            patterns = [one.replace("[", "[[]") for one in ([wanted] if isinstance(wanted, str) else wanted)]
            names = {text for text in {row[place] for row in rows} if any(fnmatchcase(text, one) for one in patterns)}
            rows = [row for row in rows if row[place] in names]
    return rows


def _matrix(rows: Iterable[tuple[float, ...]], columns: int) -> Floats:
    """float64[rows, columns] of rows without NULL."""
    return np.fromiter(itertools.chain.from_iterable(rows), dtype=np.float64).reshape(-1, columns)


def _questions(columns: Sequence[Sequence[Any]]) -> ScoredQuestions:
    simulated, deadline, evaluation, value, level, category, market, name, form = columns
    deadline_ns, evaluation_ns = (np.array(moments, dtype=np.int64) for moments in (deadline, evaluation))
    horizon = np.searchsorted([hours * _HOUR_NS for hours, _ in HORIZONS], evaluation_ns - deadline_ns)
    # The first of January 1970 was a Thursday.
    monday = (deadline_ns // _DAY_NS + 3) // 7 * 7 - 3
    weeks, week = np.unique(monday, return_inverse=True)
    return ScoredQuestions(
        Coded.of(form),
        Coded.of(category),
        Coded.of(market),
        Coded.of(name),
        Coded((*(text for _, text in HORIZONS), LONGEST_HORIZON), horizon),
        Coded(tuple(map(_week, weeks.tolist())), week),
        np.array(simulated, dtype=np.bool_),
        deadline_ns,
        evaluation_ns,
        np.array(value, dtype=np.float64),
        np.array(level, dtype=np.float64),
    )


def _week(day: int) -> str:
    year, week, _ = datetime.fromtimestamp(day * 86_400, UTC).isocalendar()
    return f"{year}-W{week:02}"


def _forecasts(
    questions: ScoredQuestions,
    ids: Sequence[int],
    last: int,
    forecasters: Sequence[tuple[Any, ...]],
    packed: Floats,
    intervals: Floats,
) -> Forecasts:
    places = np.full(last + 1, -1, dtype=np.int32)
    places[np.array(ids, dtype=np.int64)] = np.arange(len(ids), dtype=np.int32)
    people = np.full(max((one[3] for one in forecasters), default=0) + 1, -1, dtype=np.int32)
    people[[one[3] for one in forecasters]] = np.arange(len(forecasters), dtype=np.int32)

    keys = packed[:, 0].astype(np.int64)
    question = places[keys >> 22]
    # What is not scored whole, such as a question whose scoring is under way, has no place.
    known = question >= 0
    if not known.all():
        packed, keys, question = packed[known], keys[known], question[known]
    p, loss, naive, market = packed[:, 1:].T.copy()
    for values in (p, naive, market):
        values[values < 0.0] = np.nan
    intervals[:, 1] = places[intervals[:, 1].astype(np.int64)]
    intervals = intervals[intervals[:, 1] >= 0.0]
    intervals[:, 0] = people[intervals[:, 0].astype(np.int64)]
    forecaster = people[(keys >> 2) & (MOST_FORECASTERS - 1)]
    names = tuple(ForecasterId(*one[:3]) for one in forecasters)
    weight = attempt_weights(forecaster, question, len(questions.deadline_ns))
    correct = np.array([0.0, 1.0, np.nan])[keys & 3]
    return Forecasts(names, questions, forecaster, question, weight, p, loss, naive, market, correct, intervals)


def attempt_weights(forecaster: Places, question: Places, questions: int) -> Floats:
    """One over how often each pair of forecaster and question is there."""
    pairs = forecaster.astype(np.int64) * questions + question
    size = questions * (int(forecaster.max(initial=0)) + 1)
    if size <= 4 * len(pairs) + 1000:
        return np.asarray(1.0 / np.bincount(pairs, minlength=size)[pairs])
    _, places, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[places])
