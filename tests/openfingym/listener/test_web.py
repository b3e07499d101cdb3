"""aiohttp applications behind a listener: what of a request they do not see."""

from __future__ import annotations

import asyncio
import gzip
import socket

import aiohttp
import pytest
from aiohttp import web

from openfingym.errors import UsageError
from openfingym.listener import Listener


async def _sent(request: web.Request) -> web.Response:
    return web.Response(text=str(len(await request.read())))


def application() -> web.Application:
    app = web.Application(client_max_size=1000)
    app.router.add_post("/", _sent)
    return app


async def _status(url: str, **request: object) -> tuple[int, str]:
    async with aiohttp.ClientSession() as client, client.post(url, **request) as answer:  # type: ignore[arg-type]
        return answer.status, await answer.text()


def test_bodies() -> None:
    async def main() -> None:
        async with Listener("127.0.0.1").serving(application()) as url:
            assert await _status(url, data=b"x" * 1000) == (200, "1000")
            assert (await _status(url, data=b"x" * 2000))[0] == 413
            bomb = gzip.compress(b"0" * 100_000)
            assert len(bomb) < 1000
            assert (await _status(url, data=bomb, headers={"Content-Encoding": "gzip"}))[0] == 415

    asyncio.run(main())


def test_a_slow_body_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym.listener.web.BODY_S", 0.2)

    async def main() -> None:
        async with Listener("127.0.0.1").serving(application()) as url:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx")
            assert (await asyncio.wait_for(reader.readline(), 20)).startswith(b"HTTP/1.1 408")
            writer.close()

    asyncio.run(main())


def test_an_address_that_is_taken() -> None:
    async def main(port: int) -> None:
        async with Listener("127.0.0.1", port).serving(application()):
            pytest.fail("it listens")

    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(UsageError, match=r"cannot listen.*choose another"),
    ):
        asyncio.run(main(taken.getsockname()[1]))
