"""What rounds need of the verifier that holds their ledger, as its operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.errors import VerifierError
from openfingym.questions.question import Question, moment_ns
from openfingym.verifiers.routes import CLOCKS, FORECASTS, LEDGER, QUESTIONS, REFERENCES, RESOLUTIONS

if TYPE_CHECKING:
    from openfingym.verifiers.client import VerifierClient

PAGE = 1000
"""Questions of one answer, and of one request."""
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
class Pass:
    """What a pass of the resolver did."""

    counts: Mapping[str, int]
    """Questions, by what became of them."""
    problems: Mapping[str, str]
    """Why something failed, by question."""


class Desk:
    """A verifier as rounds see it."""

    def __init__(self, client: VerifierClient) -> None:
        self._client = client

    def clock(self, name: str) -> int | None:
        """Where a clock stands, in nanoseconds since the epoch; None where there is none of that name."""
        found = self._client.call("GET", LEDGER)["clocks"].get(name)
        return None if found is None else moment_ns(found)

    def now(self) -> int:
        """The verifier's own time."""
        return moment_ns(self._client.call("GET", LEDGER)["now"])

    def advance(self, name: str, now_ns: int) -> int:
        """Make a simulated clock, or move one forward; returns where it stands."""
        return moment_ns(self._client.call("POST", f"{CLOCKS}/{name}", json={"now": now_ns})["now"])

    def questions(self, round_name: str) -> list[AskedQuestion]:
        """The questions of a round, in the order in which they were asked."""
        return list(self._questions(round=round_name))

    def waiting(self, series: str) -> list[AskedQuestion]:
        """Questions of a series whose provider was asked and has no truth yet."""
        return [one for one in self._questions(state="resolvable") if one.question.round.startswith(f"{series}/")]

    def shown(self, question: Question) -> Mapping[str, Any] | None:
        """What the market shows of a question now, which need not be asked yet."""
        found = self._client.call("POST", REFERENCES, json={"question": question.to_dict()})["reference"]
        return None if found is None else dict(found)

    def ask(self, questions: Sequence[Question]) -> None:
        """Ask questions, all or none of them; the same ones again change nothing."""
        if len(questions) > PAGE:
            raise VerifierError(f"{len(questions)} questions of one source, expected at most {PAGE}")
        self._client.call("POST", QUESTIONS, json={"questions": [one.to_dict() for one in questions]})

    def forecast(self, question: str, answer: Mapping[str, Any], *, agent: str, version: str, key: str) -> None:
        """Enter a forecast, unless one was entered under this key."""
        try:
            self._client.call(
                "POST",
                FORECASTS,
                json={"question": question, "answer": answer, "agent": agent, "version": version},
                headers={"Idempotency-Key": key},
            )
        except VerifierError as error:
            # What the market shows has changed since the same tick was killed; what it said then stays.
            if error.problem != "idempotency-conflict":
                raise

    def resolve(self) -> Pass:
        """Have everything that is due resolved and scored."""
        found = self._client.call("POST", RESOLUTIONS, json={})
        return Pass({name: int(found[name]) for name in OUTCOMES}, dict(found["problems"]))

    def void(self, question: str, reason: str) -> None:
        """Give a question up."""
        self._client.call("POST", RESOLUTIONS, json={"question": question, "truth": None, "reason": reason})

    def checkpoint(self) -> str:
        """A signed checkpoint of the log."""
        return self._client.checkpoint()

    def _questions(self, **wanted: str) -> Iterator[AskedQuestion]:
        after = ""
        while True:
            page = self._client.call("GET", QUESTIONS, params={**wanted, "after": after, "limit": PAGE})
            for one in page:
                yield AskedQuestion(
                    Question.from_dict(one["question"]),
                    one["state"],
                    one["reason"],
                    int(one["attempts"]),
                    int(one["forecasts"]),
                )
            if len(page) < PAGE:
                return
            after = page[-1]["question"]["id"]
