"""Sessions: one environment each, so many at once, and none that stays when its client has gone."""

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
"""Seconds from one look for forgotten sessions to the next."""
END_S = 30.0
"""Seconds that open sessions are given to end in, where the server is stopped."""


class EnvSession:
    """An environment of one client, and what it plays.

    Attributes:
        id: what a client attaches to it by.
        attached: whether a socket is attached.
        closing: whether it is to be closed as soon as its socket has gone.
        used_at: when it was last used, by the monotonic clock.
    """

    def __init__(self, served: Served) -> None:
        self.id = str(uuid.uuid4())
        self.attached = False
        self.closing = False
        self.used_at = time.monotonic()
        self._served = served
        self._play: SteppedPlay | ToolPlay | None = None
        self._choice: Choice | None = None
        self._opening: asyncio.Task[SteppedPlay | ToolPlay] | None = None
        self._episode: str | None = None
        self._steps = 0
        self._closed = False
        self._turn = asyncio.Lock()

    @property
    def quick(self) -> bool:
        """Whether a step takes so little time that nothing else is waited for meanwhile."""
        return self._play is not None and self._play.quick

    @property
    def state(self) -> Json:
        """What OpenEnv calls the state of an environment."""
        choice = self._choice
        chosen = {} if choice is None else {"task": choice.task, "split": choice.split, "index": choice.index}
        return {"episode_id": self._episode, "step_count": self._steps, **chosen}

    async def reset(self, data: Json) -> Json:
        """Begin an episode, and leave the one before.

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

        Raises:
            ActionRefused: it does not fit, or there is none to take.
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
        """Have what is being done now end soon, since nobody waits for it any more."""
        from openfingym.training.openenv.tools import ToolPlay

        if isinstance(self._play, ToolPlay):
            self._play.episode.cut("its client left")

    async def close(self) -> None:
        """End the episode, and whatever is being begun."""
        self._closed = True
        self.cut()
        if self._opening is not None:
            self._opening.add_done_callback(_end_when_open)
        async with self._turn:
            await self._leave()

    async def _without_reset(self) -> ToolPlay | SteppedPlay:
        """What is played by a client that never sends a reset, as those that speak MCP alone.

        Raises:
            ActionRefused: it is to send one.
        """
        choice = self._served.choose({}, before=self._choice)
        if self._served.is_stepped(choice.task):
            raise ActionRefused("EXECUTION_ERROR", "no episode was begun; send a reset first")
        await self._begun(choice)
        self._choice, self._episode = choice, str(uuid.uuid4())
        assert self._play is not None
        return self._play

    async def _begun(self, choice: Choice) -> Json:
        """Begin what was chosen."""
        served, before = self._served, self._choice
        stepped = served.is_stepped(choice.task)
        same = before is not None and (before.task, before.split) == (choice.task, choice.split)
        if self._play is None or not (stepped and same):
            await self._leave()
            if self._closed:
                raise ActionRefused("SESSION_ERROR", "the session was closed")
            work: Awaitable[SteppedPlay | ToolPlay]
            work = asyncio.to_thread(served.environment, choice) if stepped else served.rollout(choice)
            # Whoever asked for it may go while it is being begun: it is ended all the same.
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
        play, self._play = self._play, None
        if play is not None:
            await play.close()


def _end_when_open(opening: asyncio.Task[SteppedPlay | ToolPlay]) -> None:
    """End what nobody waits for."""
    if not opening.cancelled() and opening.exception() is None:
        task = asyncio.ensure_future(opening.result().close())
        _ending.add(task)
        task.add_done_callback(_ending.discard)


_ending: set[asyncio.Future[None]] = set()
"""What is being ended; the event loop keeps no reference."""


class EnvSessions:
    """All sessions of a server."""

    def __init__(self, served: Served, *, most: int, idle_s: float = IDLE_S) -> None:
        self.served = served
        self.most = most
        self._idle_s = idle_s
        self._open: dict[str, EnvSession] = {}
        self._ready: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    async def prepared(self) -> None:
        """Wait until the tasks are loaded.

        Raises:
            ActionRefused: one cannot be played.
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
            ActionRefused: there are as many as there may be, or its tasks cannot be played.
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
        """An open session by its id."""
        return self._open.get(name) if isinstance(name, str) else None

    def attach(self, name: str) -> EnvSession:
        """Attach a socket to a session that was made before.

        Raises:
            ActionRefused: there is no such session, or it has a socket.
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
        """Let go of a session whose socket has gone; it is closed if it was made for the socket alone."""
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
        """Close what was forgotten, again and again."""
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
