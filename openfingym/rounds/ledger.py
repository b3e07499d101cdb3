"""What rounds need of the verifier that holds their ledger, as its operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.digests import sha256_of_text
from openfingym.errors import SubmissionError, UsageError
from openfingym.questions.question import REAL_CLOCK, Question, moment_ns
from openfingym.rounds.generator import round_name
from openfingym.verifiers.known_logs import remember

if TYPE_CHECKING:
    from openfingym.verifiers.client import VerifierClient

MOST = 1000
"""Questions that are asked in one transaction."""
REFUSALS = frozenset({"idempotency-conflict", "truth-known", "deadline-passed"})
"""Why a verifier takes no forecast of a question any more, whatever it says."""
OUTCOMES = ("resolved", "void", "revised", "scored")
"""What may become of a question in a pass of the resolver, if it does not go on waiting."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question as the ledger has it."""

    question: Question
    state: str
    reason: str
    attempts: int
    """How often its provider was asked."""
    forecasts: int
    """Forecasts that count."""


@dataclass(frozen=True)
class Entered:
    """What came of a forecast that was sent."""

    receipt: Mapping[str, Any] | None = None
    """Proves that the log has it; None where the verifier took none."""
    refused: str = ""
    """Why it took none."""


@dataclass(frozen=True)
class ResolverPass:
    """What a pass of the resolver did."""

    counts: Mapping[str, int]
    """Questions, by what became of them."""
    problems: Mapping[str, str]
    """Why something failed, by question."""


class LedgerClient:
    """What rounds ask of the verifier that holds their ledger."""

    def __init__(self, client: VerifierClient) -> None:
        self._client = client
        self._questions = client.questions
        self._met = False

    def clock(self, name: str) -> int | None:
        """Where a clock stands, in nanoseconds since the epoch; None where there is none of that name."""
        status = self._questions.status()
        found = status["now"] if name == REAL_CLOCK else status["clocks"].get(name)
        return None if found is None else moment_ns(found)

    def advance(self, name: str, now_ns: int) -> int:
        """Make a simulated clock, or move one forward; returns where it stands."""
        return moment_ns(self._questions.advance(name, now_ns))

    def questions(self, name: str) -> list[AskedQuestion]:
        """The questions of a round, in the order in which they were asked."""
        return [_read(one) for one in self._questions.list(round_name=name)]

    def waiting(self, series: str) -> list[AskedQuestion]:
        """Questions of a series whose provider was asked and has no truth yet."""
        found = map(_read, self._questions.list(state="resolvable"))
        return [one for one in found if one.question.round.startswith(round_name(series, ""))]

    def shown(self, question: Question) -> Mapping[str, Any] | None:
        """What the market shows of a question now, which need not be asked yet."""
        return self._questions.shown(question)

    def ask(self, questions: Sequence[Question]) -> None:
        """Ask questions, all or none of them.

        Raises:
            UsageError: there are too many.
            VerifierError: one of them is refused; with the problem ``idempotency-conflict`` where another of its id
                was asked before.
        """
        if len(questions) > MOST:
            raise UsageError(f"{len(questions)} questions of one source in a round, expected at most {MOST}; split it")
        self._questions.ask(questions)

    def forecast(self, question: str, answer: Mapping[str, Any], *, agent: str, version: str) -> Entered:
        """Enter a forecast, unless the same agent has entered one.

        Returns:
            What came of it: the receipt, or why the verifier took none.
        """
        try:
            found = self._questions.forecast(
                question, answer, agent=agent, version=version, idempotency_key=sha256_of_text(f"{agent}/{question}")
            )
        except SubmissionError as error:
            # A tick was killed, and the market shows something else by now; what was forecast then stays.
            # And where its market has closed since it was looked at, there is nothing more to say.
            if error.problem not in REFUSALS:
                raise
            return Entered(refused=str(error))
        if not self._met:  # as of a run that is made here: so receipts are held against the key that was met first
            remember(str(found["receipt"]["key"]))
            self._met = True
        return Entered(receipt=found["receipt"])

    def answers(self, question: str) -> dict[tuple[str, str], Mapping[str, Any]]:
        """The latest answer of each agent to a question, by principal and agent."""
        found = self._questions.forecasts(question=question)
        return {(str(one["principal"]), str(one["agent"])): one["answer"] for one in found if one["counts"]}

    def resolve(self) -> ResolverPass:
        """Have what is due resolved and scored; providers that had no truth yet are left alone for a while."""
        found = self._questions.resolve(everything=False)
        return ResolverPass({name: int(found[name]) for name in OUTCOMES}, dict(found["problems"]))

    def state(self, question: str) -> str:
        """State of a question, such as ``scored``."""
        return str(self._questions.show(question)["state"])

    def decide(self, question: str, truth: float | None, *, evidence: Mapping[str, Any], reason: str) -> None:
        """Decide a question as a person has; without a truth where there will be none."""
        self._questions.decide(question, truth, evidence=evidence, reason=reason)

    def void(self, question: str, reason: str) -> None:
        """Give a question up."""
        self._questions.decide(question, None, evidence={"rule": reason}, reason=reason)

    def checkpoint(self) -> str:
        """A signed checkpoint of the log."""
        return self._client.checkpoint()


def _read(row: Mapping[str, Any]) -> AskedQuestion:
    return AskedQuestion(
        Question.from_dict(row["question"]), row["state"], row["reason"], int(row["attempts"]), int(row["forecasts"])
    )
