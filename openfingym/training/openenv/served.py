"""What a server offers: tasks, their splits, their schemas, and how they are played."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from openfingym.errors import TaskNotFoundError, UsageError
from openfingym.training.openenv.wire import ActionRefused, Json, invalid

if TYPE_CHECKING:
    from openfingym.task import Task
    from openfingym.training.openenv.stepped import SteppedPlay
    from openfingym.training.openenv.tools import ToolPlay

SplitName = Literal["train", "validation", "test", "practice"]
TYPES: Mapping[str, str] = {"train": "train", "validation": "validation", "test": "test", "practice": "validation"}
"""The type that OpenEnv knows each split as."""
HIDDEN = frozenset({"practice", "test"})
"""Splits of a stepped task that are played behind a verifier."""
LONGEST_ID = 255
"""Most characters of an episode's identifier that a client chooses."""
LARGEST_SEED = 2**31 - 1
"""Largest seed that a client may choose: what 32 bits hold."""


@dataclass(frozen=True)
class Choice:
    """What a client asks to play."""

    task: str
    """Name of the task."""
    split: SplitName
    index: int
    """Number of the instance, or of an episode's start."""
    seed: int
    """Seed of the environment, or that programs are given."""
    episode_id: str | None
    """Identifier of the episode that the client has chosen; None to have one made."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Options of the environment's reset."""


class Served:
    """Tasks that are played by stepping an environment in this process, or as verified rollouts with tools."""

    def __init__(
        self,
        tasks: Sequence[str],
        splits: Sequence[SplitName] = ("train",),
        *,
        tools: bool = False,
        places: int = 8,
        agent: str = "react",
        reward: str = "bounded",
        backend: str = "auto",
        verifier: str | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Load nothing yet.

        Args:
            tasks: names of tasks; the first is played where a client names none.
            splits: splits that clients may choose from; the first is played where a client names none.
            tools: whether tasks that are stepped through are played as verified rollouts with tools too.
            places: most rollouts with tools, and so sandboxes, that are open at once.
            agent: name of the agent whose prompts, tools and limits rollouts with tools have.
            reward: name of the reward of rollouts with tools, one of those in :mod:`openfingym.training.rewards`.
            backend: how the programs of rollouts with tools are isolated.
            verifier: address of a running verifier; None for one that is started here.
            options: options of the environments that are stepped, as ``openfingym.make`` takes them.

        Raises:
            TaskNotFoundError: there is no task with one of the names.
        """
        from openfingym import catalog

        known = catalog.task_folders()
        for name in tasks:
            if name not in known:
                # Raises where there is no such task at all; if it does not, the name is the path of a folder.
                catalog.load_task(name)
                raise TaskNotFoundError(f"{name!r} is served by its name only; put its folder into $OPENFINGYM_TASKS")
        self.verifier = verifier
        self.names, self.splits = tuple(dict.fromkeys(tasks)), tuple(dict.fromkeys(splits))
        self._settings: dict[str, Any] = {
            "reward": reward,
            "places": places,
            "agent": agent,
            "backend": backend,
            "verifier": verifier,
        }
        self._tools, self._agent, self._options = tools, agent, dict(options or {})
        self._lock = threading.Lock()
        self._loaded: dict[str, Task] = {}
        self._stepped: dict[str, bool] = {}
        """Whether each task is stepped through in this process."""
        self._schemas: dict[str, Json] = {}
        """JSON schemas of each task that is stepped through."""
        self._desks: dict[str, Any] = {}
        """The desk of each split, made when it is first needed."""
        self._next = {split: itertools.count() for split in self.splits}
        """Numbers of the next episodes of each split, for clients that name none."""
        self._closed = False

    def prepare(self) -> None:
        """Load the tasks, and build what their environments need; blocks.

        Raises:
            UsageError: a task cannot be played like this.
            OpenFinGymError: a task is malformed, or cannot be built.
        """
        from openfingym import catalog
        from openfingym.kinds import SequentialKind, kind_of

        with self._lock:
            for name in self.names:
                if name in self._stepped:
                    continue
                task = catalog.load_task(name)
                stepped = isinstance(kind_of(task), SequentialKind) and not self._tools
                if stepped and "validation" in self.splits:
                    raise UsageError(
                        f"{name!r} is stepped through and has no split 'validation'; --tools plays instances"
                    )
                if not stepped and "practice" in self.splits:
                    raise UsageError(f"{name!r} has no split 'practice', as it is not stepped through here")
                self._loaded[name] = task
                if stepped:
                    # Making one environment builds the package and imports what steps it, so that no client waits.
                    self._schemas[name] = _schemas(self._made(name, self.splits[0]))
                self._stepped[name] = stepped

    def choose(self, data: Json, *, before: Choice | None) -> Choice:
        """What the arguments of a reset ask for; arguments that are not known are left aside.

        Args:
            data: arguments of a reset, as a client sends them.
            before: what the same session played before; None for nothing.

        Raises:
            ActionRefused: an argument has a wrong form or is out of range.
        """
        name = data.get("task") or (before.task if before else self.names[0])
        if isinstance(name, Mapping):  # as the task API gives it
            data, name = {**name, **{key: value for key, value in data.items() if key != "task"}}, name.get("task")
        if name not in self.names:
            raise invalid("task", f"found {str(name)[:100]!r}; there are {', '.join(self.names)}")
        split = data.get("split") or (before.split if before else self.splits[0])
        if split not in self.splits:
            raise invalid("split", f"found {str(split)[:100]!r}; there are {', '.join(self.splits)}")
        seed = _whole(data, "seed", LARGEST_SEED)
        index = _whole(data, "index", self.count(split) - 1)
        episode = data.get("episode_id")
        if not (episode is None or (isinstance(episode, str) and len(episode) <= LONGEST_ID)):
            raise invalid("episode_id", f"expected a text of at most {LONGEST_ID} characters", kind="string_type")
        if index is None:
            # Trainers give the rollouts of a group the same seed, and these must be of the same instance.
            number = next(self._next[split]) if seed is None else seed
            index = number % self.count(split)
        options = {"start": data["start"]} if "start" in data and self.is_stepped(name) else {}
        return Choice(name, split, index, index if seed is None else seed, episode, options)

    def is_stepped(self, name: str) -> bool:
        """Whether a task is stepped through in this process; :meth:`prepare` comes first."""
        return self._stepped[name]

    def count(self, split: str) -> int:
        """Number of tasks of a split, in the sense of OpenEnv: instances, or starts of episodes."""
        from openfingym.instances import INSTANCE_COUNT

        return 1 if split in HIDDEN else INSTANCE_COUNT

    def environment(self, choice: Choice) -> SteppedPlay:
        """The environment of a task that is stepped through; blocks."""
        from openfingym.training.openenv.stepped import SteppedPlay

        return SteppedPlay(self._made(choice.task, choice.split), quick=choice.split not in HIDDEN)

    async def rollout(self, choice: Choice) -> ToolPlay:
        """A verified rollout with tools, as soon as there is a place.

        Raises:
            ActionRefused: the rollout cannot be opened.
        """
        import asyncio

        from openfingym.training.openenv.tools import opened

        desk = await asyncio.to_thread(self._desk, choice.split)
        return await opened(lambda: desk.open(choice.task, choice.index, seed=choice.seed))

    def tools(self, name: str) -> list[Json]:
        """The tools of a task's rollouts, as far as they are known before one is begun."""
        from openfingym.kinds import is_sequential, walks

        if self._stepped[name]:
            return []
        from openfingym.agents.llm import tools
        from openfingym.training.openenv.tools import listed

        # Only of this agent are the tools known without running its loop.
        if self._agent != "react":
            return listed([])
        contract = self._loaded[name].spec.contract
        own = (tools.START_EPISODE, tools.STEP) if is_sequential(contract) else (tools.SUBMIT,)
        # Windows are walked through by programs alone.
        offered = (tools.RUN_PYTHON, tools.READ_FILE, tools.WRITE_FILE, *(() if walks(contract) else own))
        return listed({"name": t.name, "description": t.description, "parameters": t.parameters} for t in offered)

    def schema(self, name: str) -> Json:
        """JSON schemas of a task's actions, observations and state; :meth:`prepare` comes first."""
        from openfingym.training.openenv.tools import CALL_SCHEMA

        state = {
            "title": "State",
            "type": "object",
            "properties": {"episode_id": {"type": ["string", "null"]}, "step_count": {"type": "integer", "minimum": 0}},
        }
        if self._stepped[name]:
            return {**self._schemas[name], "state": state}
        told = {"tool_name": {"type": "string"}, "result": {}, "error": {}, "outcome": {"type": "object"}}
        first = {"instruction": {"type": "string"}, "messages": {"type": "array", "items": {"type": "object"}}}
        return {
            "action": CALL_SCHEMA,
            "observation": {"title": "CallToolObservation", "type": "object", "properties": told},
            "reset_observation": {"title": "Instruction", "type": "object", "properties": first},
            "state": state,
        }

    def metadata(self) -> Json:
        """The environment's metadata, in OpenEnv's form; :meth:`prepare` comes first."""
        from openfingym.version import __version__

        lines = [f"{name}: {self._loaded[name].file.task.description}" for name in self.names]
        return {
            "name": self.names[0],
            "description": lines[0],
            "readme_content": "\n\n".join(lines),
            "version": __version__,
            "author": "OpenFinGym",
            "documentation_url": None,
        }

    def tasks(self, name: str, split: str, indices: Sequence[int]) -> list[Json]:
        """Tasks in OpenEnv's sense, each of which is the arguments of a reset."""
        return [{"task": name, "split": split, "index": index} for index in indices]

    def close(self) -> None:
        """End every rollout that is open; blocks."""
        with self._lock:
            self._closed = True
            desks, self._desks = list(self._desks.values()), {}
        for desk in desks:
            desk.close()

    def _made(self, name: str, split: str) -> Any:
        """An environment of a task that is stepped through."""
        from openfingym.envs.making import make

        return make(self._loaded[name], split=split, **self._options)  # type: ignore[arg-type]

    def _desk(self, split: str) -> Any:
        """The desk at which rollouts of a split are opened.

        Raises:
            ActionRefused: the server is being stopped.
        """
        from openfingym.training import Desk

        with self._lock:
            if self._closed:
                raise ActionRefused("EXECUTION_ERROR", "the server is being stopped")
            if split not in self._desks:
                names = [name for name in self.names if not self._stepped[name]]
                self._desks[split] = Desk(tuple(names), split=split, **self._settings)  # type: ignore[arg-type]
            return self._desks[split]


def _schemas(env: Any) -> Json:
    """JSON schemas of an environment's actions and observations; the environment is closed."""
    from openfingym.training.openenv.stepped import key_of, schema_of

    key, schema = key_of(env.action_space), schema_of(env.action_space)
    if key is not None:
        schema = {"type": "object", "properties": {key: schema}, "required": [key]}
    schema["properties"]["metadata"] = {"type": "object", "default": {}}
    shown = {"observation": schema_of(env.observation_space), "info": {"type": "object"}}
    env.close()
    return {
        "action": {"title": "EnvironmentAction", **schema, "additionalProperties": False},
        "observation": {"title": "EnvironmentObservation", "type": "object", "properties": shown},
    }


def _whole(data: Json, key: str, most: int) -> int | None:
    """A whole number among the arguments of a reset; None where it is not given.

    Args:
        data: arguments of a reset, as a client sends them.
        key: name of the argument.
        most: largest number that it may be; the smallest is 0.

    Raises:
        ActionRefused: the argument is something else.
    """
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise invalid(key, f"expected a whole number from 0 to {most}, found {str(value)[:60]}", kind="int_type")
    return value
