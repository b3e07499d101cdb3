"""Training with TRL on tasks of this library, and with Unsloth, which drives the same trainers.

    from openfingym.training.trl import TrlSpec

    spec = TrlSpec(["treasury-forecast"])
    trainer = GRPOTrainer(
        model="Qwen/Qwen3-4B",
        args=GRPOConfig(max_tool_calling_iterations=20),
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=spec.reward_funcs,
    )

TRL itself is not imported here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.training.desk import Desk
from openfingym.training.rewards import TrainingReward
from openfingym.training.trl_environments import (
    UNPREPARED,
    BatchEnvironment,
    SequentialEnvironment,
    TrlEnvironment,
    WorkspaceEnvironment,
    rewarded,
    tell_failures,
)

if TYPE_CHECKING:
    from datasets import Dataset

    from openfingym.agents import Agent
    from openfingym.models.meter import Allowance
    from openfingym.results import SplitName
    from openfingym.task.contracts import Contract
    from openfingym.verifiers import VerifierAddress

__all__ = ["TrlSpec"]

_log = logging.getLogger(__name__)
PLACES = 64
"""Most sandboxes that are open at once, where nobody states a number; a trainer plays a whole batch abreast."""
ROWS = 1000
"""Rows to train on, where nobody states a number."""
EVAL_ROWS = 64
"""Rows to evaluate on, where nobody states a number."""
Factory = Callable[[], "TrlEnvironment"]
"""Makes an environment."""
RewardFunction = Callable[..., "list[float | None]"]
"""Takes the columns of a batch; returns the reward of each rollout, None for a failure of ours."""


@dataclass(frozen=True)
class TrlSpec:
    """Everything that a trainer of TRL's asks for, made of some tasks; a specification that can be pickled.

    An agent with tools (``react``) is played through an environment, whose methods are its tools. One that answers with
    a program (``oneshot``) has none: a completion is the program, and the reward function runs a batch of them at once.
    """

    tasks: Sequence[str | Path]
    """Names of tasks, or their folders."""
    agent: str | Agent = "react"
    """The agent whose prompts, tools and limits a rollout has: ``react`` or ``oneshot``, or one of your own of either
    form."""
    reward: TrainingReward = "bounded"
    """Name of the reward, one of those in :mod:`openfingym.training.rewards`."""
    rows: int = ROWS
    """Rows of the data set to train on, each an instance of a task."""
    eval_rows: int = EVAL_ROWS
    """Rows of the data set to evaluate on, of instances of the split ``validation``."""
    split: SplitName = "train"
    """Split that is trained on: ``train`` for instances, or ``test`` for the tasks as they are."""
    places: int = PLACES
    """Most sandboxes that are open at once. ``GRPOTrainer`` plays the rollouts of a batch abreast, so that it needs a
    place for each that calls tools; a rollout that gets none has no reward."""
    backend: str = "auto"
    """How programs are isolated: ``auto``, ``docker``, ``sandbox`` or ``inline``."""
    verifier: str | VerifierAddress | None = None
    """Address of a running verifier; None for ``$OPENFINGYM_VERIFIER``, or else one that is started here."""
    allowance: Allowance | None = None
    """What a rollout may spend; None for what it may in an evaluation."""
    deadline_s: float | None = 600.0
    """Seconds after which a rollout, or a batch of programs, is cut off; None for no such limit."""
    out: str | Path | None = None
    """Folder below which every rollout is kept; None keeps nothing."""

    def __post_init__(self) -> None:
        # The desk checks what both have, and says what is wrong, before a trainer is made.
        object.__setattr__(self, "tasks", self._desk("validation").tasks)
        for name in ("rows", "eval_rows"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; expected at least 1")
        played = ", ".join(name for name, form in self._form_of.items() if form == "sequential")
        if self.one_shot and played:
            raise UsageError(f"{played}: played step by step, which agent {self.agent!r} cannot; choose 'react'")

    # What was looked up and started belongs to this process, and stays behind where a specification is pickled.
    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @property
    def one_shot(self) -> bool:
        """Whether a completion is a program, and there are no tools.

        Raises:
            UsageError: the agent is of neither form that TRL has.
        """
        from openfingym.agents import resolve
        from openfingym.agents.llm.oneshot import OneShot
        from openfingym.agents.llm.react import React

        agent = resolve(self.agent)
        if not isinstance(agent.acts, OneShot | React):
            raise UsageError(
                f"agent is {agent.name!r}; expected 'react', whose tools TRL calls, or 'oneshot', which answers once: "
                "TRL has no conversations without tools"
            )
        return isinstance(agent.acts, OneShot)

    @cached_property
    def desk(self) -> Desk:
        """Where rollouts to train on are opened."""
        return self._desk(self.split)

    @cached_property
    def train_dataset(self) -> Dataset:
        """Rows with the columns ``prompt``, ``task``, ``split``, ``index`` and ``seed``, and ``environment`` where the
        tasks are of several forms.

        The prompt is made when a row is read, which builds the row's instance. With tools, its last message is empty,
        and is filled by the environment.
        """
        return self._dataset(self.desk, self.rows)

    @cached_property
    def eval_dataset(self) -> Dataset:
        """Rows with the same columns as :attr:`train_dataset`, of instances of the split ``validation``."""
        return self._dataset(self._desk("validation"), self.eval_rows)

    @property
    def environment_factory(self) -> Factory | dict[str, Factory] | None:
        """Makes an environment, or by the form of a task, those of each form; None where there are no tools."""
        if self.one_shot:
            return None
        factories = {form: partial(_FORMS[form], self.desk) for form in self._forms}
        return next(iter(factories.values())) if len(factories) == 1 else dict(factories)

    @property
    def reward_funcs(self) -> RewardFunction:
        """Gives the rewards of a batch, all at once; None for each failure of ours, which is left out of its group."""
        return partial(program_rewards, desk=self.desk) if self.one_shot else environment_rewards

    def _desk(self, split: SplitName) -> Desk:
        """A desk for a split, with every setting that it shares with this specification."""
        shared = {item.name for item in fields(Desk)} & {item.name for item in fields(self)}
        return Desk(**{**{name: getattr(self, name) for name in shared}, "split": split})

    @cached_property
    def _form_of(self) -> Mapping[str, str]:
        """The form of each task by its name, one of :data:`_FORMS`."""
        from openfingym import catalog

        return {task.name: _form(task.spec.contract) for task in map(catalog.load_task, self.tasks)}

    @property
    def _forms(self) -> list[str]:
        """Forms of the tasks."""
        return sorted(set(self._form_of.values()))

    def _dataset(self, desk: Desk, n: int) -> Dataset:
        from datasets import Dataset

        rows = list(desk.rows(n))
        if len(self._forms) > 1:
            rows = [{**row, "environment": self._form_of[row["task"]]} for row in rows]
        return Dataset.from_list(rows).with_transform(partial(with_prompts, desk=desk, whole=self.one_shot))


def with_prompts(batch: Mapping[str, list[Any]], *, desk: Desk, whole: bool) -> dict[str, list[Any]]:
    """Rows of a data set, with the messages that a rollout begins with as ``prompt``.

    Args:
        batch: columns of some rows.
        desk: the desk at which the rows' rollouts are opened.
        whole: whether the last message has its text; else it is empty, and an environment gives the text.
    """
    prompts = []
    for task, index in zip(batch["task"], batch["index"], strict=True):
        try:
            messages = [dict(message) for message in desk.brief(task, index).messages]
        except UsageError:
            raise
        except OpenFinGymError as error:
            _log.warning("%s %s[%d] cannot be shown: %s", task, desk.split, index, error)
            messages = [{"role": "user", "content": UNPREPARED}]
        if not whole:
            messages[-1]["content"] = ""
        prompts.append(messages)
    return {**batch, "prompt": prompts}


def environment_rewards(
    environments: Sequence[TrlEnvironment] | None = None,
    environment_reward: Sequence[float | None] | None = None,
    completions: Sequence[object] = (),
    **_: object,
) -> list[float | None]:
    """The rewards of rollouts that were played through environments; the rollouts end.

    Args:
        environments: the environments of a batch; None where the trainer passes none.
        environment_reward: rewards that the trainer has asked the environments for; None where it has not.
        completions: completions of the batch, by whose number an answer is given where there is nothing else.
    """
    if environment_reward is not None:
        return list(environment_reward)
    # The asynchronous trainer asks each environment itself and passes none here: None adds nothing to what it was told.
    return rewarded(environments) if environments is not None else [None] * len(completions)


def program_rewards(
    prompts: Sequence[object],
    completions: Sequence[object],
    task: Sequence[str],
    split: Sequence[SplitName],
    index: Sequence[int],
    seed: Sequence[int],
    *,
    desk: Desk,
    **_: object,
) -> list[float | None]:
    """Run the programs of a batch at once, and return their rewards; None for a failure of ours.

    Args:
        prompts: prompts of the rows, one for each completion, as are the columns that follow.
        completions: texts or conversations with a program in their last message.
        task: names of the rows' tasks.
        split: splits of the rows.
        index: numbers of the rows' instances.
        seed: seeds of the rows.
        desk: the desk at which the rollouts are opened.
    """
    rewards: list[float | None] = [None] * len(completions)
    failures: list[str | None] = [None] * len(completions)
    # What could not be shown was not answered: it has no reward.
    shown = [place for place, prompt in enumerate(prompts) if text_of(prompt) != UNPREPARED]
    for name in sorted({split[place] for place in shown}):
        places = [place for place in shown if split[place] == name]
        wanted = [(task[place], index[place], seed[place]) for place in places]
        answers = [text_of(completions[place]) for place in places]
        of_split = desk if name == desk.split else replace(desk, split=name)
        try:
            played = of_split.group_sync(wanted, answers, deadline_s=desk.deadline_s)
        except UsageError:
            raise
        except OpenFinGymError as error:
            failures = [str(error) if place in places else known for place, known in enumerate(failures)]
            continue
        for place, rollout in zip(places, played, strict=True):
            rewards[place], failures[place] = rollout.reward, rollout.failure
    tell_failures(failures)
    return rewards


def text_of(value: object) -> str:
    """The text of a completion or a prompt; of a conversation, that of its last message."""
    if isinstance(value, list | tuple):
        last = value[-1] if value else ""
        value = last.get("content") or "" if isinstance(last, Mapping) else last
    if isinstance(value, list | tuple):  # a content of several parts
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, Mapping))
    return str(value)


def _form(contract: Contract) -> str:
    """The form of a task: by what its agent has beside programs."""
    from openfingym.kinds import is_sequential, walks

    return "sequential" if is_sequential(contract) else "walk" if walks(contract) else "batch"


_FORMS: Mapping[str, type[TrlEnvironment]] = {
    "batch": BatchEnvironment,
    "sequential": SequentialEnvironment,
    "walk": WorkspaceEnvironment,
}
