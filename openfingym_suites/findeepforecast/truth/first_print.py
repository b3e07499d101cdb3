"""What became of a problem, as far as a world knows: the first print of a figure, or the ruling on an event."""

from __future__ import annotations

from typing import Protocol

from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.question import moment_ns, utc_text
from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent
from openfingym_suites.findeepforecast.world.known import KnownWorld, Published

EARLY = "known before the deadline"
"""Why a question is void whose truth came sooner than the calendar said."""
UNPUBLISHED, UNDECIDED = "not published yet", "not decided yet"
"""Why a question waits for its truth."""


class TruthExtractor(Protocol):
    """Extracts what became of a problem from a world."""

    def extract(self, world: KnownWorld, about: Figure | ForecastEvent, deadline_ns: int) -> ProviderAnswer:
        """What is known about a problem's truth.

        Args:
            world: what is known now.
            about: the figure or the event that the problem is about.
            deadline_ns: deadline of the problem, in nanoseconds since the epoch; a truth known by then is void.
        """


class RecordedTruth:
    """Takes the first print of a figure, and the world's own record of an event. Restatements decide nothing."""

    def extract(self, world: KnownWorld, about: Figure | ForecastEvent, deadline_ns: int) -> ProviderAnswer:
        """See :class:`TruthExtractor`."""
        if isinstance(about, Figure):
            return _figure(world, about, deadline_ns)
        return _event(world, about, deadline_ns)


def _figure(world: KnownWorld, figure: Figure, deadline_ns: int) -> ProviderAnswer:
    """The first print, with the latest one beside it if that is another."""
    first = world.first_print(figure)
    if first is None:
        return ProviderAnswer("waiting", reason=UNPUBLISHED)
    answer = _print(figure, first, "first")
    # Known by the deadline, it could have been looked up, and would say nothing about forecasting.
    if moment_ns(first.at) <= deadline_ns:
        return ProviderAnswer("void", reason=EARLY, source=first.source, evidence=answer.evidence)
    # A restatement is recorded beside the first print, which decides.
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


def _print(figure: Figure, published: Published, which: str) -> ProviderAnswer:
    """A print as an answer; ``which`` says whether it is the first or the latest."""
    at_ns = moment_ns(published.at)
    evidence = {
        "subject": figure.subject,
        "measure": figure.measure,
        "period": figure.period.isoformat(),
        "value": published.value,
        "print": which,
        "published": utc_text(at_ns),
    }
    return ProviderAnswer(
        "resolved",
        published.value,
        source=published.source,
        evidence=evidence,
        vintage=utc_text(at_ns),
        provider_ns=at_ns,
    )


def _event(world: KnownWorld, event: ForecastEvent, deadline_ns: int) -> ProviderAnswer:
    """What the world records of an event: 1 if it happened, 0 if not."""
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
