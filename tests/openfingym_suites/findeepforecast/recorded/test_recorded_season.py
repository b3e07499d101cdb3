"""Weeks of the seasons on the real past: what is asked was unknown, and what became of it is in the raw files."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from openfingym.questions.question import DAY_NS, moment_ns
from openfingym.vault import Vault
from openfingym_suites.findeepforecast.generation.protocols import Stratum, Week
from openfingym_suites.findeepforecast.generation.recorded_events import HIGH, LOW, RecordedEvents
from openfingym_suites.findeepforecast.generation.recurrent import CalendarGenerator
from openfingym_suites.findeepforecast.generation.season import SeasonPlan, compose
from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.truth.first_print import RecordedTruth
from openfingym_suites.findeepforecast.world.recorded import RecordedWorld
from openfingym_suites.findeepforecast.world.recorded_tables import cik_of, series_lines
from tests.sweeps import fixed_part

ROOT = Path(__file__).parents[4]
SEASONS = ("findeepforecast-real", "findeepforecast-real-2023")


def weeks_of(name: str) -> tuple[Week, ...]:
    """The weeks of a definition, by its schedule in UTC."""
    definition = tomllib.loads((ROOT / "rounds" / f"{name}.toml").read_text())
    first = definition["start"] + timedelta(days=2, hours=8)  # from Monday 00:00 to Thursday 08:00 in Singapore
    found = []
    for number in range(definition["weeks"]):
        generated = first + timedelta(days=7 * number)
        deadline = moment_ns(generated + timedelta(days=3, hours=15, minutes=59))
        found.append(Week(f"{generated:%G-W%V}", moment_ns(generated), deadline, deadline + 7 * DAY_NS))
    return tuple(found)


def time_of(moment: int) -> datetime:
    return datetime.fromtimestamp(moment / 10**9, UTC)


@pytest.fixture(scope="module", params=SEASONS)
def problems(request: pytest.FixtureRequest, vault: Vault) -> list[ForecastProblem]:
    """Those of the first week."""
    weeks = weeks_of(request.param)
    season = SeasonPlan(weeks, 0, None, CalendarGenerator(1.0, 40, "GLOBAL"), RecordedEvents())
    asked: dict[str, Stratum] = {}
    found: list[ForecastProblem] = []
    for week in fixed_part(weeks, len(weeks)):
        made = compose(season, RecordedWorld(vault, time_of(week.generated_ns)), week, asked)
        asked |= {one.key: Stratum(one.quadrant, one.market) for one in made.problems}
        found += made.problems
    return found


def test_each_quadrant_is_asked_for(problems: list[ForecastProblem]) -> None:
    quadrants = Counter(one.quadrant for one in problems)
    assert quadrants["non-recurrent corporate"] >= 10
    assert quadrants["non-recurrent macro"] >= 5
    assert quadrants["recurrent macro"] >= 5
    assert len({one.key for one in problems}) == len(problems)


def test_nothing_was_known_of_a_truth_before_the_deadline(vault: Vault, problems: list[ForecastProblem]) -> None:
    worlds = {moment: RecordedWorld(vault, time_of(moment)) for moment in {one.deadline_ns for one in problems}}
    for one in problems:
        world = worlds[one.deadline_ns]
        if isinstance(one.about, Figure):
            assert world.first_print(one.about) is None, one.key
        else:
            assert world.ruling(one.about) is None, one.key


def test_truths_are_those_of_the_raw_files(
    vault: Vault,
    problems: list[ForecastProblem],
    macro: pd.DataFrame,
    calendar: pd.DataFrame,
    statements: pd.DataFrame,
    facts: pd.DataFrame,
) -> None:
    end = RecordedWorld(vault, datetime(2024, 9, 1, tzinfo=UTC))
    compared: Counter[str] = Counter()
    for one in problems:
        answer = RecordedTruth().extract(end, one.about, one.deadline_ns)
        raw = truth(one.about, macro, calendar, statements, facts)
        if raw is None:
            continue
        if answer.status == "resolved":
            assert answer.truth == pytest.approx(raw), one.key
            assert answer.provider_ns is not None
            assert answer.provider_ns > one.deadline_ns
        else:
            assert answer.status == "void", one.key
        compared[one.quadrant] += 1
    assert compared["non-recurrent corporate"] >= 10


def truth(
    about: Figure | ForecastEvent,
    macro: pd.DataFrame,
    calendar: pd.DataFrame,
    statements: pd.DataFrame,
    facts: pd.DataFrame,
) -> float | None:
    """What became of it by a few lines on the raw files; None of what these lines do not cover."""
    if isinstance(about, Figure):
        line = series_lines().get(about.subject)
        if line is not None and line.table == "macro":
            month = pd.Timestamp(about.period).replace(day=1)
            rows = macro[(macro.series == line.key) & (macro.reference_date == month)].sort_values("vintage_date")
            return None if rows.empty else float(rows.value.iloc[0])
        if about.measure == "Total Assets":
            near = (facts.period_end - pd.Timestamp(about.period)).abs() <= pd.Timedelta(days=10)
            own = facts[(facts.cik == cik_of(about.subject)) & (facts.concept == "Assets") & near]
            return float(own.sort_values("filed").value.iloc[0]) / 1e6
        return None
    since, by = pd.Timestamp(about.story.removeprefix("since ")), pd.Timestamp(about.by)
    rule, _, what = about.condition.partition(":")
    if rule in {"8-K", "form"}:
        own = calendar[(calendar.cik == cik_of(about.subject)) & calendar.filed.between(since, by)]
        fits = own[own.form == "8-K"]["items"].fillna("").str.split(",").map(lambda items: what in items)
        count = fits.sum() if rule == "8-K" else own.form.str.startswith("NT ").sum()
        return float(count >= about.threshold)
    if rule == "target":
        moves = 100 * statements.dropna(subset=["target_upper"]).set_index("date").sort_index().target_upper.diff()
        moved = moves[(moves.index >= since) & (moves.index <= by)]
        size = {"any": moved.abs(), "up": moved, "down": -moved}[what]
        return float((size >= about.threshold).any())
    return None


def test_events_are_open_and_begin_after_the_deadline(problems: list[ForecastProblem]) -> None:
    for one in problems:
        if isinstance(one.about, ForecastEvent):
            assert one.base_rate is not None
            assert LOW <= one.base_rate <= HIGH
            begun = date.fromisoformat(one.about.story.removeprefix("since "))
            assert begun > time_of(one.deadline_ns).date()
            assert f"{one.base_rate}" not in one.text


def test_a_week_is_drawn_the_same_again(vault: Vault) -> None:
    week = weeks_of(SEASONS[0])[9]
    wanted = {Stratum("non-recurrent corporate", "US"): 4, Stratum("non-recurrent macro", "JP"): 1}
    drawn = [
        RecordedEvents().generate(RecordedWorld(vault, time_of(week.generated_ns)), week, wanted, (), 3)
        for _ in range(2)
    ]
    assert drawn[0] == drawn[1]
    made: Mapping[Stratum, int] = Counter(Stratum(one.quadrant, one.market) for one in drawn[0].problems)
    assert dict(made) == wanted
