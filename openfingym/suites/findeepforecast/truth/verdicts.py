"""The queue of verdicts: proposals wait for a person, and what was decided stays with who decided it and on what.

Each question has a JSON file in the folder ``verdicts`` of its series, which is written whole. One opinion decides,
or as many as the queue asks for; opinions that differ make a question *disputed*, and it stays pending until an
opinion is given as the final one. A decision is entered in the ledger once: what was entered is never entered again,
and an entry that was cut short is made by :meth:`VerdictQueue.enter`.
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
from openfingym.suites.findeepforecast.problem import Event, ForecastProblem
from openfingym.suites.findeepforecast.truth.adjudicating import Adjudicator, Proposal, RuleAdjudicator
from openfingym.suites.findeepforecast.truth.evidence import Evidence, EvidenceGatherer, RuleEvidence
from openfingym.suites.findeepforecast.world.known import KnownWorld

FOLDER = "verdicts"
"""Name of the queue's folder in that of its series."""
LONGEST = 4000
"""Characters of a reason."""
MOST_EVIDENCE, MOST_REASON, MOST_OPINIONS = 15_000, 300, 5
"""Of what goes to the ledger with a verdict: characters in all and of a reason, and opinions."""
State = Literal["pending", "disputed", "decided"]
Verdict = Literal["YES", "NO", "VOID"]


@dataclass(frozen=True)
class Opinion:
    """What a person says of a question."""

    outcome: Verdict
    by: str
    at: str
    reason: str
    final: bool = False
    """Whether it settles a dispute."""


@dataclass(frozen=True)
class VerdictCase:
    """A question that waits for its verdict, or has it."""

    question: str
    """Its id in the ledger."""
    text: str
    proposal: Mapping[str, Any]
    """:class:`~openfingym.suites.findeepforecast.truth.adjudicating.Proposal` as JSON."""
    evidence: Mapping[str, Any]
    """:class:`~openfingym.suites.findeepforecast.truth.evidence.Evidence` as JSON."""
    earlier: tuple[Mapping[str, Any], ...] = ()
    """Proposals that this one came after, oldest first."""
    opinions: tuple[Opinion, ...] = ()
    state: State = "pending"
    outcome: Verdict | None = None
    """Of a decided one."""
    entered: bool = False
    """Whether the ledger has the decision."""

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read what was written of a case."""
        values = dict(document)
        values["opinions"] = tuple(Opinion(**one) for one in values.get("opinions", ()))
        values["earlier"] = tuple(values.get("earlier", ()))
        return cls(**values)


class DecidesQuestions(Protocol):
    """The ledger, as verdicts need it."""

    def state(self, question: str) -> str:
        """State of a question there: ``resolved``, ``void`` or ``scored`` once it has a truth."""

    def decide(self, question: str, truth: float | None, *, evidence: Mapping[str, Any], reason: str) -> None:
        """Decide a question: 1 for YES, 0 for NO, None where there will be no truth."""


@dataclass(frozen=True)
class Agreement:
    """How far proposals and verdicts agree, of the decided cases."""

    decided: int
    compared: int
    """Those with a proposal of YES or NO, and a verdict of YES or NO."""
    same: int
    kappa: float | None
    """Cohen's; None where one side only ever said one thing, or nothing was compared."""

    @property
    def share(self) -> float | None:
        """Share of the compared ones that agree, which the paper gives as 95 %."""
        return self.same / self.compared if self.compared else None


@dataclass(frozen=True)
class VerdictQueue:
    """The cases of a series.

    Args:
        folder: where its files are; made when the first case comes.
        opinions: how many opinions that agree decide a case.
    """

    folder: Path
    opinions: int = 1

    @classmethod
    def of_series(cls, folder: Path, *, opinions: int = 1) -> Self:
        """The queue in the folder of a series."""
        return cls(folder / FOLDER, opinions)

    def cases(self, *states: State) -> list[VerdictCase]:
        """Cases by their question's id; of some states alone if any are given.

        Raises:
            StoreError: a file is none of a case's.
        """
        found = [self._read(path) for path in sorted(self.folder.glob("*.json"))] if self.folder.is_dir() else []
        return sorted((one for one in found if not states or one.state in states), key=lambda one: one.question)

    def case(self, question: str) -> VerdictCase:
        """The case of a question.

        Raises:
            UsageError: there is none.
        """
        path = self._path(question)
        if not path.is_file():
            raise UsageError(f"no verdict is asked for of {question!r}; `openfingym rounds verdicts` lists what waits")
        return self._read(path)

    def propose(self, question: str, text: str, proposal: Proposal, evidence: Evidence) -> VerdictCase:
        """Put a proposal before a person; an earlier one is kept beside it. A case with a verdict stays as it is."""
        with self._locked():
            path = self._path(question)
            new = VerdictCase(question, text, proposal.to_dict(), evidence.to_dict())
            if path.is_file():
                old = self._read(path)
                if old.state == "decided" or old.proposal == new.proposal:
                    return old
                new = replace(old, proposal=new.proposal, evidence=new.evidence, earlier=(*old.earlier, old.proposal))
            return self._write(new)

    def give(
        self, question: str, outcome: Verdict, *, by: str, at: str, reason: str, final: bool = False,
        ledger: DecidesQuestions | None = None,
    ) -> VerdictCase:  # fmt: skip
        """Give an opinion; where that decides the case, enter it in the ledger.

        Args:
            question: its id in the ledger.
            outcome: ``YES``, ``NO``, or ``VOID`` where there will be no truth.
            by: name of the person or program that gives it.
            at: time at which it is given, in ISO 8601.
            reason: what the opinion rests on, in words.
            final: settle a dispute by this opinion.
            ledger: where the decision is entered; None to enter it later.

        Raises:
            UsageError: the case is decided, or the same person has spoken, or no reason or name is given.
        """
        _check(outcome, by, reason)
        with self._locked():
            case = self.case(question)
            if case.state == "decided":
                raise UsageError(
                    f"{question} was decided {case.outcome} by {case.opinions[-1].by}; a correction is made with "
                    "`openfingym ledger resolve`, which keeps both"
                )
            if not final and any(one.by == by for one in case.opinions):
                raise UsageError(f"{by} has given an opinion on {question}; another person's is needed, or a final one")
            opinion = Opinion(outcome, by, at, reason, final)
            case = replace(case, opinions=(*case.opinions, opinion))
            outcomes = {one.outcome for one in case.opinions}
            if final or (len(outcomes) == 1 and len(case.opinions) >= self.opinions):
                case = replace(case, state="decided", outcome=outcome)
            elif len(outcomes) > 1:
                case = replace(case, state="disputed")
            case = self._write(case)
            return self._entered(case, ledger) if ledger is not None and case.state == "decided" else case

    def enter(self, ledger: DecidesQuestions) -> list[VerdictCase]:
        """Enter decisions that the ledger does not have yet, as after a crash; returns them."""
        with self._locked():
            return [self._entered(one, ledger) for one in self.cases("decided") if not one.entered]

    def _entered(self, case: VerdictCase, ledger: DecidesQuestions) -> VerdictCase:
        """Enter a decision, unless the ledger has a truth: what was decided there is not decided again."""
        if ledger.state(case.question) not in {"resolved", "void", "scored"}:
            truth = {"YES": 1.0, "NO": 0.0, "VOID": None}[case.outcome or "VOID"]
            reason = case.opinions[-1].reason if truth is None else ""
            ledger.decide(case.question, truth, evidence=evidence_of(case), reason=reason)
        return self._write(replace(case, entered=True))

    def _path(self, question: str) -> Path:
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
    """What goes to the ledger with a verdict: the latest opinions, the proposal, and findings as far as there is
    room; the file of the case has all of them.
    """
    opinions = [asdict(one) | {"reason": one.reason[:MOST_REASON]} for one in case.opinions[-MOST_OPINIONS:]]
    findings = list(case.evidence.get("findings", ()))
    found = {"verdict": case.outcome, "opinions": opinions, "proposal": dict(case.proposal), "findings": findings}
    while findings and len(json.dumps(found)) > MOST_EVIDENCE:
        findings.pop(0)
    return found


def agreement(cases: Iterable[VerdictCase]) -> Agreement:
    """How far the proposals agree with the verdicts; what was indeterminate or void is not compared."""
    return agreement_of((str(one.proposal.get("outcome")), str(one.outcome)) for one in cases if one.state == "decided")


def agreement_of(pairs: Iterable[tuple[str, str]]) -> Agreement:
    """How far two sides agree.

    Args:
        pairs: what was proposed and what was decided; only a YES or NO is compared with a YES or NO.
    """
    decided = list(pairs)
    compared = [pair for pair in decided if set(pair) <= {"YES", "NO"}]
    same = sum(left == right for left, right in compared)
    if not compared:
        return Agreement(len(decided), 0, 0, None)
    yes = [sum(side == "YES" for side in sides) / len(compared) for sides in zip(*compared, strict=True)]
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    kappa = None if chance == 1 else (same / len(compared) - chance) / (1 - chance)
    return Agreement(len(decided), len(compared), same, kappa)


def beside_record(
    world: KnownWorld,
    problems: Sequence[ForecastProblem],
    gatherer: EvidenceGatherer | None = None,
    adjudicator: Adjudicator | None = None,
) -> Agreement:
    """How far proposals agree with what a world records, in the place of experts, of the events that it knows.

    Args:
        world: what is known now.
        problems: problems, of which those about events count.
        gatherer: gathers evidence; None for rules.
        adjudicator: proposes; None for rules.
    """
    events = [(one, one.about) for one in problems if isinstance(one.about, Event)]
    rulings = [(problem, world.ruling(event)) for problem, event in events]
    known = [(problem, ruling.happened) for problem, ruling in rulings if ruling is not None]
    evidence = (gatherer or RuleEvidence()).gather(world, [problem for problem, _ in known])
    propose = (adjudicator or RuleAdjudicator()).propose
    return agreement_of(
        (propose(problem, found).outcome, "YES" if happened else "NO")
        for (problem, happened), found in zip(known, evidence, strict=True)
    )


def _check(outcome: str, by: str, reason: str) -> None:
    if outcome not in {"YES", "NO", "VOID"}:
        raise UsageError(f"a verdict is YES, NO or VOID, found {outcome[:20]!r}")
    for name, text in (("name of who decides", by), ("reason", reason)):
        if not text.strip() or len(text) > LONGEST:
            raise UsageError(f"a verdict has a {name}, of 1 to {LONGEST} characters; found {len(text)}")
