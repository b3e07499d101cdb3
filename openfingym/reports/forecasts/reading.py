"""The scored forecasts of a ledger as columns.

Rows are packed into few numbers by SQLite, since what costs time is every value that Python makes of one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from openfingym.errors import StoreError, UsageError

if TYPE_CHECKING:
    import sqlite3

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int32]

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
_HOUR_NS = 3_600 * 10**9
_DAY_NS = 24 * _HOUR_NS

Where = Mapping[str, "str | Sequence[str]"]
"""What forecasts are looked at: by a column of questions or forecasters, a name or some, in which ``*`` and ``?`` stand
for any text and any character."""


class Forecaster(NamedTuple):
    """Who forecasts: two principals that use the same names are two."""

    agent: str
    version: str
    principal: str


@dataclass(frozen=True, eq=False)
class Coded:
    """A text of every question, as the place of a name."""

    names: tuple[str, ...]
    codes: Places
    """int32[questions]"""

    @classmethod
    def of(cls, texts: Sequence[str]) -> Coded:
        """Encode texts; names are in the order in which they come first."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        codes = np.fromiter(map(places.__getitem__, texts), dtype=np.int32, count=len(texts))
        return cls(tuple(places), codes)


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions that are scored; arrays have a value for each."""

    form: Coded
    category: Coded
    market: Coded
    round: Coded
    horizon: Coded
    week: Coded
    """ISO week of the deadline, such as ``2026-W48``."""
    simulated: NDArray[np.bool_]
    deadline_ns: NDArray[np.int64]
    evaluation_ns: NDArray[np.int64]
    truth: Floats
    """NaN where it is no number."""
    level: Floats
    """What an interval is to cover; NaN of other forms."""


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Forecasts that count and are scored; arrays have a value for each, and NaN where there is none."""

    forecasters: tuple[Forecaster, ...]
    questions: Questions
    forecaster: Places
    """Place of who made it."""
    question: Places
    """Place of its question."""
    weight: Floats
    """One over the number of forecasts that its forecaster has of its question, which are attempts at one."""
    p: Floats
    """The probability of ``probability``."""
    loss: Floats
    naive_loss: Floats
    market_loss: Floats
    correct: Floats
    """0 or 1."""
    low: Floats
    """Lower end of an interval."""
    high: Floats

    @property
    def count(self) -> int:
        """Number of forecasts."""
        return len(self.loss)

    def of(self, asked: NDArray[np.bool_]) -> Forecasts:
        """Those of some questions, which alone are left; bool[questions]."""
        if asked.all():
            return self
        chosen = asked[self.question]
        questions = self.questions
        texts = (Coded(one.names, one.codes[asked]) for one in (getattr(questions, name) for name in TEXTS))
        numbers = (getattr(questions, name)[asked] for name in NUMBERS)
        columns = {name: getattr(self, name)[chosen] for name in COLUMNS}
        columns["question"] = (np.cumsum(asked, dtype=np.int32) - 1)[columns["question"]]
        return Forecasts(self.forecasters, Questions(*texts, *numbers), **columns)


TEXTS = ("form", "category", "market", "round", "horizon", "week")
NUMBERS = ("simulated", "deadline_ns", "evaluation_ns", "truth", "level")
COLUMNS = ("forecaster", "question", "weight", "p", "loss", "naive_loss", "market_loss", "correct", "low", "high")


def read_forecasts(ledger: Path, where: Where | None = None) -> Forecasts:
    """Read a ledger, which a verifier may be writing to meanwhile.

    Args:
        ledger: ``ledger.db`` of a state folder, or the folder; opened read-only.
        where: what is looked at; everything by default.

    Raises:
        StoreError: there is no ledger, it cannot be read, or it is of a version without forecasts.
        UsageError: ``where`` names what is none of the columns that can be chosen by.
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
            # All tables as they are at one moment.
            connection.execute("BEGIN")
            return _read(connection, where or {})
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
    of_questions, question_values = _condition(where, OF_QUESTIONS)
    rows = connection.execute(
        "SELECT questions.id, form, category, market, round, simulated, deadline_ns, evaluation_ns, value,"
        " CASE form WHEN 'interval' THEN json_extract(content, '$.levels[0]') END"
        " FROM questions LEFT JOIN resolutions ON question = questions.id AND n = 1"
        f" WHERE state = 'scored'{of_questions}",
        question_values,
    ).fetchall()
    ids, *columns = zip(*rows, strict=True) if rows else ((),) * 10
    questions = _questions(columns)

    of_forecasters, values = _condition(where, OF_FORECASTERS)
    found = connection.execute(
        f"SELECT id, agent, version, principal FROM forecasters WHERE 1{of_forecasters} ORDER BY id",  # noqa: S608  # names of ours
        values,
    ).fetchall()
    if found and found[-1][0] >= MOST_FORECASTERS:
        raise StoreError(f"the ledger has over {MOST_FORECASTERS:,} forecasters, more than can be told apart")

    choice = ""
    if of_questions:
        choice += f" AND question IN (SELECT id FROM questions WHERE state = 'scored'{of_questions})"
    if of_forecasters:
        choice += f" AND forecaster IN (SELECT id FROM forecasters WHERE 1{of_forecasters})"
    chosen = [*question_values, *values]
    packed = _matrix(
        connection.execute(
            f"SELECT question * {4 * MOST_FORECASTERS} + forecaster * 4 + ifnull(correct, 2), ifnull(p, -1), loss,"
            f" ifnull(naive_loss, -1), ifnull(market_loss, -1) FROM forecasts"
            f" WHERE counts = 1 AND loss IS NOT NULL{choice} ORDER BY id",
            chosen,
        ),
        5,
    )
    intervals = np.empty((0, 3))
    if np.isfinite(questions.level).any():
        intervals = _matrix(
            connection.execute(
                "SELECT question, json_extract(answer, '$.interval[0]'), json_extract(answer, '$.interval[1]')"
                " FROM forecasts WHERE counts = 1 AND loss IS NOT NULL"
                " AND question IN (SELECT id FROM questions WHERE form = 'interval' AND state = 'scored')"
                f"{choice} ORDER BY id",
                chosen,
            ),
            3,
        )
    return _forecasts(questions, ids, found, packed, intervals)


def _condition(where: Where, columns: Sequence[str]) -> tuple[str, list[str]]:
    """An SQL condition that begins with AND, or is empty, and its values."""
    text, values = "", []
    for column in columns:
        if column in where:
            wanted = where[column]
            names = [wanted] if isinstance(wanted, str) else list(wanted)
            text += f" AND ({' OR '.join([f'{column} GLOB ?'] * len(names)) or '0'})"
            # A bracket is itself here; for GLOB it begins a set of characters.
            values += [name.replace("[", "[[]") for name in names]
    return text, values


def _matrix(rows: Iterable[tuple[float, ...]], columns: int) -> Floats:
    """float64[rows, columns] of rows without NULL."""
    return np.fromiter(itertools.chain.from_iterable(rows), dtype=np.float64).reshape(-1, columns)


def _questions(columns: Sequence[Sequence[object]]) -> Questions:
    form, category, market, name, simulated, deadline, evaluation, value, level = columns
    deadline_ns, evaluation_ns = (np.array(moments, dtype=np.int64) for moments in (deadline, evaluation))
    horizon = np.searchsorted([hours * _HOUR_NS for hours, _ in HORIZONS], evaluation_ns - deadline_ns)
    # The first of January 1970 was a Thursday.
    monday = (deadline_ns // _DAY_NS + 3) // 7 * 7 - 3
    weeks, week = np.unique(monday, return_inverse=True)
    return Questions(
        *(Coded.of(cast("Sequence[str]", texts)) for texts in (form, category, market, name)),
        Coded((*(text for _, text in HORIZONS), LONGEST_HORIZON), horizon.astype(np.int32)),
        Coded(tuple(map(_week, weeks.tolist())), week.astype(np.int32)),
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
    questions: Questions,
    ids: Sequence[int],
    forecasters: Sequence[tuple[int, str, str, str]],
    packed: Floats,
    intervals: Floats,
) -> Forecasts:
    places = np.full(max(ids, default=0) + 1, -1, dtype=np.int32)
    places[np.array(ids, dtype=np.int64)] = np.arange(len(ids), dtype=np.int32)
    people = np.full(max((one[0] for one in forecasters), default=0) + 1, -1, dtype=np.int32)
    people[[one[0] for one in forecasters]] = np.arange(len(forecasters), dtype=np.int32)

    keys = packed[:, 0].astype(np.int64)
    asked = keys // (4 * MOST_FORECASTERS)
    # What is not scored whole, such as a question whose scoring is under way, has no place.
    question = np.where(asked < len(places), places[np.minimum(asked, len(places) - 1)], np.int32(-1))
    known = question >= 0
    if not known.all():
        packed, keys, question = packed[known], keys[known], question[known]
    forecaster = people[(keys >> 2) & (MOST_FORECASTERS - 1)]
    correct = (keys & 3).astype(np.float64)
    p, loss, naive, market = (np.ascontiguousarray(packed[:, place]) for place in range(1, 5))
    for values in (p, naive, market):
        values[values < 0.0] = np.nan
    correct[correct == 2.0] = np.nan
    low, high = np.full(len(loss), np.nan), np.full(len(loss), np.nan)
    if len(intervals):
        # Both queries give rows in the order of their ids; the second has those of one form alone.
        low[np.isfinite(questions.level[question])], high[np.isfinite(questions.level[question])] = intervals[:, 1:].T
    names = tuple(Forecaster(*one[1:]) for one in forecasters)
    weight = _weights(forecaster, question, len(questions.deadline_ns))
    return Forecasts(names, questions, forecaster, question, weight, p, loss, naive, market, correct, low, high)


def _weights(forecaster: Places, question: Places, questions: int) -> Floats:
    """One over how often each pair of forecaster and question is there."""
    pairs = forecaster.astype(np.int64) * questions + question
    ordered = np.sort(pairs)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.ones(len(pairs))
    _, places, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[places])
