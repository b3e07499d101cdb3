"""Adjudication: what is proposed of an event's end, from the evidence. A person decides; a proposal decides nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from openfingym.suites.findeepforecast.problem import ForecastProblem
from openfingym.suites.findeepforecast.truth.evidence import Evidence

Outcome = Literal["YES", "NO", "indeterminate"]


@dataclass(frozen=True)
class Proposal:
    """What an adjudicator proposes."""

    outcome: Outcome
    """``indeterminate`` where authorities contradict each other, or the last day has not passed."""
    reason: str
    documents: tuple[str, ...]
    """Ids of the documents that it rests on."""
    adjudicator: str
    """``rules``, or the name of a model."""
    as_of: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


class Adjudicator(Protocol):
    """Proposes an outcome from evidence."""

    def propose(self, problem: ForecastProblem, evidence: Evidence) -> Proposal:
        """What the evidence says of a problem."""


class RuleAdjudicator:
    """The paper's rule: YES only where an authority confirms it; ambiguous or absent evidence is a NO.

    Where one authority confirms it and another, or the same one later, says that this has no effect or will not be,
    it is indeterminate.
    """

    name = "rules"

    def propose(self, problem: ForecastProblem, evidence: Evidence) -> Proposal:  # noqa: ARG002
        """As :class:`Adjudicator` has it."""
        official = [one for one in evidence.findings if one.official]
        yes = [one for one in official if one.says == "fulfils"]
        against = [one for one in official if one.says in {"voids", "drops", "postpones"}]
        short = [one for one in official if one.says in {"short", "late"}]

        def made(outcome: Outcome, reason: str, rests_on: list[str]) -> Proposal:
            return Proposal(outcome, reason, tuple(rests_on), self.name, evidence.as_of)

        if yes and (against or any(one.says == "short" for one in short)):
            last = [one.document for one in (*yes, *against, *short)]
            return made("indeterminate", "statements of authorities contradict each other", last)
        if yes:
            return made("YES", "an authority confirms it as it was asked", [one.document for one in yes])
        if not evidence.over:
            return made("indeterminate", "its last day has not passed", [])
        if short:
            what = "late" if all(one.says == "late" for one in short) else "not as it was asked"
            return made("NO", f"an authority states that it came {what}", [one.document for one in short])
        if against:
            return made("NO", "an authority denies it or puts it off", [one.document for one in against])
        told = [one.document for one in evidence.findings if one.says == "fulfils"]
        if told:
            return made("NO", "outlets report it, and no authority confirms it", told)
        return made("NO", "no authority has confirmed it", [])
