"""Playing a group of episodes at once with one policy, so that none of them holds up a training step."""

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
"""Seconds that rollouts that were cut off are given to be scored in."""

Policy = Callable[
    [list[ChatMessage], list[ChatMessage]], "Mapping[str, Any] | str | Awaitable[Mapping[str, Any] | str]"
]
"""The messages so far and the tools -> the assistant's next message, or its text."""
Policies = Policy | Sequence[Policy | str]
"""One policy for all episodes, or one for each; a text is all that is answered in its episode."""
Wanted = tuple[str, int] | tuple[str, int, int]
"""Task, index, and seed, which is 0 where it is left out."""


@dataclass(frozen=True)
class Played:
    """An episode of a group, as it came out."""

    task: str
    index: int
    seed: int
    reward: float | None
    """None for a failure that is not the agent's."""
    failure: str | None
    """Why there is no reward."""
    messages: list[ChatMessage]
    tools: list[ChatMessage]
    result: RolloutResult | None
    executed: Executed


async def play_group(
    desk: Desk, wanted: Iterable[Wanted], policy: Policies, deadline_s: float | None = None
) -> list[Played]:
    """Play episodes at once; see :meth:`openfingym.training.Desk.group`."""
    specs = [(*one, 0)[:3] if len(one) == 2 else one for one in wanted]
    for task, index, _ in specs:
        desk.require(task, index)
    policies = [policy] * len(specs) if callable(policy) else list(policy)
    if len(policies) != len(specs):
        raise UsageError(f"{len(policies)} policies for {len(specs)} episodes; give one for all, or one for each")
    loop = asyncio.get_running_loop()
    end = None if deadline_s is None else loop.time() + deadline_s
    slots = [_Slot(desk, *spec, one) for spec, one in zip(specs, policies, strict=True)]
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
        # Also where the caller gives up: nothing of the group goes on.
        for slot, play in zip(slots, plays, strict=True):
            if not play.done():
                slot.cut("its group was given up")
                play.cancel()
            play.add_done_callback(_looked_at)


class _Slot:
    """One episode of a group."""

    def __init__(self, desk: Desk, task: str, index: int, seed: int, policy: Policy | str) -> None:
        self.desk, self.task, self.index, self.seed, self.policy = desk, task, index, seed, policy
        self.episode: Episode | None = None
        self.why: str | None = None
        self.asking: asyncio.Task[Any] | None = None
        self.opening: asyncio.Future[Episode] | None = None

    async def play(self) -> None:
        self.opening = asyncio.ensure_future(self.desk.open(self.task, self.index, seed=self.seed))
        try:
            episode = self.episode = await self.opening
        except asyncio.CancelledError:
            if not self._cut_off():
                raise
            return
        while not (episode.over or self._cut_off()):
            try:
                self.asking = asyncio.ensure_future(_asked(self.policy, episode))
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
            if isinstance(self.policy, str):  # it has said all it has to say
                break
        await episode.finish()

    def cut(self, why: str) -> None:
        """End it now."""
        self.why = why
        if self.episode is not None:
            self.episode.cut(why)
        for waiting in (self.asking, self.opening):
            if waiting is not None:
                waiting.cancel()

    def _cut_off(self) -> bool:
        return self.why is not None

    def played(self) -> Played:
        from openfingym.training.rewards import Executed

        episode = self.episode
        if episode is None:
            why = self.why or "it could not be opened"
            return Played(self.task, self.index, self.seed, None, why, [], [], None, Executed())
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


async def _asked(policy: Policy | str, episode: Episode) -> Mapping[str, Any] | str:
    if isinstance(policy, str):
        return policy
    # An object whose call is a coroutine is no coroutine function itself.
    call = getattr(policy, "__call__", None)  # noqa: B004
    if inspect.iscoroutinefunction(policy) or inspect.iscoroutinefunction(call):
        found: Any = policy(episode.messages, episode.tools)
    else:
        found = await _threaded(policy, episode)
    return _read(await found if inspect.isawaitable(found) else found)


async def _threaded(policy: Policy, episode: Episode) -> Any:  # whatever the policy returns
    """Call a policy that blocks in a thread of its own, so that it blocks nobody else, not even if it never ends."""
    done: Future[Any] = Future()

    def call() -> None:
        try:
            found = policy(episode.messages, episode.tools)
        except BaseException as error:  # raised again by who waits
            done.set_exception(error)
        else:
            done.set_result(found)

    threading.Thread(target=call, name="openfingym-policy", daemon=True).start()
    return await settled(done)


def _read(message: Any) -> Mapping[str, Any] | str:  # whatever the policy returned
    if not isinstance(message, str | Mapping):
        raise UsageError(f"a policy returns the assistant's message, or its text; found {type(message).__name__}")
    return message


def _looked_at(task: asyncio.Task[None]) -> None:
    """Take note of an error that nobody will ask for."""
    if not task.cancelled():
        task.exception()
