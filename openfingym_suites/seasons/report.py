"""The report on a season, from its ledger and the records of its agents, as plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.questions.question import utc_text
from openfingym.reports.forecasts.isolation import is_isolated
from openfingym.reports.forecasts.report import plain
from openfingym.reports.statistics import FEWEST_UNITS
from openfingym.version import __version__
from openfingym_suites.seasons.comparisons import SeasonPair, SeasonRank, pairs_of, ranks_of
from openfingym_suites.seasons.composition import (
    CompositionColumn,
    WeekStates,
    agreement_of,
    markets_of,
    states_of,
    strata_of,
    void_reasons,
)
from openfingym_suites.seasons.figures import SeasonRow, SeasonSlice, isolation_in, rows_of, slices_of
from openfingym_suites.seasons.mistakes import MistakeGroup, mistakes_of
from openfingym_suites.seasons.reading import read_season
from openfingym_suites.seasons.records import SeasonRecords

if TYPE_CHECKING:
    from openfingym.reports.forecasts.columns import ForecasterId
    from openfingym_suites.findeepforecast.truth.verdicts import Agreement
    from openfingym_suites.seasons.columns import SeasonColumns

FORMAT = 1
"""Version of the JSON form of a report."""


@dataclass(frozen=True)
class QuadrantCount:
    """Number of questions of a track and level about one market."""

    quadrant: str
    """The track and the level."""
    market: str
    """The market, which is an economy."""
    questions: int
    """Number of questions."""


@dataclass(frozen=True)
class DataKindReport:
    """The questions of one kind of data and the forecasts of them."""

    data_kind: str
    """``real``, ``replayed`` (the real past, with a clock that was moved through it) or ``simulated``."""
    first: str
    """When the first question was generated, in UTC."""
    last: str
    """When the last question is evaluated, in UTC."""
    vaults: tuple[str, ...]
    """Names of the vaults from which questions were made, with their digests."""
    weeks: tuple[str, ...]
    """ISO weeks of the rounds, in order."""
    markets: tuple[str, ...]
    """Markets that are asked about, in the order of the paper's tables."""
    questions: int
    """Number of questions."""
    scored: int
    """Number of questions with a truth, by which forecasts are right or wrong."""
    composition: tuple[CompositionColumn, ...]
    """What is asked about, by track and level."""
    distribution: tuple[QuadrantCount, ...]
    """Number of questions by track, level and market."""
    states: tuple[WeekStates, ...]
    """How many questions of each round are in each state."""
    void_reasons: dict[str, int]
    """Number of void questions by the reason why they are void."""
    agreement: Agreement | None
    """How far proposed verdicts agree with those decided; None if there are no proposals."""
    ranks: tuple[SeasonRank, ...]
    """The forecasters in the order of accuracy, with their ranks."""
    rows: tuple[SeasonRow, ...]
    """The figures of each forecaster, in that order."""
    slices: tuple[SeasonSlice, ...]
    """The accuracy of each forecaster on parts of the questions."""
    pairs: tuple[SeasonPair, ...]
    """The comparison of every two forecasters."""
    mistakes: tuple[MistakeGroup, ...]
    """The errors of each forecaster, by track and level."""
    left_out: tuple[ForecasterId, ...]
    """The forecasters of which something ran outside isolation, or may have, where only isolated ones were wanted."""


@dataclass(frozen=True)
class SeasonReport:
    """A report on the season of a series."""

    series: str
    """Name of the series."""
    title: str
    """Title of the series."""
    seasons: tuple[DataKindReport, ...]
    """A report for each kind of data: real, replayed and simulated questions share no figure."""
    forecasts: int
    """Number of forecasts of scored questions, where several attempts of a forecaster at one question count once."""
    damaged_records: int
    """Number of lines of records that could not be read."""

    def to_dict(self) -> dict[str, Any]:
        """The report in plain values, which docs/forecasts.md describes."""
        method = {"fewest_weeks": FEWEST_UNITS, "level": 0.95}
        return {"format": FORMAT, "openfingym": __version__, "method": method, **plain(self)}

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def html(self) -> str:
        """The page of the report, as a self-contained HTML document."""
        from openfingym_suites.seasons.page import render

        return render(self)


def season_report(
    ledger: Path, series: str, *, title: str = "", folder: Path | None = None, isolated_only: bool = False
) -> SeasonReport:
    """Report on the season of a series.

    Args:
        ledger: the state folder of a verifier, or its ``ledger.db``; it is only read.
        series: name of the series.
        title: title of the series; its name if this is empty.
        folder: folder of the series, with the records of its agents' runs; None if there is none.
        isolated_only: whether to leave out forecasters of which something ran outside isolation, or may have, but for
            the references, which ticks enter. What is counted is what remains.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
    """
    records = SeasonRecords(folder)
    seasons = tuple(
        _season(columns, records, isolated_only=isolated_only) for columns in read_season(ledger, series, records)
    )
    forecasts = sum(row.answered for season in seasons for row in season.rows)
    return SeasonReport(series, title or series, seasons, forecasts, records.damaged)


def _season(columns: SeasonColumns, records: SeasonRecords, *, isolated_only: bool) -> DataKindReport:
    """The report on the questions of one kind of data."""
    columns, left_out = _isolated(columns, records) if isolated_only else (columns, ())
    rows, pairs = rows_of(columns, records), pairs_of(columns)
    ranks = ranks_of(columns, rows, pairs)
    by_forecaster = {row.forecaster: row for row in rows}
    markets = columns.values("market")
    counts = markets_of(columns)
    return DataKindReport(
        data_kind=columns.data_kind,
        first=utc_text(min(question.generated_ns for question in columns.questions)),
        last=utc_text(max(question.evaluation_ns for question in columns.questions)),
        vaults=tuple(sorted({question.vault for question in columns.questions} - {""})),
        weeks=columns.weeks,
        markets=tuple(markets),
        questions=len(columns.questions),
        scored=int(columns.scored.sum()),
        composition=tuple(strata_of(columns)),
        distribution=tuple(
            QuadrantCount(quadrant, market, counts.get((quadrant, market), 0))
            for quadrant in columns.values("quadrant")
            for market in markets
        ),
        states=tuple(states_of(columns)),
        void_reasons=void_reasons(columns),
        agreement=agreement_of(columns),
        ranks=tuple(ranks),
        rows=tuple(by_forecaster[rank.forecaster] for rank in ranks),
        slices=tuple(slices_of(columns)),
        pairs=tuple(pairs),
        mistakes=tuple(mistakes_of(columns)),
        left_out=left_out,
    )


def _isolated(columns: SeasonColumns, records: SeasonRecords) -> tuple[SeasonColumns, tuple[ForecasterId, ...]]:
    """The columns with isolated forecasters and references alone, and the forecasters that are left out."""
    people = columns.forecasters
    kept = [is_isolated(who, isolation_in(columns, records, line)) for line, who in enumerate(people)]
    left_out = tuple(who for who, stays in zip(people, kept, strict=True) if not stays)
    return columns.of(np.array(kept, dtype=np.bool_)), left_out
