"""The client's side of questions, forecasts and resolutions."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from openfingym.errors import UsageError
from openfingym.headers import KEY_RULE, is_idempotency_key
from openfingym.verifiers.routes import CLOCKS, FORECASTS, LEDGER, QUESTIONS, RECORDINGS, REFERENCES, RESOLUTIONS

if TYPE_CHECKING:
    from openfingym.questions import Question
    from openfingym.verifiers.client import VerifierClient

PAGE = 1000
"""Rows that a verifier gives at once."""


class QuestionClient:
    """Asks, reads and answers questions at one verifier, over the connections of its client.

    Every request may be repeated: a question is known by its id, and a forecast carries an idempotency key.
    """

    def __init__(self, client: VerifierClient) -> None:
        self._client = client

    def ask(self, questions: Sequence[Question]) -> None:
        """Ask questions, all or none; needs the admin token.

        Raises:
            VerifierError: one of them is refused, with the reason; nothing was asked.
        """
        self._client.json("POST", QUESTIONS, json={"questions": [one.to_dict() for one in questions]})

    def record(self, truths: Sequence[Mapping[str, Any]]) -> None:
        """Have truths of past questions kept, all or none, until the clocks of their replay have come to them.

        Args:
            truths: one mapping a question, with its id as ``question``, and ``available_ns``, ``truth``, ``reason``,
                ``source`` and ``reference``; those of a history are
                :attr:`openfingym.questions.history.PastSeason.truths`.
        """
        self._client.json("POST", RECORDINGS, json={"truths": list(truths)})

    def advance(self, clock: str, now_ns: int) -> str:
        """Make a simulated clock, or move it forward; returns where it stands, in ISO 8601."""
        return str(self._client.json("POST", f"{CLOCKS}/{quote(clock)}", json={"now": now_ns})["now"])

    def forecast(
        self,
        question: str,
        answer: Mapping[str, Any],
        *,
        agent: str,
        version: str = "",
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Answer a question; the latest answer before its deadline counts.

        Args:
            question: the id of the question.
            answer: the answer, as :func:`openfingym.questions.read_answer` takes it.
            agent: name of the agent that made it.
            version: version of the agent.
            idempotency_key: a key of this request: sent again with the same answer, it gives the same forecast again
                and makes no other; None for a new key.

        Returns:
            ``forecast``, its number; ``received_at``, by the question's clock; its ``digest`` and ``salt``; and its
            ``receipt``, which proves that the log has it.

        Raises:
            UsageError: the key is not an idempotency key.
            SubmissionError: the verifier refused it; ``problem`` says why, such as ``deadline-passed``.
            VerifierError: the verifier failed, or does not answer.
        """
        key = uuid.uuid4().hex if idempotency_key is None else idempotency_key
        if not is_idempotency_key(key):
            raise UsageError(f"{KEY_RULE} Found {key[:80]!r}.")
        body = {"question": question, "answer": dict(answer), "agent": agent, "version": version}
        found: dict[str, Any] = self._client.json(
            "POST", FORECASTS, refusable=True, json=body, headers={"Idempotency-Key": key}
        )
        return found

    def resolve(self, *, everything: bool = True, void_after_s: float | None = None) -> dict[str, Any]:
        """Have what is due resolved and scored; returns what became of it, in numbers. Needs the admin token.

        Args:
            everything: ask providers again before the pause after their last answer is over.
            void_after_s: seconds after its evaluation time that a question is void without a truth; None for the
                verifier's own.
        """
        found: dict[str, Any] = self._client.json(
            "POST", RESOLUTIONS, json={"everything": everything, "void_after_s": void_after_s}
        )
        return found

    def decide(self, question: str, truth: object, *, evidence: Mapping[str, Any], reason: str = "") -> dict[str, Any]:
        """Decide one question of the provider ``manual``, void one of any, or correct one that is resolved.

        Args:
            question: the id of the question.
            truth: a number, payouts, or the name of the outcome that came; None where there will be no truth.
            evidence: what the verdict rests on, as JSON.
            reason: why there will be no truth.
        """
        body = {"question": question, "truth": truth, "evidence": dict(evidence), "reason": reason}
        found: dict[str, Any] = self._client.json("POST", RESOLUTIONS, json=body)
        return found

    def list(
        self, *, state: str | None = None, round_name: str | None = None, only_open: bool = False
    ) -> Iterator[Any]:
        """Questions in the order in which they were asked, each with its state."""
        wanted = {"state": state, "round": round_name, "open": "true" if only_open else None}
        yield from self._pages(QUESTIONS, wanted, lambda row: row["question"]["id"])

    def show(self, question: str) -> dict[str, Any]:
        """A question with its state and its resolutions."""
        found: dict[str, Any] = self._client.json("GET", f"{QUESTIONS}/{quote(question)}")
        return found

    def forecasts(self, *, question: str | None = None, agent: str | None = None) -> Iterator[Any]:
        """Forecasts in the order in which they came: one's own, those of others once they are scored; all of them for
        the operator.
        """
        yield from self._pages(FORECASTS, {"question": question, "agent": agent}, lambda row: row["forecast"])

    def shown(self, question: Question) -> dict[str, Any] | None:
        """What the market shows of a question now, which need not have been asked; None where it shows nothing. Needs
        the admin token.

        Raises:
            VerifierError: with the problem ``unavailable`` where its provider cannot be asked.
        """
        found: dict[str, Any] | None = self._client.json("POST", REFERENCES, json={"question": question.to_dict()})[
            "reference"
        ]
        return found

    def status(self) -> dict[str, Any]:
        """How many questions and forecasts there are in each state, and what is due; needs the admin token."""
        found: dict[str, Any] = self._client.json("GET", LEDGER)
        return found

    def _pages(self, path: str, wanted: Mapping[str, object], place: Any) -> Iterator[Any]:
        parameters = {name: value for name, value in wanted.items() if value is not None}
        while True:
            rows = self._client.json("GET", path, params=parameters)
            yield from rows
            if len(rows) < PAGE:
                return
            parameters["after"] = place(rows[-1])
