"""The desk, which opens rollouts that are played from outside: their tasks, split, reward and limits."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, get_args

from openfingym.agents import Agent, resolve
from openfingym.errors import UsageError
from openfingym.instances import INSTANCE_COUNT
from openfingym.results import SplitName
from openfingym.training import machinery as shared
from openfingym.training.episode import Episode, settled
from openfingym.training.opening import Opening
from openfingym.training.rewards import TrainingReward, require_reward
from openfingym.training.running import Running

if TYPE_CHECKING:
    from openfingym.models.meter import Allowance
    from openfingym.models.model import LanguageModel
    from openfingym.models.spec import ModelSpec
    from openfingym.training.briefs import TaskBrief
    from openfingym.training.groups import Played, Policies, Wanted
    from openfingym.training.machinery import Machinery
    from openfingym.training.places import Place
    from openfingym.training.playing import AgentPlay
    from openfingym.verifiers import VerifierAddress

T = TypeVar("T")
PATIENCE_S = 900.0
"""Seconds for which a policy's answer is waited for before its rollout is given up."""


@dataclass(frozen=True)
class Desk:
    """Opens rollouts whose model is you: of some tasks, of one split, with one reward.

    A desk is a specification: it can be pickled, compared and used in any process, and nothing is started before the
    first :meth:`open`. What is started then is shared by the equal desks of a process. It ends with the last of them,
    with the process, or with a ``with`` block.
    """

    tasks: Sequence[str | Path]
    """Names of tasks, or their folders."""
    split: SplitName = "train"
    """``test`` is each task as it is; ``train`` and ``validation`` consist of instances cut from its training data."""
    reward: TrainingReward = "bounded"
    """Name of the reward, one of those in :mod:`openfingym.training.rewards`."""
    places: int = 8
    """Most episodes, and so sandboxes, that are open at once; :meth:`open` waits for a place, first come, first
    served."""
    agent: str | Agent = "react"
    """The agent whose prompts, tools and limits an episode has: ``react``, ``codeblock``, ``oneshot``, or an agent of
    your own that asks a model."""
    backend: str = "auto"
    """How programs are isolated: ``auto``, ``docker``, ``sandbox`` or ``inline``."""
    verifier: str | VerifierAddress | None = None
    """Address of a running verifier; None for ``$OPENFINGYM_VERIFIER``, or else one that is started here."""
    allowance: Allowance | None = None
    """What a rollout may spend; None for what it may in an evaluation. Its time does not run while its policy is waited
    for."""
    deadline_s: float | None = None
    """Seconds after which an episode is cut off wherever it is; None for no such limit."""
    patience_s: float = PATIENCE_S
    """Seconds for which an answer of the policy is waited for; then the episode ends, as a failure that is not the
    agent's."""
    out: str | Path | None = None
    """Folder below which every rollout is kept, as ``openfingym run`` keeps them; None keeps nothing."""
    _machinery: Machinery | None = field(default=None, init=False, repr=False, compare=False)
    """What was started, in the process whose number is ``_owner``; None before anything was."""

    def __post_init__(self) -> None:
        given: object = self.tasks
        # A text is a sequence too, of letters.
        alone = isinstance(given, str | Path)
        object.__setattr__(self, "tasks", (given,) if alone else tuple(self.tasks))
        if not self.tasks:
            raise UsageError("a desk has at least one task, found none")
        if twice := sorted({str(task) for task in self.tasks if self.tasks.count(task) > 1}):
            raise UsageError(f"{', '.join(twice)}: named more than once; name each task once")
        if self.split not in get_args(SplitName):
            raise UsageError(f"split is {self.split!r}; known: {', '.join(map(repr, get_args(SplitName)))}")
        require_reward(self.reward)
        if self.places < 1:
            raise UsageError(f"places is {self.places}; expected at least 1")
        for name in ("deadline_s", "patience_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} is {value!r}; expected more than 0")
        if not resolve(self.agent).asks_model:
            raise UsageError(f"agent {resolve(self.agent).name!r} asks no model, so that nobody can answer for it")

    # What was started belongs to this process, and stays behind where a desk is pickled.
    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self) if item.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in {**state, "_machinery": None}.items():
            object.__setattr__(self, name, value)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the desk's tasks, in their order."""
        from openfingym import catalog

        return tuple(
            task if isinstance(task, str) and os.sep not in task else catalog.load_task(task).name
            for task in self.tasks
        )

    def __len__(self) -> int:
        """Number of instances, of all tasks together."""
        return len(self.names) * self._count()

    def rows(self, n: int = 1000, *, start: int = 0, prompt: bool = False) -> Iterator[dict[str, Any]]:
        """Rows of a data set: ``task``, ``split``, ``index`` and ``seed`` of an episode to open; nothing is started.

        Args:
            n: most rows that are given; tasks take turns, and then indices go up.
            start: number of the first row, from 0.
            prompt: whether each row has the messages with which its episode begins, as ``prompt``; its instance is
                built for that.

        Raises:
            OpenFinGymError: a prompt is wanted, and the instance cannot be built.
        """
        names = self.names
        for number in range(start, min(start + n, len(names) * self._count())):
            task, index = names[number % len(names)], number // len(names)
            row = {"task": task, "split": self.split, "index": index, "seed": 0}
            yield {**row, "prompt": list(self.brief(task, index).messages)} if prompt else row

    def brief(self, task: str, index: int = 0) -> TaskBrief:
        """The messages with which an episode begins, and its tools, without opening it; its instance is built.

        Args:
            task: name of one of the tasks.
            index: number of the instance; 0 with ``split="test"``.

        Raises:
            UsageError: there is no such task or instance.
            OpenFinGymError: the instance cannot be built.
        """
        self.require(task, index)
        return self._taken().brief(
            task, self.split, None if self.split == "test" else index, self.agent, self.allowance
        )

    def open(self, task: str, index: int = 0, *, seed: int = 0) -> Opening:
        """Open an episode as soon as there is a place.

        Args:
            task: name of one of the tasks.
            index: number of the instance; 0 with ``split="test"``.
            seed: seed that programs are given.

        Returns:
            What gives the episode when it is awaited, or entered by ``async with``, which finishes it. An episode that
            could not be begun for a reason of ours is over already and says why.

        Raises:
            UsageError: there is no such task or instance, or all places are taken by episodes that nobody uses.
        """
        self.require(task, index)
        return Opening(self._open(task, index, seed))

    def open_sync(self, task: str, index: int = 0, *, seed: int = 0) -> Episode:
        """Open an episode as soon as there is a place, and wait for it; see :meth:`open`."""
        self.require(task, index)
        machinery = self._taken()
        place = machinery.places.ask()
        try:
            place.granted.result()
        except BaseException:
            machinery.places.give_back(place)
            raise
        running = self._begin(machinery, place, task, index, seed)
        try:
            running.driver.ready.result()
        except BaseException:
            running.cut("its caller was interrupted")
            raise
        return self._opened(running, task, index, seed)

    async def group(
        self, wanted: Iterable[Wanted], policy: Policies, *, deadline_s: float | None = None
    ) -> list[Played]:
        """Play episodes at once, as the step of a trainer does.

        Args:
            wanted: task and index of each episode, and its seed where that is not 0.
            policy: a function, or a coroutine function, of the messages so far and the tools, which returns the
                assistant's next message or its text; or a list of one for each episode, in which a text stands for a
                policy that gives this one answer.
            deadline_s: seconds after which an episode that is not over is cut off. It has a reward if something was
                accepted by then, else None.

        Returns:
            What came of each episode, in order. One that failed has the reward None and says why; it never holds up the
            others.

        Raises:
            UsageError: there is no such task or instance, or the number of policies is not that of the episodes.
        """
        from openfingym.training.groups import play_group

        return await play_group(self, wanted, policy, deadline_s)

    def group_sync(
        self, wanted: Iterable[Wanted], policy: Policies, *, deadline_s: float | None = None
    ) -> list[Played]:
        """Play episodes at once, and wait for all of them; see :meth:`group`."""
        return _run(self.group(list(wanted), policy, deadline_s=deadline_s))

    async def play(self, task: str, index: int, model: ModelSpec | LanguageModel, *, seed: int = 0) -> Played:
        """Have the agent play an episode by itself, with a model that it asks at an endpoint, for trainers that record
        what is said there. The episode ends where the call is cancelled.

        Args:
            task: name of one of the tasks.
            index: number of the instance; 0 with ``split="test"``.
            model: the model's specification, with a key by value if need be; or an object (see
                :mod:`openfingym.models`).
            seed: seed that programs are given.

        Returns:
            What came of the episode; a failure of ours, or of the endpoint, has the reward None.

        Raises:
            UsageError: there is no such task, instance or model.
        """
        play = await self.begin_play(task, index, model, seed=seed)
        try:
            return await play.played()
        except asyncio.CancelledError:
            play.cut("its caller gave up")
            raise

    async def begin_play(self, task: str, index: int, model: ModelSpec | LanguageModel, *, seed: int = 0) -> AgentPlay:
        """Have the agent play an episode by itself, for a caller that may want to end it; see :meth:`play`. Returns as
        soon as the rollout has a place and begins.
        """
        from openfingym.training.playing import AgentPlay

        self.require(task, index)
        running = await self._begun(task, index, seed, model)
        return AgentPlay(running, task=task, index=index, seed=seed, reward=self.reward)

    def require(self, task: str, index: int) -> None:
        """Check that an episode can be opened.

        Raises:
            UsageError: there is no such task or instance.
        """
        if task not in self.names:
            raise UsageError(f"{task!r} is no task of this desk; it has {', '.join(self.names)}")
        if isinstance(index, bool) or not isinstance(index, int):
            raise UsageError(f"index is {index!r}; expected a whole number")
        if not 0 <= index < self._count():
            raise UsageError(f"index is {index}; of split {self.split!r} there are 0 to {self._count() - 1}")

    def close(self) -> None:
        """End the episodes of this desk, and what was started for it and no other; the desk can be used again."""
        finalizer = self.__dict__.get("_finalizer")
        object.__setattr__(self, "_machinery", None)
        if finalizer is not None and finalizer.detach() is not None:
            shared.give_back(self._key(), os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        # Closing waits for rollouts to end, and those may need the caller's loop.
        await asyncio.to_thread(self.close)

    def _count(self) -> int:
        """Number of instances of each task."""
        return 1 if self.split == "test" else INSTANCE_COUNT

    def _key(self) -> shared.Key:
        return tuple(self.tasks), self.backend, self.verifier, self.places

    def _taken(self) -> Machinery:
        """The machinery of this process for desks like this one, taken where it was not yet."""
        machinery, owner = self._machinery, self.__dict__.get("_owner")
        # After a fork, the child has the parent's, whose threads do not run in it.
        if machinery is None or owner != os.getpid():
            machinery, pid, key = shared.take(self._key()), os.getpid(), self._key()
            object.__setattr__(self, "_machinery", machinery)
            self.__dict__["_owner"] = pid
            # By way of the janitor: a finalizer may run anywhere, and closing takes locks and seconds. At the end of
            # the process, everything is closed in order elsewhere.
            finalizer = weakref.finalize(self, shared.later, partial(shared.give_back, key, pid), pid)
            finalizer.atexit = False
            self.__dict__["_finalizer"] = finalizer
        return machinery

    async def _open(self, task: str, index: int, seed: int) -> Episode:
        running = await self._begun(task, index, seed)
        try:
            await settled(running.driver.ready)
        except BaseException:
            # Nobody would ever finish a rollout whose caller was cancelled while it began.
            running.cut("its caller gave up")
            raise
        return self._opened(running, task, index, seed)

    def _begin(
        self,
        machinery: Machinery,
        place: Place,
        task: str,
        index: int,
        seed: int,
        model: ModelSpec | LanguageModel | None = None,
    ) -> Running:
        """Begin a rollout in a place that was granted."""
        running = Running(
            partial(machinery.borrowed, task),
            resolve(self.agent),
            split=self.split,
            instance=None if self.split == "test" else index,
            seed=seed,
            allowance=self.allowance,
            patience_s=self.patience_s,
            deadline_s=self.deadline_s,
            out=None if self.out is None else Path(self.out),
            closed=machinery.ended,
            model=model,
        )
        machinery.begin(place, running)
        return running

    async def _begun(self, task: str, index: int, seed: int, model: ModelSpec | LanguageModel | None = None) -> Running:
        """A rollout, begun as soon as there is a place."""
        machinery = self._taken()
        place = machinery.places.ask()
        try:
            await settled(place.granted)
        except BaseException:
            # It may have been granted in the moment in which the caller gave up.
            machinery.places.give_back(place)
            raise
        return self._begin(machinery, place, task, index, seed, model)

    def _opened(self, running: Running, task: str, index: int, seed: int) -> Episode:
        """The episode of a rollout that waits for its first answer, or is over.

        Raises:
            UsageError, TaskError: the rollout ended by a mistake of the user's.
        """
        if running.ending.done() and (error := running.ending.result().error) is not None:
            raise error
        episode = Episode(running, task=task, split=self.split, index=index, seed=seed, reward=self.reward)
        # An episode that nobody holds any more would keep its place.
        order = partial(running.cut, "it was forgotten")
        finalizer = weakref.finalize(episode, shared.later, order, os.getpid())
        finalizer.atexit = False
        return episode


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in this thread or, where an event loop runs in it, in another one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # As in a notebook, whose cells run in a loop.
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:  # raised again in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="openfingym-group", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
