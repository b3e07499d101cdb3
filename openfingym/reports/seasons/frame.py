"""A season as a pandas DataFrame, one row a forecaster and question that it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.reports.seasons.reading import read_season as read
from openfingym.reports.seasons.records import SeasonRecords

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.reports.seasons.columns import SeasonColumns

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
    "answered": "boolean",
    "record": "string",
    "forecast": "float64",
    "correct": "float64",
    "loss": "float64",
}
"""Columns with their types, in order."""


def read_season(series: str | None = None, *, state_folder: str | Path | None = None) -> pd.DataFrame:
    """Every question of a season with every forecaster that was asked it, one row each.

    A forecaster is asked all questions of the rounds that it took part in: what it left out is a row, too, with
    ``answered`` false and ``correct`` 0, and ``record`` says what is on record of it, such as ``unparsed``. ``correct``
    and ``loss`` (of events Brier's, of numbers |f - y| / (|f| + |y|)) are missing where the question is not scored.
    Questions that nobody was asked, as of a round without forecasts, are rows without an agent.

    Args:
        series: name of a series of rounds; by default the one that was begun last.
        state_folder: the verifier's state folder; by default the ledger in the store.

    Raises:
        UsageError: there is no such series, or its questions say not which track and level they are of.
        StoreError: there is no ledger, or it cannot be read.
    """
    import pandas as pd

    from openfingym import store
    from openfingym.rounds.book import Book

    book = Book.find(series)
    records = SeasonRecords(book.folder)
    found = read(Path(state_folder or store.ledger_folder()), book.series.name, records)
    if not found:
        raise UsageError(f"{book.series.name} has no questions of a season; see openfingym.read_runs for runs of tasks")
    rows = [row for season in found for row in _rows(season, records)]
    frame = pd.DataFrame.from_records(rows, columns=list(COLUMNS))
    for name in (name for name, kind in COLUMNS.items() if "datetime" in kind):
        frame[name] = pd.to_datetime(frame[name], utc=True)
    return frame.astype(COLUMNS)


def _rows(season: SeasonColumns, records: SeasonRecords) -> Iterator[tuple[object, ...]]:
    asked = [
        (
            *(season.data_kind, one.name, one.text, one.week, one.track, one.level, one.market, one.horizon),
            *(one.subtype, one.subject, "probability" if one.is_event else "value", one.unit),
            *(one.generated_ns, one.deadline_ns, one.evaluation_ns, one.state, one.reason, one.truth),
        )
        for one in season.questions
    ]
    for line, who in enumerate(season.forecasters):
        how, known = records.method(who), records.of(who)
        states = {} if known is None else known.states
        mine = (who.agent, who.version, who.principal, how.method, ", ".join(how.models))
        for place in np.flatnonzero(season.took_part[line]).tolist():
            question, said = season.questions[place], float(season.said[line, place])
            judged = question.is_scored
            yield (
                *asked[place],
                *mine,
                not np.isnan(said),
                states.get(question.name, ""),
                said,
                float(season.right[line, place]) if judged else np.nan,
                float(season.lost[line, place]) if judged else np.nan,
            )
    for place in np.flatnonzero(~season.took_part.any(axis=0)).tolist():
        yield (*asked[place], None, None, None, None, None, None, "", np.nan, np.nan, np.nan)
