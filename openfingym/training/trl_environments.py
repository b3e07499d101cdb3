"""Environments for TRL's trainers: an episode of a desk, whose tools are methods.

A trainer makes as many environments as it plays rollouts at once, uses them again and again, and never closes them. So
nothing is opened before a tool is called, and a place is given back when the rollout is rewarded, over, or left by the
next reset.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from openfingym.agents.llm.tools import READ_FILE, RUN_PYTHON, START_EPISODE, STEP, SUBMIT, WRITE_FILE
from openfingym.errors import OpenFinGymError, UsageError
from openfingym.training.rewards import floor_of

if TYPE_CHECKING:
    from openfingym.models.messages import Tool
    from openfingym.results import SplitName
    from openfingym.training.desk import Desk
    from openfingym.training.episode import Episode

_log = logging.getLogger(__name__)
FINISHED_AT_ONCE = 32
"""Most rollouts of a batch that are scored at the same time."""
UNPREPARED = "This task cannot be shown."
"""The prompt of a task that could not be built, for a reason of ours; its rollouts have no reward."""
_Method = TypeVar("_Method", bound=Callable[..., str])


def _tool(tool: Tool) -> Callable[[_Method], _Method]:
    """Give a method the docstring that tells what the tool tells in an evaluation, in the form that TRL reads."""

    def documented(method: _Method) -> _Method:
        arguments = [f"    {name}: {_description(schema)}" for name, schema in tool.properties.items()]
        method.__doc__ = "\n".join(
            [tool.description, "", "Args:", *arguments, "", "Returns:", "    What came of it, or what was wrong."]
        )
        return method

    return documented


def _description(about: object) -> str:
    return str(about.get("description", "See above.")) if isinstance(about, dict) else "See above."


class TrlEnvironment:
    """One rollout at a time, played by a trainer of TRL's; see :class:`openfingym.training.trl.TrlSpec`.

    A failure of ours raises nothing: its rollout has no reward, and the training goes on.

    Attributes:
        reward: the reward of the rollout, once it was asked for; None for a failure of ours.
        failure: why there is no reward; None where there is one.
    """

    def __init__(self, desk: Desk) -> None:
        """Open nothing yet.

        Args:
            desk: where rollouts are opened; a row of another split uses a desk that is like it but for the split.
        """
        self.reward: float | None = None
        self.failure: str | None = None
        self._desk = desk
        self._desks = {desk.split: desk}
        self._row: tuple[str, SplitName, int, int] | None = None
        """Task, split, index and seed of the rollout; None before the first reset."""
        self._episode: Episode | None = None
        self._told = False
        """Whether the reward was told to the trainer."""
        self._over = False
        """Whether the rollout was ended to be rewarded."""
        self._thread: int | None = None
        """The thread that called a tool last."""
        self._lock = threading.Lock()

    def reset(self, **row: Any) -> str:
        """Begin the rollout of a row of the data set; the rollout before it ends.

        Args:
            row: columns of the row, of which ``task``, ``split``, ``index`` and ``seed`` are read.

        Returns:
            The task's instruction, which the trainer adds to the prompt.

        Raises:
            UsageError: the row has no task or no index.
        """
        self._leave()
        try:
            self._row = row["task"], row.get("split", self._desk.split), row["index"], row.get("seed", 0)
        except KeyError as error:
            raise UsageError(f"a row has no column {error}; train on the spec's own train_dataset") from None
        task, _, index, _ = self._row
        try:
            return str(self._desk_of_row().brief(task, index).messages[-1]["content"])
        except UsageError:
            raise
        except OpenFinGymError as error:
            self._fail(str(error))
            return UNPREPARED

    def get_reward(self) -> float | None:
        """The reward of the rollout, which ends; None for a failure of ours, and where a reward function has told the
        reward already.
        """
        # The trainer adds this to the rewards of its functions, and must not count it twice.
        if self._told:
            return None
        return self._finished()

    def _finished(self) -> float | None:
        """End the rollout and return its reward, the same each time."""
        with self._lock:
            self._told = True
            if not self._over:
                self._over = True
                episode = self._episode
                if episode is not None:
                    episode.finish_sync()
                    self.reward, self.failure = episode.reward, episode.failure
                elif self.failure is None:
                    # No tool was ever called, so that nothing was opened, and nothing answered.
                    self.reward = floor_of(self._desk.reward)
                _holders.discard(self)
            return self.reward

    def _call(self, name: str, **arguments: object) -> str:
        """Call a tool of the rollout, which is opened for the first of them."""
        # Released before the call, which may take minutes, so that the rollout can be ended meanwhile.
        with self._lock:
            self._thread = threading.get_ident()
            episode = None if self._over or self.failure is not None else self._opened()
        if episode is None:
            return f"Nothing more can be done: {self.failure or 'the rollout is over'}."
        return episode.call_sync(name, arguments)

    def _opened(self) -> Episode | None:
        """The episode, which is opened at the first call; None where it cannot be opened."""
        if self._episode is not None:
            return self._episode
        if self._row is None:
            raise UsageError("a tool was called before reset")
        task, _, index, seed = self._row
        try:
            _require_place(self)
            _holders.add(self)
            self._episode = self._desk_of_row().open_sync(task, index, seed=seed)
        except OpenFinGymError as error:
            self._fail(str(error))
        except BaseException:
            _holders.discard(self)
            raise
        return self._episode

    def _fail(self, why: str) -> None:
        """Note that the rollout has no reward."""
        _holders.discard(self)
        self.failure = why
        _log.warning("a rollout has no reward: %s", why)

    def _leave(self) -> None:
        """Let go of the rollout, and end it where it was not rewarded."""
        episode, self._episode = self._episode, None
        _holders.discard(self)
        if episode is not None and not self._over:
            episode.cut("its environment was reset")
        self.reward = self.failure = None
        self._told = self._over = False

    def _desk_of_row(self) -> Desk:
        """The desk of the row's split."""
        assert self._row is not None, "a row was given"
        split = self._row[1]
        if split not in self._desks:
            self._desks[split] = replace(self._desk, split=split)
        return self._desks[split]


class WorkspaceEnvironment(TrlEnvironment):
    """A task with a workspace, which has the tools that every task has; where hidden windows are walked through, all it
    has, since programs do that.
    """

    @_tool(RUN_PYTHON)
    def run_python(self, code: str) -> str:  # noqa: D102
        return self._call("run_python", code=code)

    @_tool(READ_FILE)
    def read_file(self, path: str) -> str:  # noqa: D102
        return self._call("read_file", path=path)

    @_tool(WRITE_FILE)
    def write_file(self, path: str, content: str) -> str:  # noqa: D102
        return self._call("write_file", path=path, content=content)


class BatchEnvironment(WorkspaceEnvironment):
    """A task that is answered by one array."""

    @_tool(SUBMIT)
    def submit(self, path: str) -> str:  # noqa: D102
        return self._call("submit", path=path)


class SequentialEnvironment(WorkspaceEnvironment):
    """A task that is played step by step."""

    @_tool(START_EPISODE)
    def start_episode(self, practice: bool = False) -> str:  # noqa: D102
        return self._call("start_episode", practice=practice)

    @_tool(STEP)
    def step(self, action: Any, wait: int = 0) -> str:  # noqa: D102
        return self._call("step", action=action, wait=wait)


def rewarded(environments: Sequence[TrlEnvironment]) -> list[float | None]:
    """End the rollouts of a batch, all at once, and return their rewards."""
    if not environments:
        return []
    with ThreadPoolExecutor(min(len(environments), FINISHED_AT_ONCE), "openfingym-rewards") as pool:
        rewards = list(pool.map(TrlEnvironment._finished, environments))
    tell_failures([environment.failure for environment in environments])
    return rewards


def tell_failures(failures: Sequence[str | None]) -> None:
    """Log why rollouts of a batch have no reward, each reason once.

    Args:
        failures: the failure of each rollout; None for one that has a reward.
    """
    for failure, count in Counter(failure for failure in failures if failure is not None).items():
        _log.warning("%d of %d rollouts have no reward: %s", count, len(failures), failure)


_holders: weakref.WeakSet[TrlEnvironment] = weakref.WeakSet()
"""Environments of this process that have an episode open."""


def _require_place(environment: TrlEnvironment) -> None:
    """Refuse to wait for a place that nobody will give back.

    ``GRPOTrainer`` plays the rollouts of a batch in one thread, one call after the other. If all places are taken by
    rollouts that it plays in that thread, then to wait in it is to wait for ever.

    Raises:
        UsageError: all places are taken in this way.
    """
    desk, thread = environment._desk, threading.get_ident()
    others = [holder for holder in _holders if holder._desk == desk and holder is not environment]
    taken = [other for other in others if other._episode is not None and not other._episode.over]
    same_thread = all(other._thread == thread for other in taken)
    if len(taken) >= desk.places and same_thread and thread == threading.main_thread().ident:
        raise UsageError(
            f"all {desk.places} places are taken by rollouts of the same batch, which the trainer plays abreast; give "
            "TrlSpec(places=N) as many as a generation batch has rollouts"
        )
