"""Serving an aiohttp application until its process is interrupted or terminated."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from aiohttp import web

from openfingym.errors import UsageError

BACKLOG = 1024
"""Most connections that may wait to be accepted."""


@contextlib.asynccontextmanager
async def listening(app: web.Application, host: str, port: int) -> AsyncIterator[int]:
    """Serve an application during the block, which is given the port that is listened on.

    Args:
        app: the application to serve.
        host: name or address to listen on.
        port: port to listen on; 0 lets the system choose.

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


async def until_stopped(
    app: web.Application,
    host: str,
    port: int,
    ready: Callable[[str], None],
    meanwhile: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serve an application until the process is interrupted or terminated.

    Args:
        app: the application to serve.
        host: name or address to listen on.
        port: port to listen on; 0 lets the system choose.
        ready: called with the URL as soon as the application listens.
        meanwhile: called once the application listens, and awaited beside it; if it raises, the application is ended
            and the error raised here.

    Raises:
        UsageError: the address cannot be listened on.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    async with listening(app, host, port) as at:
        ready(f"http://{f'[{host}]' if ':' in host else host}:{at}")
        waiting = asyncio.ensure_future(stop.wait())
        doing: asyncio.Future[Any] = asyncio.ensure_future(meanwhile()) if meanwhile is not None else waiting
        await asyncio.wait({doing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if doing.done():
                doing.result()
            await waiting
        finally:
            waiting.cancel()
            doing.cancel()


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in the quickest event loop that is installed: uvloop's, or else asyncio's own."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)
