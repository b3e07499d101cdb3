"""A server on a port of its own, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from typing import Self

from aiohttp import web


class Served:
    """Serves an application while it is entered; its handlers run in ``loop``."""

    def __init__(self, *routes: web.RouteDef) -> None:
        self.loop = asyncio.new_event_loop()
        self.address = ""
        """Host and port."""
        self._routes = routes
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        runner = self.loop.run_until_complete(self._start())
        self._ready.set()
        self.loop.run_forever()
        self.loop.run_until_complete(runner.cleanup())

    async def _start(self) -> web.AppRunner:
        app = web.Application()
        app.add_routes(self._routes)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.address = f"127.0.0.1:{runner.addresses[0][1]}"
        return runner
