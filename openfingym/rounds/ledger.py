"""The ledger of questions and forecasts as rounds use it: a client with an operator's rights at the verifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.digests import sha256_of_text
from openfingym.errors import ReceiptError, SubmissionError, UsageError, VerifierError
from openfingym.questions.question import REAL_CLOCK, Question, moment_ns
from openfingym.receipts.receipt import Receipt
from openfingym.rounds.generator import round_name
from openfingym.verifiers.known_logs import meet

if TYPE_CHECKING:
    from openfingym.verifiers.client import VerifierClient

MOST = 1000
"""Most questions that are asked in one transaction."""
REFUSALS = frozenset({"idempotency-conflict", "truth-known", "deadline-passed"})
"""Problems for which a verifier takes no forecast of a question any more, whatever the forecast is."""
OUTCOMES = ("resolved", "void", "revised", "scored")
"""What a pass of the resolver may do with a question, if the question does not go on waiting."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question, with its state in the ledger."""

    question: Question
    """The question as it was asked."""
    state: str
    """State of the question, such as ``pending`` or ``scored``."""
    reason: str
    """Why the question is in this state; empty if there is nothing to say."""
    attempts: int
    """How often its provider was asked for the truth."""
    forecasts: int
    """How many forecasts of it count: the latest of each forecaster."""


@dataclass(frozen=True)
class EntryResult:
    """The verifier's reply to a forecast: a receipt, or a refusal."""

    receipt: Mapping[str, Any] | None = None
    """The receipt, which proves that the log has the forecast; None if the verifier refused it."""
    refused: str = ""
    """Why the verifier refused the forecast; empty if it took it."""


@dataclass(frozen=True)
class ResolverPass:
    """What a pass of the resolver did."""

    counts: Mapping[str, int]
    """How many questions had each of :data:`OUTCOMES`."""
    problems: Mapping[str, str]
    """Why the truth of a question could not be asked for, by the question's id."""


class LedgerClient:
    """The requests of rounds to the verifier that holds their ledger.

    Args:
        client: a client of the verifier, with an operator's token.
    """

    def __init__(self, client: VerifierClient) -> None:
        self._client = client
        self._questions = client.questions
        self._key_is_known = False

    def clock(self, name: str) -> int | None:
        """The time on a clock of the ledger, in nanoseconds since the epoch; None if there is no clock of this name."""
        status = self._questions.status()
        now = status["now"] if name == REAL_CLOCK else status["clocks"].get(name)
        return None if now is None else moment_ns(now)

    def advance(self, name: str, now_ns: int) -> int:
        """Make a simulated clock, or move it forward; returns the time on it, in nanoseconds since the epoch."""
        return moment_ns(self._questions.advance(name, now_ns))

    def questions(self, name: str) -> list[AskedQuestion]:
        """The questions of the round of this name, in the order in which they were asked."""
        return [_read(row) for row in self._questions.list(round_name=name)]

    def waiting(self, series: str) -> list[AskedQuestion]:
        """The questions of the series of this name whose provider was asked, and has no truth yet."""
        resolvable = map(_read, self._questions.list(state="resolvable"))
        return [asked for asked in resolvable if asked.question.round.startswith(round_name(series, ""))]

    def shown(self, question: Question) -> Mapping[str, Any] | None:
        """What the market shows about a question at present; the question need not have been asked yet."""
        return self._questions.shown(question)

    def ask(self, questions: Sequence[Question]) -> None:
        """Ask questions, all or none of them.

        Raises:
            UsageError: there are more than :data:`MOST`.
            VerifierError: the verifier refuses one of them; with the problem ``idempotency-conflict`` if it has another
                question of the same id.
        """
        if len(questions) > MOST:
            raise UsageError(f"{len(questions)} questions of one source in a round, expected at most {MOST}; split it")
        self._questions.ask(questions)

    def forecast(self, question: str, answer: Mapping[str, Any], *, agent: str, version: str) -> EntryResult:
        """Enter a forecast, unless the same agent has entered one of the same question.

        Args:
            question: id of the question.
            answer: the answer, in the form that the question asks for.
            agent: name of the forecaster.
            version: version of the forecaster.

        Returns:
            The receipt, or why the verifier refuses the forecast.
        """
        # The key is the same for every try, so that a repeated entry after a kill is answered as the first one was.
        try:
            entry = self._questions.forecast(
                question, answer, agent=agent, version=version, idempotency_key=sha256_of_text(f"{agent}/{question}")
            )
        except SubmissionError as error:
            # A conflict: a killed tick had entered a forecast, and the market shows something else by now. The first
            # forecast stays. The other refusals: the market has closed since it was looked at.
            if error.problem not in REFUSALS:
                raise
            return EntryResult(refused=str(error))
        # Later receipts of this log are compared with the key that was met first, as they are for runs.
        if not self._key_is_known:
            meet(_receipt_in(entry), self._client.where)
            self._key_is_known = True
        return EntryResult(receipt=entry["receipt"])

    def answers(self, question: str) -> dict[tuple[str, str], Mapping[str, Any]]:
        """The latest answer of each forecaster to the question of this id, by principal and agent."""
        rows = self._questions.forecasts(question=question)
        return {(str(row["principal"]), str(row["agent"])): row["answer"] for row in rows if row["counts"]}

    def resolve(self) -> ResolverPass:
        """Have what is due resolved and scored; a provider that had no truth yet is not asked again too soon."""
        done = self._questions.resolve(everything=False)
        return ResolverPass({name: int(done[name]) for name in OUTCOMES}, dict(done["problems"]))

    def state(self, question: str) -> str:
        """The state of the question of this id, such as ``scored``."""
        return str(self._questions.show(question)["state"])

    def decide(self, question: str, truth: float | None, *, evidence: Mapping[str, Any], reason: str) -> None:
        """Enter a person's decision on a question.

        Args:
            question: id of the question.
            truth: the truth; None if there will be none, which makes the question void.
            evidence: what the decision rests on, as JSON.
            reason: the reason in words.
        """
        self._questions.decide(question, truth, evidence=evidence, reason=reason)

    def void(self, question: str, reason: str) -> None:
        """Make the question of this id void, for the reason given."""
        self._questions.decide(question, None, evidence={"rule": reason}, reason=reason)

    def checkpoint(self) -> str:
        """A signed checkpoint of the log as it is at present."""
        return self._client.checkpoint()


def _read(row: Mapping[str, Any]) -> AskedQuestion:
    return AskedQuestion(
        Question.from_dict(row["question"]), row["state"], row["reason"], int(row["attempts"]), int(row["forecasts"])
    )


def _receipt_in(entry: Mapping[str, Any]) -> Receipt:
    """The receipt in a verifier's reply to a forecast.

    Raises:
        VerifierError: the verifier gave none that can be read.
    """
    try:
        return Receipt.from_dict(entry["receipt"])
    except ReceiptError as error:
        raise VerifierError(f"the verifier answered with no receipt: {error}") from None
