"""Accuracy by method, overall and by part, as in the paper's Figures 3 and 4 and its Tables 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from openfingym.reports.forecasts.columns import ForecasterId
from openfingym.reports.seasons.clusters import ClusteredEstimate
from openfingym.reports.seasons.figures import NOT_ANSWERED
from openfingym.reports.seasons.grid import DASH, Grid, GridCell, GridRow, Names, accuracy_cell, parts_of, share
from openfingym.reports.seasons.report import DataKindReport

TRACKS = (("non-recurrent", "Non-rec."), ("recurrent", "Rec."))
LEVELS = (("corporate", "Corp."), ("macro", "Mac."))
WHY = {"unparsed": "unreadable", "error": "failed"}
"""What states of tries are called."""
MOST_SUBTYPES = 40
"""Subtypes that are told apart: those of most questions."""


def overall_grid(season: DataKindReport, names: Names) -> Grid:
    """Accuracy over the whole season (Figure 3), with ranks and what is missing."""
    ranks = {one.forecaster: one for one in season.ranks}
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
            GridCell(_contamination(season, who)),
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
    columns: list[tuple[str, str]] = []
    headings: list[str] = ["Method"]
    over = []
    found = _slices(season, "quadrant") | _slices(season, "track")
    for track, title in TRACKS:
        mine = [(f"{track} {level}", text) for level, text in LEVELS if any(f"{track} {level}" == v for _, v in found)]
        if mine:
            columns += [*mine, (track, "Ovr.")]
            headings += [*(text for _, text in mine), "Ovr."]
            over.append((title, len(mine) + 1))
    values = [value for value, _ in columns]
    return replace(
        _sliced("quadrants", "Accuracy by track and level", found, values, names),
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
    found = _slices(season, "week")
    weeks = [one.week for one in season.states if one.scored]
    grid = _sliced("by-week", "Accuracy by week, as a table", found, weeks, names)
    # What a week is made of moves its accuracy more than anything else does.
    shares = tuple(GridCell(share(one.recurrent / one.scored)) for one in season.states if one.scored)
    parts = (*grid.parts, ("Of all questions", (GridRow("on recurrent figures", shares),))) if weeks else ()
    return replace(grid, columns=("Method", *(week[5:] for week in weeks)), parts=parts, note="In percent.")


def horizon_grid(season: DataKindReport, names: Names) -> Grid:
    """Accuracy by horizon."""
    found = _slices(season, "horizon")
    values = [one for one in ("week", "month", "quarter") if any(value == one for _, value in found)]
    grid = _sliced("horizons", "Accuracy by horizon", found, values, names)
    return replace(grid, note="From generation to the expected truth: up to 10 days, up to 45, and more.")


def subtype_grid(season: DataKindReport, names: Names) -> Grid:
    """Accuracy by indicator, metric and type of event: a row a subtype, a column a forecaster."""
    people = [who for _, part in names.parts for who in part]
    found = _slices(season, "subtype")
    sizes: dict[str, int] = {}
    for (_, value), accuracy in found.items():
        sizes[value] = max(sizes.get(value, 0), accuracy.questions)
    kept = sorted(sizes, key=lambda one: (-sizes[one], one))[:MOST_SUBTYPES]
    rows = tuple(
        GridRow(value or "none", tuple(accuracy_cell(found.get((who, value)), said=False) for who in people))
        for value in kept
    )
    left = len(sizes) - len(kept)
    note = "In percent, the subtypes of most questions first." + (f" {left} more are not shown." if left else "")
    columns = ("Subtype", *(names.short[who] for who in people))
    return Grid("subtypes", "Accuracy by subtype", columns, (("", rows),) if rows else (), note)


def _slices(season: DataKindReport, dimension: str) -> dict[tuple[ForecasterId, str], ClusteredEstimate]:
    return {(one.forecaster, one.value): one.accuracy for one in season.slices if one.dimension == dimension}


def _sliced(
    key: str,
    title: str,
    found: Mapping[tuple[ForecasterId, str], ClusteredEstimate],
    values: Sequence[str],
    names: Names,
) -> Grid:
    def cells(who: ForecasterId) -> list[GridCell]:
        return [accuracy_cell(found.get((who, value))) for value in values]

    marked = range(len(values))
    return Grid(key, title, ("Method", *values), parts_of(names, cells, marked=marked) if values else ())


def _rounds(season: DataKindReport) -> int:
    return sum(one.scored > 0 for one in season.states)


def _contamination(season: DataKindReport, who: ForecasterId) -> str:
    row = next(one for one in season.rows if one.forecaster == who)
    if season.data_kind == "simulated" or not row.how.models:
        return DASH
    found = row.contamination
    if found is None:
        return "unknown"
    count = {0: "none", found.questions: f"all {found.questions:,}"}.get(found.before, f"{found.before:,}")
    return f"{found.standing} ({found.cutoff}): {count}"
