"""How often what the news calls contested came as it was contested, as known at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from openfingym.suites.findeepforecast.generation.relevance import RuleRelevance
from openfingym.suites.findeepforecast.generation.reports import read_report
from openfingym.suites.findeepforecast.generation.signals import Signal
from openfingym.suites.findeepforecast.problem import Event
from openfingym.suites.findeepforecast.truth.evidence import what_it_says
from openfingym.suites.findeepforecast.world.known import Document

FEWEST = 20
"""Stories that must have ended for there to be a rate."""


def base_rate(of_story: Mapping[str, Sequence[Document]], now: datetime) -> float | None:
    """Share of the stories that are over in which an authority has confirmed what was contested, by the day named.

    Args:
        of_story: documents by story, of the past as known at a time.
        now: that time.

    Returns:
        The share with one YES and one NO added, to three digits; None where fewer than :data:`FEWEST` are over.
    """
    yes = over = 0
    assess = RuleRelevance().assess
    for name, documents in of_story.items():
        reports = [read_report(one) for one in documents]
        before = tuple(one.document for one in reports if not one.says)
        named = [one.matters[0] for one in reports if one.matters]
        if not named or not any(one.contested for one in reports) or any(one.tied or one.recap for one in reports):
            continue
        found = assess(Signal(name, documents[0].subject, "", "macro", named[0].kind, named[0].phrase, before))
        if found.due is None or found.due >= now.date():
            continue  # those that ended before their day are left out with those that have not ended: no bias
        event = Event(documents[0].subject, named[0].kind, name, found.condition, found.threshold, found.due)
        said = [what_it_says(event, one)[0] for one in reports if one.says and one.document.official]
        over += 1
        yes += "fulfils" in said
    return round((yes + 1) / (over + 2), 3) if over >= FEWEST else None
