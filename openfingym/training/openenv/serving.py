"""The server as a whole: its start and its end, with nothing left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable

from aiohttp import web

from openfingym.listener import Listener
from openfingym.training.openenv.routes import Routes
from openfingym.training.openenv.served import HIDDEN, Served
from openfingym.training.openenv.sessions import IDLE_S, EnvSessions
from openfingym.training.openenv.sockets import Sockets
from openfingym.training.openenv.wire import MAX_FRAME, ActionRefused

SESSIONS = web.AppKey("sessions", EnvSessions)
"""Key under which an application holds its sessions."""


def application(served: Served, *, sessions: int, idle_s: float = IDLE_S) -> web.Application:
    """The application that serves tasks; whatever it opened is ended with it.

    Args:
        served: the tasks, splits and tools that the application offers.
        sessions: most sessions that are open at once.
        idle_s: seconds for which a session without a socket is kept when nothing is done in it.
    """
    all_sessions = EnvSessions(served, most=sessions, idle_s=idle_s)
    sockets = Sockets(all_sessions)

    app = web.Application(client_max_size=MAX_FRAME)
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
    listener: Listener,
    sessions: int,
    idle_s: float = IDLE_S,
    ready: Callable[[str], None],
) -> None:
    """Serve tasks until the process is interrupted or terminated.

    Args:
        served: the tasks, splits and tools that are offered.
        listener: where the server listens, and for whom.
        sessions: most sessions that are open at once.
        idle_s: seconds for which a session without a socket is kept when nothing is done in it.
        ready: called with the server's URL as soon as it is listened on.

    Raises:
        UsageError: the address cannot be listened on, a task cannot be played like this, or its hidden data need
            another verifier for these clients.
        OpenFinGymError: a task is malformed, or cannot be built.
    """
    from openfingym.training.strangers import require_strict
    from openfingym.verifiers.address import VERIFIER_VARIABLE

    splits = [split for split in served.splits if split in HIDDEN]
    command = " ".join(["openfingym env serve --openenv", *served.names, *(f"--split {split}" for split in splits)])
    require_strict(listener, served.names if splits else (), served.verifier, command)
    if served.verifier is not None:
        # Environments that are stepped find the verifier of their hidden splits by the variable.
        os.environ[VERIFIER_VARIABLE] = served.verifier
    app = application(served, sessions=sessions, idle_s=idle_s)

    async def prepared() -> None:
        try:
            await app[SESSIONS].prepared()
        except ActionRefused as refused:
            raise refused.__cause__ or refused from None

    # The tasks are loaded once the server listens, so that no client finds it closed; a mistake in them ends it then.
    listener.serve_web(app, ready, prepared)
