"""Storylines as rows of the simulated vault: its news, and what the world records of each story's end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from openfingym.suites.findeepforecast.world.known import Company
from openfingym.suites.findeepforecast.world.stories_drawing import Draws, Story, draw_stories
from openfingym.suites.findeepforecast.world.stories_noise import noise
from openfingym.suites.findeepforecast.world.stories_telling import tell

if TYPE_CHECKING:
    import pandas as pd

RECORD = "the world's record (simulated)"
"""Source of rulings."""
_SECOND_DESKS = 0.06
"""Share of stories that a second desk tells as well, under a name of its own."""


def story_frames(
    companies: Sequence[Company], begin: date, end: date, seed: int, *, density: float = 1.0, ends: int | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of ``news`` and ``rulings``, with their known times in UTC.

    Args:
        companies: who corporate stories are about.
        begin: first day by which a story is due; its first report is up to 13 weeks before.
        end: last day by which one is due.
        seed: the world.
        density: share of the usual number of stories: 1 has what a season of the paper's volume selects a fifth of.
        ends: a seed for how stories end, with everything else as it is, by which one shows that nothing before an
            end depends on it; None for ``seed``.

    Returns:
        ``(news, rulings)``, oldest first, and by story.
    """
    import pandas as pd

    stories = draw_stories(companies, begin, end, seed, density, ends)
    told = [(one.subject, one.id, piece) for one in stories for piece in tell(one, seed)]
    seconds = [replace(one, id=f"{one.id}B") for one in stories if Draws(seed, "desk", one.id).chance(_SECOND_DESKS)]
    told += [(one.subject, one.id, piece) for one in seconds for piece in tell(one, seed)]
    told += noise(companies, begin, end, seed, density)
    told.sort(key=lambda row: (row[2].at, row[1], row[2].title, row[2].body))
    rows = []
    count: dict[date, int] = {}
    for subject, name, piece in told:
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
    rulings = [_ruling(one) for one in sorted((*stories, *seconds), key=lambda one: one.id)]
    columns = ["story", "happened_on", "amount", "source", "known_at"]
    return pd.DataFrame(rows), pd.DataFrame(rulings, columns=columns)


def _ruling(story: Story) -> dict[str, Any]:
    """What the world records of a story, on the morning after its end, or after the day it was due."""
    last = story.happened_on or max(story.ended, story.due)
    return {
        "story": story.id,
        "happened_on": story.happened_on,
        "amount": story.amount,
        "source": RECORD,
        "known_at": datetime.combine(last + timedelta(days=1), time(6), UTC),
    }
