"""What a ledger and its records say of a season, as plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.questions.question import utc_text
from openfingym.reports.forecasts.report import plain
from openfingym.reports.seasons.comparisons import SeasonPair, SeasonRank, pairs_of, ranks_of
from openfingym.reports.seasons.composition import (
    CompositionColumn,
    WeekStates,
    agreement_of,
    markets_of,
    states_of,
    strata_of,
    void_reasons,
)
from openfingym.reports.seasons.figures import SeasonRow, SeasonSlice, rows_of, slices_of
from openfingym.reports.seasons.mistakes import MistakeGroup, mistakes_of
from openfingym.reports.seasons.reading import read_season
from openfingym.reports.seasons.records import SeasonRecords
from openfingym.reports.statistics import FEWEST_UNITS
from openfingym.version import __version__

if TYPE_CHECKING:
    from openfingym.reports.seasons.columns import SeasonColumns
    from openfingym.suites.findeepforecast.truth.verdicts import Agreement

FORMAT = 1


@dataclass(frozen=True)
class QuadrantCount:
    """Number of questions of a track and level about one market."""

    quadrant: str
    market: str
    questions: int


@dataclass(frozen=True)
class DataKindReport:
    """The questions of one kind of data and the forecasts of them."""

    data_kind: str
    """``real``, ``replayed`` (of the real past, by a clock that was moved) or ``simulated``."""
    first: str
    """When the first question was generated, in UTC."""
    last: str
    """When the last one is evaluated."""
    vaults: tuple[str, ...]
    """Names of the vaults that questions were made from, with their digests."""
    weeks: tuple[str, ...]
    markets: tuple[str, ...]
    questions: int
    scored: int
    composition: tuple[CompositionColumn, ...]
    distribution: tuple[QuadrantCount, ...]
    states: tuple[WeekStates, ...]
    void_reasons: dict[str, int]
    agreement: Agreement | None
    """Of proposals from evidence with what was decided; None without proposals."""
    ranks: tuple[SeasonRank, ...]
    """The order of the forecasters."""
    rows: tuple[SeasonRow, ...]
    """In that order."""
    slices: tuple[SeasonSlice, ...]
    pairs: tuple[SeasonPair, ...]
    mistakes: tuple[MistakeGroup, ...]


@dataclass(frozen=True)
class SeasonReport:
    """A report on the season of a series."""

    series: str
    title: str
    seasons: tuple[DataKindReport, ...]
    """One for each kind of data: real, replayed and simulated questions share no figure."""
    forecasts: int
    """Of scored questions; attempts of a forecaster at one question count once."""
    damaged_records: int
    """Lines of records that could not be read."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; docs/forecasts.md describes them."""
        method = {"fewest_weeks": FEWEST_UNITS, "level": 0.95}
        return {"format": FORMAT, "openfingym": __version__, "method": method, **plain(self)}

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def html(self) -> str:
        """A page of it: one HTML document with everything in it."""
        from openfingym.reports.seasons.page import render

        return render(self)


def season_report(ledger: Path, series: str, *, title: str = "", folder: Path | None = None) -> SeasonReport:
    """Report on the season of a series.

    Args:
        ledger: a verifier's state folder, or its ``ledger.db``; it is only read.
        series: name of the series.
        title: what the series is called.
        folder: folder of the series, with the records of its agents' runs.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
    """
    records = SeasonRecords(folder)
    found = read_season(ledger, series, records)
    seasons = tuple(_season(one, records) for one in found)
    forecasts = sum(row.answered for one in seasons for row in one.rows)
    return SeasonReport(series, title or series, seasons, forecasts, records.damaged)


def _season(columns: SeasonColumns, records: SeasonRecords) -> DataKindReport:
    rows, pairs = rows_of(columns, records), pairs_of(columns)
    ranks = ranks_of(columns, rows, pairs)
    by_forecaster = {row.forecaster: row for row in rows}
    markets = columns.values("market")
    counts = markets_of(columns)
    return DataKindReport(
        data_kind=columns.data_kind,
        first=utc_text(min(one.generated_ns for one in columns.questions)),
        last=utc_text(max(one.evaluation_ns for one in columns.questions)),
        vaults=tuple(sorted({one.vault for one in columns.questions} - {""})),
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
        rows=tuple(by_forecaster[one.forecaster] for one in ranks),
        slices=tuple(slices_of(columns)),
        pairs=tuple(pairs),
        mistakes=tuple(mistakes_of(columns)),
    )
