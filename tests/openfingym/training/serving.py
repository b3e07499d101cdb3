"""Servers of training, in this process and on real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
from aiohttp import web
from websockets.sync.client import ClientConnection, connect

from openfingym.listener import Listener


class Server:
    """An application that listens in a thread of its own."""

    def __init__(self, port: int, app: web.Application, stop: asyncio.Event) -> None:
        self.port, self.app, self._stop = port, app, stop
        self._loop = asyncio.get_running_loop()
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0)

    def __repr__(self) -> str:
        return f"<Server {self.port}>"

    def socket(self, path: str = "/ws", **options: Any) -> contextlib.AbstractContextManager[ClientConnection]:
        return connect(f"ws://127.0.0.1:{self.port}{path}", proxy=None, max_size=None, **options)

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)

    def rpc(self, method: str, **params: object) -> dict[str, Any]:
        answer = self.http.post("/mcp", json={"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()
        assert found["jsonrpc"] == "2.0"
        assert found["id"] == 7
        return found


@contextlib.contextmanager
def served(made: Callable[[], web.Application]) -> Iterator[Server]:
    """Serve an application, which is made in its loop's thread."""
    ready: threading.Event = threading.Event()
    found: list[Server] = []
    faults: list[BaseException] = []

    async def run() -> None:
        app, stop = made(), asyncio.Event()
        async with Listener("127.0.0.1").serving(app) as url:
            found.append(Server(int(url.rpartition(":")[2]), app, stop))
            ready.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            faults.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    if not found:
        thread.join()
        raise faults[0]
    try:
        yield found[0]
    finally:
        found[0].http.close()
        if thread.is_alive():
            found[0].end()
        thread.join(60.0)
        assert not thread.is_alive()
        assert faults == []


def asked(socket: ClientConnection, message: object) -> dict[str, Any]:
    """Send a message, or a text as it is, and get what is answered."""
    socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
    found: dict[str, Any] = json.loads(socket.recv(timeout=60.0))
    return found
