"""The page of a report on forecasts: one HTML file with everything in it, which loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from openfingym.reports.charts import Scale, shown
from openfingym.reports.forecasts.columns import ForecasterId, short_names
from openfingym.reports.forecasts.drawings import diagrams, skill_by_week
from openfingym.reports.forecasts.estimates import BlockEstimate
from openfingym.reports.forecasts.report import ForecasterRow, ForecastReport, Track
from openfingym.reports.forecasts.standings import ForecasterPair, ForecasterStanding
from openfingym.reports.page import document, kind_notice
from openfingym.version import __version__

KINDS = {"real": "Real questions.", "simulated": "SIMULATED questions: their truths are made up, not observed."}
TITLES = {
    "events": ("Probabilities of events", "Loss: Brier score, 0 to 1; 0.25 is always saying one half."),
    "choices": ("Choices", "Loss: 1 less the payout of the outcome that was chosen."),
    "values": ("Numbers", "Loss: absolute error over the price at submission (without one, over the truth)."),
    "quantiles": ("Quantiles", "Loss: CRPS (twice the mean pinball loss), over the price at submission."),
    "intervals": ("Intervals", "Loss: interval score, over the price at submission."),
}
DIMENSIONS = {"category": "By category", "horizon": "By horizon", "market": "By market", "week": "By week"}
TINTS = (0.02, 0.1, 0.25, 0.5)
"""Sizes of a skill from which a cell is tinted more strongly."""


class LeaderboardRow(NamedTuple):
    """A forecaster on the leaderboard; positions are percents from the left."""

    rank: str
    name: str
    loss: str
    interval: str
    low: str
    high: str
    dot: str
    said: str


def render(report: ForecastReport) -> str:
    """The page of a report: a self-contained HTML document."""
    return document(
        "forecasts/forecasts.html.jinja",
        "OpenFinGym forecasts",
        styles=("report.css", "forecasts/forecasts.css"),
        count=report.forecasters,
        facts=_facts(report),
        tracks=[_track(track) for track in report.tracks],
        seed=report.seed,
    )


def labels(track: Track) -> dict[ForecasterId, str]:
    """Names of a track's forecasters, no longer than it takes to tell them apart."""
    return short_names([row.forecaster for row in track.rows])


def _facts(report: ForecastReport) -> dict[str, str]:
    return {
        "Forecasts": f"{report.forecasts:,}" + (f", {report.attempts:,} of them repeated" if report.attempts else ""),
        "Questions": f"{report.questions:,}, scored",
        "Forecasters": f"{report.forecasters:,}",
        "Only": "; ".join(f"{name} {' or '.join(wanted)}" for name, wanted in report.where.items()),
        "OpenFinGym": __version__,
    }


def _track(track: Track) -> dict[str, object]:
    names = labels(track)
    title, loss = TITLES[track.name]
    order = [one.forecaster for group in track.groups for one in group]
    rows = {row.forecaster: row for row in track.rows}
    ranked = [rows[one] for one in order]
    entered = {row.forecaster.principal: row.entries for row in track.rows if row.entries > 1}
    return {
        "id": f"{track.data_kind}-{track.name}",
        "kind": track.data_kind,
        "notice": kind_notice(track.data_kind, KINDS),
        "title": title,
        "loss": loss,
        "subject": f"{track.forecasts:,} forecasts of {track.questions:,} questions in {blocks_text(track)}",
        "groups": [_board(group, names) for group in track.groups],
        "unranked": track.unranked,
        "figures": _figures(track, ranked, names),
        "reliability": diagrams(ranked, names),
        "weeks": skill_by_week(track, order, names),
        "slices": [table for dimension in DIMENSIONS if (table := _slices(track, dimension, order, names)) is not None],
        "pairs": [_pair(pair, names) for pair in track.pairs],
        "entered": sorted(entered.items()),
        "overlap": track.overlap,
    }


def blocks_text(track: Track) -> str:
    """How many rounds or weeks a track is over, in words."""
    count = len(track.blocks)
    return f"{count} round{'s' * (count != 1)} or week{'s' * (count != 1)}"


def _board(group: Sequence[ForecasterStanding], names: Mapping[ForecasterId, str]) -> dict[str, object]:
    ends = [
        end for one in group for end in (one.adjusted.value, one.adjusted.low, one.adjusted.high) if end is not None
    ]
    scale = Scale.around([np.array(ends)], zero=False)

    def across(value: float) -> str:
        return f"{100.0 - scale.percent(value):.2f}%"

    branches = []
    for one in group:
        rank = "–" if one.rank is None else f"{one.rank}{'=' if one.tied else ''}"
        low, high, value = one.adjusted.low, one.adjusted.high, one.adjusted.value or 0.0
        asked = f"{one.asked:,} questions asked, {one.adjusted.blocks} rounds or weeks"
        branches.append(
            LeaderboardRow(
                rank,
                names[one.forecaster],
                f"{value:.4f}",
                "too few to rank" if low is None or high is None else f"{low:.4f} to {high:.4f}",
                "" if low is None else across(low),
                "" if high is None else across(high),
                across(value),
                asked,
            )
        )
    ticks, step = scale.ticks()
    return {"branches": branches, "ruler": [(across(tick), shown(tick, "", step)) for tick in ticks]}


def _figures(track: Track, rows: Sequence[ForecasterRow], names: Mapping[ForecasterId, str]) -> dict[str, object]:
    """The figures of each forecaster, without the columns that have none."""
    asked = {one.forecaster: one.asked for group in track.groups for one in group}
    columns: list[tuple[str, Callable[[ForecasterRow], tuple[str, str]]]] = [
        ("mean loss", lambda row: _estimated(row.loss, "{:.4f}")),
        ("skill", lambda row: _estimated(row.skill, "{:+.3f}")),
        ("skill against the market", lambda row: _estimated(row.market_skill, "{:+.3f}")),
        ("weight beside the price", lambda row: _estimated(row.price_weight, "{:+.2f}")),
        ("accuracy", lambda row: _plain(row.figures.accuracy, "{:.1%}", f"of {row.figures.judged:,.0f}")),
        ("log score", lambda row: _plain(row.figures.log_score, "{:.3f}")),
        ("ECE", _calibration_error),
        ("coverage", _coverage),
        ("answered", lambda row: (f"{row.figures.questions:,.0f}", f"of {asked[row.forecaster]:,} asked")),
    ]
    cells = {name: [column(row) for row in rows] for name, column in columns}
    kept = [name for name, found in cells.items() if any(value for value, _ in found)]
    return {
        "columns": kept,
        "rows": [(names[row.forecaster], [cells[name][n] for name in kept]) for n, row in enumerate(rows)],
    }


def _estimated(found: BlockEstimate, form: str) -> tuple[str, str]:
    if found.value is None:
        return "", ""
    ends = "" if found.low is None or found.high is None else f"{form.format(found.low)} to {form.format(found.high)}"
    return form.format(found.value), ends


def _plain(value: float | None, form: str, under: str = "") -> tuple[str, str]:
    return ("", "") if value is None else (form.format(value), under)


def _calibration_error(row: ForecasterRow) -> tuple[str, str]:
    found = row.calibration
    return ("", "") if found is None else (f"{found.ece:.3f}", f"{found.by_chance:.3f} by chance")


def _coverage(row: ForecasterRow) -> tuple[str, str]:
    found = row.interval
    if found is None:
        return "", ""
    return f"{found.coverage:.1%}", f"of {found.nominal:.0%}, width {found.width:.3g}"


def _slices(
    track: Track, dimension: str, order: Sequence[ForecasterId], names: Mapping[ForecasterId, str]
) -> dict[str, object] | None:
    """Skill (or the loss where none is known) of every forecaster on each part; None where there is one part."""
    found = {(one.forecaster, one.value): one.figures for one in track.slices if one.dimension == dimension}
    values = list(dict.fromkeys(one.value for one in track.slices if one.dimension == dimension))
    if dimension == "week":
        values.sort(reverse=True)
    if len(values) < 2:
        return None
    rows = []
    for value in values:
        cells = []
        for who in order:
            figures = found.get((who, value))
            if figures is None:
                cells.append(("", "", ""))
                continue
            skill = figures.skill
            shade = 0 if skill is None else sum(abs(skill) >= limit for limit in TINTS)
            tint = f"{'gain' if (skill or 0.0) > 0.0 else 'loss'}-{shade}" if shade else ""
            text = f"{figures.loss:.4f}" if skill is None else f"{skill:+.2f}"
            cells.append((text, tint, f"{names[who]}, {value or 'none'}: {figures.questions:,.0f} questions"))
        rows.append((value or "none", cells))
    return {
        "title": DIMENSIONS[dimension],
        "names": [names[who] for who in order],
        "rows": rows,
        "open": dimension == "category",
    }


def _pair(pair: ForecasterPair, names: Mapping[ForecasterId, str]) -> tuple[str, ...]:
    swapped = pair.difference > 0.0
    better, worse = (pair.b, pair.a) if swapped else (pair.a, pair.b)
    ends = ""
    if pair.low is not None and pair.high is not None:
        low, high = (-pair.high, -pair.low) if swapped else (pair.low, pair.high)
        ends = f"{low:+.4f} to {high:+.4f}"
    return (
        names[better],
        names[worse],
        f"{-abs(pair.difference):+.4f}",
        ends or "too few",
        "" if pair.detectable is None else f"{pair.detectable:.4f}",
        "" if pair.p_value is None else f"{pair.p_value:.2g}",
        "" if pair.p_holm is None else f"{pair.p_holm:.2g}",
        f"{pair.questions:,} in {pair.blocks}",
        {"better": "told apart", "worse": "told apart"}.get(pair.verdict, pair.verdict),
    )
