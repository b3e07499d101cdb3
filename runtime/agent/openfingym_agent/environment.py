"""A task that is stepped through, with the methods of a Gymnasium environment.

The episode itself is played by the verifier, behind the gate, where its hidden rows are. A step that has to be
sent again, because a connection was lost or the verifier was restarted, is not taken twice.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

from openfingym_agent.transport import GateClient, LiveGate, SubmissionRefused

if TYPE_CHECKING:
    from openfingym_agent.interface import Interface

Fold = Literal["private", "public"]
Transport = Literal["http", "websocket"]

MAX_ACTION_BYTES = 256 * 1024 - 128
"""Longest action as JSON, which leaves room for the rest of a call."""
JSON = {"Content-Type": "application/json"}


class EpisodesExhausted(SubmissionRefused):
    """Every private episode has been begun; there is nothing left to play for."""


class EpisodeTransport(Protocol):
    """A way to start and to step episodes; each method returns the document that the verifier answers with."""

    def start(self, fold: str, key: str) -> Any:
        """Begin an episode; a second call with the same key does not begin another."""

    def step(self, episode: int, step: int, action: str) -> Any:
        """Take an action, given as JSON."""

    def close(self) -> None:
        """Close the connection."""


class Environment:
    """Episodes of one task, one at a time."""

    def __init__(self, interface: Interface, calls: EpisodeTransport, fold: Fold) -> None:
        """Use :meth:`openfingym_agent.Interface.make` instead."""
        self.contract: dict[str, Any] = interface.contract
        """Shapes, units, limits and scoring of the task, as in ``interface.contract``."""
        self._interface = interface
        self._calls = calls
        self._fold: Fold = fold
        self._left: int | None = None
        self._episode = 0
        self._step = 0

    @property
    def episodes_left(self) -> int:
        """Private episodes not yet begun."""
        if self._left is None:
            self._left = self._interface.budget().remaining
        return self._left

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002 (Gymnasium's signature)
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the next episode; one that is not over ends as if nothing more were done in it.

        Args:
            seed: has no effect, since what happens in an episode is given.
            options: ``{"fold": "public"}`` begins an episode for practice, within the budget. Private episodes are
                played once each, in order of time.

        Returns:
            The first observation, and a dict with the number of the episode and what else is known.

        Raises:
            EpisodesExhausted: every private episode has been begun.
            SubmissionRefused: the budget for practice is spent.
            VerifierUnavailable: the verifier does not answer.
        """
        fold = str((options or {}).get("fold", self._fold))
        try:
            answer = self._calls.start(fold, uuid.uuid4().hex)
        except SubmissionRefused as refused:
            if refused.problem == "episodes-exhausted":
                self._left = 0
                raise EpisodesExhausted(str(refused), problem=refused.problem, status=refused.status) from None
            raise
        observation, _, _, _, info = self._seen(answer)
        return observation, info

    def resume(self) -> tuple[int, int]:
        """Go on with the episode that another process of this rollout began last, whose next action :meth:`step` takes.

        Returns:
            Number of the episode, and of the actions taken in it.

        Raises:
            SubmissionRefused: no episode has been begun.
            VerifierUnavailable: the verifier does not answer.
        """
        place = self._interface.place()
        if place is None:
            raise SubmissionRefused("call reset() first: no episode has been started", problem="out-of-step")
        self._episode, self._step = place
        return place

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Take one action.

        Args:
            action: the action, in the form that the instruction states, made of JSON values, NumPy arrays and numbers;
                None does nothing.

        Returns:
            Observation, reward, terminated, truncated and info. Lists of numbers in an observation are float64 arrays.

        Raises:
            SubmissionRefused: the action has a wrong form (``malformed-action``), which leaves the episode as it is; or
                the episode is over.
            VerifierUnavailable: the verifier does not answer.
        """
        if self._episode == 0:
            raise SubmissionRefused("call reset() first: no episode has been started", problem="out-of-step")
        try:
            text = json.dumps(action, default=_plain, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise SubmissionRefused(
                f"an action is made of finite numbers, text, lists and dicts ({error})", problem="malformed-action"
            ) from None
        if len(text) > MAX_ACTION_BYTES:
            raise SubmissionRefused(
                f"an action takes {len(text)} bytes as JSON; at most {MAX_ACTION_BYTES}", problem="payload-too-large"
            )
        # With its number, by which the verifier knows a step that is sent again.
        return self._seen(self._calls.step(self._episode, self._step + 1, text))

    def close(self) -> None:
        """Close the connection; another reset opens one again."""
        self._calls.close()

    def _seen(self, answer: dict[str, Any]) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """What an answer says, as ``step`` returns it; the counters follow the verifier's."""
        self._episode, self._step, self._left = (
            int(answer["episode"]),
            int(answer["step"]),
            int(answer["episodes_left"]),
        )
        observation = {name: _value(value) for name, value in answer["observation"].items()}
        reward = float("nan") if answer["reward"] is None else float(answer["reward"])
        where = {name: answer[name] for name in ("episode", "fold", "number", "step")}
        return observation, reward, bool(answer["terminated"]), bool(answer["truncated"]), {**where, **answer["info"]}


class HttpCalls:
    """Starts and steps episodes by one HTTP request each."""

    def __init__(self, gate: GateClient, deadline: Callable[[], float | None]) -> None:
        """Use ``gate``; ``deadline`` gives the Unix time after which nothing is retried, or None."""
        self._gate = gate
        self._deadline = deadline

    def start(self, fold: str, key: str) -> Any:
        """Begin an episode."""
        body = json.dumps({"fold": fold}).encode()
        return self._gate.call("POST", "/v1/episodes", {**JSON, "Idempotency-Key": key}, body, self._deadline())

    def step(self, episode: int, step: int, action: str) -> Any:
        """Take an action."""
        # Put together as text, because the action is JSON already.
        body = f'{{"episode":{episode},"step":{step},"action":{action}}}'.encode()
        return self._gate.call("POST", "/v1/steps", JSON, body, self._deadline())

    def close(self) -> None:
        """Close the connection."""
        self._gate.close()


class LiveCalls:
    """Starts and steps episodes by messages on one WebSocket."""

    def __init__(self, gate: LiveGate, deadline: Callable[[], float | None]) -> None:
        """Use ``gate``; ``deadline`` gives the Unix time after which nothing is retried, or None."""
        self._gate = gate
        self._deadline = deadline

    def start(self, fold: str, key: str) -> Any:
        """Begin an episode."""
        return self._gate.call(json.dumps({"type": "start", "fold": fold, "key": key}), self._deadline())

    def step(self, episode: int, step: int, action: str) -> Any:
        """Take an action."""
        return self._gate.call(
            f'{{"type":"step","episode":{episode},"step":{step},"action":{action}}}', self._deadline()
        )

    def close(self) -> None:
        """Close the connection."""
        self._gate.close()


def _plain(value: Any) -> Any:
    """An array or a number of NumPy's as JSON values."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"found {type(value).__name__}")


def _value(value: Any) -> Any:
    """A part of an observation, in which lists of numbers become arrays, with NaN for a missing number."""
    import numpy as np

    if not (isinstance(value, list) and value and _numeric(value)):
        return value
    try:
        return np.array(value, dtype=np.float64)
    except ValueError:  # lists of different lengths
        return value


def _numeric(value: list[Any]) -> bool:
    """Whether a list, with all lists inside of it, holds nothing but numbers and None."""
    if isinstance(value[0], list):
        return all(isinstance(item, list) and item and _numeric(item) for item in value)
    return all(item is None or type(item) in {float, int} for item in value)
