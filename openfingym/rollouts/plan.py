"""The plan of a run: tasks x agents x models x seeds x attempts, from a TOML file or the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from openfingym.agents import BUILTIN
from openfingym.errors import UsageError
from openfingym.instances import INSTANCE_COUNT
from openfingym.kinds.question_range import QuestionRange
from openfingym.kinds.questions.asking import Clock
from openfingym.machine import BackendName
from openfingym.models.cutoffs import require_cutoff
from openfingym.models.endpoint import PATIENCE_S
from openfingym.models.meter import Allowance
from openfingym.models.spec import KEY_VARIABLE, ModelSpec
from openfingym.results import SplitName
from openfingym.task.contracts import PositiveInt, Section, as_tuple
from openfingym.task.model import TASK_NAME
from openfingym.task.toml import checked, read_toml

MOST_SEEDS = 100_000
"""The most seeds that a number of them may mean, so that a slip does not fill the memory with rollouts."""


class AgentChoice(Section):
    """One of ``agents``: a built-in agent by its name alone, or ``[[agents]]``, a program of the user's own under a
    name of its own.
    """

    name: str
    program: str | None = None
    """Path of the file, relative to the plan."""
    command: tuple[str, ...] | None = None
    """Program and arguments of an external agent."""
    files: str | None = None
    """Folder whose files are copied into the container, in which the command is then run; relative to the plan."""

    mount: str | None = None
    """Folder of a coding command line, which runs in the container and asks the plan's models; relative to the plan."""

    _lists = field_validator("command", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _own_name(self) -> Self:
        own = self.program is not None or self.command is not None
        if own and self.name in BUILTIN:
            raise ValueError(f"{self.name!r} is a built-in agent; give yours another name")
        if self.files is not None and self.command is None:
            raise ValueError(f"{self.name!r} has files, which go with a command")
        if self.mount is not None and (self.command is None or self.files is not None):
            raise ValueError(f"{self.name!r} has a mount, which goes with a command and without files")
        if self.program is not None and self.command is not None:
            raise ValueError(f"{self.name!r} has both a program and a command; give one of them")
        if own and not re.match(TASK_NAME, self.name):
            raise ValueError(f"{self.name!r}: a name is lower-case kebab-case, such as my-agent")
        return self


class ModelChoice(Section):
    """One of ``models``: its name alone, or ``{ name, base_url, key, stream, tokens, cutoff }``, a model with an
    endpoint or a key of its own.
    """

    name: str
    base_url: str | None = None
    """Endpoint of the model; None for the plan's, or else the environment's."""
    key: str = KEY_VARIABLE
    """Name of the environment variable that holds the model's key."""
    stream: bool | None = None
    """Whether the model's answers are sent piece by piece; None for what the plan says."""
    tokens: bool | None = None
    """Whether token ids and log probabilities of the model's answers are kept; None for what the plan says."""
    cutoff: str | None = None
    """The last month (``2023-10``) or day that the model was trained on, which reports set beside what it was asked
    about."""

    @field_validator("cutoff")
    @classmethod
    def _a_cutoff(cls, value: str | None) -> str | None:
        try:
            return value if value is None else require_cutoff(value)
        except UsageError as error:
            raise ValueError(str(error)) from None

    @field_validator("key")
    @classmethod
    def _no_key(cls, value: str) -> str:
        # Refuses a key that somebody has put here: plans are shared and committed.
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", value):
            raise ValueError(
                "names an environment variable, such as OPENROUTER_API_KEY, which holds the key; a plan holds none "
                "itself"
            )
        return value


class SpendingLimits(Section):
    """``[limits]``: what one rollout may spend on its model; the names are those of
    :class:`~openfingym.models.meter.Allowance`.
    """

    turns: PositiveInt | None = None
    tokens: PositiveInt | None = None
    cost_usd: Annotated[float, Field(gt=0.0)] | None = None
    wall_s: Annotated[float, Field(gt=0.0)] | None = None
    useless: PositiveInt | None = None


class BudgetChoice(Section):
    """``[budget]``: what all rollouts of the run together may spend on models; once it is reached, no rollout of an
    agent with a model begins.
    """

    cost_usd: Annotated[float, Field(gt=0.0)] | None = None
    tokens: PositiveInt | None = None


class SamplingChoice(Section):
    """``[sampling]``: how models are asked; what is not stated has the default of
    :class:`openfingym.agents.llm.Sampling`.
    """

    temperature: Annotated[float, Field(ge=0.0)] | None = None
    reply_tokens: PositiveInt | None = None
    text_tools: bool | None = None
    append_only: bool | None = None


class Plan(Section):
    """A plan; see docs/rollouts.md for the file."""

    tasks: tuple[str, ...]
    """Names, globs over names (``*-forecast``), ``family/glob`` (``forecasting/*``), or folders of tasks."""
    agents: tuple[AgentChoice, ...]
    """Agents that run on every task that they fit."""
    models: tuple[ModelChoice, ...] = ()
    """Models that each agent with a model runs with."""
    seeds: tuple[int, ...] = (0,)
    """The seeds; the file may state their number instead, and they count from 0."""
    attempts: PositiveInt = 1
    """Number of repetitions with the same seed."""
    limits: SpendingLimits = SpendingLimits()
    budget: BudgetChoice = BudgetChoice()
    sampling: SamplingChoice = SamplingChoice()
    base_url: str | None = None
    """Endpoint of the models; None for the environment's."""
    stream: bool = False
    """Whether answers of models are sent piece by piece."""
    tokens: bool = False
    """Whether token ids and log probabilities of answers are kept, where the endpoint tells them."""
    prices: str | None = None
    """File with prices of models, relative to the plan; None for the built-in table."""
    real: bool = False
    """Whether pulled real data is used where a task's own is simulated."""
    fresh: bool = False
    """Whether every rollout has hidden data of its own, where its task can have any; each result says which it had."""
    clock: Clock | None = None
    """Clock by which tasks about what has not happened yet ask their questions, simulated or real; rollouts of one task
    that begin together on the real clock are asked the same. None asks the packages' own questions."""
    split: SplitName = "test"
    """``test`` for the tasks as they are; ``train`` or ``validation`` for their instances, which are cut from their
    training data, and whose results are no scores."""
    instances: tuple[int, ...] = ()
    """Which instances of another split than ``test``; the file may state their number instead, counted from 0, or
    ``"first:end"``, which means the same as a slice in Python."""
    questions: str | None = None
    """Which of its questions each task is asked, such as ``"1-10"``, counted from 1 with both ends; for tasks that ask
    questions one by one. Such scores are compared only with scores on the same questions. None asks all."""
    backend: BackendName = "auto"
    """How programs are isolated: ``docker``, ``sandbox`` or ``inline``; ``auto`` for the strongest that works."""
    concurrency: PositiveInt | None = None
    """The most rollouts that run at once on each machine; None for as many as it has cores."""
    patience_s: Annotated[float, Field(gt=0.0)] = PATIENCE_S
    """Seconds to wait for a model's endpoint, the Docker engine or a verifier that does not answer."""
    scoring: PositiveInt | None = None
    """The most rollouts that run at once, on all machines together, of tasks that are heavy to score; None for as many
    as the machine that starts the run has cores."""

    _lists = field_validator("tasks", mode="before")(as_tuple)

    @field_validator("agents", "models", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        return (
            tuple({"name": item} if isinstance(item, str) else item for item in value)
            if isinstance(value, list | tuple)
            else value
        )

    @field_validator("seeds", mode="before")
    @classmethod
    def _count(cls, value: object) -> object:
        # A bool is an int to Python: `seeds = true` is refused below instead of meaning one seed.
        if isinstance(value, int) and not isinstance(value, bool):
            if value > MOST_SEEDS:
                raise ValueError(f"at most {MOST_SEEDS} seeds, found {value}")
            return tuple(range(value))
        return as_tuple(value)

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(seed < 0 for seed in value):
            raise ValueError(f"a seed is 0 or more, found {min(value)}")
        return value

    @field_validator("instances", mode="before")
    @classmethod
    def _range(cls, value: object) -> object:
        return instances_of(value) if isinstance(value, int | str) else as_tuple(value)

    @field_validator("instances")
    @classmethod
    def _instances(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if wrong := [index for index in value if not 0 <= index < INSTANCE_COUNT]:
            raise ValueError(f"instances are numbered from 0 to {INSTANCE_COUNT - 1}, found {wrong[0]}")
        return tuple(dict.fromkeys(value))

    @field_validator("questions")
    @classmethod
    def _range_of_questions(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            return str(QuestionRange.parse(value))
        except UsageError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _one_split(self) -> Self:
        if self.split == "test" and self.instances:
            raise ValueError("instances are of the split 'train' or 'validation'; state it, or leave the instances out")
        if self.split != "test" and not self.instances:
            raise ValueError(f"the split {self.split!r} has many instances; state which, such as instances = '0:32'")
        if self.split != "test" and (self.fresh or self.clock is not None):
            raise ValueError("instances have hidden data of their own; leave out fresh and clock")
        if self.questions is not None and (self.split != "test" or self.fresh or self.clock is not None):
            raise ValueError("a range is of a task's own questions; leave out split, fresh and clock, or the questions")
        return self

    @field_validator("tasks", "agents", "seeds")
    @classmethod
    def _some(cls, value: tuple[object, ...]) -> tuple[object, ...]:
        if not value:
            raise ValueError("needs at least one")
        # Each once, in the order given: a repetition would be the same rollouts.
        return tuple(dict.fromkeys(value))

    @classmethod
    def read(cls, path: Path, changes: Mapping[str, object] | None = None) -> Self:
        """Read a plan's file.

        Args:
            path: path of the plan's TOML file.
            changes: values by key that take the place of the file's; a table such as ``limits`` is changed key by key.

        Raises:
            UsageError: the file cannot be read, or a value in it is not allowed; the message names the key.
        """
        data = read_toml(path, "the plan")
        # Only paths in the file are relative to it; those in the changes are the caller's.
        return cls.make(_changed(_relative_to(path.parent, data), changes or {}), str(path))

    @classmethod
    def make(cls, data: Mapping[str, object], source: str = "the plan") -> Self:
        """Make a plan of plain values.

        Args:
            data: values by key, as in a plan's file.
            source: what messages call the origin of the values.

        Raises:
            UsageError: a value is not allowed or missing; the message has a clause for each, which names its key.
        """
        return checked(cls, data, source)

    @property
    def model_specs(self) -> list[ModelSpec]:
        """The models with their endpoints.

        Raises:
            UsageError: an entry of ``models`` names no model.
        """
        return [
            ModelSpec.parse(
                model.name,
                base_url=model.base_url or self.base_url,
                key_variable=model.key,
                stream=self.stream if model.stream is None else model.stream,
                tokens=self.tokens if model.tokens is None else model.tokens,
                cutoff=model.cutoff,
            )
            for model in self.models
        ]

    @property
    def allowance(self) -> Allowance:
        """The limits, as an :class:`~openfingym.models.meter.Allowance`."""
        return Allowance(**self.limits.model_dump())


def instances_of(stated: int | str) -> tuple[int, ...]:
    """The numbers of the instances that a plan or an option states.

    Args:
        stated: how many instances, counted from 0; or ``first:end``, which means the same as a slice in Python.

    Raises:
        ValueError: the text is neither, or there are no such instances.
    """
    text = f"0:{stated}" if isinstance(stated, int) or stated.strip().isdecimal() else stated
    first, colon, end = text.partition(":")
    numbers = [part.strip() or default for part, default in ((first, "0"), (end, str(INSTANCE_COUNT)))]
    if isinstance(stated, bool) or not colon or not all(part.isdecimal() for part in numbers):
        raise ValueError(f"expected a number of instances or first:end, such as 0:32; found {stated!r}")
    low, high = map(int, numbers)
    if not low < high <= INSTANCE_COUNT:
        raise ValueError(f"expected instances from 0 on, of {INSTANCE_COUNT} in all; {stated!r} has none, or more")
    return tuple(range(low, high))


def _changed(data: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """The content of a plan's file, with the caller's changes in it."""
    merged = {**data, **changes}
    for key, change in changes.items():
        in_file = data.get(key)
        if isinstance(in_file, Mapping) and isinstance(change, Mapping):
            merged[key] = {**in_file, **change}
    # The caller chooses models by name: one that the file describes keeps its endpoint, key and cut-off.
    names, in_file = merged.get("models"), data.get("models")
    if "models" in changes and isinstance(in_file, list) and isinstance(names, Sequence):
        described = {model.get("name"): model for model in in_file if isinstance(model, Mapping)}
        merged["models"] = [described.get(name, name) for name in names]
    return merged


def _relative_to(folder: Path, data: dict[str, object]) -> dict[str, object]:
    """Make the paths in a plan absolute: they are relative to the plan's folder, wherever it is read from."""

    def placed(table: dict[str, object], *keys: str) -> dict[str, object]:
        return table | {key: str(folder / path) for key in keys if isinstance(path := table.get(key), str)}

    agents = data.get("agents")
    if isinstance(agents, list):
        data = data | {
            "agents": [
                placed(agent, "program", "files", "mount") if isinstance(agent, dict) else agent for agent in agents
            ]
        }
    return placed(data, "prices")
