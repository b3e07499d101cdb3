"""The tables of accuracy, overall and by part, as in the paper's Figures 3 and 4 and its Tables 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from openfingym.reports.forecasts.columns import ForecasterId
from openfingym_suites.seasons.clusters import ClusteredEstimate
from openfingym_suites.seasons.columns import HORIZONS
from openfingym_suites.seasons.figures import NOT_ANSWERED, SeasonRow
from openfingym_suites.seasons.grid import DASH, Grid, GridCell, GridRow, Names, accuracy_cell, parts_of, share
from openfingym_suites.seasons.report import DataKindReport

TRACKS = (("non-recurrent", "Non-rec."), ("recurrent", "Rec."))
LEVELS = (("corporate", "Corp."), ("macro", "Mac."))
WHY = {"unparsed": "unreadable", "error": "failed"}
"""Words for the states of tries whose names in records are not plain."""
MOST_SUBTYPES = 40
"""How many subtypes are shown, which are those of most questions."""


def overall_grid(season: DataKindReport, names: Names) -> Grid:
    """Accuracy over the whole season (Figure 3), with ranks and what is missing."""
    ranks = {rank.forecaster: rank for rank in season.ranks}
    rows = {row.forecaster: row for row in season.rows}

    def cells(who: ForecasterId) -> list[GridCell]:
        row, rank = rows[who], ranks[who]
        missing = row.asked - row.answered
        why = [f"{count:,} {WHY.get(state, state)}" for state, count in row.missing.items()]
        return [
            GridCell(DASH if rank.rank is None else f"{rank.rank}{'=' if rank.tied else ''}"),
            accuracy_cell(row.accuracy),
            GridCell(share(row.accuracy_answered)),
            GridCell(f"{row.asked:,}"),
            GridCell(f"{missing:,}", ", ".join(why) if [*row.missing] != [NOT_ANSWERED] else ""),
            GridCell(f"{row.weeks} of {_rounds(season)}"),
            GridCell(_contamination(season, row)),
        ]

    columns = ("Method", "rank", "accuracy", "if answered", "questions", "missing", "rounds", "cut-off")
    note = (
        "Share of right answers in percent, with 95 % intervals; what is missing counts as wrong. Who cannot be told "
        "from the first of a rank shares it (=); who left out whole rounds, and all where there are fewer than six, "
        "have none."
    )
    return Grid("overall", "Overall accuracy", columns, parts_of(names, cells, marked=(1,)), note)


def quadrant_grid(season: DataKindReport, names: Names) -> Grid:
    """Accuracy by track and level (Table 2)."""
    values: list[str] = []
    headings: list[str] = ["Method"]
    over = []
    accuracies = _slices(season, "quadrant") | _slices(season, "track")
    present = {value for _, value in accuracies}
    for track, title in TRACKS:
        levels = [(f"{track} {level}", text) for level, text in LEVELS if f"{track} {level}" in present]
        # The columns of a track: its levels, and all of it.
        if levels:
            values += [*(quadrant for quadrant, _ in levels), track]
            headings += [*(text for _, text in levels), "Ovr."]
            over.append((title, len(levels) + 1))
    return replace(
        _sliced("quadrants", "Accuracy by track and level", accuracies, values, names),
        columns=tuple(headings),
        over=tuple(over),
        note="In percent.",
        legend="Below each its 95 % interval. Bold: the highest of a column; underlined: the second.",
    )


def market_grid(season: DataKindReport, names: Names) -> Grid:
    """Accuracy by market (Table 3)."""
    grid = _sliced("markets", "Accuracy by market", _slices(season, "market"), season.markets, names)
    return replace(grid, note="In percent.", legend="The interval of each is shown where it is pointed at.")


def week_grid(season: DataKindReport, names: Names) -> Grid:
    """Accuracy by week (Figure 4)."""
    scored = [week for week in season.states if week.scored]
    weeks = [week.week for week in scored]
    grid = _sliced("by-week", "Accuracy by week, as a table", _slices(season, "week"), weeks, names)
    # The composition of a week, whose figures are harder than its events, changes its accuracy more than all else.
    shares = tuple(GridCell(share(week.recurrent / week.scored)) for week in scored)
    parts = (*grid.parts, ("Of all questions", (GridRow("on recurrent figures", shares),))) if weeks else ()
    # Of an ISO week such as 2025-W44, without the year.
    return replace(grid, columns=("Method", *(week[5:] for week in weeks)), parts=parts, note="In percent.")


def horizon_grid(season: DataKindReport, names: Names) -> Grid:
    """Accuracy by horizon."""
    accuracies = _slices(season, "horizon")
    present = {value for _, value in accuracies}
    values = [horizon for horizon in HORIZONS if horizon in present]
    grid = _sliced("horizons", "Accuracy by horizon", accuracies, values, names)
    return replace(grid, note="From generation to the expected truth: up to 10 days, up to 45, and more.")


def subtype_grid(season: DataKindReport, names: Names) -> Grid:
    """Accuracy by indicator, metric and type of event, with a row for each subtype and a column for each forecaster."""
    forecasters = [who for _, part in names.parts for who in part]
    accuracies = _slices(season, "subtype")
    # The number of questions that the forecaster in most rounds was asked.
    sizes: dict[str, int] = {}
    for (_, subtype), accuracy in accuracies.items():
        sizes[subtype] = max(sizes.get(subtype, 0), accuracy.questions)
    shown = sorted(sizes, key=lambda subtype: (-sizes[subtype], subtype))[:MOST_SUBTYPES]
    rows = tuple(
        GridRow(
            subtype or "none",
            tuple(accuracy_cell(accuracies.get((who, subtype)), interval=False) for who in forecasters),
        )
        for subtype in shown
    )
    left = len(sizes) - len(shown)
    note = "In percent, the subtypes of most questions first." + (f" {left} more are not shown." if left else "")
    columns = ("Subtype", *(names.short[who] for who in forecasters))
    return Grid("subtypes", "Accuracy by subtype", columns, (("", rows),) if rows else (), note)


def _slices(season: DataKindReport, dimension: str) -> dict[tuple[ForecasterId, str], ClusteredEstimate]:
    """The accuracies by a field of the questions, by the forecaster and the value of that field."""
    return {(part.forecaster, part.value): part.accuracy for part in season.slices if part.dimension == dimension}


def _sliced(
    key: str,
    title: str,
    accuracies: Mapping[tuple[ForecasterId, str], ClusteredEstimate],
    values: Sequence[str],
    names: Names,
) -> Grid:
    """A table of accuracies with a column for each of some values of a field."""

    def cells(who: ForecasterId) -> list[GridCell]:
        return [accuracy_cell(accuracies.get((who, value))) for value in values]

    marked = range(len(values))
    return Grid(key, title, ("Method", *values), parts_of(names, cells, marked=marked) if values else ())


def _rounds(season: DataKindReport) -> int:
    """The number of rounds with scored questions."""
    return sum(week.scored > 0 for week in season.states)


def _contamination(season: DataKindReport, row: SeasonRow) -> str:
    """Where a model's cut-off is, and of how many questions it may have read the truth, in a few words."""
    if season.data_kind == "simulated" or not row.how.models:
        return DASH
    contamination = row.contamination
    if contamination is None:
        return "unknown"
    before, questions = contamination.before, contamination.questions
    count = {0: "none", questions: f"all {questions:,}"}.get(before, f"{before:,}")
    return f"{contamination.standing} ({contamination.cutoff}): {count}"
