"""The tool ``series``: figures of statistics, yields and policy rates, with their vintages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from openfingym.suites.calls import BadCallError
from openfingym.suites.lookups import like, none_such, plain, table
from openfingym.vault.conditions import Between, Where
from openfingym.vault.view import Row
from openfingym_suites.finsearch.lookup.world import MOST_ROWS, SearchedView

DEFAULT_ROWS = 24
"""Periods or days whose figures are given where no first day is asked for: the latest ones."""


def series(world: SearchedView, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``series``."""
    world.need("series_info", "series")
    asked, start, end, vintage = (arguments[name] for name in ("id", "start", "end", "vintage"))
    assert isinstance(asked, str)
    assert start is None or isinstance(start, date)
    assert end is None or isinstance(end, date)
    if start and end and start > end:
        raise BadCallError(f"start must be on or before end; received {start} and {end}.")
    info = next((row for row in world.series if str(row["series"]).casefold() == asked.casefold()), None)
    if info is None:
        return _candidates(world, asked)
    rows = _figures(world, info, start, end)
    rows = _vintages(rows, str(vintage))
    if start is None:
        rows = _latest(rows)
    shown = ("series", "name", "name_zh", "units", "frequency", "adjustment", "country", "definition", "source",
             "simulated")  # fmt: skip
    answer = {name: plain(info[name]) for name in shown if info[name] not in (None, "")}
    columns = ["reference_date", "value", "known_from"]
    if any(row.get("release") for row in rows):
        columns.append("release")
    answer |= {"vintage": vintage, **table(rows[:MOST_ROWS], columns)}
    if len(rows) > MOST_ROWS:
        answer["more_from"] = plain(rows[MOST_ROWS]["reference_date"])
        # To ask again from the same day would give the same rows: of so many vintages the rest is out of reach.
        if answer["more_from"] == plain(rows[0]["reference_date"]):
            answer["more_from"] = None
            answer["note"] = f"{len(rows)} vintages of one day; the first {MOST_ROWS} are given"
    if not rows:
        answer["note"] = "no figure of these days was known"
    return answer


def _candidates(world: SearchedView, asked: str) -> object:
    """The answer where no series has an id: those whose names are like it.

    Raises:
        BadCallError: there are none.
    """
    names = {str(row["series"]): f"{row['name']} {row['name_zh'] or ''}".strip() for row in world.series}
    near = like(asked, names)
    if not near:
        raise none_such("series", asked, names)
    by_id = {str(row["series"]): row for row in world.series}
    about = ("series", "name", "name_zh", "units", "frequency")
    return {"candidates": [{name: by_id[each][name] for name in about} for each in near],
            "note": "no series has this id; ask again with one of these"}  # fmt: skip


def _figures(world: SearchedView, info: Row, start: date | None, end: date | None) -> list[Row]:
    """All vintages of the figures of some days, in order of days, then of when they became known.

    Args:
        world: the view that is searched.
        info: row of ``series_info``, which says in which table the figures are, and under which name.
        start: first day; None for no limit.
        end: last day; None for no limit.
    """
    held, channel = str(info["held_in"]), str(info["channel"])
    world.need(held, f"figures of {info['series']}")
    days, dated = Between(start, end), "reference_date"
    if held == "market":
        dated = "date"
        where: Where = {"dataset": str(info["dataset"]).split(","), "channel": channel, dated: days}
        rows = world.view.rows(held, where, columns=["date", "value", "known_at"])
    elif held == "fomc_statements":
        dated = "date"
        rows = world.view.rows(held, {dated: days}, columns=["date", channel, "known_at"])
        rows = [{**row, "value": row[channel]} for row in rows if row[channel] is not None]
    else:
        names = ["reference_date", "value", "known_at"] + (["release"] if held == "series" else [])
        rows = world.view.rows(held, {"series": channel, dated: days}, columns=names)
    figures = [{**row, "reference_date": row[dated], "known_from": row["known_at"]} for row in rows]
    # Rows come in the order of known times, which sorting keeps among the vintages of a day.
    return sorted(figures, key=lambda row: row["reference_date"])  # type: ignore[arg-type,return-value]


def _vintages(rows: list[Row], which: str) -> list[Row]:
    """The latest vintage of each day, the first one, or all; rows come in the order of known times."""
    if which == "all":
        return rows
    chosen: dict[object, Row] = {}
    for row in rows:
        if which == "latest" or row["reference_date"] not in chosen:
            chosen[row["reference_date"]] = row
    return list(chosen.values())


def _latest(rows: list[Row]) -> list[Row]:
    """The rows of the last days, with all of their vintages."""
    days = sorted({row["reference_date"] for row in rows})[-DEFAULT_ROWS:]  # type: ignore[type-var]
    return [row for row in rows if days and row["reference_date"] >= days[0]]  # type: ignore[operator]
