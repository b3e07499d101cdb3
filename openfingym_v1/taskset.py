"""The task set for verifiers: instances of tasks, and the verified reward of each episode that is played on one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal

import verifiers.v1 as vf
from pydantic import Field, PrivateAttr

from openfingym.training import INSTANCE_COUNT, Desk, training_tasks

ALL = "training"
"""Stands in the place of names of tasks for all of the catalogue but those that are held out."""


class EpisodeData(vf.TaskData):
    """The instance of a task that an episode is played on."""

    task: str
    """Name of the task."""
    split: str
    index: int
    """Number of the instance."""


class EpisodeState(vf.State):
    """What came of an episode, which the harness notes and the task scores."""

    reward: float | None = None
    """The verified reward; None where there is none for a reason of ours, or nothing was played."""
    failure: str | None = None
    """Why there is no reward; None where there is one."""
    result: dict[str, float] = Field(default_factory=dict)
    """Figures of the result, for the trace's metrics."""
    # Private, so that it is not written with the trace.
    _desk: Desk | None = PrivateAttr(default=None)

    @property
    def desk(self) -> Desk | None:
        """The desk that opens the episode; None where the task belongs to another task set."""
        return self._desk


class EpisodesConfig(vf.TasksetConfig):
    """Which instances of which tasks, and how they are played; on the command line ``--env.taskset.NAME``."""

    tasks: list[str] = Field(default_factory=lambda: ["nifty50-forecast"])
    """Names of tasks or their folders; ``training`` alone for all that are not held out."""
    split: Literal["train", "validation", "test"] = "train"
    start: int = Field(0, ge=0)
    """Number of the first instance of each task."""
    instances: int = Field(100, ge=1)
    """How many instances each task has; tasks take turns."""
    reward: Literal["bounded", "graded", "relative", "loss", "grpo"] = "bounded"
    """Name of the reward, one of those in :mod:`openfingym.training.rewards`."""
    agent: str = "react"
    """The built-in agent that plays: ``react``, ``codeblock`` or ``oneshot``."""
    backend: str = "auto"
    """How the agent's programs are isolated: ``auto``, ``docker``, ``sandbox`` or ``inline``."""
    verifier: str | None = None
    """Address of a running verifier of OpenFinGym; None for ``$OPENFINGYM_VERIFIER``, or else one that is started
    here."""
    places: int = Field(8, ge=1)
    """Most rollouts, and so sandboxes, that are open at once in one process."""
    deadline_s: float | None = Field(None, gt=0)
    """Seconds after which a rollout is cut off; None for the limits of an evaluation alone."""
    out: str | None = None
    """Folder below which every rollout is kept, as ``openfingym run`` keeps them; None to keep nothing."""

    def desk(self) -> Desk:
        """The desk that opens the episodes; it starts nothing yet.

        Raises:
            UsageError: there is no such task or reward, or the agent asks no model.
        """
        return Desk(
            training_tasks() if self.tasks == [ALL] else self.tasks,
            split=self.split,
            reward=self.reward,
            places=self.places,
            agent=self.agent,
            backend=self.backend,
            verifier=self.verifier,
            deadline_s=self.deadline_s,
            out=self.out,
        )


class EpisodeTask(vf.Task[EpisodeData, EpisodeState]):
    """One instance of a task, which the plug-in's harness plays."""

    desk: Desk | None = None
    """The desk that opens the episode."""

    @property
    def key(self) -> str:
        """The task, the split and the number, which are the same wherever in a data set the instance is."""
        return f"{self.data.task}/{self.data.split}/{self.data.index}"

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:  # noqa: ARG002  # as verifiers calls it
        """Hand the desk to the harness."""
        trace.state._desk = self.desk

    @vf.metric
    async def result(self, trace: vf.Trace) -> dict[str, float]:
        """Figures of the verified result, where there are any."""
        figures: dict[str, float] = trace.state.result
        return figures

    @vf.reward
    async def verified(self, trace: vf.Trace) -> float:
        """The verified reward.

        Raises:
            TaskError: there is no reward, for a reason of ours, so that the trace has none either.
        """
        if trace.state.reward is None:
            why = trace.state.failure or "nothing was played; its harness is openfingym-v1"
            raise vf.TaskError(f"{self.key} has no reward: {why}")
        reward: float = trace.state.reward
        return reward


class EpisodeTaskset(vf.Taskset[EpisodeTask, EpisodesConfig]):
    """Instances of tasks, in turns: instance 0 of each, then instance 1 of each."""

    def load(self) -> Iterator[EpisodeTask]:
        """The tasks of the set; nothing is built or started to make them."""
        desk = self.config.desk()
        names = desk.names
        indices = range(1) if self.config.split == "test" else range(INSTANCE_COUNT)
        last = self.config.start + self.config.instances
        for index, name in itertools.product(indices[self.config.start : last], names):
            about = f"{name}, {self.config.split} instance {index}"
            data = EpisodeData(
                id=f"{name}/{self.config.split}/{index}",
                name=about,
                # The agent puts the task in its own words, as it does in an evaluation.
                prompt=f"OpenFinGym: {about}.",
                task=name,
                split=self.config.split,
                index=index,
            )
            task = EpisodeTask(data, self.config.task)
            task.desk = desk
            yield task
