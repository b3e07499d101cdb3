"""The page of a report on forecasts: one HTML file with everything in it, which loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from openfingym.reports.charts import Scale, shown
from openfingym.reports.forecasts.columns import ForecasterId, short_names
from openfingym.reports.forecasts.drawings import diagrams, skill_by_week
from openfingym.reports.forecasts.estimates import BlockEstimate
from openfingym.reports.forecasts.isolation import isolation_notes, with_marks
from openfingym.reports.forecasts.report import ForecasterRow, ForecastReport, Track
from openfingym.reports.forecasts.standings import ForecasterPair, ForecasterStanding
from openfingym.reports.page import document, kind_notice
from openfingym.version import __version__

KINDS = {
    "real": "Real questions.",
    "replayed": "REPLAYED questions: of a past whose truths are real, and which a model may have read.",
    "simulated": "SIMULATED questions: their truths are made up, not observed.",
}
TITLES = {
    "events": ("Probabilities of events", "Loss: Brier score, 0 to 1; 0.25 is always saying one half."),
    "choices": ("Choices", "Loss: 1 less the payout of the outcome that was chosen."),
    "values": ("Numbers", "Loss: absolute error over the price at submission (without one, over the truth)."),
    "quantiles": ("Quantiles", "Loss: CRPS (twice the mean pinball loss), over the price at submission."),
    "intervals": ("Intervals", "Loss: interval score, over the price at submission."),
}
DIMENSIONS = {"category": "By category", "horizon": "By horizon", "market": "By market", "week": "By week"}
TINTS = (0.02, 0.1, 0.25, 0.5)
"""Sizes of a skill from which on a cell is tinted more strongly."""


class LeaderboardRow(NamedTuple):
    """A forecaster on the leaderboard; positions are percents from the left."""

    rank: str
    """Its rank, with ``=`` if others have the same."""
    name: str
    """Its name."""
    loss: str
    """Its adjusted loss."""
    interval: str
    """The interval of the loss, or why there is none."""
    low: str
    """Position of the lower end; empty without an interval."""
    high: str
    """Position of the upper end; empty without an interval."""
    dot: str
    """Position of the loss."""
    said: str
    """How much it was asked, in words."""


def render(report: ForecastReport) -> str:
    """Render the page of a report, as a self-contained HTML document."""
    return document(
        "forecasts/forecasts.html.jinja",
        "OpenFinGym forecasts",
        styles=("report.css", "forecasts/forecasts.css"),
        count=report.forecasters,
        facts=_facts(report),
        tracks=[_track(track) for track in report.tracks],
        isolation=board_notes(report),
        seed=report.seed,
    )


def labels(track: Track) -> dict[ForecasterId, str]:
    """The short names of a track's forecasters."""
    isolations = {row.forecaster: row.isolation for row in track.rows}
    return with_marks(short_names(list(isolations)), isolations)


def board_notes(report: ForecastReport) -> tuple[str, ...]:
    """What the board of a report says about the isolation of its forecasters."""
    isolations = {row.forecaster: row.isolation for track in report.tracks for row in track.rows}
    return isolation_notes(isolations, report.left_out)


def _facts(report: ForecastReport) -> dict[str, str]:
    """What the heading says, by its names; the template leaves empty values out."""
    return {
        "Forecasts": f"{report.forecasts:,}" + (f", {report.attempts:,} of them repeated" if report.attempts else ""),
        "Questions": f"{report.questions:,}, scored",
        "Forecasters": f"{report.forecasters:,}",
        "Only": "; ".join(f"{name} {' or '.join(wanted)}" for name, wanted in report.where.items()),
        "OpenFinGym": __version__,
    }


def _track(track: Track) -> dict[str, object]:
    """The part of the page about a track."""
    names = labels(track)
    title, loss = TITLES[track.name]
    order = [standing.forecaster for group in track.groups for standing in group]
    rows = {row.forecaster: row for row in track.rows}
    ranked = [rows[who] for who in order]
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
    """How many rounds or weeks the forecasts of a track are of, in words."""
    count = len(track.blocks)
    return f"{count} round{'s' * (count != 1)} or week{'s' * (count != 1)}"


def _board(group: Sequence[ForecasterStanding], names: Mapping[ForecasterId, str]) -> dict[str, object]:
    """The leaderboard of a group."""
    ends = [
        end
        for standing in group
        for end in (standing.adjusted.value, standing.adjusted.low, standing.adjusted.high)
        if end is not None
    ]
    scale = Scale.around([np.array(ends)], zero=False)

    def across(value: float) -> str:
        return f"{100.0 - scale.percent(value):.2f}%"

    branches = []
    for standing in group:
        rank = "–" if standing.rank is None else f"{standing.rank}{'=' if standing.tied else ''}"
        low, high, value = standing.adjusted.low, standing.adjusted.high, standing.adjusted.value or 0.0
        asked = f"{standing.asked:,} questions asked, {standing.adjusted.blocks} rounds or weeks"
        branches.append(
            LeaderboardRow(
                rank,
                names[standing.forecaster],
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
    """The table of figures, without columns that have no figure."""
    asked = {standing.forecaster: standing.asked for group in track.groups for standing in group}
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
    # Each form of answers has figures that others have not, such as the coverage of intervals.
    filled = [name for name, column in cells.items() if any(value for value, _ in column)]
    return {
        "columns": filled,
        "rows": [(names[row.forecaster], [cells[name][n] for name in filled]) for n, row in enumerate(rows)],
    }


def _estimated(estimate: BlockEstimate, form: str) -> tuple[str, str]:
    """A figure in this format, and below it the ends of its interval; empty if they are not known."""
    if estimate.value is None:
        return "", ""
    low, high = estimate.low, estimate.high
    ends = "" if low is None or high is None else f"{form.format(low)} to {form.format(high)}"
    return form.format(estimate.value), ends


def _plain(value: float | None, form: str, under: str = "") -> tuple[str, str]:
    """A figure in this format, and what stands below it; empty if the figure is not known."""
    return ("", "") if value is None else (form.format(value), under)


def _calibration_error(row: ForecasterRow) -> tuple[str, str]:
    """The calibration error, and below it what it would be by chance."""
    calibration = row.calibration
    return ("", "") if calibration is None else (f"{calibration.ece:.3f}", f"{calibration.by_chance:.3f} by chance")


def _coverage(row: ForecasterRow) -> tuple[str, str]:
    """The coverage of intervals, and below it what it should be and how wide they are."""
    figures = row.interval
    if figures is None:
        return "", ""
    return f"{figures.coverage:.1%}", f"of {figures.nominal:.0%}, width {figures.width:.3g}"


def _slices(
    track: Track, dimension: str, order: Sequence[ForecasterId], names: Mapping[ForecasterId, str]
) -> dict[str, object] | None:
    """The table of skill, or of loss if no skill is known, of every forecaster on each part of the questions; None if
    there is one part.
    """
    by_part = {(part.forecaster, part.value): part.figures for part in track.slices if part.dimension == dimension}
    values = list(dict.fromkeys(part.value for part in track.slices if part.dimension == dimension))
    if dimension == "week":
        values.sort(reverse=True)
    if len(values) < 2:
        return None
    rows = []
    for value in values:
        cells = []
        for who in order:
            figures = by_part.get((who, value))
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
    """The row of the table of pairs for a comparison, with the better forecaster first."""
    # The difference is one of losses: above 0, b is the better one.
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
