"""Reading the scored forecasts of a ledger as columns.

SQLite packs each row into few numbers, since most of the time is spent on making a Python object of each value.
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
from openfingym.questions.question import REPLAYED
from openfingym.reports.forecasts.columns import DATA_KINDS, Coded, ForecasterId, Forecasts, ScoredQuestions

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
"""The track of each form of questions: forms of one track have comparable losses, and are reported together."""
HORIZONS = (
    (1, "up to an hour"),
    (24, "up to a day"),
    (168, "up to a week"),
    (720, "up to 30 days"),
    (2208, "up to 92 days"),
)
"""Most hours from deadline to evaluation in each class of horizons, and the name of the class."""
LONGEST_HORIZON = "longer"
"""Name of the class of longer horizons."""
OF_QUESTIONS = ("category", "market", "round", "provider", "form", "clock")
"""Columns of questions by which forecasts can be chosen."""
OF_FORECASTERS = ("agent", "version", "principal")
"""Columns of forecasters by which forecasts can be chosen."""
FIRST_VERSION = 7
"""The first version of the ledger's format that has forecasts."""
MOST_FORECASTERS = 1 << 20
"""Most forecasters: 20 bits, which with 31 bits for a question and 2 for ``correct`` are the 53 bits of a float64."""
QUESTIONS = """
SELECT category, market, round, form, provider, clock, questions.id, clock, simulated, deadline_ns, evaluation_ns,
    value, CASE form WHEN 'interval' THEN json_extract(content, '$.levels[0]') END
FROM questions LEFT JOIN resolutions ON question = questions.id AND n = 1
WHERE state = 'scored'
"""
# The first column packs question, forecaster and `correct` (2 for NULL), 4194304 being 2 ** 22. Losses and
# probabilities are never negative, so that -1 stands for NULL.
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
"""Which forecasts to read: for columns of questions or forecasters, a name or several, in which ``*`` stands for any
text and ``?`` for any character."""


def read_forecasts(ledger: Path, where: Where | None = None) -> Forecasts:
    """Read the scored forecasts of a ledger, which a verifier may be writing to at the same time.

    Args:
        ledger: the state folder of a verifier, or its ``ledger.db``, which is opened read-only.
        where: which forecasts to read; None for all.

    Raises:
        StoreError: there is no ledger, it cannot be read, or it is of a version without forecasts.
        UsageError: ``where`` names a column by which forecasts cannot be chosen.
    """
    with opened(ledger) as connection:
        return _read(connection, where or {})


@contextmanager
def opened(ledger: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection that reads all tables of a ledger as they are at one moment.

    Args:
        ledger: the state folder of a verifier, or its ``ledger.db``, which is opened read-only.

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
            # Within one transaction, what a verifier writes meanwhile is not seen: all tables fit together.
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{file}: the ledger cannot be read: {error}") from error


def _read(connection: sqlite3.Connection, where: Where) -> Forecasts:
    """Read the forecasts that were chosen."""
    if unknown := sorted(where.keys() - {*OF_QUESTIONS, *OF_FORECASTERS}):
        raise UsageError(
            f"forecasts cannot be chosen by {unknown[0]!r}; expected some of "
            f"{', '.join((*OF_QUESTIONS, *OF_FORECASTERS))}"
        )
    rows = connection.execute(QUESTIONS).fetchall()
    rows = _chosen(rows, where, ("category", "market", "round", "form", "provider", "clock"))
    ids, *columns = zip(*[row[6:] + row[:4] for row in rows], strict=True) if rows else ((),) * 11
    questions = _questions(columns)
    everybody = connection.execute("SELECT agent, version, principal, id FROM forecasters ORDER BY id").fetchall()
    if everybody and everybody[-1][3] >= MOST_FORECASTERS:
        raise StoreError(f"the ledger has over {MOST_FORECASTERS:,} forecasters, more than can be told apart")
    people = _chosen(everybody, where, OF_FORECASTERS)
    some = {
        "questions": json.dumps(ids) if where.keys() & set(OF_QUESTIONS) else None,
        "people": json.dumps([row[3] for row in people]) if where.keys() & set(OF_FORECASTERS) else None,
    }
    packed = _matrix(connection.execute(FORECASTS, some), 5)
    covering = np.isfinite(questions.level).any()
    intervals = _matrix(connection.execute(INTERVALS, some), 5) if covering else np.empty((0, 5))
    last = connection.execute("SELECT ifnull(max(id), 0) FROM questions").fetchone()[0]
    return _forecasts(questions, ids, last, people, packed, intervals)


def _chosen(rows: list[tuple[Any, ...]], where: Where, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows that are chosen by their first values, which are texts in the order of the columns."""
    for place, column in enumerate(columns):
        if column in where:
            wanted = where[column]
            # A bracket has no meaning here; for fnmatch it begins a set of characters.
            patterns = [name.replace("[", "[[]") for name in ([wanted] if isinstance(wanted, str) else wanted)]
            texts = {row[place] for row in rows}
            names = {text for text in texts if any(fnmatchcase(text, pattern) for pattern in patterns)}
            rows = [row for row in rows if row[place] in names]
    return rows


def _matrix(rows: Iterable[tuple[float, ...]], columns: int) -> Floats:
    """Rows without NULL as an array, float64[rows, columns]."""
    return np.fromiter(itertools.chain.from_iterable(rows), dtype=np.float64).reshape(-1, columns)


def _questions(columns: Sequence[Sequence[Any]]) -> ScoredQuestions:
    """Questions from the columns of the query, without their ids."""
    clock, simulated, deadline, evaluation, value, level, category, market, name, form = columns
    kinds = [DATA_KINDS.index(data_kind(name, bool(made_up))) for name, made_up in zip(clock, simulated, strict=True)]
    deadline_ns, evaluation_ns = (np.array(moments, dtype=np.int64) for moments in (deadline, evaluation))
    horizon = np.searchsorted([hours * _HOUR_NS for hours, _ in HORIZONS], evaluation_ns - deadline_ns)
    # Days since the epoch of the Monday of each deadline's week; the first of January 1970 was a Thursday.
    monday = (deadline_ns // _DAY_NS + 3) // 7 * 7 - 3
    weeks, week = np.unique(monday, return_inverse=True)
    return ScoredQuestions(
        Coded.of(form),
        Coded.of(category),
        Coded.of(market),
        Coded.of(name),
        Coded((*(text for _, text in HORIZONS), LONGEST_HORIZON), horizon),
        Coded(tuple(map(_week, weeks.tolist())), week),
        np.array(kinds, dtype=np.int8),
        deadline_ns,
        evaluation_ns,
        np.array(value, dtype=np.float64),
        np.array(level, dtype=np.float64),
    )


def data_kind(clock: str, simulated: bool) -> str:
    """The kind of data of a question that is asked by a clock, whose truth the ledger says is made up or not."""
    return "simulated" if simulated else "replayed" if clock.startswith(REPLAYED) else "real"


def _week(day: int) -> str:
    """The ISO week of a day, which is counted from the epoch."""
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
    """Unpack forecasts.

    Args:
        questions: the questions that were chosen.
        ids: row id of each question in the ledger.
        last: the largest row id of a question in the ledger.
        forecasters: agent, version, principal and row id of each forecaster that was chosen.
        packed: rows of the query :data:`FORECASTS`.
        intervals: rows of the query :data:`INTERVALS`.
    """
    # Indices of questions and forecasters by their row ids, -1 for those that were not chosen.
    places = np.full(last + 1, -1, dtype=np.int32)
    places[np.array(ids, dtype=np.int64)] = np.arange(len(ids), dtype=np.int32)
    people = np.full(max((row[3] for row in forecasters), default=0) + 1, -1, dtype=np.int32)
    people[[row[3] for row in forecasters]] = np.arange(len(forecasters), dtype=np.int32)

    keys = packed[:, 0].astype(np.int64)
    question = places[keys >> 22]
    # Some forecasts of a question may be scored while the question is not, if its scoring is under way.
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
    names = tuple(ForecasterId(*row[:3]) for row in forecasters)
    weight = attempt_weights(forecaster, question, len(questions.deadline_ns))
    correct = np.array([0.0, 1.0, np.nan])[keys & 3]
    return Forecasts(names, questions, forecaster, question, weight, p, loss, naive, market, correct, intervals)


def attempt_weights(forecaster: Places, question: Places, questions: int) -> Floats:
    """One over the number of forecasts with the same forecaster and question.

    Args:
        forecaster: index of the forecaster of each forecast.
        question: index of the question of each forecast.
        questions: how many questions there are.
    """
    pairs = forecaster.astype(np.int64) * questions + question
    size = questions * (int(forecaster.max(initial=0)) + 1)
    # Counting is faster than sorting, unless few of all pairs occur.
    if size <= 4 * len(pairs) + 1000:
        return np.asarray(1.0 / np.bincount(pairs, minlength=size)[pairs])
    _, places, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[places])
