"""OpenFinGym in the Tinker cookbook: a message environment, its group builder and a data set.

    from tinker_cookbook.rl import train
    from tinker_env import FinDatasetBuilder

    train.Config(dataset_builder=FinDatasetBuilder(tasks=["nifty50-forecast"], model_name=..., renderer_name=...),
                 rollout_error_tolerance=MinViableGroup(min_successful=4), ...)

A failure of ours, of the sandbox for one, has no reward and raises ``NoRewardError``. The cookbook's default ends the
run on an exception: choose ``RetryOnFailure`` or ``MinViableGroup``, which play the episode again or do without it.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import chz
from tinker_cookbook.renderers import Renderer, get_renderer
from tinker_cookbook.renderers.base import Message
from tinker_cookbook.rl.message_env import EnvFromMessageEnv, MessageEnv, MessageStepResult
from tinker_cookbook.rl.types import Env, EnvGroupBuilder, RLDataset, RLDatasetBuilder
from tinker_cookbook.tokenizer_utils import get_tokenizer

from openfingym.training import Desk

FLOOR = -1.0
"""The reward of a failure of the agent's, which an answer that cannot be parsed is."""


class NoRewardError(RuntimeError):
    """An episode has no reward, for a reason that is not the agent's."""


class FinEnv(MessageEnv):
    """One episode. Tools are offered where the desk's agent has some and the renderer can tell of them."""

    def __init__(self, desk: Desk, renderer: Renderer, task: str, index: int, seed: int = 0) -> None:
        """Open nothing yet."""
        self.desk, self.renderer, self.row = desk, renderer, (task, index, seed)
        self.messages: list[Message] = []
        self.episode: Any = None

    async def initial_observation(self) -> list[Message]:
        """The agent's own system message, its tools, and the task."""
        task, index, seed = self.row
        self.episode = await self.desk.open(task, index, seed=seed)
        if self.episode.over:
            await self.verified()  # says why
        first, *others = map(to_tinker, self.episode.messages)
        head = [first]
        if self.episode.tools:
            tools = [tool["function"] for tool in self.episode.tools]
            head = self.renderer.create_conversation_prefix_with_tools(tools, str(first["content"]))
        self.messages = [*head, *others]
        return list(self.messages)

    async def step(self, message: Message) -> MessageStepResult:
        """Give the agent's loop the model's message, with its calls."""
        told = await self.episode.answer(from_tinker(message))
        self.messages += [message, *map(to_tinker, told)]
        if not self.episode.over:
            return MessageStepResult(reward=0.0, episode_done=False, next_messages=list(self.messages))
        reward, result = await self.verified(), self.episode.result
        metrics = {"scored": float(result is not None and result.state == "scored")}
        return MessageStepResult(reward=reward, episode_done=True, next_messages=list(self.messages), metrics=metrics)

    async def verified(self) -> float:
        """End the episode; its verified reward.

        Raises:
            NoRewardError: it has none, for a reason of ours.
        """
        await self.episode.finish()
        if self.episode.reward is None:
            raise NoRewardError(self.episode.failure)
        return self.episode.reward

    async def close(self) -> None:
        """Give the place back, wherever the episode is."""
        if self.episode is not None:
            self.episode.cut()
            await self.episode.finish()


def to_tinker(message: dict[str, Any]) -> Message:
    """A message of the chat form as the renderers want it."""
    found = Message(role=message["role"], content=message["content"] or "")
    if "tool_call_id" in message:
        found["tool_call_id"] = message["tool_call_id"]
    return found


def from_tinker(message: Message) -> dict[str, Any]:
    """What a renderer has parsed, in the chat form; a call that it could not parse stays text, which is told."""
    content = message["content"]
    if not isinstance(content, str):
        content = "".join(part["text"] for part in content if part["type"] == "text")
    content = "\n".join([content, *(call.raw_text for call in message.get("unparsed_tool_calls", []))])
    calls = [
        {"id": call.id, "type": "function", "function": call.function.model_dump()}
        for call in message.get("tool_calls", [])
    ]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


@dataclass
class FinGroup(EnvGroupBuilder):
    """Episodes of one instance, whose rewards are compared; it can be pickled, and opens nothing before it is used."""

    desk: Desk
    task: str
    index: int
    group_size: int
    model_name: str
    renderer_name: str
    max_trajectory_tokens: int | None = None
    opened: list[FinEnv] = field(default_factory=list, repr=False)

    async def make_envs(self) -> Sequence[Env]:
        """As many environments as the group has members."""
        renderer = get_renderer(self.renderer_name, get_tokenizer(self.model_name))
        return [self.env(renderer) for _ in range(self.group_size)]

    def env(self, renderer: Renderer) -> Env:
        """One environment, at the level of tokens."""
        self.opened.append(FinEnv(self.desk, renderer, self.task, self.index))
        return EnvFromMessageEnv(
            renderer,
            self.opened[-1],
            failed_parse_reward=FLOOR,
            context_overflow_reward=FLOOR,
            max_trajectory_tokens=self.max_trajectory_tokens,
        )

    async def cleanup(self) -> None:
        """Give back the places of episodes that did not come to an end."""
        while self.opened:
            await self.opened.pop().close()

    def logging_tags(self) -> list[str]:
        """Metrics are told for each task, and for all."""
        return ["openfingym", self.task]


class FinDataset(RLDataset):
    """Instances of a desk's tasks in turns, in an order that a seed shuffles."""

    def __init__(self, desk: Desk, batches: int, batch_size: int, seed: int = 0, **group: Any) -> None:
        """``group`` are the other fields of :class:`FinGroup`."""
        self.desk, self.batch_size, self.group = desk, batch_size, group
        self.rows = list(desk.rows(batches * batch_size))
        random.Random(seed).shuffle(self.rows)

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        """The groups of one step."""
        rows = self.rows[index * self.batch_size : (index + 1) * self.batch_size]
        return [FinGroup(self.desk, row["task"], row["index"], **self.group) for row in rows]

    def __len__(self) -> int:
        return len(self.rows) // self.batch_size


@chz.chz
class FinDatasetBuilder(RLDatasetBuilder):
    """Training on the split ``train``, evaluation on ``validation``."""

    tasks: list[str]
    model_name: str
    renderer_name: str
    agent: str = "react"
    batches: int = 100
    batch_size: int = 16
    group_size: int = 8
    places: int = 32

    async def __call__(self) -> tuple[RLDataset, RLDataset]:
        """Both data sets; nothing is started."""
        desks = [
            Desk(self.tasks, split=split, agent=self.agent, places=self.places) for split in ("train", "validation")
        ]
        group = {"model_name": self.model_name, "renderer_name": self.renderer_name}
        train = FinDataset(desks[0], self.batches, self.batch_size, group_size=self.group_size, **group)
        return train, FinDataset(desks[1], 1, self.batch_size, group_size=1, **group)
