"""One episode that is the same under every trainer: recorded answers, and the reward that a desk itself gives for them.

A contract test plays :data:`CALLS` (for agents with tools) or :data:`TEXTS` (for agents that answer in text) through
its trainer on instance :data:`INDEX` of :data:`TASK`, and compares by :func:`check`, which knows no tolerance:

    from ..same_episode import CALLS, INDEX, SPLIT, TASK, check, desk

    check(reward_that_the_trainer_has_seen)
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from openfingym.models.testing import StandIn
from openfingym.models.testing.conversation import Call, CompletionRequest, Reply
from openfingym.training import Desk
from openfingym.training import machinery as shared
from openfingym.verifiers import VerifierAddress

TASK, SPLIT, INDEX = "treasury-forecast", "train", 3
PROGRAM = """\
import numpy as np
import interface

horizon, channels = interface.SUBMISSION_SHAPE[1:]
steps = np.arange(1, horizon + 1)[None, :, None]


def forecast(shown):
    shown = shown[:, :, :channels]
    drift = (shown[:, -1:] - shown[:, -6:-5]) / 5.0
    return shown[:, -1:] + 0.1 * drift * steps


print(interface.predict_each(forecast, practice=True))
interface.predict_each(forecast)
"""
"""A weak forecast, neither the baseline nor a failure, so that a reward that is made up would be another."""
FAILS = "raise SystemExit(1)"
DONE = "It is submitted, and I am content."


def calling(code: str) -> dict[str, Any]:
    """An assistant's message that runs a program."""
    call = {"name": "run_python", "arguments": {"code": code}}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": call}]}


CALLS: tuple[dict[str, Any], ...] = (calling(PROGRAM), {"role": "assistant", "content": DONE})
"""The assistant's messages of the episode, with tools."""
TEXTS = (f"I forecast a tenth of the drift.\n\n```python\n{PROGRAM}```", DONE)
"""The assistant's texts of the episode, without."""
FAILURE = ("I cannot.", "I still cannot.", "No.")
"""The texts of an agent that hands in nothing."""


def desk(agent: str = "react", **more: Any) -> Desk:
    """A desk for the episode."""
    return Desk(TASK, split=SPLIT, agent=agent, backend="sandbox", **{"places": 4, **more})


def scripted(answers: Sequence[Any]) -> Callable[[list[dict[str, Any]], list[dict[str, Any]]], Any]:
    """A policy that gives one answer after the other, and the last one again and again."""

    def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
        given = sum(message["role"] == "assistant" for message in messages)
        return copy.deepcopy(answers[min(given, len(answers) - 1)])

    return policy


@functools.cache
def expected(agent: str = "react") -> float:
    """The reward of the episode, as a desk itself gives it."""
    with desk(agent) as own:
        (played,) = own.group_sync([(TASK, INDEX)], scripted(CALLS if agent == "react" else TEXTS))
    assert played.failure is None, played.failure
    assert played.reward is not None
    # Neither the floor, nor the baseline, nor beyond what a weak forecast gets.
    assert -0.9 < played.reward < 0.9
    assert played.reward != 0.0
    return played.reward


def check(reward: float | None) -> None:
    """Compare a reward that a trainer has seen with the desk's, to the last digit and whatever the agent."""
    assert reward == expected("react") == expected("codeblock")


@contextlib.contextmanager
def endpoint() -> Iterator[str]:
    """An OpenAI-compatible endpoint, whose models are ``stand-in/same``, which plays the episode, ``stand-in/nothing``,
    which hands in nothing, ``stand-in/forever``, which never ends, and ``stand-in/sleeper``, whose program does not."""
    with StandIn(policies={f"stand-in/{name}": policy for name, policy in _POLICIES.items()}) as server:
        yield server.base_url


class _Same:
    def respond(self, request: CompletionRequest) -> Reply:
        given = sum(message.role == "assistant" for message in request.messages)
        return Reply(DONE) if given else Reply(calls=(Call("run_python", {"code": PROGRAM}),))


class _Nothing:
    def respond(self, request: CompletionRequest) -> Reply:
        return Reply(FAILURE[0])


class _Forever:
    def respond(self, request: CompletionRequest) -> Reply:
        given = sum(message.role == "assistant" for message in request.messages)
        return Reply(calls=(Call("run_python", {"code": f"print({given})"}),))


class _Sleeper:
    def respond(self, request: CompletionRequest) -> Reply:
        return Reply(calls=(Call("run_python", {"code": "import time; time.sleep(600)"}),))


_POLICIES = {"same": _Same(), "nothing": _Nothing(), "forever": _Forever(), "sleeper": _Sleeper()}


@contextlib.contextmanager
def ours_failing() -> Iterator[dict[str, Any]]:
    """What a desk is given for every episode of it to fail for a reason of ours: its verifier is away."""
    patch = pytest.MonkeyPatch()
    patch.setattr(shared, "PATIENCE_S", 0.2)
    try:
        yield {"verifier": VerifierAddress("http://127.0.0.1:9", "none")}
    finally:
        patch.undo()
