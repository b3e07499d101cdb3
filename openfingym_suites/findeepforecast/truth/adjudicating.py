"""Adjudication: an outcome of an event is proposed from the evidence. A person decides; a proposal decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from openfingym_suites.findeepforecast.problem import ForecastProblem
from openfingym_suites.findeepforecast.truth.evidence import Evidence, EvidenceItem

Outcome = Literal["YES", "NO", "indeterminate"]


@dataclass(frozen=True)
class Proposal:
    """What an adjudicator proposes."""

    outcome: Outcome
    """The outcome; ``indeterminate`` if authorities contradict each other, or the last day has not passed."""
    reason: str
    """Why, in a sentence."""
    documents: tuple[str, ...]
    """Ids of the documents that it rests on."""
    adjudicator: str
    """``rules``, or the name of a model."""
    as_of: str
    """The time as of which the evidence was gathered, in ISO 8601."""

    def to_dict(self) -> dict[str, Any]:
        """The proposal as JSON."""
        return asdict(self)


class Adjudicator(Protocol):
    """Proposes an outcome from evidence."""

    def propose(self, problem: ForecastProblem, evidence: Evidence) -> Proposal:
        """Propose an outcome.

        Args:
            problem: the problem, which is about an event.
            evidence: what was found about it.
        """


class RuleAdjudicator:
    """The paper's rule: YES only if an authority confirms it; ambiguous or absent evidence is a NO.

    If one authority confirms it, and another one or the same one later says that this has no effect or will not be, it
    is indeterminate.
    """

    name = "rules"

    def propose(self, problem: ForecastProblem, evidence: Evidence) -> Proposal:  # noqa: ARG002
        """See :class:`Adjudicator`."""
        official = [item for item in evidence.findings if item.official]
        yes = [item for item in official if item.says == "fulfils"]
        against = [item for item in official if item.says in {"voids", "drops", "postpones"}]
        short = [item for item in official if item.says in {"short", "late"}]

        def proposal(outcome: Outcome, reason: str, rests_on: Sequence[EvidenceItem] = ()) -> Proposal:
            documents = tuple(item.document for item in rests_on)
            return Proposal(outcome, reason, documents, self.name, evidence.as_of)

        # A late statement does not contradict an earlier one in time, but another amount does.
        if yes and (against or any(item.says == "short" for item in short)):
            reason = "statements of authorities contradict each other"
            return proposal("indeterminate", reason, [*yes, *against, *short])
        if yes:
            return proposal("YES", "an authority confirms it as it was asked", yes)
        # Until its last day has passed it may still come, whatever was denied or put off.
        if not evidence.over:
            return proposal("indeterminate", "its last day has not passed")
        if short:
            what = "late" if all(item.says == "late" for item in short) else "not as it was asked"
            return proposal("NO", f"an authority states that it came {what}", short)
        if against:
            return proposal("NO", "an authority denies it or puts it off", against)
        reported = [item for item in evidence.findings if item.says == "fulfils"]
        if reported:
            return proposal("NO", "outlets report it, and no authority confirms it", reported)
        return proposal("NO", "no authority has confirmed it")
