"""Worlds of storylines that several files of tests look at."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from openfingym_suites.findeepforecast.generation.events import EventGenerator
from openfingym_suites.findeepforecast.generation.protocols import Stratum, Week
from openfingym_suites.findeepforecast.problem import ECONOMIES, ForecastProblem
from tests.openfingym_suites.findeepforecast.story_world import StoryWorld, week_of

EVERYTHING = {
    Stratum(f"non-recurrent {level}", economy): 1000 for economy in ECONOMIES for level in ("macro", "corporate")
}


def as_of(world: StoryWorld, week: Week) -> StoryWorld:
    return world.at(datetime.fromtimestamp(week.generated_ns / 10**9, UTC))


@pytest.fixture(scope="session")
def stories() -> StoryWorld:
    """A world with a quarter of the usual stories, with hindsight."""
    return StoryWorld.made(5, density=0.25)


@pytest.fixture(scope="session")
def asked(stories: StoryWorld) -> list[ForecastProblem]:
    """Every question of its season that passes the review, in the order in which they are asked."""
    found: list[ForecastProblem] = []
    for number in range(10):
        week = week_of(number)
        drawn = EventGenerator().generate(as_of(stories, week), week, EVERYTHING, [one.key for one in found], 0)
        found += drawn.problems
    return found
