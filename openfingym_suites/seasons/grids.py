"""The tables of a season beside those of accuracy: skill, errors, cost, pairs, mistakes and composition."""

from __future__ import annotations

from openfingym.reports.forecasts.columns import ForecasterId
from openfingym_suites.seasons.figures import REFERENCES
from openfingym_suites.seasons.grid import (
    DASH,
    Grid,
    GridCell,
    GridRow,
    Names,
    answer_text,
    estimated_cell,
    parts_of,
    share,
)
from openfingym_suites.seasons.report import DataKindReport


def references_of(season: DataKindReport) -> list[ForecasterId]:
    """The reference forecasters that took part, in the order of their names in ``REFERENCES``."""
    references = {skill.reference for row in season.rows for skill in row.skills}
    return sorted(references, key=lambda reference: REFERENCES.index(reference.agent))


def skill_grid(season: DataKindReport, names: Names, reference: ForecasterId) -> Grid:
    """The skill of every forecaster against a reference forecaster."""
    rows = {row.forecaster: {skill.reference: skill for skill in row.skills} for row in season.rows}

    def cells(who: ForecasterId) -> list[GridCell]:
        skill = rows[who].get(reference)
        return [
            estimated_cell(None if skill is None else skill.accuracy, lambda value: f"{100.0 * value:+.1f}"),
            estimated_cell(None if skill is None else skill.events, lambda value: f"{value:+.3f}"),
            estimated_cell(None if skill is None else skill.numbers, lambda value: f"{value:+.3f}"),
        ]

    note = (
        "On the questions that it answered. Points: accuracy less its own, in percentage points; events: 1 less the "
        "Brier score over its own; numbers: the same of the bounded error. Above 0 is better; an interval that holds 0 "
        "cannot tell them apart."
    )
    columns = ("Method", "points", "events", "numbers")
    return Grid("skill", f"Skill against {names.short[reference]}", columns, parts_of(names, cells), note)


def quality_grid(season: DataKindReport, names: Names) -> Grid:
    """The errors of every forecaster: how far its forecasts are from the truths."""
    rows = {row.forecaster: row for row in season.rows}

    def cells(who: ForecasterId) -> list[GridCell]:
        row = rows[who]
        calibration = row.calibration
        return [
            estimated_cell(row.brier, "{:.4f}".format),
            GridCell(DASH)
            if calibration is None
            else GridCell(f"{calibration.ece:.3f}", f"{calibration.by_chance:.3f} by chance"),
            estimated_cell(row.bounded_error, "{:.4f}".format),
            GridCell(DASH if row.median_error is None else f"{row.median_error:.2%}"),
        ]

    columns = ("Method", "Brier score", "ECE", "bounded error", "median error")
    note = (
        "Lower is better; what is missing lost 1. Brier score: mean (p - y)² of events. Bounded error: mean "
        "|f - y| / (|f| + |y|) of numbers, which has no scale. Median error: of |f - y| / |y|. ECE: expected "
        "calibration error of the probabilities that were given, beside that of such probabilities if they are right."
    )
    return Grid("quality", "Errors", columns, parts_of(names, cells), note)


def cost_grid(season: DataKindReport, names: Names) -> Grid:
    """What a question cost each forecaster; a table without rows if nothing is known of costs."""
    rows = {row.forecaster: row for row in season.rows}
    if all(row.cost is None or (row.cost.tokens, row.cost.usd, row.cost.seconds) == (None,) * 3 for row in season.rows):
        return Grid("cost", "Cost", (), ())

    def cells(who: ForecasterId) -> list[GridCell]:
        row = rows[who]
        cost = row.cost
        models = GridCell(", ".join(row.how.models) or DASH)
        if cost is None:
            return [models, *[GridCell(DASH)] * 4]
        return [
            models,
            GridCell(f"{cost.questions:,}"),
            GridCell(DASH if cost.tokens is None else f"{cost.tokens:,.0f}"),
            GridCell(DASH if cost.usd is None else f"{cost.usd:.4f}"),
            GridCell(DASH if cost.seconds is None else f"{cost.seconds:.3g}"),
        ]

    columns = ("Method", "model", "questions", "tokens", "USD", "seconds")
    return Grid(
        "cost",
        "Cost of a question",
        columns,
        parts_of(names, cells),
        "Means of all questions on record, every try counted.",
    )


def pair_grid(season: DataKindReport, names: Names) -> Grid:
    """The comparison of every two forecasters."""
    rows = []
    for pair in season.pairs:
        # The better one stands first, so that no difference has a minus sign.
        swapped = pair.difference < 0.0
        better, worse = (pair.b, pair.a) if swapped else (pair.a, pair.b)
        ends = ""
        if pair.low is not None and pair.high is not None:
            low, high = (-pair.high, -pair.low) if swapped else (pair.low, pair.high)
            ends = f"{100.0 * low:+.1f} to {100.0 * high:+.1f}"
        verdict = "told apart" if pair.verdict in {"better", "worse"} else pair.verdict
        texts = (
            names.short[worse],
            f"{100.0 * abs(pair.difference):+.1f}",
            ends or DASH,
            DASH if pair.p_holm is None else f"{pair.p_holm:.2g}",
            f"{pair.questions:,} in {pair.weeks}",
            verdict,
        )
        rows.append(GridRow(names.short[better], tuple(map(GridCell, texts))))
    columns = ("more accurate", "than", "points", "95 % interval", "p, Holm", "questions in rounds", "verdict")
    note = (
        "On the questions that both were asked, in percentage points. Variances are clustered by week and by subject; "
        "p is adjusted by Holm's method for all pairs, and each interval is for its pair alone."
    )
    return Grid("pairs", "Who is better", columns, (("", tuple(rows)),) if rows else (), note)


def composition_grid(season: DataKindReport) -> Grid:
    """What is asked about: the composition of the season by category (Table 16)."""
    strata = season.composition
    lines = [
        ("companies or economies", [f"{stratum.subjects:,}" for stratum in strata]),
        ("metrics or event types", [f"{stratum.subtypes:,}" for stratum in strata]),
        ("horizons", [" / ".join(horizon[0].upper() for horizon in stratum.horizons) or DASH for stratum in strata]),
        ("a round on average", [f"{stratum.per_week:.0f}" for stratum in strata]),
        ("of events, happened", [share(stratum.happened) for stratum in strata]),
        ("questions", [f"{stratum.questions:,}" for stratum in strata]),
    ]
    rows = tuple(GridRow(name, tuple(map(GridCell, cells))) for name, cells in lines)
    columns = ("of a category", *(stratum.quadrant for stratum in strata))
    return Grid("composition", "What is asked about", columns, (("", rows),), "W: week, M: month, Q: quarter.")


def distribution_grid(season: DataKindReport) -> Grid:
    """The number of questions by market (Table 17)."""
    counts = {(count.quadrant, count.market): count.questions for count in season.distribution}
    quadrants = [stratum.quadrant for stratum in season.composition]
    lines = [(quadrant, [counts[quadrant, market] for market in season.markets]) for quadrant in quadrants]
    lines.append(("total", [sum(counts[quadrant, market] for quadrant in quadrants) for market in season.markets]))
    rows = tuple(GridRow(name, tuple(GridCell(f"{n:,}") for n in (*line, sum(line)))) for name, line in lines)
    return Grid("distribution", "Questions by market", ("category", *season.markets, "total"), (("", rows),))


def states_grid(season: DataKindReport) -> Grid:
    """The number of questions of each round in each state, and how far proposed verdicts agree with those decided."""
    states = ("asked", "scored", "pending", "void", "error")
    lines = [(week.week, [getattr(week, state) for state in states]) for week in season.states]
    lines.append(("total", [sum(getattr(week, state) for week in season.states) for state in states]))
    rows = tuple(GridRow(name, tuple(GridCell(f"{n:,}") for n in line)) for name, line in lines)
    reasons = "; ".join(f"{reason} ({count:,})" for reason, count in season.void_reasons.items())
    agreement = season.agreement
    note = f"Void: {reasons}." if reasons else ""
    if agreement is not None:
        note += (
            f" Proposals from evidence: {agreement.same:,} of {agreement.compared:,} agree with what was decided"
            f" ({share(agreement.share)} %); {agreement.decided - agreement.compared:,} proposed neither yes nor no."
        )
    columns = ("round", "asked", "scored", "pending", "void", "no decision")
    return Grid("states", "States", columns, (("", rows),), note.strip())


def mistake_grid(season: DataKindReport, who: ForecasterId, name: str) -> Grid:
    """The errors of a forecaster by track and level (Table 19).

    Args:
        season: the figures of the season.
        who: the forecaster whose errors are shown.
        name: the short name of the forecaster.
    """
    rows = []
    for group in season.mistakes:
        if group.forecaster != who:
            continue
        example = group.example
        case = f"{group.subtype or 'no subtype'} ({group.share:.1%})" if group.errors else "none"
        if example is not None:
            case += (
                f"\nQ: {_first_line(example.text)}\nGold: {answer_text(example.gold, example.is_event)}"
                f"   Pred: {answer_text(example.forecast, example.is_event)}"
            )
        figures = (
            f"{group.tasks:,}",
            f"{group.errors:,}",
            f"{group.missing:,}",
            f"{100.0 * group.errors / group.tasks:.2f}",
        )
        last = GridCell(case, hover=example.text if example is not None else "")
        rows.append(GridRow(group.quadrant, (*map(GridCell, figures), last)))
    columns = ("category", "tasks", "errors", "missing", "% error", "most frequent subtype, and an example")
    return Grid("mistakes", f"Errors of {name}", columns, (("", tuple(rows)),) if rows else ())


def _first_line(text: str) -> str:
    """The question itself, without the details that follow on other lines."""
    return text.strip().partition("\n")[0]
