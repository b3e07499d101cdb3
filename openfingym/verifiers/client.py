"""A client of the verifier, for the side that holds the admin token and hands out rollouts."""

from __future__ import annotations

import copy
import io
import json
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import httpx

from openfingym.errors import (
    ReceiptError,
    SubmissionError,
    UsageError,
    VerifierAbsentError,
    VerifierError,
)
from openfingym.headers import KEY_RULE, is_idempotency_key
from openfingym.results import INTERVALS
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
    SubmissionFeedback,
    VerifiedResult,
)
from openfingym.verifiers.connection import NOT_SENT, Connection, build, is_problem
from openfingym.verifiers.questions import QuestionClient
from openfingym.verifiers.routes import EPISODES, JSON, NPY, ROLLOUT, STEPS, SUBMISSIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.receipts.receipt import Receipt
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
    "SubmissionFeedback",
    "VerifiedResult",
    "VerifierClient",
]


class VerifierClient:
    """Talks to one verifier; safe to share between threads.

    A request whose connection fails is repeated for a moment, or for longer where :meth:`patient` says so: control
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
        """Connect, when first needed, to ``base_url`` or to the unix socket ``uds``, of which exactly one is given.

        Args:
            admin_token: token of the operator; or the key of a participant, who may create rollouts, and end and read
                its own. Needed for everything but :meth:`require_well` and calls that take a token of their own.
            base_url: base URL of the verifier, ``http://host:port`` or ``https://host:port``.
            uds: path of a unix socket.
            timeout_s: longest wait for an answer, in seconds; where scoring is heavy, many submissions at once wait for
                each other.

        Raises:
            UsageError: both addresses are given, or none, or what is given is no URL.
        """
        self._connection = Connection(admin_token=admin_token, base_url=base_url, uds=uds, timeout_s=timeout_s)

    @property
    def where(self) -> str:
        """The verifier's address, for messages."""
        return self._connection.where

    def patient(self, patience_s: float, hurry: threading.Event) -> VerifierClient:
        """This client, over the same connections, for a verifier that may be restarted.

        Args:
            patience_s: seconds that a request may wait for it.
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
            seed: seed, which is recorded with the result.
            ttl_s: seconds until the token expires; None for the verifier's default.
            fresh: other hidden data than the package's own, where the task can have any; the ticket's ``tape`` says
                what it has.
            session: the live session that its private episode is to be, of a task about a live market, as
                :meth:`openfingym.market.session.terms.SessionOrder.to_dict` gives it.
            questions: the questions that it is to be asked, of a task about what has not happened yet, as
                :meth:`openfingym.kinds.asking.QuestionsOrder.to_dict` gives it; or which of the task's own it is asked,
                as ``1-10``.
            split: ``test`` for the task as it is; else the rollout is on an instance, cut from its training data.
            instance: which instance of the split.

        Raises:
            VerifierError: unknown task or instance, wrong admin token, or no verifier there.
        """
        order = {"task": task, "agent": agent, "seed": seed, "ttl_s": ttl_s, "session": session}
        order["questions"] = questions
        order |= {"split": None if split == "test" else split, "instance": instance}
        body = {key: value for key, value in order.items() if value is not None} | ({"fresh": True} if fresh else {})
        return build(
            RolloutTicket,
            # Only where nothing was sent: a request whose answer is lost may have made a rollout, and another one would
            # be a second.
            self._connection.json("POST", "/v1/rollouts", json=body, again=NOT_SENT),
        )

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
            idempotency_key: repeating an accepted submission with the same key and values is free; None for a new key.

        Raises:
            UsageError: the key is not an idempotency key.
            SubmissionError: the verifier refused the submission; ``problem`` says why.
            VerifierError: the verifier failed, or does not answer.
        """
        import numpy as np

        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.asarray(values), allow_pickle=False)
        headers = {"Content-Type": NPY, **_key(idempotency_key)}
        answer = self._connection.send("POST", SUBMISSIONS, token, content=stream.getvalue(), headers=headers)
        document = self._connection.accepted(answer)
        feedback = document["feedback"]
        return SubmissionFeedback(document["submission"], feedback["total"], feedback["metrics"], document["remaining"])

    def start_episode(
        self, token: str, fold: FoldName = "private", *, idempotency_key: str | None = None
    ) -> EpisodeStep:
        """Begin the next episode of a sequential task; the one at hand ends.

        Args:
            token: token of the rollout, from its ticket.
            fold: ``private`` episodes count, each once; ``public`` ones are for practice.
            idempotency_key: the key of the latest episode gives its start again; None for a new key.

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

    def place(self, token: str) -> tuple[int, int]:
        """The latest episode of a rollout and the number of actions taken in it; 0 and 0 before the first.

        Raises:
            VerifierError: the verifier failed, or does not answer.
        """
        document = self._connection.checked(self._connection.send("GET", ROLLOUT, token))
        return int(document["episode"] or 0), int(document["step"] or 0)

    def _play(self, path: str, token: str, body: Mapping[str, object], headers: Mapping[str, str]) -> EpisodeStep:
        try:
            content = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise SubmissionError(
                f"malformed-action: an action is made of JSON values ({error})", problem="malformed-action"
            ) from None
        answer = self._connection.send("POST", path, token, content=content, headers={"Content-Type": JSON, **headers})
        document = self._connection.accepted(answer)
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
        """End a rollout and get its result; a repetition gets the same one.

        Args:
            rollout_id: the id of the rollout.
            timeout_s: longest wait for the answer, since a live session goes on to its end; None for the client's own.
        """
        wait: dict[str, Any] = {} if timeout_s is None else {"timeout": httpx.Timeout(timeout_s, connect=5.0)}
        return _verified(self._connection.json("POST", f"/v1/rollouts/{rollout_id}/finalize", **wait))

    def settled(self, rollout_id: str) -> VerifiedResult | None:
        """The result of a rollout that has ended; None where there is no such rollout, or it has not."""
        answer = self._connection.send("GET", f"/v1/rollouts/{rollout_id}", self._connection.admin_token)
        if answer.status_code == 404:
            return None
        return None if self._connection.checked(answer)["finalized_at"] is None else self.finalize(rollout_id)

    def settle(self, rollout_id: str) -> VerifiedResult:
        """Have the questions of a finished rollout with a simulated clock resolved, and get its result."""
        return _verified(self._connection.json("POST", f"/v1/rollouts/{rollout_id}/settle"))

    def log(self, rollout_id: str) -> tuple[LogRow, ...]:
        """The rollout's rows of the verifier's log."""
        return tuple(build(LogRow, row) for row in self._connection.json("GET", f"/v1/rollouts/{rollout_id}/log"))

    def submission(self, rollout_id: str, n: int) -> NDArray[np.float64]:
        """The values of the n-th accepted submission, float64 of the task's shape.

        A finished rollout of a sequential task has one: the outcomes of all its episodes.
        """
        import numpy as np

        answer = self._connection.get(f"/v1/rollouts/{rollout_id}/submissions/{n}")
        values: NDArray[np.float64] = np.load(io.BytesIO(answer.content), allow_pickle=False)
        return values

    def data(self, rollout_id: str) -> dict[str, NDArray[Any]]:
        """Public arrays of a rollout's tape that take the place of the package's, by name; none of a given tape."""
        import numpy as np

        answer = self._connection.get(f"/v1/rollouts/{rollout_id}/data")
        with np.load(io.BytesIO(answer.content), allow_pickle=False) as arrays:
            return dict(arrays)

    def tape(self, rollout_id: str) -> bytes | None:
        """The tape of a finished rollout's live session; None where it has none."""
        answer = self._connection.send("GET", f"/v1/rollouts/{rollout_id}/tape", self._connection.admin_token)
        if answer.status_code == 404:
            return None
        if answer.status_code != 200:
            self._connection.checked(answer)
        return answer.content

    def receipt(self, rollout_id: str) -> Receipt | None:
        """The receipt of a finished rollout; None where it has none, or the verifier is of a version before them."""
        answer = self._connection.send("GET", f"/v1/rollouts/{rollout_id}/receipt", self._connection.admin_token)
        return None if answer.status_code == 404 else self._receipt(answer)

    def receipt_of_row(self, row: int) -> Receipt:
        """The receipt of a row of the log.

        Args:
            row: its number, from 1.

        Raises:
            VerifierError: there is no such row, or it is somebody else's.
        """
        return self._receipt(self._connection.send("GET", f"/v1/receipts/{row}", self._connection.admin_token))

    def checkpoint(self) -> str:
        """A signed checkpoint of the log, as text; keep one, and no log that is shorter or another can be shown to you
        later.
        """
        answer = self._connection.get("/v1/checkpoint")
        return answer.text

    def tile(self, path: str) -> bytes:
        """A tile of the log's hashes, or a bundle of its entries.

        Args:
            path: such as ``0/x001/067`` or ``entries/000.p/12``; see :mod:`openfingym.receipts.tiles`.

        Raises:
            VerifierError: the log is not as long, or the caller is not the operator and asks for entries.
        """
        answer = self._connection.get(f"/v1/tile/{path}")
        return answer.content

    def result_document(self, rollout_id: str) -> bytes:
        """The result of a finished rollout in canonical JSON, as the verifier wrote it."""
        answer = self._connection.get(f"/v1/rollouts/{rollout_id}/result")
        return answer.content

    def actions(self, rollout_id: str) -> tuple[RecordedAction, ...]:
        """Every action taken in a rollout of a sequential task, in order."""
        answer = self._connection.get(f"/v1/rollouts/{rollout_id}/actions")
        return tuple(build(RecordedAction, json.loads(line)) for line in answer.content.splitlines())

    def participants(self) -> tuple[Participant, ...]:
        """Everybody who was given a key, by name."""
        return tuple(build(Participant, row) for row in self._connection.json("GET", "/v1/participants"))

    def add_participant(self, name: str) -> str:
        """Give a new participant a key.

        Args:
            name: 1 to 63 lower case letters, digits, dots, dashes and underscores.

        Returns:
            The key, which nobody can be shown again.

        Raises:
            VerifierError: the name is taken, or cannot be one.
        """
        return str(self._connection.json("POST", "/v1/participants", json={"name": name}, again=NOT_SENT)["key"])

    def revoke_participant(self, name: str) -> None:
        """Withdraw a participant's key.

        Raises:
            VerifierError: nobody of that name has one.
        """
        answer = self._connection.send(
            "DELETE", f"/v1/participants/{quote(name, safe='')}", self._connection.admin_token
        )
        if answer.status_code != 204:
            self._connection.checked(answer)

    def season(self) -> Season:
        """The verifier's latest season."""
        return build(Season, self._connection.json("GET", "/v1/season"))

    def close_season(self) -> Season:
        """End the season; results that were held in it are released.

        Raises:
            VerifierError: the season is closed already, or the verifier does not answer.
        """
        return build(Season, self._connection.json("POST", "/v1/season/close"))

    def open_season(self, name: str) -> Season:
        """Begin the next season, after the last one was closed.

        Raises:
            VerifierError: one is open, or the name is taken.
        """
        return build(Season, self._connection.json("POST", "/v1/season", json={"name": name}))

    def tasks(self) -> tuple[HeldTask, ...]:
        """The tasks that the verifier holds."""
        found = self._connection.json("GET", "/v1/tasks")
        return tuple(build(HeldTask, {**task, "submission_shape": tuple(task["submission_shape"])}) for task in found)

    def require_well(self) -> None:
        """Return if a rollout could be created and written now; needs no token.

        Raises:
            VerifierError: the verifier says that it is not well.
            VerifierAbsentError: nothing there answers like a verifier.
        """
        try:
            # Without a token, which must not go to whatever else may listen there.
            answer = self._connection.send("GET", "/healthz", None)
        except VerifierError as error:
            raise VerifierAbsentError(str(error)) from error
        if not answer.is_success and not is_problem(answer):
            raise VerifierAbsentError(f"{self.where} does not answer like a verifier; check the address")
        self._connection.checked(answer)

    def load(self) -> Load:
        """Ask for the load of the verifier, which only the operator is told."""
        from prometheus_client.parser import text_string_to_metric_families

        answer = self._connection.send("GET", "/metrics", self._connection.admin_token)
        if not answer.is_success:
            self._connection.checked(answer)
        try:
            found = {
                sample.name: int(sample.value)
                for one in text_string_to_metric_families(answer.text)
                for sample in one.samples
            }
            return Load(found["openfingym_open_rollouts"], found["openfingym_ledger_queue_depth"])
        except (KeyError, ValueError) as error:
            raise VerifierError(f"{self.where} does not answer like a verifier; check the address") from error

    @property
    def questions(self) -> QuestionClient:
        """Questions about what has not happened yet, their forecasts and resolutions."""
        return QuestionClient(self)

    def json(self, method: str, path: str, *, refusable: bool = False, **request: Any) -> Any:
        """The JSON that the verifier answers to a request that may be repeated.

        Args:
            method: method of the request.
            path: path of the route.
            refusable: whether what is sent may be at fault, so that a refusal is a :class:`SubmissionError` with the
                problem, and no :class:`VerifierError`.
            request: what :meth:`httpx.Client.request` takes.
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

    def _receipt(self, answer: httpx.Response) -> Receipt:
        from openfingym.receipts.receipt import Receipt

        if answer.status_code != 200:
            self._connection.checked(answer)
        try:
            return Receipt.from_json(answer.content)
        except ReceiptError as error:
            raise VerifierError(f"{self.where} answered with no receipt: {error}") from None


def _key(stated: str | None) -> dict[str, str]:
    """The header that lets a request be repeated."""
    key = uuid.uuid4().hex if stated is None else stated
    if not is_idempotency_key(key):
        raise UsageError(f"{KEY_RULE} Found {key[:80]!r}.")
    return {"Idempotency-Key": key}


def _verified(document: dict[str, Any]) -> VerifiedResult:
    """A result as a verifier answers it.

    Raises:
        VerifierError: it is none.
    """
    # A verifier from before there were intervals has none to tell.
    intervals = {name: tuple(document[name]) for name in INTERVALS if document.get(name) is not None}
    return build(VerifiedResult, {**document, "flags": tuple(document["flags"]), **intervals})
