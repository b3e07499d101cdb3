"""The server as a whole: its start, its guard, and its end, with nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import web

from openfingym.training.guard import Guard
from openfingym.training.listening import run, until_stopped
from openfingym.training.openenv.routes import Routes, told
from openfingym.training.openenv.served import Served
from openfingym.training.openenv.sessions import IDLE_S, EnvSessions
from openfingym.training.openenv.sockets import Sockets
from openfingym.training.openenv.wire import MAX_FRAME, ActionRefused

SESSIONS = web.AppKey("sessions", EnvSessions)
"""Key under which an application holds its sessions."""


def application(served: Served, guard: Guard, *, sessions: int, idle_s: float = IDLE_S) -> web.Application:
    """The application that serves tasks; whatever it opened is ended with it.

    Args:
        served: the tasks, splits and tools that the application offers.
        guard: decides which requests are taken.
        sessions: most sessions that are open at once.
        idle_s: seconds for which a session without a socket is kept when nothing is done in it.
    """
    all_sessions = EnvSessions(served, most=sessions, idle_s=idle_s)
    sockets = Sockets(all_sessions)

    @web.middleware
    async def guarded(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        refusal = guard.refusal(request.headers)
        return await handler(request) if refusal is None else told({"detail": refusal[1]}, refusal[0])

    app = web.Application(client_max_size=MAX_FRAME, middlewares=[guarded])
    app.add_routes(Routes(all_sessions, sockets).all())

    async def looking(_app: web.Application) -> AsyncIterator[None]:
        looks = [asyncio.ensure_future(all_sessions.look()), asyncio.ensure_future(sockets.look())]
        yield
        for look in looks:
            look.cancel()

    # At shutdown, and not at cleanup: between the two, aiohttp waits for open connections, such as WebSockets.
    async def stopped(_app: web.Application) -> None:
        await sockets.close_all()
        await all_sessions.close_all()

    async def ended(_app: web.Application) -> None:
        await asyncio.to_thread(served.close)

    app.cleanup_ctx.append(looking)
    app.on_shutdown.append(stopped)
    app.on_cleanup.append(ended)
    app[SESSIONS] = all_sessions
    return app


def serve(
    served: Served,
    *,
    host: str,
    port: int,
    sessions: int,
    idle_s: float = IDLE_S,
    token: str | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve tasks until the process is interrupted or terminated.

    Args:
        served: the tasks, splits and tools that are offered.
        host: name or address to listen on.
        port: port to listen on; 0 lets the system choose.
        sessions: most sessions that are open at once.
        idle_s: seconds for which a session without a socket is kept when nothing is done in it.
        token: the token that clients have to send; None to ask for none.
        ready: called with the server's URL as soon as it is listened on.

    Raises:
        UsageError: the address cannot be listened on, or a task cannot be played like this.
        OpenFinGymError: a task is malformed, or cannot be built.
    """
    app = application(served, Guard(host, token), sessions=sessions, idle_s=idle_s)

    async def prepared() -> None:
        try:
            await app[SESSIONS].prepared()
        except ActionRefused as refused:
            raise refused.__cause__ or refused from None

    # The tasks are loaded once the server listens, so that no client finds it closed; a mistake in them ends it then.
    run(until_stopped(app, host, port, ready, prepared))
