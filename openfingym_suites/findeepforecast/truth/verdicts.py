"""The queue of verdicts: proposals wait for a person, and every decision is kept with who made it and on what grounds.

Each question has a JSON file in the folder ``verdicts`` of its series, which is written whole or not at all. One
opinion decides, or as many as the queue asks for. Opinions that differ make a question *disputed*, until an opinion is
given as the final one. A decision is entered in the ledger once; if that was interrupted,
:meth:`VerdictQueue.enter` does it later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from openfingym.digests import sha256_of_text
from openfingym.errors import StoreError, UsageError
from openfingym.files.locks import take
from openfingym.files.strange import parse_json
from openfingym.files.whole import store_errors, write_json
from openfingym_suites.findeepforecast.problem import ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.truth.adjudicating import Adjudicator, Proposal, RuleAdjudicator
from openfingym_suites.findeepforecast.truth.evidence import Evidence, EvidenceGatherer, RuleEvidence
from openfingym_suites.findeepforecast.world.known import KnownWorld

FOLDER = "verdicts"
"""Name of the queue's folder in the folder of its series."""
LONGEST = 4000
"""The most characters of a reason, and of a name."""
MOST_EVIDENCE, MOST_REASON, MOST_OPINIONS = 15_000, 300, 5
"""Limits of what goes to the ledger with a verdict: characters in all, characters of a reason, and opinions."""
State = Literal["pending", "disputed", "decided"]
Verdict = Literal["YES", "NO", "VOID"]


@dataclass(frozen=True)
class Opinion:
    """A person's opinion on a question."""

    outcome: Verdict
    by: str
    """Name of the person or program that gave it."""
    at: str
    """When it was given, in ISO 8601."""
    reason: str
    """What it rests on, in words."""
    final: bool = False
    """Whether it settles a dispute."""


@dataclass(frozen=True)
class VerdictCase:
    """A question that waits for its verdict, or has it."""

    question: str
    """The question's id in the ledger."""
    text: str
    """The question."""
    proposal: Mapping[str, Any]
    """The latest :class:`~openfingym_suites.findeepforecast.truth.adjudicating.Proposal`, as JSON."""
    evidence: Mapping[str, Any]
    """The latest :class:`~openfingym_suites.findeepforecast.truth.evidence.Evidence`, as JSON."""
    earlier: tuple[Mapping[str, Any], ...] = ()
    """Earlier proposals, the oldest first."""
    opinions: tuple[Opinion, ...] = ()
    """Opinions in the order in which they were given."""
    state: State = "pending"
    outcome: Verdict | None = None
    """The verdict; None until it is decided."""
    entered: bool = False
    """Whether the ledger has the decision."""

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """A case from JSON, as its file has it."""
        values = dict(document)
        values["opinions"] = tuple(Opinion(**opinion) for opinion in values.get("opinions", ()))
        values["earlier"] = tuple(values.get("earlier", ()))
        return cls(**values)


class DecidesQuestions(Protocol):
    """The part of the ledger that verdicts need."""

    def state(self, question: str) -> str:
        """The state of a question in the ledger: ``resolved``, ``void`` or ``scored`` once it has a truth.

        Args:
            question: id of the question.
        """

    def decide(self, question: str, truth: float | None, *, evidence: Mapping[str, Any], reason: str) -> None:
        """Decide a question.

        Args:
            question: id of the question.
            truth: 1 for YES, 0 for NO, None if there will be no truth.
            evidence: what the decision rests on, as JSON.
            reason: why there will be no truth; empty if there is one.
        """


@dataclass(frozen=True)
class Agreement:
    """How far proposals and verdicts agree on the decided cases."""

    decided: int
    """How many cases are decided."""
    compared: int
    """How many of them have a proposal of YES or NO and a verdict of YES or NO."""
    same: int
    """How many of those agree."""
    kappa: float | None
    """Cohen's kappa; None if nothing was compared, or chance alone would make both sides agree always."""

    @property
    def share(self) -> float | None:
        """The share of compared cases that agree, for which the paper states 95 %; None if none was compared."""
        return self.same / self.compared if self.compared else None


@dataclass(frozen=True)
class VerdictQueue:
    """The cases of a series.

    Args:
        folder: the folder of its files, which is made for the first case.
        opinions: how many opinions must agree to decide a case.
    """

    folder: Path
    opinions: int = 1

    @classmethod
    def of_series(cls, folder: Path, *, opinions: int = 1) -> Self:
        """The queue of a series.

        Args:
            folder: the folder of the series.
            opinions: how many opinions must agree to decide a case.
        """
        return cls(folder / FOLDER, opinions)

    def cases(self, *states: State) -> list[VerdictCase]:
        """The cases, in the order of their questions' ids.

        Args:
            *states: states of the cases to give; all cases without any.

        Raises:
            StoreError: a file cannot be read as a case.
        """
        cases = [self._read(path) for path in sorted(self.folder.glob("*.json"))] if self.folder.is_dir() else []
        return sorted((case for case in cases if not states or case.state in states), key=lambda case: case.question)

    def case(self, question: str) -> VerdictCase:
        """The case of a question.

        Args:
            question: id of the question in the ledger.

        Raises:
            UsageError: there is none.
        """
        path = self._path(question)
        if not path.is_file():
            raise UsageError(f"no verdict is asked for of {question!r}; `openfingym rounds verdicts` lists what waits")
        return self._read(path)

    def propose(self, question: str, text: str, proposal: Proposal, evidence: Evidence) -> VerdictCase:
        """Put a proposal into the queue; an earlier one is kept beside it. A case with a verdict stays as it is.

        Args:
            question: id of the question in the ledger.
            text: the text of the question.
            proposal: the outcome that is proposed.
            evidence: what the proposal rests on.
        """
        with self._locked():
            path = self._path(question)
            new = VerdictCase(question, text, proposal.to_dict(), evidence.to_dict())
            if path.is_file():
                old = self._read(path)
                # Proposing is repeated with each run, and the same proposal is no further one.
                if old.state == "decided" or old.proposal == new.proposal:
                    return old
                new = replace(old, proposal=new.proposal, evidence=new.evidence, earlier=(*old.earlier, old.proposal))
            return self._write(new)

    def give(
        self, question: str, outcome: Verdict, *, by: str, at: str, reason: str, final: bool = False,
        ledger: DecidesQuestions | None = None,
    ) -> VerdictCase:  # fmt: skip
        """Give an opinion; if that decides the case, enter the decision in the ledger.

        Args:
            question: id of the question in the ledger.
            outcome: ``YES``, ``NO``, or ``VOID`` if there will be no truth.
            by: name of the person or program that gives the opinion.
            at: time at which the opinion is given, in ISO 8601.
            reason: what the opinion rests on, in words.
            final: whether this opinion settles a dispute.
            ledger: where the decision is entered; None to enter it later.

        Raises:
            UsageError: the case is decided, or the same person has given an opinion, or a reason or a name is missing.
        """
        _check(outcome, by, reason)
        with self._locked():
            case = self.case(question)
            if case.state == "decided":
                raise UsageError(
                    f"{question} was decided {case.outcome} by {case.opinions[-1].by}; a correction is made with "
                    "`openfingym ledger resolve`, which keeps both"
                )
            # Two opinions of one person are no agreement; only a dispute may be settled by somebody who took part.
            if not final and any(earlier.by == by for earlier in case.opinions):
                raise UsageError(f"{by} has given an opinion on {question}; another person's is needed, or a final one")
            opinion = Opinion(outcome, by, at, reason, final)
            case = replace(case, opinions=(*case.opinions, opinion))
            # Opinions that agree decide once there are enough of them; one that differs makes a dispute.
            outcomes = {given.outcome for given in case.opinions}
            if final or (len(outcomes) == 1 and len(case.opinions) >= self.opinions):
                case = replace(case, state="decided", outcome=outcome)
            elif len(outcomes) > 1:
                case = replace(case, state="disputed")
            # On the disk before it is in the ledger, so that no decision there lacks its grounds here.
            case = self._write(case)
            return self._entered(case, ledger) if ledger is not None and case.state == "decided" else case

    def enter(self, ledger: DecidesQuestions) -> list[VerdictCase]:
        """Enter decisions that the ledger does not have yet, as after a crash; returns their cases."""
        with self._locked():
            return [self._entered(case, ledger) for case in self.cases("decided") if not case.entered]

    def _entered(self, case: VerdictCase, ledger: DecidesQuestions) -> VerdictCase:
        """Enter a decision, unless the ledger has a truth: what was decided there is not decided again."""
        # A crash between the ledger and the file below leaves the case as not entered; then the ledger has the truth.
        if ledger.state(case.question) not in {"resolved", "void", "scored"}:
            truth = {"YES": 1.0, "NO": 0.0, "VOID": None}[case.outcome or "VOID"]
            reason = case.opinions[-1].reason if truth is None else ""
            ledger.decide(case.question, truth, evidence=evidence_of(case), reason=reason)
        return self._write(replace(case, entered=True))

    def _path(self, question: str) -> Path:
        # Readable, safe as the name of a file, and by its digest different for different questions.
        plain = re.sub(r"[^A-Za-z0-9._+-]+", "_", question)[:80].strip("._")
        return self.folder / f"{plain}-{sha256_of_text(question)[:12]}.json"

    def _read(self, path: Path) -> VerdictCase:
        try:
            document = parse_json(path.read_bytes())
            if not isinstance(document, dict):
                raise TypeError("it is no object")
            return VerdictCase.from_dict(document)
        except (OSError, TypeError, ValueError) as error:
            raise StoreError(f"{path} is no case of a verdict: {error}; move it away and propose it again") from error

    def _write(self, case: VerdictCase) -> VerdictCase:
        path = self._path(case.question)
        with store_errors(path, "make the series' folder writable"):
            write_json(path, asdict(case))
        return case

    def _locked(self) -> Any:
        with store_errors(self.folder, "make the series' folder writable"):
            self.folder.mkdir(parents=True, exist_ok=True)
        return take(self.folder / ".lock")


def evidence_of(case: VerdictCase) -> dict[str, Any]:
    """What goes to the ledger with a verdict: the latest opinions, the proposal, and the latest findings that fit.

    The file of the case has all of them.
    """
    opinions = [
        asdict(opinion) | {"reason": opinion.reason[:MOST_REASON]} for opinion in case.opinions[-MOST_OPINIONS:]
    ]
    findings = list(case.evidence.get("findings", ()))
    evidence = {"verdict": case.outcome, "opinions": opinions, "proposal": dict(case.proposal), "findings": findings}
    # The ledger bounds the evidence of a decision; the oldest findings go first.
    while findings and len(json.dumps(evidence)) > MOST_EVIDENCE:
        findings.pop(0)
    return evidence


def agreement(cases: Iterable[VerdictCase]) -> Agreement:
    """How far the proposals agree with the verdicts; what was indeterminate or void is not compared."""
    return agreement_of(
        (str(case.proposal.get("outcome")), str(case.outcome)) for case in cases if case.state == "decided"
    )


def agreement_of(pairs: Iterable[tuple[str, str]]) -> Agreement:
    """How far two sides agree, beyond chance too.

    Args:
        pairs: what was proposed and what was decided; pairs of YES and NO alone are compared.
    """
    decided = list(pairs)
    compared = [pair for pair in decided if set(pair) <= {"YES", "NO"}]
    same = sum(left == right for left, right in compared)
    if not compared:
        return Agreement(len(decided), 0, 0, None)
    yes = [sum(side == "YES" for side in sides) / len(compared) for sides in zip(*compared, strict=True)]
    # The agreement that two sides with these shares of YES would reach by chance.
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    kappa = None if chance == 1 else (same / len(compared) - chance) / (1 - chance)
    return Agreement(len(decided), len(compared), same, kappa)


def beside_record(
    world: KnownWorld,
    problems: Sequence[ForecastProblem],
    gatherer: EvidenceGatherer | None = None,
    adjudicator: Adjudicator | None = None,
) -> Agreement:
    """How far proposals agree with what a world records, which takes the place of experts, on the events that it knows.

    Args:
        world: what is known now.
        problems: the problems to compare; those about figures are passed over.
        gatherer: what gathers evidence; None for rules.
        adjudicator: what proposes outcomes; None for rules.
    """
    events = [(problem, problem.about) for problem in problems if isinstance(problem.about, ForecastEvent)]
    rulings = [(problem, world.ruling(event)) for problem, event in events]
    known = [(problem, ruling.happened) for problem, ruling in rulings if ruling is not None]
    evidence = (gatherer or RuleEvidence()).gather(world, [problem for problem, _ in known])
    propose = (adjudicator or RuleAdjudicator()).propose
    return agreement_of(
        (propose(problem, its_evidence).outcome, "YES" if happened else "NO")
        for (problem, happened), its_evidence in zip(known, evidence, strict=True)
    )


def _check(outcome: str, by: str, reason: str) -> None:
    if outcome not in {"YES", "NO", "VOID"}:
        raise UsageError(f"a verdict is YES, NO or VOID, found {outcome[:20]!r}")
    for name, text in (("name of who decides", by), ("reason", reason)):
        if not text.strip() or len(text) > LONGEST:
            raise UsageError(f"a verdict has a {name}, of 1 to {LONGEST} characters; found {len(text)}")
