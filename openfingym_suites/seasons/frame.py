"""A season as a pandas DataFrame, with a row for each forecaster and each question that it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym_suites.seasons.figures import isolation_in
from openfingym_suites.seasons.reading import read_season as read
from openfingym_suites.seasons.records import SeasonRecords

if TYPE_CHECKING:
    import pandas as pd

    from openfingym_suites.seasons.columns import SeasonColumns

COLUMNS = {
    "data_kind": "string",
    "question": "string",
    "text": "string",
    "week": "string",
    "track": "string",
    "level": "string",
    "market": "string",
    "horizon": "string",
    "subtype": "string",
    "subject": "string",
    "form": "string",
    "unit": "string",
    "generated_at": "datetime64[ns, UTC]",
    "deadline": "datetime64[ns, UTC]",
    "evaluation": "datetime64[ns, UTC]",
    "state": "string",
    "reason": "string",
    "truth": "float64",
    "agent": "string",
    "version": "string",
    "principal": "string",
    "method": "string",
    "model": "string",
    "isolation": "string",
    "answered": "boolean",
    "record": "string",
    "forecast": "float64",
    "correct": "float64",
    "loss": "float64",
}
"""The columns with their types, in order."""


def read_season(series: str | None = None, *, state_folder: str | Path | None = None) -> pd.DataFrame:
    """Read a season into a table with a row for each question and each forecaster that was asked it.

    A forecaster is asked all questions of the rounds in which it took part. A question that it left out is a row, too,
    with ``answered`` false and ``correct`` 0; ``record`` says what is on record about it, such as ``unparsed``.
    ``correct`` and ``loss`` (for events Brier's, for numbers |f - y| / (|f| + |y|)) are missing if the question is not
    scored. Questions that nobody was asked, as in a round without forecasts, are rows without an agent.

    Args:
        series: name of a series of rounds; None for the one that was begun last.
        state_folder: the state folder of a verifier; None for the ledger in the store.

    Raises:
        UsageError: there is no such series, or its questions do not state their track and level.
        StoreError: there is no ledger, or it cannot be read.
    """
    import pandas as pd

    from openfingym import store
    from openfingym.rounds.book import Book

    book = Book.find(series)
    records = SeasonRecords(book.folder)
    seasons = read(Path(state_folder or store.ledger_folder()), book.series.name, records)
    if not seasons:
        raise UsageError(f"{book.series.name} has no questions of a season; see openfingym.read_runs for runs of tasks")
    rows = [row for season in seasons for row in _rows(season, records)]
    frame = pd.DataFrame.from_records(rows, columns=list(COLUMNS))
    for name in (name for name, kind in COLUMNS.items() if "datetime" in kind):
        frame[name] = pd.to_datetime(frame[name], utc=True)
    return frame.astype(COLUMNS)


def _rows(season: SeasonColumns, records: SeasonRecords) -> Iterator[tuple[object, ...]]:
    """The rows of one kind of data: those of each forecaster, and then the questions that nobody was asked."""
    asked = [
        (
            *(season.data_kind, question.name, question.text, question.week, question.track, question.level),
            *(question.market, question.horizon, question.subtype, question.subject),
            *("probability" if question.is_event else "value", question.unit),
            *(question.generated_ns, question.deadline_ns, question.evaluation_ns),
            *(question.state, question.reason, question.truth),
        )
        for question in season.questions
    ]
    for line, who in enumerate(season.forecasters):
        how, known = records.method(who), records.of(who)
        states, stated = {} if known is None else known.states, isolation_in(season, records, line)
        mine = (who.agent, who.version, who.principal, how.method, ", ".join(how.models), stated)
        for place in np.flatnonzero(season.took_part[line]).tolist():
            question, forecast = season.questions[place], float(season.forecast[line, place])
            judged = question.is_scored
            yield (
                *asked[place],
                *mine,
                not np.isnan(forecast),
                states.get(question.name, ""),
                forecast,
                float(season.right[line, place]) if judged else np.nan,
                float(season.lost[line, place]) if judged else np.nan,
            )
    for place in np.flatnonzero(~season.took_part.any(axis=0)).tolist():
        yield (*asked[place], None, None, None, None, None, None, None, "", np.nan, np.nan, np.nan)
