"""What is generated: as much as the plan says, from nothing but what was known, and nothing that is known already."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.digests import canonical_json
from openfingym.questions.question import DAY_NS, moment_at, moment_ns
from openfingym.rounds.schedule import Schedule
from openfingym.vault import Vault
from openfingym_suites.findeepforecast.asking import query_of
from openfingym_suites.findeepforecast.generation.protocols import DrawnProblems, Stratum, Week
from openfingym_suites.findeepforecast.generation.proving import prove_week
from openfingym_suites.findeepforecast.generation.quotas import TABLE_17
from openfingym_suites.findeepforecast.generation.recurrent import CalendarGenerator
from openfingym_suites.findeepforecast.generation.sampling import companies_drawn, shares
from openfingym_suites.findeepforecast.generation.season import Generated, SeasonPlan, compose, counted
from openfingym_suites.findeepforecast.problem import Figure, ForecastProblem
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.known import KnownWorld
from openfingym_suites.findeepforecast.world.opening import open_world, vault_name

ZONE = ZoneInfo("Asia/Singapore")
SCHEDULE = Schedule.model_validate(
    {"generate": "Thursday 08:00", "deadline": "Sunday 23:59", "resolve": "Monday 09:00", "publish": "Monday 12:00"}
)
MACRO_US, CORPORATE_US = Stratum("recurrent macro", "US"), Stratum("recurrent corporate", "US")
QUOTAS = {
    MACRO_US: 20,
    Stratum("recurrent macro", "JP"): 12,
    CORPORATE_US: 40,
    Stratum("recurrent corporate", "JP"): 16,
    Stratum("recurrent corporate", "UK"): 1,
}


def weeks(count: int = 6) -> tuple[Week, ...]:
    found = itertools.islice(SCHEDULE.rounds(ZONE, moment_ns("2025-10-26T16:00:00Z"), 2**62), count)
    return tuple(
        Week(one.week, one.generated_ns, one.deadline_ns, SCHEDULE.deadline.first(ZONE, one.deadline_ns))
        for one in found
    )


def season(**changes: object) -> SeasonPlan:
    return replace(SeasonPlan(weeks(), 7, QUOTAS), **changes)


def played(vault: Vault, plan: SeasonPlan, missed: Collection[str] = ()) -> dict[str, Generated]:
    """The weeks of a season, one after another, but for those that are missed."""
    asked: dict[str, Stratum] = {}
    found = {}
    for week in plan.weeks:
        if week.name not in missed:
            found[week.name] = compose(plan, open_world(vault, moment_at(week.generated_ns)), week, asked)
            asked |= counted(found[week.name].problems)
    return found


@pytest.fixture(scope="module")
def planned(smooth: Vault) -> dict[str, Generated]:
    """A season by its plan."""
    return played(smooth, season())


@pytest.fixture(scope="module")
def everything(smooth: Vault) -> list[ForecastProblem]:
    """All that there is to ask in a season."""
    return [problem for one in played(smooth, season(quotas=None)).values() for problem in one.problems]


def test_table_17_adds_up() -> None:
    assert sum(TABLE_17.values()) == 1394
    by_market = Counter[str]()
    for stratum, count in TABLE_17.items():
        by_market[stratum.market] += count
    assert list(by_market.values()) == [516, 149, 118, 226, 111, 84, 110, 80]  # the paper's last row


def test_a_season_has_what_its_plan_says(planned: dict[str, Generated]) -> None:
    problems = [problem for one in planned.values() for problem in one.problems]
    assert Counter(Stratum(one.quadrant, one.market) for one in problems) == QUOTAS
    assert len({one.key for one in problems}) == len(problems)
    assert not any(one.short for one in planned.values())
    for one in planned.values():
        assert [problem.key for problem in one.problems] == sorted(problem.key for problem in one.problems)


def test_what_a_missed_week_would_have_had_is_left_to_the_others(smooth: Vault, planned: dict[str, Generated]) -> None:
    lost = weeks()[1].name
    found = played(smooth, season(quotas={MACRO_US: 20}), missed={lost})

    assert any(problem.level == "macro" for problem in planned[lost].problems)
    assert sum(len(one.problems) for one in found.values()) == 20


def test_what_the_last_week_cannot_fill_is_said(smooth: Vault) -> None:
    found = played(smooth, season(quotas={CORPORATE_US: 500, MACRO_US: 5}))

    made = sum(problem.quadrant == CORPORATE_US.quadrant for one in found.values() for problem in one.problems)
    *_, last = found.values()
    assert last.short == {CORPORATE_US: 500 - made}
    assert last.summary()["short"] == {"recurrent corporate US": 500 - made}


def test_times_of_every_problem_and_its_truth(smooth: Vault, planned: dict[str, Generated]) -> None:
    after = open_world(smooth, moment_at(moment_ns("2026-06-01T00:00:00Z")))
    for name, one in planned.items():
        week = season().week(name)
        world = open_world(smooth, moment_at(week.generated_ns))
        for problem in one.problems:
            assert isinstance(problem.about, Figure)
            assert week.generated_ns == problem.generated_ns < problem.deadline_ns < problem.settled_ns
            assert world.first_print(problem.about) is None
            truth = after.first_print(problem.about)
            assert truth is not None
            assert moment_ns(truth.at) == problem.settled_ns > problem.deadline_ns
            assert world.history(problem.about.subject, problem.about.measure)


def test_at_most_thirty_percent_of_the_companies_and_all_categories_in_turns(smooth: Vault) -> None:
    plan = season(quotas=None, recurrent=CalendarGenerator(share=0.3, metrics=9))
    for name, one in played(smooth, plan).items():
        week = plan.week(name)
        reports = open_world(smooth, moment_at(week.generated_ns)).reports(
            moment_at(week.deadline_ns), moment_at(week.ends_ns)
        )
        reporting = Counter(report.subject[:2] for report in reports)
        corporate = [problem for problem in one.problems if problem.level == "corporate"]
        for market, count in reporting.items():
            asked = {problem.about.subject for problem in corporate if problem.market == market}
            assert len(asked) == companies_drawn(count, 0.3)
        for symbol in {problem.about.subject for problem in corporate}:
            metrics = [problem.subtype for problem in corporate if problem.about.subject == symbol]
            categories = Counter(read_taxonomy().metrics[metric].category for metric in metrics)
            assert max(categories.values()) - min(categories.values()) <= 1
            assert all(problem.horizon == "quarter" for problem in corporate)


@pytest.mark.parametrize(("horizon", "low", "high"), [("week", 3, 11), ("month", 10, 45), ("quarter", 45, 100)])
def test_horizons_of_macro_figures(everything: list[ForecastProblem], horizon: str, low: int, high: int) -> None:
    ahead = [
        (one.settled_ns - one.generated_ns) / DAY_NS
        for one in everything
        if one.level == "macro" and one.horizon == horizon
    ]
    assert len(ahead) > 10
    assert low < min(ahead)
    assert max(ahead) <= high


def test_far_market_figures_are_of_the_ends_of_months_and_quarters(everything: list[ForecastProblem]) -> None:
    far = [one for one in everything if one.subtype == "Stock Index" and one.horizon != "week"]
    months = {one.about.period.month for one in far if isinstance(one.about, Figure) and one.horizon == "month"}
    quarters = {one.about.period for one in far if isinstance(one.about, Figure) and one.horizon == "quarter"}
    assert months >= {11, 12}
    assert quarters == {date(2025, 12, 31)}


def test_nothing_that_came_later_changes_a_question(smooth: Vault, rough: Vault, planned: dict[str, Generated]) -> None:
    """The two worlds are the same until the first week's generation, and other ones afterwards."""
    plan = season()
    week = plan.weeks[0]
    assert compose(plan, open_world(rough, moment_at(week.generated_ns)), week, {}) == planned[week.name]
    after = moment_at(moment_ns("2026-06-01T00:00:00Z"))
    about = [one.about for one in planned[week.name].problems if isinstance(one.about, Figure)]
    truths = [[open_world(vault, after).first_print(one) for one in about] for vault in (smooth, rough)]
    assert truths[0] != truths[1]


def test_a_week_is_proved_on_a_copy_without_what_came_later(smooth: Vault) -> None:
    plan, name = season(), vault_name(smooth)
    asked: dict[str, Stratum] = {}
    for week in plan.weeks[:2]:
        problems = compose(plan, open_world(smooth, moment_at(week.generated_ns)), week, asked).problems
        before = dict(asked)

        def generate(world: KnownWorld, week: Week = week, before: Mapping[str, Stratum] = before) -> list[bytes]:
            return [canonical_json(query_of(one, name)) for one in compose(plan, world, week, before).problems]

        said = [canonical_json(query_of(one, name)) for one in problems]
        proof = prove_week(smooth, week.name, week.generated_ns, said, generate)
        assert proof.proved
        assert proof.questions == len(problems) > 0
        forged = prove_week(smooth, week.name, week.generated_ns, [*said[:-1], said[0]], generate)
        assert not forged.proved
        assert f"question {len(said)} is another one" in forged.differences[0]
        asked |= counted(problems)


def test_a_generator_that_looks_ahead_is_not_proved(smooth: Vault) -> None:
    """The attack: a generator that takes hold of the world's vault, and asks of it with hindsight."""
    week = weeks()[0]

    def generate(world: KnownWorld) -> list[bytes]:
        view = world._view._vault.hindsight(world.as_of)  # type: ignore[attr-defined]
        return [canonical_json(view.count("macro", {"id": "US:CPI"}))]

    asked = generate(open_world(smooth, moment_at(week.generated_ns)))
    proof = prove_week(smooth, week.name, week.generated_ns, asked, generate)
    assert not proof.proved
    assert proof.digest != proof.again


@dataclass(frozen=True)
class Careless:
    """A generator that gives whatever it is made of."""

    problems: tuple[ForecastProblem, ...]

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        return DrawnProblems(self.problems, {"nonsense": 2})


def test_what_breaks_a_rule_is_refused_and_counted(smooth: Vault) -> None:
    plan = season(quotas={MACRO_US: 3, Stratum("non-recurrent macro", "US"): 2})
    week = plan.weeks[0]
    world = open_world(smooth, moment_at(week.generated_ns))
    good, other, *_ = (one for one in compose(season(), world, week, {}).problems if one.level == "macro")
    event = {"track": "non-recurrent", "market": "US"}
    known = Figure("US:CPI", "level", date(2025, 8, 31))
    careless = Careless(
        (
            replace(good, key="a", **event),
            replace(other, key="a", **event),
            replace(other, key="b", **event),
            replace(other, key="c", **event),
            replace(good, key="d", about=known, **event),
            replace(good, key="e", settled_ns=good.deadline_ns, **event),
            replace(good, key="f", about=Figure("US:STOCK_INDEX", "level", date(2025, 10, 31)), **event),
            replace(good, key="g", generated_ns=good.generated_ns - 1, **event),
            replace(good, key="asked", **event),
            replace(good, key="h", track="non-recurrent", market="CN"),
        )
    )
    found = compose(replace(plan, non_recurrent=careless), world, week, {"asked": MACRO_US})

    assert [one.key for one in found.problems if one.track == "non-recurrent"] == ["a"]
    assert found.refused == {
        "nonsense": 2,
        "asked twice in the week": 1,
        "more than was wanted": 3,
        "truth known at generation": 1,
        "truth expected before the deadline": 2,
        "other times than the week's": 1,
        "asked before in the season": 1,
    }


def test_the_wording_varies_and_says_period_and_unit(everything: list[ForecastProblem]) -> None:
    for one in everything:
        assert isinstance(one.about, Figure)
        assert one.details is not None
        assert one.details["Unit"] == one.unit
        assert one.unit in one.text
        assert one.details["Period"].partition(",")[0] in one.text or one.level == "macro"
        assert "published first" in one.text
    assert len({one.text for one in everything}) >= len({one.about for one in everything})
    assert {one.text.split()[0] for one in everything} == {"Using", "Based", "Estimate,", "What"}


@given(total=st.integers(0, 200), weights=st.lists(st.integers(0, 60), min_size=1, max_size=12))
def test_shares_are_proportional_and_never_more_than_there_is(total: int, weights: list[int]) -> None:
    parts = shares(total, weights)
    assert sum(parts) == min(total, sum(weights))
    assert all(0 <= part <= weight for part, weight in zip(parts, weights, strict=True))
    if sum(weights) > total:
        assert all(abs(part - total * one / sum(weights)) < 1 for part, one in zip(parts, weights, strict=True))
