"""The specification of one rollout, and its identity, by which two rollouts are the same."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cached_property, lru_cache

from openfingym.agents import Agent
from openfingym.digests import sha256_of_json
from openfingym.errors import UsageError
from openfingym.kinds.questions.asking import Clock
from openfingym.models.meter import Allowance
from openfingym.results import SplitName

NAME_DIGITS = 16
"""Hex digits of an identity that a folder's name carries: 64 bits, which no two rollouts of a run share by chance."""


@dataclass(frozen=True)
class RolloutSpec:
    """One rollout to be run: plain values that can go to another machine."""

    task: str
    """Name of the task."""
    task_digest: str
    """Digest of the build of the task that was planned; a machine that has another build refuses the rollout."""
    agent: Agent
    model: str | None = None
    """Name of the language model that acts; None for a program."""
    allowance: Allowance = field(default_factory=Allowance)
    """Limits on what may be spent on the model."""
    seed: int = 0
    """Seed that the agent's programs are given."""
    attempt: int = 0
    """Counts repetitions of the same rollout, from 0."""
    fresh: bool = False
    """Whether it has hidden data of its own, where its task can have any."""
    clock: Clock | None = None
    """Clock of the questions about what has not happened yet that it is asked; None for its task's own rows."""
    split: SplitName = "test"
    """Whether it is on the task as it is, or on an instance, cut from its training data."""
    instance: int | None = None
    """Which instance of the split, from 0; None on the test split."""
    questions: str | None = None
    """Which of its task's questions it is asked, such as ``1-10``; None for all, and where there are none."""

    @cached_property
    def inputs(self) -> dict[str, object]:
        """Everything that distinguishes this rollout from others, as plain values.

        Where it runs is left out (backend, machine, endpoint of the model): a run goes on elsewhere.
        """
        return {
            "task": self.task,
            "task_digest": self.task_digest,
            "agent": self.agent.name,
            "agent_digest": agent_digest(self.agent),
            "model": self.model,
            "allowance": {
                name: limit for name, limit in asdict(self.allowance).items() if limit is not None or name != "useless"
            },
            "seed": self.seed,
            "attempt": self.attempt,
            # Left out where they have their defaults, as the limit "useless" is: they were added later, and rollouts of
            # earlier versions must keep their identities.
            **({"fresh": True} if self.fresh else {}),
            **({"clock": self.clock} if self.clock is not None else {}),
            **({"split": self.split, "instance": self.instance} if self.split != "test" else {}),
            **({"questions": self.questions} if self.questions is not None else {}),
        }

    @cached_property
    def identity(self) -> str:
        """SHA-256 of :attr:`inputs`, in hex: two rollouts with one identity are the same rollout."""
        return sha256_of_json(self.inputs)

    @property
    def label(self) -> str:
        """The agent and its model in one word: ``ridge`` or ``react-stand-in.competent``."""
        return self.agent.name if self.model is None else f"{self.agent.name}-{_plain(self.model)}"

    @property
    def folder(self) -> str:
        """Path of the rollout's folder, relative to the run's: names for people, then the beginning of the identity for
        programs.
        """
        where = "" if self.instance is None else f"-{self.split}-{self.instance}"
        where += "" if self.questions is None else f"-q{self.questions}"
        return f"{self.task}/{_plain(self.label)}{where}-s{self.seed}-a{self.attempt}-{self.identity[:NAME_DIGITS]}"

    @property
    def title(self) -> str:
        """The rollout in one line, for people."""
        where = "" if self.instance is None else f" {self.split} {self.instance}"
        where += "" if self.questions is None else f" questions {self.questions}"
        text = f"{self.task}{where} {self.label} seed {self.seed}"
        return text + (f" attempt {self.attempt}" if self.attempt else "")


def player_digest(agent: Agent, model: str | None) -> str | None:
    """SHA-256 of who plays: an agent with the name of its model, whatever it may spend and its seed.

    None where a part of the agent cannot be distinguished from another object of its class.
    """
    try:
        digest = agent_digest(agent)
    except UsageError:
        return None
    return digest if model is None else sha256_of_json([digest, model])


def agent_digest(agent: Agent) -> str:
    """SHA-256 of what an agent does: its program, prompt and whatever else it is made of, its name left out.

    For an agent whose loop is a class of the user's own, the source of that class counts too. An external command is
    known by its words alone.

    Raises:
        UsageError: a part of the agent cannot be distinguished from another object of its class.
    """
    try:
        return _digest_once(agent)
    except TypeError:  # a part of it is not hashable, such as a list, so that it is no key of the cache
        return _digest(agent)


def _digest(agent: Agent) -> str:
    parts = {
        item.name: _plain_values(getattr(agent, item.name))
        for item in fields(agent)
        # Fields at their defaults are left out, so that a field which a later version adds changes no digest.
        if item.name not in {"name", "trusted"} and getattr(agent, item.name) != item.default
    }
    return sha256_of_json(parts)


# Thousands of rollouts of a plan share a few agents, whose programs would be hashed once for each.
_digest_once = lru_cache(maxsize=256)(_digest)


def _plain_values(value: object) -> object:
    """Plain values that describe an object, the same in every process.

    Raises:
        UsageError: the object cannot be distinguished from another of its class.
    """
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple | list):
        return [_plain_values(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain_values(item) for key, item in value.items()}
    kind = type(value)
    # The repr of any other object may hold its address in memory, which is another one in every process.
    if not is_dataclass(value):
        raise UsageError(
            f"{kind.__name__} must be a dataclass of plain values, so that a run knows which rollouts it has finished"
        )
    parts = {
        item.name: _plain_values(getattr(value, item.name))
        for item in fields(value)
        # As with an agent's fields: rollouts of earlier versions must keep their identities.
        if not (item.metadata.get("added_later") and getattr(value, item.name) == item.default)
    }
    # A class of the user's own may be edited between two runs without any version that says so.
    own = {} if kind.__module__.startswith("openfingym.") else {"source": _source(kind)}
    return {"class": f"{kind.__module__}.{kind.__qualname__}", **parts, **own}


def _source(kind: type) -> str | None:
    """The source text of a class; None where it was typed at a prompt."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return None


def _plain(text: str) -> str:
    """A text in letters, digits, dots, hyphens and underscores, which is safe in a file's name on every system."""
    return re.sub(r"[^A-Za-z0-9._-]+", ".", text).strip(".-")[:80] or "unnamed"
