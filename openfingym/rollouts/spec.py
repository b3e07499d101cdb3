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
from openfingym.kinds.asking import Clock
from openfingym.models.meter import Allowance
from openfingym.results import SplitName

NAME_DIGITS = 16
"""Hex digits of an identity that a folder's name carries."""


@dataclass(frozen=True)
class RolloutSpec:
    """One rollout to be run: plain values that can go to another machine."""

    task: str
    """Name of the task."""
    task_digest: str
    """Digest of the build that is meant; a machine that has another one refuses."""
    agent: Agent
    model: str | None = None
    """Language model that acts; None for a program."""
    allowance: Allowance = field(default_factory=Allowance)
    """What may be spent on the model."""
    seed: int = 0
    attempt: int = 0
    """Counts repetitions of the same, from 0."""
    fresh: bool = False
    """Whether it has hidden data of its own, where its task can have any."""
    clock: Clock | None = None
    """By whose time it is asked what has not happened yet; None for its task's own rows."""
    split: SplitName = "test"
    """Whether it is on the task as it is, or on an instance, cut from its training data."""
    instance: int | None = None
    """Which instance of the split."""
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
            # Named only where it is asked for, as the limit "useless" is, so that runs of before keep their names.
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
        """Path of the rollout's folder, relative to the run's: readable names, and the identity for programs."""
        where = "" if self.instance is None else f"-{self.split}-{self.instance}"
        where += "" if self.questions is None else f"-q{self.questions}"
        return f"{self.task}/{_plain(self.label)}{where}-s{self.seed}-a{self.attempt}-{self.identity[:NAME_DIGITS]}"

    @property
    def title(self) -> str:
        """One line for people."""
        where = "" if self.instance is None else f" {self.split} {self.instance}"
        where += "" if self.questions is None else f" questions {self.questions}"
        said = f"{self.task}{where} {self.label} seed {self.seed}"
        return said + (f" attempt {self.attempt}" if self.attempt else "")


def agent_digest(agent: Agent) -> str:
    """SHA-256 of what an agent does: its program, prompt and whatever else it is made of, its name left out.

    Of an agent with a loop of the user's own that is the loop's source too. An external command is known by its
    words alone.

    Raises:
        UsageError: it is made of what cannot be told from another of its kind.
    """
    try:
        return _digest_once(agent)
    except TypeError:  # it holds a list or the like, and cannot be remembered
        return _digest(agent)


def _digest(agent: Agent) -> str:
    made_of = {
        item.name: _made_of(getattr(agent, item.name))
        for item in fields(agent)
        # What a newer version may add changes nothing where it is not used.
        if item.name not in {"name", "trusted"} and getattr(agent, item.name) != item.default
    }
    return sha256_of_json(made_of)


_digest_once = lru_cache(maxsize=256)(_digest)


def _made_of(value: object) -> object:
    """Plain values that describe an object, the same in every process.

    Raises:
        UsageError: it cannot be told from another of its class.
    """
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple | list):
        return [_made_of(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _made_of(item) for key, item in value.items()}
    kind = type(value)
    if not is_dataclass(value):
        raise UsageError(
            f"{kind.__name__} must be a dataclass of plain values, so that a run knows which rollouts it has finished"
        )
    parts = {
        item.name: _made_of(getattr(value, item.name))
        for item in fields(value)
        # As of an agent: rollouts of before keep their names.
        if not (item.metadata.get("added_later") and getattr(value, item.name) == item.default)
    }
    own = {} if kind.__module__.startswith("openfingym.") else {"source": _source(kind)}
    return {"class": f"{kind.__module__}.{kind.__qualname__}", **parts, **own}


def _source(kind: type) -> str | None:
    """The source text of a class; None where it was typed at a prompt."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return None


def _plain(text: str) -> str:
    """A text that is safe in a file's name on every system."""
    return re.sub(r"[^A-Za-z0-9._-]+", ".", text).strip(".-")[:80] or "unnamed"
