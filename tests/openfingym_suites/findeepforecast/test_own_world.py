"""A world of one rollout: it answers as a whole one does, and its season has as many questions as that of the task."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from openfingym.questions.question import moment_at
from openfingym.vault import Vault
from openfingym_suites.findeepforecast.problem import Figure
from openfingym_suites.findeepforecast.seasons import AFTERWARDS, START, generate_parts, own_parts, week_of
from openfingym_suites.findeepforecast.world.building import write_findeepforecast
from openfingym_suites.findeepforecast.world.simulated import SimulatedWorld
from openfingym_suites.findeepforecast.world.size import WorldSize

SEED = 9_876_543_210_123_456_789 << 190
"""As large as that of a tape."""
LAST = moment_at(week_of(START + timedelta(weeks=9)).deadline_ns)
START_OF_SEASON = moment_at(week_of(START).generated_ns)
TIMES = (datetime(2025, 10, 30, tzinfo=UTC), moment_at(week_of(START).deadline_ns), LAST)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Vault, Vault]:
    """A whole world, and the same without what neither questions nor tools need."""
    folder: Path = tmp_path_factory.mktemp("worlds")
    small = WorldSize.small()
    return tuple(  # type: ignore[return-value]  # two of them
        write_findeepforecast(folder / str(part), small, seed=SEED, season_only=part) for part in (False, True)
    )


@pytest.mark.parametrize("time", TIMES)
def test_tools_answer_as_in_the_whole_world(worlds: tuple[Vault, Vault], time: datetime) -> None:
    whole, part = (SimulatedWorld(vault, time) for vault in worlds)
    assert part.companies() == whole.companies()
    assert part.series() == whole.series()
    for series in whole.series():
        assert part.history(series.id, "level") == whole.history(series.id, "level")
    figures = 0
    for company in whole.companies():
        measures = whole.metrics(company.symbol)
        assert part.metrics(company.symbol) == measures
        for measure in measures[::7]:
            known = whole.history(company.symbol, measure)
            assert part.history(company.symbol, measure) == known
            newest = Figure(company.symbol, measure, known[-1].period)
            assert part.latest_print(newest) == whole.latest_print(newest)
            assert part.scheduled(newest) == whole.scheduled(newest)
            figures += len(known)
    assert figures > 1000
    assert part.news(time - timedelta(weeks=120), time) == whole.news(time - timedelta(weeks=120), time)
    assert len(whole.news(time - timedelta(weeks=120), time)) > 400
    for text in ("report of the quarter", "decision confirmed by the authority", "economists expect"):
        assert part.search(text, 20) == whole.search(text, 20) != []
    ahead = time + timedelta(weeks=13)
    assert part.releases(time, ahead) == whole.releases(time, ahead) != []
    assert part.reports(time, ahead) == whole.reports(time, ahead)


def test_it_decides_what_the_season_asks_and_its_seed_is_stated_nowhere(worlds: tuple[Vault, Vault]) -> None:
    whole, part = (SimulatedWorld(vault, AFTERWARDS) for vault in worlds)
    due = whole.reports(START_OF_SEASON, LAST + timedelta(weeks=1))
    assert len(due) > 30
    for report in due:
        figure = Figure(report.subject, "Revenue", report.period)
        assert part.first_print(figure) == whole.first_print(figure)
    # Nothing is told after the season, which nobody asks about.
    assert whole.news(LAST + timedelta(days=2), AFTERWARDS) != []
    assert part.news(LAST + timedelta(days=2), AFTERWARDS) == []
    stated = (worlds[1].folder / "manifest.json").read_text()
    assert str(SEED) not in stated
    assert str(SEED) in worlds[0].manifest.notes["seed"]


def test_a_season_has_as_many_questions_of_each_kind_as_another_one(worlds: tuple[Vault, Vault]) -> None:
    found = generate_parts(worlds[0])
    strata = Counter(_stratum(settled) for settled in found.private)
    # Nine in ten of each, so that there is a choice.
    left = {name: max(count * 9 // 10, 1) for name, count in strata.items()}
    private = []
    for settled in found.private:
        if left[_stratum(settled)] > 0:
            left[_stratum(settled)] -= 1
            private.append(settled)
    like = replace(found, private=tuple(private), public=found.public[:5])
    own = own_parts(worlds[1], like)
    assert own is not None
    assert own == own_parts(worlds[1], like)
    assert Counter(map(_stratum, own.private)) == Counter(map(_stratum, like.private))
    assert (len(own.public), own.train) == (5, ())
    for part in (own.private, own.public):
        deadlines = [settled.problem.deadline_ns for settled in part]
        assert deadlines == sorted(deadlines)
        assert all(settled.known_ns > settled.problem.deadline_ns for settled in part)
    first = week_of(START).generated_ns
    assert all(settled.known_ns < first for settled in own.public)
    # A world with too few is no world for the task.
    assert own_parts(worlds[1], replace(like, private=found.private * 3)) is None


def _stratum(settled: object) -> tuple[str, str]:
    problem = settled.problem  # type: ignore[attr-defined]  # a settled problem
    return problem.quadrant, problem.market
