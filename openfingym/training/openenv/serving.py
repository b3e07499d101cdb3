"""The server as a whole: started, guarded, and stopped with nothing left behind."""

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
"""Where an application has its sessions."""


def application(served: Served, guard: Guard, *, sessions: int, idle_s: float = IDLE_S) -> web.Application:
    """The application that serves tasks; whatever it opened is ended with it.

    Args:
        served: the tasks, splits and tools that the application offers.
        guard: who is let in.
        sessions: sessions that are open at once, at most.
        idle_s: seconds for which a session without a socket is kept when nothing is done in it.
    """
    everything = EnvSessions(served, most=sessions, idle_s=idle_s)
    sockets = Sockets(everything)

    @web.middleware
    async def guarded(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        refusal = guard.refusal(request.headers)
        return await handler(request) if refusal is None else told({"detail": refusal[1]}, refusal[0])

    app = web.Application(client_max_size=MAX_FRAME, middlewares=[guarded])
    app.add_routes(Routes(everything, sockets).all())

    async def looking(_app: web.Application) -> AsyncIterator[None]:
        looks = [asyncio.ensure_future(everything.look()), asyncio.ensure_future(sockets.look())]
        yield
        for look in looks:
            look.cancel()

    async def stopped(_app: web.Application) -> None:
        await sockets.close_all()
        await everything.close_all()

    async def ended(_app: web.Application) -> None:
        await asyncio.to_thread(served.close)

    app.cleanup_ctx.append(looking)
    app.on_shutdown.append(stopped)
    app.on_cleanup.append(ended)
    app[SESSIONS] = everything
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
        served: what is offered.
        host: name or address to listen on.
        port: port to listen on; 0 lets the system choose.
        sessions: sessions that are open at once, at most.
        idle_s: seconds for which a session without a socket is kept when nothing is done in it.
        token: what clients have to send; None asks for none.
        ready: told the server's URL as soon as it listens.

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

    # The tasks are loaded once it listens, so that nobody waits for imports; who serves nonsense is told soon enough.
    run(until_stopped(app, host, port, ready, prepared))
