"""A client of the verifier for questions about what has not happened yet: asking them, forecasting, resolving."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from openfingym.errors import UsageError
from openfingym.headers import KEY_RULE, is_idempotency_key
from openfingym.verifiers.routes import (
    CLOCKS,
    FORECASTS,
    LEDGER,
    PAST_FORECASTS,
    QUESTIONS,
    RECORDINGS,
    REFERENCES,
    RESOLUTIONS,
)

if TYPE_CHECKING:
    from openfingym.questions import Question
    from openfingym.verifiers.client import VerifierClient

MOST_TOGETHER = 2000
"""The most forecasts of one request."""
PAGE = 1000
"""The most rows that a verifier gives in one answer."""


class QuestionClient:
    """Asks, reads and answers questions at one verifier, over the connections of its client.

    Every request may be repeated: a question is known by its id, and a forecast carries an idempotency key. Methods
    raise a ``VerifierError`` where the verifier does not answer, or refuses what it is asked.
    """

    def __init__(self, client: VerifierClient) -> None:
        self._client = client

    def ask(self, questions: Sequence[Question]) -> None:
        """Ask questions, all or none; needs the admin token.

        Args:
            questions: the questions; one that was asked before, and is the same, changes nothing.

        Raises:
            VerifierError: one of them is refused, with the reason; nothing was asked.
        """
        self._client.json("POST", QUESTIONS, json={"questions": [question.to_dict() for question in questions]})

    def record(self, truths: Sequence[Mapping[str, Any]]) -> None:
        """Have the verifier keep truths of past questions, all or none, until the clock of their replay reaches them.

        Args:
            truths: one mapping for each question, with its id as ``question``, and ``available_ns``, ``truth``,
                ``reason``, ``source`` and ``reference``; for a past season that is read from files they are
                :attr:`openfingym.questions.history.PastSeason.truths`.
        """
        self._client.json("POST", RECORDINGS, json={"truths": list(truths)})

    def advance(self, clock: str, now_ns: int) -> str:
        """Make a simulated clock, or move it forward.

        Args:
            clock: name of the clock.
            now_ns: time to which the clock is set, in nanoseconds since the epoch.

        Returns:
            The time of the clock afterwards, in ISO 8601 and UTC.
        """
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
            answer: the answer, as :func:`openfingym.questions.answer.read_answer` takes it.
            agent: name of the agent that made it.
            version: version of the agent.
            idempotency_key: a key of this request: sent again with the same answer, it gives the same forecast and
                makes no other; None for a new key.

        Returns:
            The forecast's number as ``forecast``; the time at which it was received, by the question's clock, as
            ``received_at``; its ``digest`` and ``salt``; and its ``receipt``, which proves that the log has it.

        Raises:
            UsageError: the key is not an idempotency key.
            SubmissionError: the verifier refused it; ``problem`` says why, such as ``deadline-passed``.
            VerifierError: the verifier failed, or does not answer.
        """
        key = uuid.uuid4().hex if idempotency_key is None else idempotency_key
        if not is_idempotency_key(key):
            raise UsageError(f"{KEY_RULE} Found {key[:80]!r}.")
        body = {"question": question, "answer": dict(answer), "agent": agent, "version": version}
        document: dict[str, Any] = self._client.json(
            "POST", FORECASTS, refusable=True, json=body, headers={"Idempotency-Key": key}
        )
        return document

    def forecast_together(self, forecasts: Sequence[Mapping[str, Any]]) -> None:
        """Make many forecasts again by a clock that is moved, as in a replay of a past season; needs the admin token.

        Args:
            forecasts: one mapping for each, with ``question``, ``answer``, ``agent``, ``version`` and
                ``idempotency_key``; sent again, they are received once.

        Raises:
            SubmissionError: the verifier refused one of them; those of the same request before it may be recorded.
            VerifierError: the verifier failed, or does not answer.
        """
        for start in range(0, len(forecasts), MOST_TOGETHER):
            body = {"forecasts": list(forecasts[start : start + MOST_TOGETHER])}
            self._client.json("POST", PAST_FORECASTS, refusable=True, json=body)

    def resolve(self, *, everything: bool = True, void_after_s: float | None = None) -> dict[str, Any]:
        """Have the verifier resolve and score what is due; needs the admin token.

        Args:
            everything: whether providers are asked again before the pause after their last answer is over.
            void_after_s: seconds after its evaluation time at which a question without a truth becomes void; None for
                the verifier's own setting.

        Returns:
            How many questions were resolved, are void, waiting and so on, and the ``problems`` of providers by
            question.
        """
        document: dict[str, Any] = self._client.json(
            "POST", RESOLUTIONS, json={"everything": everything, "void_after_s": void_after_s}
        )
        return document

    def decide(self, question: str, truth: object, *, evidence: Mapping[str, Any], reason: str = "") -> dict[str, Any]:
        """Decide a question of the provider ``manual``, void a question of any provider, or correct a resolved one.

        Args:
            question: the id of the question.
            truth: a number, payouts, or the name of the outcome that came; None where there will be no truth.
            evidence: the grounds of the decision, as JSON.
            reason: the reason why there will be no truth; empty where there is one.

        Returns:
            The same as :meth:`resolve` does.
        """
        body = {"question": question, "truth": truth, "evidence": dict(evidence), "reason": reason}
        document: dict[str, Any] = self._client.json("POST", RESOLUTIONS, json=body)
        return document

    def list(
        self, *, state: str | None = None, round_name: str | None = None, only_open: bool = False
    ) -> Iterator[Any]:
        """Questions in the order in which they were asked, each with its state.

        Args:
            state: only questions in this state; None for all.
            round_name: only questions of this round; None for all.
            only_open: whether to give only questions that take forecasts at the time of the request.
        """
        wanted = {"state": state, "round": round_name, "open": "true" if only_open else None}
        yield from self._pages(QUESTIONS, wanted, lambda row: row["question"]["id"])

    def show(self, question: str) -> dict[str, Any]:
        """A question with its state and its resolutions.

        Args:
            question: the id of the question.
        """
        document: dict[str, Any] = self._client.json("GET", f"{QUESTIONS}/{quote(question)}")
        return document

    def forecasts(self, *, question: str | None = None, agent: str | None = None) -> Iterator[Any]:
        """Forecasts in the order in which they were received: the caller's own, and those of others once they are
        scored; all of them for the operator.

        Args:
            question: only forecasts of the question with this id; None for all.
            agent: only forecasts of the agent of this name; None for all.
        """
        yield from self._pages(FORECASTS, {"question": question, "agent": agent}, lambda row: row["forecast"])

    def shown(self, question: Question) -> dict[str, Any] | None:
        """The reference that the market shows for a question at this moment; needs the admin token.

        Args:
            question: the question, which need not have been asked.

        Returns:
            The reference; None where the market shows nothing.

        Raises:
            VerifierError: with the problem ``unavailable`` where the question's provider cannot be asked.
        """
        reference: dict[str, Any] | None = self._client.json("POST", REFERENCES, json={"question": question.to_dict()})[
            "reference"
        ]
        return reference

    def status(self) -> dict[str, Any]:
        """How many questions and forecasts there are in each state, and what is due; needs the admin token."""
        document: dict[str, Any] = self._client.json("GET", LEDGER)
        return document

    def _pages(self, path: str, wanted: Mapping[str, object], place: Any) -> Iterator[Any]:
        """All rows of a route, page by page.

        Args:
            path: path of the route.
            wanted: parameters of the request; those that are None are left out.
            place: gives the parameter ``after`` for the next page, given the last row of a page.
        """
        parameters = {name: value for name, value in wanted.items() if value is not None}
        while True:
            rows = self._client.json("GET", path, params=parameters)
            yield from rows
            if len(rows) < PAGE:
                return
            # After a row and not after a number of rows: rows that come meanwhile shift nothing.
            parameters["after"] = place(rows[-1])
