"""A client of the verifier, for the side that holds the admin token and hands out rollouts.

What a verifier is asked is in three parts: rollouts in this module, its records in
:mod:`openfingym.verifiers.record_client`, and what its operator alone asks in
:mod:`openfingym.verifiers.operator_client`. Questions about what has not happened yet are asked through
:attr:`VerifierClient.questions`.
"""

from __future__ import annotations

import copy
import io
import json
import threading
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx

from openfingym.errors import SubmissionError, UsageError
from openfingym.headers import KEY_RULE, is_idempotency_key
from openfingym.results.result import INTERVALS
from openfingym.task.episodes import EpisodeStep, RecordedAction
from openfingym.verifiers.answers import (
    HeldTask,
    Load,
    LogRow,
    Participant,
    PastSubmission,
    PublicFeedback,
    RolloutStatus,
    RolloutTicket,
    Season,
    SeasonEntry,
    SubmissionFeedback,
    VerifiedResult,
)
from openfingym.verifiers.connection import NOT_SENT, Connection, build
from openfingym.verifiers.operator_client import OperatorClient
from openfingym.verifiers.questions import QuestionClient
from openfingym.verifiers.record_client import RecordClient
from openfingym.verifiers.routes import EPISODES, JSON, MOST_AGENTS, NPY, ROLLOUT, STEPS, SUBMISSIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.results import SplitName
    from openfingym.task.episodes import FoldName

__all__ = [
    "EpisodeStep",
    "HeldTask",
    "Load",
    "LogRow",
    "Participant",
    "PastSubmission",
    "RecordedAction",
    "RolloutStatus",
    "RolloutTicket",
    "Season",
    "SeasonEntry",
    "SubmissionFeedback",
    "VerifiedResult",
    "VerifierClient",
]


class VerifierClient(RecordClient, OperatorClient):
    """Talks to one verifier; safe to share between threads.

    A request whose connection fails is repeated for a moment, or for longer in a client from :meth:`patient`: control
    requests are idempotent, and a submission carries the same idempotency key each time. Creating a rollout is not
    repeated once it may have arrived.
    """

    def __init__(
        self,
        *,
        admin_token: str | None = None,
        base_url: str | None = None,
        uds: Path | None = None,
        timeout_s: float = 600.0,
    ) -> None:
        """Connect when first needed; exactly one of ``base_url`` and ``uds`` is given.

        Args:
            admin_token: token of the operator; or the key of a participant, who may create rollouts, and end and read
                its own. Needed for everything but :meth:`require_well` and calls that take a token of their own.
            base_url: base URL of the verifier, ``http://host:port`` or ``https://host:port``; None for a unix socket.
            uds: path of the verifier's unix socket; None for a URL.
            timeout_s: longest wait for an answer, in seconds; where scoring is heavy, many submissions at once wait for
                each other.

        Raises:
            UsageError: both addresses are given, or neither, or the URL is none.
        """
        self._connection = Connection(admin_token=admin_token, base_url=base_url, uds=uds, timeout_s=timeout_s)

    @property
    def where(self) -> str:
        """The verifier's address, for messages."""
        return self._connection.where

    def patient(self, patience_s: float, hurry: threading.Event) -> VerifierClient:
        """This client, over the same connections, for a verifier that may be restarted.

        Args:
            patience_s: seconds that a request may wait for a verifier that does not answer.
            hurry: ends the waiting when set.
        """
        other = copy.copy(self)
        other._connection = self._connection.patient(patience_s, hurry)
        return other

    def create_rollout(
        self,
        task: str,
        *,
        agent: str | None = None,
        agent_digest: str | None = None,
        seed: int | None = None,
        ttl_s: float | None = None,
        fresh: bool = False,
        session: Mapping[str, object] | None = None,
        questions: Mapping[str, object] | str | None = None,
        split: SplitName = "test",
        instance: int | None = None,
    ) -> RolloutTicket:
        """Begin a rollout.

        Args:
            task: name of a task that the verifier holds.
            agent: name of the agent, which is recorded with the result.
            agent_digest: hex SHA-256 of the agent without its seed, by which a strict verifier knows whether it was
                there before its party was first shown the hidden data; None where that is not known.
            seed: seed of the rollout, which is recorded with the result.
            ttl_s: seconds until the token expires; None for the verifier's default.
            fresh: whether the rollout gets other hidden data than the package's own, where the task can have any; the
                ticket's ``tape`` says which it has.
            session: the live session that the private episode is to be, of a task about a live market, as
                :meth:`openfingym.market.session.terms.SessionOrder.to_dict` gives it; None for the package's own bars.
            questions: the questions that the rollout is to be asked, of a task about what has not happened yet, as
                :meth:`openfingym.kinds.questions.asking.QuestionsOrder.to_dict` gives them; or which of the task's own
                it is asked, such as ``1-10``; None for all of the task's own.
            split: ``test`` for the task as it is; else the rollout is on an instance, cut from its training data.
            instance: which instance of the split, from 0; None on the test split.

        Raises:
            VerifierError: unknown task or instance, wrong admin token, or no verifier there.
        """
        order = {"task": task, "agent": agent, "seed": seed, "ttl_s": ttl_s, "session": session}
        order |= {"questions": questions, "agent_digest": agent_digest}
        order |= {"split": None if split == "test" else split, "instance": instance}
        # Only what differs from the defaults is sent: an older verifier refuses names that it does not know.
        body = {key: value for key, value in order.items() if value is not None} | ({"fresh": True} if fresh else {})
        # Sent again only where nothing was sent: a request whose answer is lost may have created a rollout, and
        # repeating it would create a second one.
        return build(RolloutTicket, self._connection.json("POST", "/v1/rollouts", json=body, again=NOT_SENT))

    def file_agents(self, digests: Iterable[str]) -> None:
        """File agents before anything is shown to whoever has them: none of their rollouts is replayed then.

        Args:
            digests: hex SHA-256 of each agent, as its rollouts will state it.

        Raises:
            VerifierError: the key is not good for it, or no verifier is there.
        """
        left = sorted(set(digests))
        while left:
            batch, left = left[:MOST_AGENTS], left[MOST_AGENTS:]
            self._connection.json("POST", "/v1/agents", json={"digests": batch})

    def enter(self, rollout_id: str, *, primary: bool = False) -> SeasonEntry:
        """Enter a rollout in its season, as the participant whose it is, before anything of its private fold is told.

        Args:
            rollout_id: id of the rollout.
            primary: whether it is to be the primary entry, which is ranked; the first one is anyway.

        Raises:
            VerifierError: it cannot be entered: the season is closed, as many are entered as may be, or something was
                told.
        """
        path = f"/v1/rollouts/{rollout_id}/entry"
        return build(SeasonEntry, self._connection.json("POST", path, json={"primary": primary}))

    def reopen(self, rollout_id: str, ttl_s: float) -> RolloutTicket:
        """Get another token of a rollout whose questions are asked one by one, to go on with it.

        Args:
            rollout_id: the id of the rollout.
            ttl_s: seconds until the token expires; the rollout is open for as long.

        Raises:
            VerifierError: there is no such rollout, or it asks no questions; or no verifier is there.
        """
        return build(
            RolloutTicket, self._connection.json("POST", f"/v1/rollouts/{rollout_id}/token", json={"ttl_s": ttl_s})
        )

    def submit(
        self, token: str, values: NDArray[np.float64], *, idempotency_key: str | None = None
    ) -> SubmissionFeedback:
        """Submit predictions for the rollout of ``token``.

        Args:
            token: token of the rollout, from its ticket.
            values: predictions, a float64 array of the task's submission shape.
            idempotency_key: a key of this request: repeating an accepted submission with the same key and values costs
                nothing of the budget; None for a new key.

        Raises:
            UsageError: the key is not an idempotency key.
            SubmissionError: the verifier refused the submission, or it cannot be sent; ``problem`` says why.
            VerifierError: the verifier failed, or does not answer.
        """
        import numpy as np

        array = np.asarray(values)
        # The format has objects as pickles alone, which no verifier reads; it would be refused as this is.
        if array.dtype.hasobject:
            raise SubmissionError(
                f"wrong-dtype: found an array of {array.dtype}, which holds Python objects; expected plain numbers, "
                "float64 at best",
                problem="wrong-dtype",
            )
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array, allow_pickle=False)
        headers = {"Content-Type": NPY, **_key(idempotency_key)}
        answer = self._connection.send("POST", SUBMISSIONS, token, content=stream.getvalue(), headers=headers)
        document = self._connection.accepted(answer)
        feedback = document["feedback"]
        return SubmissionFeedback(document["submission"], feedback["total"], feedback["metrics"], document["remaining"])

    def start_episode(
        self, token: str, fold: FoldName = "private", *, idempotency_key: str | None = None
    ) -> EpisodeStep:
        """Begin the next episode of a sequential task, which ends the current one.

        Args:
            token: token of the rollout, from its ticket.
            fold: ``private`` episodes count, each once; ``public`` ones are for practice.
            idempotency_key: a key of this request: the key of the latest episode gives its start again; None for a new
                key.

        Raises:
            UsageError: the key is not an idempotency key.
            SubmissionError: the verifier refused to begin the episode; ``problem`` says why, such as
                ``episodes-exhausted``.
            VerifierError: the verifier failed, or does not answer.
        """
        return self._play(EPISODES, token, {"fold": fold}, _key(idempotency_key))

    def step(self, token: str, episode: int, step: int, action: object) -> EpisodeStep:
        """Take an action in the latest episode; the same step with the same action is answered the same.

        Args:
            token: token of the rollout, from its ticket.
            episode: number of the episode, from the answer to its start.
            step: number of the step, one more than the latest that was answered.
            action: a JSON value of the form the task states; None does nothing.

        Raises:
            SubmissionError: the verifier refused the action; ``problem`` says why, such as ``malformed-action`` or
                ``episode-over``.
            VerifierError: the verifier failed, or does not answer.
        """
        return self._play(STEPS, token, {"episode": episode, "step": step, "action": action}, {})

    def walk(self, token: str, values: NDArray[np.float64], fold: FoldName = "private") -> EpisodeStep:
        """Answer all windows of a fold with answers that are known beforehand.

        Args:
            token: token of the rollout, which has not begun to walk through the fold.
            values: the fold's rows of a submission, float64.
            fold: the fold to walk through.

        Returns:
            What the verifier says after the last window; of the public fold, with ``feedback`` in its info.

        Raises:
            SubmissionError: a window's answer was refused.
            VerifierError: the verifier does not answer.
        """
        at, first = self.start_episode(token, fold), 0
        while not at.done:
            items = len(next(iter(at.observation.values())))  # type: ignore[arg-type]  # lists, one entry an item
            action = {"predictions": values[first : first + items].tolist()}
            at, first = self.step(token, at.episode, at.step + 1, action), first + items
        return at

    def place(self, token: str) -> tuple[int, int]:
        """The latest episode of a rollout and the number of actions taken in it; 0 and 0 before the first.

        Raises:
            VerifierError: the verifier failed, or does not answer.
        """
        document = self._connection.checked(self._connection.send("GET", ROLLOUT, token))
        return int(document["episode"] or 0), int(document["step"] or 0)

    def windows_left(self, token: str) -> int:
        """The number of private windows without an answer, of an open rollout whose task is walked through.

        Raises:
            VerifierError: the verifier failed, or does not answer.
        """
        return int(self._connection.checked(self._connection.send("GET", ROLLOUT, token))["windows_left"])

    def _play(self, path: str, token: str, body: Mapping[str, object], headers: Mapping[str, str]) -> EpisodeStep:
        try:
            content = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise SubmissionError(
                f"malformed-action: an action is made of JSON values ({error})", problem="malformed-action"
            ) from None
        answer = self._connection.send("POST", path, token, content=content, headers={"Content-Type": JSON, **headers})
        document = self._connection.accepted(answer)
        # JSON has no NaN: a step without a reward has null in its place.
        return build(
            EpisodeStep, {**document, "reward": float("nan") if document["reward"] is None else document["reward"]}
        )

    def rollout_status(self, rollout_id: str) -> RolloutStatus:
        """Ask for the state of a rollout."""
        document = self._connection.json("GET", f"/v1/rollouts/{rollout_id}")
        past = tuple(
            PastSubmission(item["submission"], item["feedback"] and build(PublicFeedback, item["feedback"]))
            for item in document["submissions"]
        )
        return build(RolloutStatus, {**document, "submissions": past})

    def finalize(self, rollout_id: str, timeout_s: float | None = None) -> VerifiedResult:
        """End a rollout and get its result; a repetition gets the same result.

        Args:
            rollout_id: id of the rollout.
            timeout_s: longest wait for the answer in seconds, for a live session that goes on to its end first; None
                for the client's own.
        """
        wait: dict[str, Any] = {} if timeout_s is None else {"timeout": httpx.Timeout(timeout_s, connect=5.0)}
        return _verified(self._connection.json("POST", f"/v1/rollouts/{rollout_id}/finalize", **wait))

    def settled(self, rollout_id: str) -> VerifiedResult | None:
        """The result of a rollout that has ended; None where the verifier has no such rollout, or it has not ended."""
        answer = self._connection.send("GET", f"/v1/rollouts/{rollout_id}", self._connection.admin_token)
        if answer.status_code == 404:
            return None
        # Asked first whether it has ended, because asking for a result ends a rollout.
        return None if self._connection.checked(answer)["finalized_at"] is None else self.finalize(rollout_id)

    def settle(self, rollout_id: str) -> VerifiedResult:
        """Have the questions of a finished rollout with a simulated clock resolved, and get its result."""
        return _verified(self._connection.json("POST", f"/v1/rollouts/{rollout_id}/settle"))

    @property
    def questions(self) -> QuestionClient:
        """Questions about what has not happened yet, their forecasts and resolutions."""
        return QuestionClient(self)

    def json(self, method: str, path: str, *, refusable: bool = False, **request: Any) -> Any:
        """The JSON that the verifier answers to a request that may be repeated.

        Args:
            method: HTTP method of the request.
            path: path of the route.
            refusable: whether a refusal may be the sender's fault, and is then a :class:`SubmissionError` with the
                problem instead of a :class:`VerifierError`.
            request: further arguments of :meth:`httpx.Client.request`, such as ``json``.
        """
        answer = self._connection.send(method, path, self._connection.admin_token, **request)
        return self._connection.accepted(answer) if refusable else self._connection.checked(answer)

    def close(self) -> None:
        """Drop the connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _key(stated: str | None) -> dict[str, str]:
    """The header by which a verifier recognises a request that is repeated.

    Args:
        stated: the caller's key; None for a new one.

    Raises:
        UsageError: the key is not an idempotency key.
    """
    key = uuid.uuid4().hex if stated is None else stated
    if not is_idempotency_key(key):
        raise UsageError(f"{KEY_RULE} Found {key[:80]!r}.")
    return {"Idempotency-Key": key}


def _verified(document: dict[str, Any]) -> VerifiedResult:
    """A result as a verifier answers it.

    Raises:
        VerifierError: the document is no result.
    """
    # A verifier of an earlier version states no intervals.
    intervals = {name: tuple(document[name]) for name in INTERVALS if document.get(name) is not None}
    return build(VerifiedResult, {**document, "flags": tuple(document["flags"]), **intervals})
