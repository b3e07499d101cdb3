"""A local Alpaca venue for tests, and plain clients that speak to it over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import aiohttp
import websockets
from websockets.asyncio.client import ClientConnection

from openfingym.market.keys import Keys
from openfingym.market.sim.alpaca import AlpacaVenue, coin, stock
from openfingym.market.sim.alpaca.venue import TERMS
from openfingym.market.sim.events import ATOMS
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults, VenueFault
from openfingym.market.sim.flow import Crowd

SECOND = 10**9
START = 1_700_058_600_000_000_000
"""Half past nine in New York on 15 November 2023."""
KEYS = Keys("the-key", "the-secret-nobody-may-see")
HEADERS = {"APCA-API-KEY-ID": KEYS.key, "APCA-API-SECRET-KEY": KEYS.secret}
LISTINGS = [stock("AAPL"), stock("MSFT", lot=Decimal("0.01")), coin("BTC/USD")]
CROWDS = {
    "AAPL": Crowd(value=19_000, rate=20, size=120),
    "MSFT": Crowd(value=40_000, rate=10, size=9000),
    "BTC/USD": Crowd(value=4e6, rate=20, size=2000),
}


class Client:
    """A venue, an HTTP client, and the ways in which a test speaks to both."""

    def __init__(self, venue: AlpacaVenue, http: aiohttp.ClientSession) -> None:
        self.venue = venue
        self.http = http

    @property
    def now(self) -> int:
        return self.venue.exchange.now

    @property
    def faults(self) -> list[VenueFault]:
        return self.venue.faults.faults

    def advance(self, seconds: float) -> None:
        self.venue.advance(self.now + int(seconds * SECOND))

    async def ask(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None, **params: Any
    ) -> tuple[int, Any]:
        """Status and body of an answer."""
        url = f"{self.venue.rest_url}{path}"
        given = HEADERS if headers is None else headers
        async with self.http.request(method, url, json=body, params=params, headers=given) as answer:
            assert answer.headers["X-OpenFinGym-Simulated"] == "1"
            text = await answer.text()
            return answer.status, json.loads(text) if text else None

    async def get(self, path: str, **params: Any) -> Any:
        status, found = await self.ask("GET", path, **params)
        assert status == 200, found
        return found

    async def order(self, **fields: Any) -> tuple[int, Any]:
        usual = {"symbol": "AAPL", "side": "buy", "type": "market", "time_in_force": "day", "qty": "10"}
        return await self.ask("POST", "/v2/orders", usual | fields)

    @asynccontextmanager
    async def stream(self, path: str = "/v2/iex", *, login: bool = True, **options: Any) -> AsyncIterator[DataSocket]:
        url = f"{self.venue.stream_url}{path}"
        async with websockets.connect(url, ping_interval=None, close_timeout=1, **options) as socket:
            found = DataSocket(socket)
            assert await found.heard(1) == [{"T": "success", "msg": "connected"}]
            if login:
                answer = await found.ask(action="auth", key=KEYS.key, secret=KEYS.secret)
                assert answer == {"T": "success", "msg": "authenticated"}
            yield found

    @asynccontextmanager
    async def updates(self) -> AsyncIterator[ClientConnection]:
        async with websockets.connect(self.venue.order_stream_url, ping_interval=None, close_timeout=1) as socket:
            await socket.send(json.dumps({"action": "auth", "key": KEYS.key, "secret": KEYS.secret}))
            assert json.loads(await socket.recv())["data"]["status"] == "authorized"
            await socket.send(json.dumps({"action": "listen", "data": {"streams": ["trade_updates"]}}))
            assert json.loads(await socket.recv()) == {"stream": "listening", "data": {"streams": ["trade_updates"]}}
            yield socket


class DataSocket:
    """A connection to a stream of market data."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def heard(self, count: int) -> list[Any]:
        """The next messages, at least so many."""
        found: list[Any] = []
        while len(found) < count:
            found += json.loads(await asyncio.wait_for(self.socket.recv(), 10))
        return found

    async def ask(self, **message: Any) -> Any:
        """Send a message, and get its answer: the next message that is of control."""
        return (await self.until_control(message))[-1]

    async def until_control(self, message: dict[str, Any]) -> list[Any]:
        """All messages up to the answer to this one."""
        await self.socket.send(json.dumps(message))
        found: list[Any] = []
        while not found or found[-1]["T"] not in {"success", "error", "subscription"}:
            found += await self.heard(1)
        return found

    async def all(self) -> list[Any]:
        """What has been sent so far."""
        return (await self.until_control({"action": "sing"}))[:-1]


async def until(holds: Callable[[], object]) -> None:
    while not holds():  # noqa: ASYNC110  # what is waited for is the venue's, which has no event for a test
        await asyncio.sleep(0.001)


def run(
    work: Callable[[Client], Awaitable[None]], *faults: VenueFault, margin: bool = False, warm: float = 10.05,
    crowds: dict[str, Crowd] | None = None, **options: Any,
) -> None:  # fmt: skip
    """Let a test speak to a venue with the account ann, who has a hundred thousand dollars."""

    async def whole() -> None:
        exchange = Exchange(LISTINGS, CROWDS if crowds is None else crowds, seed=3, start=START)
        exchange.accounts.open("ann", margin=margin)
        exchange.deposit("ann", "USD", 100_000 * ATOMS)
        venue = AlpacaVenue(exchange, Faults(faults), **{"terms": PATIENT} | options)
        venue.add_key(KEYS.key, KEYS.secret, "ann")
        await venue.start()
        try:
            async with aiohttp.ClientSession() as http:
                client = Client(venue, http)
                client.advance(warm)
                await asyncio.wait_for(work(client), 60)
        finally:
            await venue.stop()

    asyncio.run(whole())


PATIENT = type(TERMS)(ping_s=1e6, life_s=float("inf"), messages=1000)
"""No pings, as time is advanced further at once than a client can answer."""
