"""The server as a whole: started, guarded, and stopped with nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import web

from openfingym.errors import UsageError
from openfingym.training.guard import Guard
from openfingym.training.openenv.routes import Routes, told
from openfingym.training.openenv.served import Served
from openfingym.training.openenv.sessions import IDLE_S, Sessions
from openfingym.training.openenv.sockets import Sockets
from openfingym.training.openenv.wire import MAX_FRAME, Refused

BACKLOG = 1024
"""Connections that may wait to be taken."""


def application(served: Served, guard: Guard, *, sessions: int, idle_s: float = IDLE_S) -> web.Application:
    """The application that serves tasks; whatever it opened is ended with it.

    Args:
        served: what it offers.
        guard: who is let in.
        sessions: sessions that are open at once, at most.
        idle_s: seconds for which a session without a socket is kept when nothing is done in it.
    """
    everything = Sessions(served, most=sessions, idle_s=idle_s)
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
    app["sessions"] = everything
    return app


@contextlib.asynccontextmanager
async def listening(app: web.Application, host: str, port: int) -> AsyncIterator[int]:
    """Serve an application; gives the port.

    Raises:
        UsageError: the address cannot be listened on.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=5.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=BACKLOG)
        try:
            await site.start()
        except (OSError, OverflowError) as error:
            raise UsageError(f"cannot listen on {host}:{port}: {error}; choose another --port or --host") from None
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


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

    async def running() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, stop.set)
        app = application(served, Guard(host, token), sessions=sessions, idle_s=idle_s)
        async with listening(app, host, port) as at:
            shown = f"[{host}]" if ":" in host else host
            ready(f"http://{shown}:{at}")
            # After it listens, so that nobody waits for what is imported: who serves nonsense is told soon enough.
            preparing = asyncio.ensure_future(app["sessions"].prepared())
            waiting = asyncio.ensure_future(stop.wait())
            await asyncio.wait({preparing, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if preparing.done() and isinstance(refused := preparing.exception(), Refused):
                waiting.cancel()
                raise refused.__cause__ or UsageError(str(refused))
            await waiting

    _run(running())


def _run(work: Awaitable[None]) -> None:
    with contextlib.suppress(ImportError):
        import uvloop

        uvloop.run(work)  # type: ignore[arg-type]
        return
    asyncio.run(work)  # type: ignore[arg-type]
