"""What became of a problem, as far as a world knows it: the first print of a figure, the ruling of an event."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.question import moment_ns, utc_text
from openfingym.suites.findeepforecast.problem import Event, Figure
from openfingym.suites.findeepforecast.world.known import KnownWorld, Published

EARLY = "known before the deadline"
"""Why a question is void whose truth came sooner than its calendar said."""
UNPUBLISHED, UNDECIDED = "not published yet", "not decided yet"


class TruthExtractor(Protocol):
    """Says what became of a problem."""

    def extract(self, world: KnownWorld, about: Figure | Event, deadline_ns: int) -> ProviderAnswer:
        """What is known of it.

        Args:
            world: what is known now.
            about: what the problem is about.
            deadline_ns: deadline of the problem, in nanoseconds since the epoch; what was known by then is void.
        """


class RecordedTruth:
    """Takes the first print of a figure, and the world's own record of an event. Restatements decide nothing."""

    def extract(self, world: KnownWorld, about: Figure | Event, deadline_ns: int) -> ProviderAnswer:
        """See :class:`TruthExtractor`."""
        if isinstance(about, Figure):
            return _figure(world, about, deadline_ns)
        return _event(world, about, deadline_ns)


def _figure(world: KnownWorld, figure: Figure, deadline_ns: int) -> ProviderAnswer:
    first = world.first_print(figure)
    if first is None:
        return ProviderAnswer("waiting", reason=UNPUBLISHED)
    answer = _print(figure, first, "first")
    if moment_ns(first.at) <= deadline_ns:
        return ProviderAnswer("void", reason=EARLY, source=first.source, evidence=answer.evidence)
    last = world.latest_print(figure)
    later = () if last is None or last.at == first.at else (_print(figure, last, "latest"),)
    return ProviderAnswer(
        "resolved",
        first.value,
        source=first.source,
        evidence=answer.evidence,
        vintage=answer.vintage,
        provider_ns=answer.provider_ns,
        later=later,
    )


def _print(figure: Figure, found: Published, which: str) -> ProviderAnswer:
    at_ns = moment_ns(found.at)
    evidence = {
        "subject": figure.subject,
        "measure": figure.measure,
        "period": figure.period.isoformat(),
        "value": found.value,
        "print": which,
        "published": utc_text(at_ns),
    }
    return ProviderAnswer(
        "resolved", found.value, source=found.source, evidence=evidence, vintage=_vintage(found.at), provider_ns=at_ns
    )


def _vintage(at: datetime) -> str:
    return utc_text(moment_ns(at))


def _event(world: KnownWorld, event: Event, deadline_ns: int) -> ProviderAnswer:
    ruling = world.ruling(event)
    if ruling is None:
        return ProviderAnswer("waiting", reason=UNDECIDED)
    at_ns = moment_ns(ruling.at)
    evidence = {
        "subject": event.subject,
        "event": event.kind,
        "by": event.by.isoformat(),
        "happened": ruling.happened,
        "known": utc_text(at_ns),
    }
    if at_ns <= deadline_ns:
        return ProviderAnswer("void", reason=EARLY, source=ruling.source, evidence=evidence)
    return ProviderAnswer(
        "resolved", float(ruling.happened), source=ruling.source, evidence=evidence, provider_ns=at_ns
    )
