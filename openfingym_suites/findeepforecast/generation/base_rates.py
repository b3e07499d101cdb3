"""The base rate of events: how often what the news called contested came about as asked, as known at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from openfingym_suites.findeepforecast.claims import read_report
from openfingym_suites.findeepforecast.generation.relevance import RuleRelevance
from openfingym_suites.findeepforecast.generation.signals import Signal
from openfingym_suites.findeepforecast.problem import ForecastEvent
from openfingym_suites.findeepforecast.truth.evidence import what_it_says
from openfingym_suites.findeepforecast.world.known import Document

FEWEST = 20
"""How many stories must be over for there to be a rate."""


def base_rate(of_story: Mapping[str, Sequence[Document]], now: datetime) -> float | None:
    """Share of the stories that are over in which an authority confirmed what was contested, by the day that was named.

    Args:
        of_story: the documents of each story, as known at a time.
        now: the time as of which the documents are known.

    Returns:
        The share with one YES and one NO added, to three digits; None if fewer than :data:`FEWEST` are over.
    """
    yes = over = 0
    assess = RuleRelevance().assess
    for name, documents in of_story.items():
        claims = [read_report(document) for document in documents]
        # What was asked follows from what was reported before anything was decided.
        before = tuple(claim.document for claim in claims if not claim.says)
        named = [claim.matters[0] for claim in claims if claim.matters]
        # The same stories are left out as those that give no signal.
        if not named or not any(claim.contested for claim in claims) or any(c.tied or c.recap for c in claims):
            continue
        open_points = assess(Signal(name, documents[0].subject, "", "macro", named[0].kind, named[0].phrase, before))
        # Before its day has passed a story does not count, even if it is decided: to count only the decided ones among
        # those whose day is to come would bias the share.
        if open_points.due is None or open_points.due >= now.date():
            continue
        asked = (open_points.condition, open_points.threshold, open_points.due)
        event = ForecastEvent(documents[0].subject, named[0].kind, name, *asked)
        said = [what_it_says(event, claim)[0] for claim in claims if claim.says and claim.document.official]
        over += 1
        yes += "fulfils" in said
    # With one of each added, the rate of few stories is never 0 or 1.
    return round((yes + 1) / (over + 2), 3) if over >= FEWEST else None
