"""News of the simulated world that is about no open event: it is there to be told from what is.

Routine releases of a calendar, market talk without an authority or a day, recaps of what was settled long ago,
matters that are tied together, and a second desk that tells another's story under a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from openfingym.suites.findeepforecast.problem import ECONOMIES
from openfingym.suites.findeepforecast.world.known import Company
from openfingym.suites.findeepforecast.world.matters import authorities, of_level
from openfingym.suites.findeepforecast.world.stories_drawing import Draws
from openfingym.suites.findeepforecast.world.stories_telling import OUTLETS, Piece, day_text, moment

_ROUTINE_MACRO = (
    "Diary: {actor} publishes its regular monthly figures by {day}, as scheduled.",
    "Scheduled release: the next figures of {actor} come out by {day}, as the calendar has it.",
)
_ROUTINE_CORPORATE = (
    "Diary: {actor} reports quarterly results by {day}, as scheduled.",
    "Scheduled release: the results of {actor} for the quarter are due by {day}, as the calendar has it.",
)
_TALK = (
    "Market talk has it that {phrase} may come at {actor} one day. No one named a date or a source.",
    "There is chatter about {actor} and {phrase}, of unknown origin.",
)
_RECAP = (
    "Recap: {actor} confirmed {phrase} some time ago. It has been in effect since, and nothing is open.",
    "Looking back: {phrase}, confirmed by {actor} last quarter, has been completed. A review is due by {day}.",
)
_TIED = (
    "{Actor} is weighing {phrase} together with {other}, people familiar with the matter said. Both are due by {day}.",
    "A package at {actor} ties {phrase} and {other}; a decision on both is due by {day}.",
)
_WEEKLY = 9
"""Pieces of noise in a week, in each economy."""


def noise(
    companies: Sequence[Company], begin: date, end: date, seed: int, density: float
) -> Iterator[tuple[str, str, Piece]]:
    """Pieces, each with its subject and the desk's name of it."""
    days = (end - begin).days
    for economy in ECONOMIES:
        members = [one for one in companies if one.economy == economy]
        for number in range(round(days / 7 * _WEEKLY * density)):
            draws = Draws(seed, "noise", economy, number)
            macro = not members or draws.chance(0.4)
            kind, other_kind = draws.two(of_level(macro=macro))
            matter, other = draws.pick(kind), draws.pick(other_kind)
            company = None if macro else draws.pick(members)
            subject = company.symbol if company else economy
            actor = company.name if company else authorities()[economy, matter.kind]
            day = begin + timedelta(days=draws.whole(0, days))
            texts = draws.pick((_ROUTINE_MACRO if macro else _ROUTINE_CORPORATE, _TALK, _RECAP, _TIED))
            body = draws.pick(texts).format(
                actor=actor,
                Actor=actor[0].upper() + actor[1:],
                phrase=matter.phrase,
                other=other.phrase,
                day=day_text(day + timedelta(days=draws.whole(10, 60)), draws.whole(0, 3)),
            )
            title = body.split(":")[0] if ":" in body[:20] else f"{actor}: market notes"
            piece = Piece(moment(day, draws), draws.pick(tuple(OUTLETS)), False, title, body)
            yield subject, f"{economy}N{number:05d}", piece
