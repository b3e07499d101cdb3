"""Playing a group of episodes at once, so that none of them holds up a training step."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.errors import UsageError
from openfingym.training.episode import ChatMessage, Episode, settled

if TYPE_CHECKING:
    from openfingym.results import RolloutResult
    from openfingym.training.desk import Desk
    from openfingym.training.rewards import Executed

_log = logging.getLogger(__name__)
GRACE_S = 15.0
"""Seconds that rollouts which were cut off are given to be scored."""

Policy = Callable[
    [list[ChatMessage], list[ChatMessage]], "Mapping[str, Any] | str | Awaitable[Mapping[str, Any] | str]"
]
"""Takes the messages so far and the tools; returns the assistant's next message, or its text."""
Policies = Policy | Sequence[Policy | str]
"""One policy for all episodes, or one for each; a text stands for a policy that gives this one answer."""
Wanted = tuple[str, int] | tuple[str, int, int]
"""Name of the task, number of the instance, and seed, which is 0 where it is left out."""


@dataclass(frozen=True)
class Played:
    """What came of an episode of a group."""

    task: str
    """Name of the task."""
    index: int
    """Number of the instance."""
    seed: int
    """Seed that programs were given."""
    reward: float | None
    """The reward; None for a failure that is not the agent's."""
    failure: str | None
    """Why there is no reward; None where there is one."""
    messages: list[ChatMessage]
    """The conversation, in the form of OpenAI's chat completions."""
    tools: list[ChatMessage]
    """The tools that were offered, in the same form."""
    result: RolloutResult | None
    """The verified result; None where there is none for a reason of ours."""
    executed: Executed
    """How far the agent got."""


async def play_group(
    desk: Desk, wanted: Iterable[Wanted], policy: Policies, deadline_s: float | None = None
) -> list[Played]:
    """Play episodes at once; see :meth:`openfingym.training.Desk.group`."""
    specs = [(*spec, 0)[:3] if len(spec) == 2 else spec for spec in wanted]
    # All of them before the first is opened, so that a mistake costs nothing.
    for task, index, _ in specs:
        desk.require(task, index)
    policies = [policy] * len(specs) if callable(policy) else list(policy)
    if len(policies) != len(specs):
        raise UsageError(f"{len(policies)} policies for {len(specs)} episodes; give one for all, or one for each")
    loop = asyncio.get_running_loop()
    end = None if deadline_s is None else loop.time() + deadline_s
    slots = [_Slot(desk, *spec, each) for spec, each in zip(specs, policies, strict=True)]
    plays = [asyncio.ensure_future(slot.play()) for slot in slots]
    try:
        if plays:
            await asyncio.wait(plays, timeout=None if end is None else max(0.0, end - loop.time()))
        late = [slot for slot, play in zip(slots, plays, strict=True) if not play.done()]
        for slot in late:
            slot.cut(f"it was cut off at its group's deadline of {deadline_s:g} s")
        if late:
            await asyncio.wait([play for play in plays if not play.done()], timeout=GRACE_S)
        return [slot.played() for slot in slots]
    finally:
        # Whatever has happened, nothing of the group goes on, so that its places are free for the next.
        for slot, play in zip(slots, plays, strict=True):
            if not play.done():
                slot.cut("its group was given up")
                play.cancel()
            play.add_done_callback(_retrieve_error)


class _Slot:
    """One episode of a group, while it is played.

    Attributes:
        episode: the episode; None before it is opened.
        why: why the episode was cut off or failed; None where it goes on, or ended by itself.
        asking: the request to the policy that is under way; None where there is none.
        opening: the opening of the episode; None before it begins.
    """

    def __init__(self, desk: Desk, task: str, index: int, seed: int, policy: Policy | str) -> None:
        self.desk, self.task, self.index, self.seed, self.policy = desk, task, index, seed, policy
        self.episode: Episode | None = None
        self.why: str | None = None
        self.asking: asyncio.Task[Any] | None = None
        self.opening: asyncio.Future[Episode] | None = None

    async def play(self) -> None:
        """Play the episode to its end, or until it is cut off; a policy that fails ends this episode alone."""
        self.opening = asyncio.ensure_future(self.desk.open(self.task, self.index, seed=self.seed))
        try:
            episode = self.episode = await self.opening
        except asyncio.CancelledError:
            # Cancelled by cut, and not from outside: the episode has no place yet, and is simply not played.
            if not self._cut_off():
                raise
            return
        while not (episode.over or self._cut_off()):
            try:
                # A task of its own, so that cut can cancel the policy and not the rest.
                self.asking = asyncio.ensure_future(_ask(self.policy, episode))
                message = await self.asking
            except asyncio.CancelledError:
                if not self._cut_off():
                    raise
                break
            except Exception as error:  # a policy that fails is one of many; the others go on
                _log.warning("the policy failed: %s: %s", type(error).__name__, error)
                self.why = f"the policy failed: {type(error).__name__}: {error}"
                episode.cut(self.why)
                break
            finally:
                self.asking = None
            await episode.answer(message)
            if isinstance(self.policy, str):  # its one answer is given
                break
        await episode.finish()

    def cut(self, why: str) -> None:
        """End the episode now, whatever it waits for."""
        self.why = why
        if self.episode is not None:
            self.episode.cut(why)
        for waiting in (self.asking, self.opening):
            if waiting is not None:
                waiting.cancel()

    def _cut_off(self) -> bool:
        return self.why is not None

    def played(self) -> Played:
        """What came of the episode."""
        from openfingym.training.rewards import Executed

        episode = self.episode
        if episode is None:
            why = self.why or "it could not be opened"
            return Played(self.task, self.index, self.seed, None, why, [], [], None, Executed())
        # An episode that was cut off may not have been scored in time, and knows neither.
        known = episode.result is not None or episode.failure is not None
        failure = episode.failure if known else self.why or "it was not over"
        return Played(
            self.task,
            self.index,
            self.seed,
            episode.reward,
            failure,
            episode.messages,
            episode.tools,
            episode.result,
            episode.executed,
        )


async def _ask(policy: Policy | str, episode: Episode) -> Mapping[str, Any] | str:
    """The policy's next message.

    Raises:
        UsageError: the policy returned what is no message.
    """
    if isinstance(policy, str):
        return policy
    # An object whose __call__ is a coroutine function is none itself, and must not be called in a thread.
    call = getattr(policy, "__call__", None)  # noqa: B004
    if inspect.iscoroutinefunction(policy) or inspect.iscoroutinefunction(call):
        answer: Any = policy(episode.messages, episode.tools)
    else:
        answer = await _call_in_thread(policy, episode)
    # A plain function may return an awaitable too.
    return _read(await answer if inspect.isawaitable(answer) else answer)


async def _call_in_thread(policy: Policy, episode: Episode) -> Any:  # whatever the policy returns
    """Call a policy that blocks in a thread of its own, so that it blocks nobody else, even if it never ends."""
    done: Future[Any] = Future()

    def call() -> None:
        try:
            answer = policy(episode.messages, episode.tools)
        except BaseException as error:  # raised again where the call is awaited
            done.set_exception(error)
        else:
            done.set_result(answer)

    threading.Thread(target=call, name="openfingym-policy", daemon=True).start()
    return await settled(done)


def _read(message: Any) -> Mapping[str, Any] | str:  # whatever the policy returned
    if not isinstance(message, str | Mapping):
        raise UsageError(f"a policy returns the assistant's message, or its text; found {type(message).__name__}")
    return message


def _retrieve_error(task: asyncio.Task[None]) -> None:
    """Look at a task's error, since asyncio complains of one that nobody has looked at."""
    if not task.cancelled():
        task.exception()
