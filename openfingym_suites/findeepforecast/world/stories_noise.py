"""News of the simulated world that is about no open event, from which a reader must tell the news that is.

It consists of routine releases of a calendar, market talk without an authority or a day, recaps of what was settled
long ago, and matters that are tied together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from openfingym_suites.findeepforecast.problem import ECONOMIES
from openfingym_suites.findeepforecast.world.known import Company
from openfingym_suites.findeepforecast.world.matters import authorities, matters_by_kind
from openfingym_suites.findeepforecast.world.stories_drawing import StoryDraws
from openfingym_suites.findeepforecast.world.stories_telling import OUTLETS, Piece, day_text, moment

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
    """Draw pieces of news about nothing that is open.

    Args:
        companies: the companies that pieces may be about.
        begin: the first day on which a piece may be published.
        end: the last day on which a piece may be published.
        seed: the number from which every random draw of the world follows.
        density: number of pieces as a share of the usual one.

    Yields:
        The economy or symbol that a piece is about, the desk's name of its story, and the piece.
    """
    days = (end - begin).days
    for economy in ECONOMIES:
        members = [company for company in companies if company.economy == economy]
        for number in range(round(days / 7 * _WEEKLY * density)):
            draws = StoryDraws(seed, "noise", economy, number)
            macro = not members or draws.chance(0.4)
            of_kind, of_other_kind = draws.pick_two(matters_by_kind(macro=macro))
            matter, other = draws.pick(of_kind), draws.pick(of_other_kind)
            company = None if macro else draws.pick(members)
            subject = company.symbol if company else economy
            actor = company.name if company else authorities()[economy, matter.kind]
            day = begin + timedelta(days=draws.integer(0, days))
            texts = draws.pick((_ROUTINE_MACRO if macro else _ROUTINE_CORPORATE, _TALK, _RECAP, _TIED))
            body = draws.pick(texts).format(
                actor=actor,
                Actor=actor[0].upper() + actor[1:],
                phrase=matter.phrase,
                other=other.phrase,
                day=day_text(day + timedelta(days=draws.integer(10, 60)), draws.integer(0, 3)),
            )
            # Some texts begin with a title of their own, such as "Diary:".
            title = body.split(":")[0] if ":" in body[:20] else f"{actor}: market notes"
            piece = Piece(moment(day, draws), draws.pick(tuple(OUTLETS)), False, title, body)
            yield subject, f"{economy}N{number:05d}", piece
