"""A verified rollout that is played by calling tools.

A client's calls go to an episode of :class:`openfingym.training.Desk`, which keeps the limits of an evaluation. The
tools are the agent's own, and ``finish``, which ends the rollout.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from openfingym.errors import UsageError
from openfingym.training.openenv.wire import ActionRefused, Json, invalid

if TYPE_CHECKING:
    from openfingym.results import RolloutResult

RESERVED = frozenset({"reset", "step", "state", "close"})
"""Names that OpenEnv does not let a tool have."""
FINISH_NAME = "finish"
"""Name of the tool that ends the rollout."""
FINISH: Json = {
    "name": FINISH_NAME,
    "description": "End the rollout. The last answer that was accepted by then is scored, and its score is told.",
    "input_schema": {"type": "object", "properties": {}, "required": []},
}
CALL_SCHEMA: Json = {
    "title": "CallToolAction",
    "description": "Call a tool. `list_tools` as the type, without more, lists the tools and their arguments.",
    "type": "object",
    "properties": {
        "type": {"type": "string", "const": "call_tool", "default": "call_tool"},
        "tool_name": {"type": "string", "description": "Name of the tool to call"},
        "arguments": {"type": "object", "default": {}, "description": "Arguments to pass to the tool"},
        "metadata": {"type": "object", "default": {}},
    },
    "required": ["tool_name"],
    "additionalProperties": False,
}
"""JSON schema of the action. By its title, clients recognize an environment that takes tool calls."""


class EpisodeLike(Protocol):
    """The part of :class:`openfingym.training.Episode` that is used here."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    result: RolloutResult | None
    reward: float | None
    failure: str | None

    @property
    def over(self) -> bool:
        """Whether nothing more can be done."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any] | str, call_id: str | None = None) -> str:
        """Call a tool."""
        ...

    async def say(self, text: str) -> str | None:
        """Answer in text."""
        ...

    async def finish(self) -> RolloutResult | None:
        """End the rollout."""
        ...

    def cut(self, why: str = ...) -> None:
        """End the rollout now."""
        ...


class ToolPlay:
    """One verified rollout that is played by calling tools.

    Attributes:
        quick: whether a step may be taken on the event loop; False, since a call takes as long as its program runs.
        episode: the episode that is played.
    """

    quick = False

    def __init__(self, episode: EpisodeLike) -> None:
        self.episode = episode
        self._over = False
        """Whether the result was asked for."""

    async def first(self) -> Json:
        """The first observation: the instruction and the messages that the agent is told.

        Raises:
            ActionRefused: the rollout could not be begun, for a reason of ours.
        """
        if self.episode.over:
            await self._ended()
        messages = self.episode.messages
        instruction = "\n\n".join(str(m.get("content") or "") for m in messages if m["role"] == "user")
        return {"observation": {"instruction": instruction, "messages": messages}, "reward": None, "done": False}

    async def step(self, action: Json) -> Json:
        """Call a tool, or give an answer in text.

        Args:
            action: the action as a client sends it, of type ``call_tool`` or ``message``.

        Returns:
            The result as an observation, with the reward where the rollout is over.

        Raises:
            ActionRefused: the action does not fit, the rollout is over, or it failed for a reason of ours.
        """
        kind = action.get("type", "call_tool")
        if kind == "message":
            text = _checked(action, "content", str, {"type", "content", "metadata"})
            self._require_open()
            return await self._shown({"message": await self.episode.say(text) or ""})
        if kind != "call_tool":
            raise invalid("type", f"found {str(kind)[:60]!r}; known: call_tool, list_tools, message")
        name = _checked(action, "tool_name", str, {"type", "tool_name", "arguments", "metadata"})
        arguments = action.get("arguments", {})
        if not isinstance(arguments, dict):
            raise invalid("arguments", "expected an object", kind="dict_type", message="Invalid action")
        self._require_open()
        if name == FINISH_NAME:
            ended = await self._ended()
            result_of_call = {"tool_name": name, "result": ended["observation"]["outcome"]["text"], "error": None}
            return {**ended, "observation": {**result_of_call, **ended["observation"]}}
        result = await self.episode.call(inner(name), arguments)
        return await self._shown({"tool_name": name, "result": result, "error": None})

    def tools(self) -> list[Json]:
        """The tools, in OpenEnv's form."""
        return listed(tool["function"] for tool in self.episode.tools)

    async def close(self) -> None:
        """End the rollout, wherever it is."""
        self.episode.cut("its client left")
        await self.episode.finish()

    def _require_open(self) -> None:
        if self._over:
            raise ActionRefused("EXECUTION_ERROR", "the rollout is over; send a reset to begin another")

    async def _shown(self, observation: Json) -> Json:
        """An observation, with the rollout's result where it has ended the rollout."""
        if not self.episode.over:
            return {"observation": observation, "reward": None, "done": False}
        ended = await self._ended()
        return {**ended, "observation": {**observation, **ended["observation"]}}

    async def _ended(self) -> Json:
        """The result of the rollout, which ends.

        Raises:
            ActionRefused: there is no reward, for a reason of ours.
        """
        self._over = True
        result = await self.episode.finish()
        if self.episode.reward is None or result is None:
            why = self.episode.failure or "no reason is known"
            raise ActionRefused("EXECUTION_ERROR", f"a failure of ours, so that there is no reward: {why}", reward=None)
        return {"observation": {"outcome": outcome_of(result)}, "reward": self.episode.reward, "done": True}


async def opened(opening: Callable[[], Awaitable[EpisodeLike]]) -> ToolPlay:
    """The rollout of an episode that is being opened.

    Args:
        opening: a function that opens the episode.

    Raises:
        ActionRefused: the client has made a mistake, or all places are taken.
    """
    try:
        return ToolPlay(await opening())
    except UsageError as error:
        raise ActionRefused("EXECUTION_ERROR", str(error)) from None


def outcome_of(result: RolloutResult) -> Json:
    """The part of a verified result that its player is told."""
    text = {
        "scored": f"Scored: relative total {result.relative_total}, where 1 is the baseline and lower is better.",
        "rejected": f"Rejected: {result.reason}.",
    }.get(result.state, f"{result.state}: {result.reason}")
    return {
        "text": text,
        "state": result.state,
        "reason": result.reason,
        "total": result.total,
        "relative_total": result.relative_total,
        "rollout_id": result.rollout_id,
    }


def outer(name: str) -> str:
    """The name under which a tool is offered."""
    return f"take_{name}" if name in RESERVED else name


def inner(name: str) -> str:
    """The agent's own name of a tool that is offered under another."""
    own = name.removeprefix("take_")
    return own if own in RESERVED else name


def listed(functions: Iterable[Mapping[str, Any]]) -> list[Json]:
    """Tools in OpenEnv's form, and ``finish``.

    Args:
        functions: tools as objects with ``name``, ``description`` and ``parameters``.
    """
    tools = []
    for function in functions:
        name, text = str(function["name"]), str(function.get("description") or "")
        if outer(name) != name:
            text += f" (The instruction calls it `{name}`.)"
        tools.append({"name": outer(name), "description": text, "input_schema": function["parameters"]})
    return [*tools, FINISH]


def _checked(action: Json, key: str, kind: type[str], known: set[str]) -> str:
    """The text that an action has under a key.

    Args:
        action: the action as a client sends it.
        key: the key of the text.
        kind: the type of its value.
        known: all keys that such an action may have.

    Raises:
        ActionRefused: the action has no such text, or has unknown keys.
    """
    if extra := sorted(set(action) - known):
        raise invalid(extra[0], "an action has no such key", kind="extra_forbidden", message="Invalid action")
    value = action.get(key)
    if not isinstance(value, kind):
        problem = "it is missing" if key not in action else f"expected a text, found {str(value)[:60]}"
        raise invalid(key, problem, kind="missing" if key not in action else "string_type", message="Invalid action")
    return value
