"""Sessions of one environment each: bounded in number, and closed when their client has gone."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from openfingym.errors import OpenFinGymError
from openfingym.training.openenv.served import Choice, Served
from openfingym.training.openenv.wire import ActionRefused, Json

if TYPE_CHECKING:
    from openfingym.training.openenv.stepped import SteppedPlay
    from openfingym.training.openenv.tools import ToolPlay

_log = logging.getLogger(__name__)
IDLE_S = 900.0
"""Seconds for which a session without a socket is kept when nothing is done in it."""
LOOK_S = 5.0
"""Seconds between two looks for forgotten sessions."""
END_S = 30.0
"""Seconds that open sessions are given to end, where the server is stopped."""


class EnvSession:
    """An environment of one client, and what it plays.

    Attributes:
        id: identifier by which a client attaches a socket to the session.
        attached: whether a socket is attached.
        closing: whether the session is to be closed as soon as its socket has gone.
        used_at: when the session was last used, by the monotonic clock.
    """

    def __init__(self, served: Served) -> None:
        self.id = str(uuid.uuid4())
        self.attached = False
        self.closing = False
        self.used_at = time.monotonic()
        self._served = served
        self._play: SteppedPlay | ToolPlay | None = None
        self._choice: Choice | None = None
        """What is played; None before the first episode."""
        self._opening: asyncio.Task[SteppedPlay | ToolPlay] | None = None
        """The beginning of a play that is under way."""
        self._episode: str | None = None
        """Identifier of the episode, the client's or one of ours."""
        self._steps = 0
        """Steps of the episode that were taken."""
        self._closed = False
        self._turn = asyncio.Lock()
        """Held while a reset or a step is made, and while the play is ended."""

    @property
    def quick(self) -> bool:
        """Whether a step takes so little time that it may be taken on the event loop."""
        return self._play is not None and self._play.quick

    @property
    def state(self) -> Json:
        """The state of the environment, in OpenEnv's form."""
        choice = self._choice
        chosen = {} if choice is None else {"task": choice.task, "split": choice.split, "index": choice.index}
        return {"episode_id": self._episode, "step_count": self._steps, **chosen}

    async def reset(self, data: Json) -> Json:
        """Begin an episode, and leave the one before.

        Args:
            data: arguments of the reset, as a client sends them.

        Returns:
            The first observation, in OpenEnv's form.

        Raises:
            ActionRefused: an argument is wrong, or the episode cannot be begun.
        """
        async with self._turn:
            self.used_at = time.monotonic()
            choice = self._served.choose(data, before=self._choice)
            shown = await self._begun(choice)
            self._choice, self._steps = choice, 0
            self._episode = choice.episode_id or str(uuid.uuid4())
            return shown

    async def step(self, action: Json) -> Json:
        """Take a step: an action, or a tool's call.

        Args:
            action: the action as a client sends it.

        Returns:
            The observation with its reward, in OpenEnv's form.

        Raises:
            ActionRefused: the action does not fit, or no step can be taken.
        """
        async with self._turn:
            self.used_at = time.monotonic()
            if action.get("type") == "list_tools":
                return {"observation": {"tools": self.tools()}, "reward": None, "done": False}
            play = self._play
            if play is None:
                play = await self._without_reset()
            shown = await play.step(action)
            self._steps += 1
            self.used_at = time.monotonic()
            return shown

    def tools(self) -> list[Json]:
        """The tools of the rollout that is played, or of the one that a reset would begin."""
        from openfingym.training.openenv.tools import ToolPlay

        if isinstance(self._play, ToolPlay) and self._play.episode.tools:
            return self._play.tools()
        return self._served.tools(self._choice.task if self._choice else self._served.names[0])

    def cut(self) -> None:
        """Have the call that is being made end soon, since nobody waits for it any more."""
        from openfingym.training.openenv.tools import ToolPlay

        if isinstance(self._play, ToolPlay):
            self._play.episode.cut("its client left")

    async def close(self) -> None:
        """End the episode, and whatever is being begun."""
        self._closed = True
        # A call that is being made holds the turn, for as long as its program runs.
        self.cut()
        if self._opening is not None:
            self._opening.add_done_callback(_end_when_open)
        async with self._turn:
            await self._leave()

    async def _without_reset(self) -> ToolPlay | SteppedPlay:
        """Begin what a client plays that never sends a reset, as those do that speak MCP alone.

        Raises:
            ActionRefused: the task is stepped through, and needs a reset.
        """
        choice = self._served.choose({}, before=self._choice)
        if self._served.is_stepped(choice.task):
            raise ActionRefused("EXECUTION_ERROR", "no episode was begun; send a reset first")
        await self._begun(choice)
        self._choice, self._episode = choice, str(uuid.uuid4())
        assert self._play is not None
        return self._play

    async def _begun(self, choice: Choice) -> Json:
        """Begin what was chosen, and return its first observation."""
        served, before = self._served, self._choice
        stepped = served.is_stepped(choice.task)
        same = before is not None and (before.task, before.split) == (choice.task, choice.split)
        # An environment that is stepped is made once for all episodes of its task; a rollout with tools is played once.
        if self._play is None or not (stepped and same):
            await self._leave()
            if self._closed:
                raise ActionRefused("SESSION_ERROR", "the session was closed")
            work: Awaitable[SteppedPlay | ToolPlay]
            work = asyncio.to_thread(served.environment, choice) if stepped else served.rollout(choice)
            # A client may go while this is being begun, and its request be cancelled: what is begun must be ended all
            # the same, and so may not be cancelled with it.
            self._opening = asyncio.ensure_future(work)
            try:
                self._play = await asyncio.shield(self._opening)
            finally:
                self._opening = None
        play = self._play
        if stepped:
            return await play.reset(choice.seed, choice.options)  # type: ignore[union-attr]
        return await play.first()  # type: ignore[union-attr]

    async def _leave(self) -> None:
        """End what is played."""
        play, self._play = self._play, None
        if play is not None:
            await play.close()


def _end_when_open(opening: asyncio.Task[SteppedPlay | ToolPlay]) -> None:
    """End what was begun for a client that has gone."""
    if not opening.cancelled() and opening.exception() is None:
        task = asyncio.ensure_future(opening.result().close())
        _ending.add(task)
        task.add_done_callback(_ending.discard)


_ending: set[asyncio.Future[None]] = set()
"""Tasks that end something; kept here, since the event loop keeps no reference to them, and they could be collected."""


class EnvSessions:
    """All sessions of a server.

    Attributes:
        served: the tasks, splits and tools that the server offers.
        most: most sessions that are open at once.
    """

    def __init__(self, served: Served, *, most: int, idle_s: float = IDLE_S) -> None:
        self.served = served
        self.most = most
        self._idle_s = idle_s
        self._open: dict[str, EnvSession] = {}
        """Sessions by their identifiers."""
        self._ready: asyncio.Task[None] | None = None
        """The loading of the tasks; None before it is begun, and after it has failed."""

    def __len__(self) -> int:
        return len(self._open)

    async def prepared(self) -> None:
        """Wait until the tasks are loaded.

        Raises:
            ActionRefused: a task cannot be played.
        """
        if self._ready is None:
            self._ready = asyncio.ensure_future(asyncio.to_thread(self.served.prepare))
        ready = self._ready
        try:
            await asyncio.shield(ready)
        except OpenFinGymError as error:
            if self._ready is ready:
                self._ready = None  # the next one tries again: a disk may have been full
            raise ActionRefused("FACTORY_ERROR", str(error), factory_name=self.served.names[0]) from error

    async def create(self) -> EnvSession:
        """Begin a session.

        Raises:
            ActionRefused: as many sessions are open as may be, or a task cannot be played.
        """
        if len(self._open) >= self.most:
            raise ActionRefused(
                "CAPACITY_REACHED",
                f"all {self.most} sessions are taken; close one, or serve with a larger --sessions",
                active_sessions=len(self._open),
                max_sessions=self.most,
            )
        session = EnvSession(self.served)
        self._open[session.id] = session  # before anything is waited for, so that there are never more
        try:
            await self.prepared()
        except BaseException:
            del self._open[session.id]
            raise
        return session

    def find(self, name: object) -> EnvSession | None:
        """The open session with an identifier; None where there is none."""
        return self._open.get(name) if isinstance(name, str) else None

    def attach(self, name: str) -> EnvSession:
        """Attach a socket to a session that was made before.

        Raises:
            ActionRefused: there is no such session, or it has a socket already.
        """
        session = self.find(name)
        if session is None:
            raise ActionRefused("SESSION_ERROR", f"Unknown session_id: {name[:100]}")
        if session.attached:
            raise ActionRefused("SESSION_ERROR", f"EnvSession {name[:100]} already has an attached WebSocket")
        session.attached = True
        session.used_at = time.monotonic()
        return session

    async def detach(self, session: EnvSession, *, owned: bool) -> None:
        """Let go of a session whose socket has gone.

        Args:
            session: the session that the socket was attached to.
            owned: whether the session was made for the socket alone, and is closed with it.
        """
        session.attached = False
        session.used_at = time.monotonic()
        if owned or session.closing:
            await self.close(session)

    async def close(self, session: EnvSession) -> None:
        """End a session. Its place is free again when nothing is left of it."""
        try:
            await session.close()
        except Exception:
            _log.exception("a session could not be ended in order")
        finally:
            self._open.pop(session.id, None)

    async def look(self) -> None:
        """Close sessions that were forgotten, for ever."""
        while True:
            await asyncio.sleep(min(LOOK_S, self._idle_s))
            now = time.monotonic()
            for session in list(self._open.values()):
                if not session.attached and now - session.used_at > self._idle_s and session.id in self._open:
                    await self.close(session)

    async def close_all(self) -> None:
        """End every session."""
        if self._open:
            closing = [asyncio.ensure_future(self.close(session)) for session in list(self._open.values())]
            await asyncio.wait(closing, timeout=END_S)
