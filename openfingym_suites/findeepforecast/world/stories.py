"""Storylines as rows of the simulated vault: its news, and what the world records of how each story ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from openfingym_suites.findeepforecast.world.known import Company
from openfingym_suites.findeepforecast.world.outcomes import RECORDED_AT
from openfingym_suites.findeepforecast.world.stories_drawing import Story, StoryDraws, draw_stories
from openfingym_suites.findeepforecast.world.stories_noise import noise
from openfingym_suites.findeepforecast.world.stories_telling import tell

if TYPE_CHECKING:
    import pandas as pd

RECORD = "the world's record (simulated)"
"""Source of rulings."""
_SECOND_DESKS = 0.06
"""Share of stories that a second desk tells as well, under a name of its own."""


def story_frames(
    companies: Sequence[Company],
    begin: date,
    end: date,
    seed: int,
    *,
    density: float = 1.0,
    ends: int | None = None,
    until: datetime | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the rows of the tables ``news`` and ``rulings``, with their known times in UTC.

    Args:
        companies: the companies that corporate stories are about.
        begin: the first day by which a story may be due; its first report comes up to 13 weeks before.
        end: the last day by which a story may be due.
        seed: the number from which every random draw of the world follows.
        density: number of stories as a share of the usual one. A season of the paper's size asks about a fifth of the
            usual number.
        ends: another seed for how stories end, with which tests show that nothing before an end depends on it; None
            for ``seed``.
        until: the time before which news is published; None for all of it.

    Returns:
        The news, oldest first, and the rulings, by story.
    """
    import pandas as pd

    stories = draw_stories(companies, begin, end, seed, density, ends)
    # How a story is told follows from its id, so a second desk has words of its own.
    seconds = [
        replace(story, id=f"{story.id}B")
        for story in stories
        if StoryDraws(seed, "desk", story.id).chance(_SECOND_DESKS)
    ]
    told = [story for story in (*stories, *seconds) if until is None or story.opened < until.date()]
    pieces = [(story.subject, story.id, piece) for story in told for piece in tell(story, seed)]
    pieces += noise(companies, begin, end, seed, density)
    pieces = pieces if until is None else [named for named in pieces if named[2].at < until]
    # Ids of news count the pieces of a day, so that pieces of the same minute need an order of their own.
    pieces.sort(key=lambda named: (named[2].at, named[1], named[2].title, named[2].body))
    rows = []
    count: dict[date, int] = {}
    for subject, name, piece in pieces:
        day = piece.at.date()
        count[day] = count.get(day, 0) + 1
        rows.append(
            {
                "id": f"news-{day:%Y%m%d}-{count[day]:04d}",
                "published_at": piece.at,
                "source": piece.source,
                "official": piece.official,
                "subject": subject,
                "story": name,
                "title": piece.title,
                "body": piece.body,
                "known_at": piece.at,
            }
        )
    rulings = [_ruling(story) for story in sorted((*stories, *seconds), key=lambda story: story.id)]
    columns = ["story", "happened_on", "amount", "source", "known_at"]
    return pd.DataFrame(rows), pd.DataFrame(rulings, columns=columns)


def _ruling(story: Story) -> dict[str, Any]:
    """What the world records of a story, on the morning after it happened, or else after its end or its due day.

    What has not happened is recorded after the due day only, even if the story has ended: it might still happen.
    """
    last = story.happened_on or max(story.ended, story.due)
    return {
        "story": story.id,
        "happened_on": story.happened_on,
        "amount": story.amount,
        "source": RECORD,
        "known_at": datetime.combine(last + timedelta(days=1), RECORDED_AT, UTC),
    }
