"""Reactions of other countries to a story: allies of both sides take theirs, and a large country may mediate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.mirai.world.kinds import APPEALS, APPLAUSE, BLAME, MEDIATION, SUPPORT
from openfingym_suites.mirai.world.story import Act, DayStory

if TYPE_CHECKING:
    from openfingym_suites.mirai.world.geography import Geography

EAGERNESS = 0.2
"""How many allies of each side react to a story of usual importance, on average."""


def react(story: DayStory, geography: Geography, rng: np.random.Generator) -> None:
    """Add to a story what other countries do because of it on the same day.

    Args:
        story: the story, whose reactions are extended.
        geography: the countries of the world and their allies.
        rng: the source of all random draws, whose order decides the world.
    """
    # What is neither friendly nor hostile is noticed only if it is important.
    if story.kind.tone == 0 and story.importance < 2.0:
        return
    hostile = story.kind.tone < 0
    eager = EAGERNESS * min(story.importance, 4.0)
    for side, other in ((story.target, story.actor), (story.actor, story.target)):
        allies = [ally for ally in geography.allies[side][:6] if ally != other]
        for ally in allies[: int(rng.poisson(eager))]:
            if hostile:
                story.reactions.append(Act(ally, _any_of(BLAME, rng), other))
                if rng.random() < 0.4:
                    story.reactions.append(Act(ally, _any_of(SUPPORT, rng), side))
            else:
                story.reactions.append(Act(ally, _any_of(APPLAUSE, rng), side))
    if hostile and story.importance > 2.0 and rng.random() < 0.45:
        _mediate(story, geography, rng)


def _mediate(story: DayStory, geography: Geography, rng: np.random.Generator) -> None:
    """One of the twelve largest countries appeals to both sides of a conflict, and may talk with both."""
    broker = int(np.argsort(-geography.weight, kind="stable")[int(rng.integers(12))])
    # A party to the conflict cannot mediate in it, and nobody takes its place.
    if broker in {story.actor, story.target}:
        return
    code = _any_of(APPEALS, rng)
    story.reactions += [Act(broker, code, story.actor), Act(broker, code, story.target)]
    if rng.random() < 0.4:
        for side in (story.actor, story.target):
            to = [code for code, chance in MEDIATION.to if rng.random() < chance]
            story.reactions += [Act(broker, code, side) for code in to]
            story.reactions += [Act(side, code, broker) for code, chance in MEDIATION.back if rng.random() < chance]


def _any_of(codes: tuple[str, ...], rng: np.random.Generator) -> str:
    return codes[int(rng.integers(len(codes)))]
