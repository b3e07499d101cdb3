"""The local Binance venue, seen by plain clients over real sockets, in time that is advanced by hand."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from decimal import Decimal
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import pytest
import websockets
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection

from openfingym.errors import VenueError
from openfingym.market.sim import peers
from openfingym.market.sim.binance import BinanceVenue, desk
from openfingym.market.sim.binance.keys import BinanceKey, socket_payload
from openfingym.market.sim.binance.market_data import Operation
from openfingym.market.sim.binance.wire import ApiError
from openfingym.market.sim.events import ATOMS, ListedPair
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import FaultKind, Faults, VenueFault
from openfingym.market.sim.flow import Crowd
from openfingym.market.sim.peers import ConnectionTerms

SECOND = 10**9
START = 1_700_000_000_000_000_000
SECRET = "NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j"
LISTINGS = [ListedPair("BTCUSDT", "BTC", "USDT"), ListedPair("ETHUSDT", "ETH", "USDT", lot=Decimal("0.0001"))]
CROWDS = {"BTCUSDT": Crowd(value=6e6, rate=40, size=2000), "ETHUSDT": Crowd(value=3e5, rate=20, size=2000)}
PATIENT = ConnectionTerms(ping_s=1e6)
"""No pings, as time is advanced further at once than a client can answer."""


class Client:
    """A venue, an HTTP client, and the ways in which a test speaks to both."""

    def __init__(self, venue: BinanceVenue, http: aiohttp.ClientSession) -> None:
        self.venue = venue
        self.http = http

    @property
    def now(self) -> int:
        return self.venue.exchange.now

    def advance(self, seconds: float) -> None:
        self.venue.advance(self.now + int(seconds * SECOND))

    async def get(self, path: str, **params: Any) -> Any:
        async with self.http.get(f"{self.venue.rest_url}/api/v3/{path}", params=params) as answer:
            assert answer.headers["X-OpenFinGym-Simulated"] == "1"
            return await answer.json()

    async def signed(self, method: str, path: str, *, key: str = "key", **params: Any) -> tuple[int, Any]:
        query = urlencode({**params, "timestamp": self.venue.ledger.now // 10**6})
        signature = hmac.new(SECRET.encode(), query.encode(), hashlib.sha256).hexdigest()
        url = f"{self.venue.rest_url}/api/v3/{path}?{query}&signature={signature}"
        async with self.http.request(method, url, headers={"X-MBX-APIKEY": key}) as answer:
            return answer.status, await answer.json()

    async def order(self, **params: Any) -> tuple[int, Any]:
        return await self.signed("POST", "order", **{"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", **params})

    def proof(self, **params: Any) -> dict[str, Any]:
        """Parameters of the WebSocket API with their signature."""
        params |= {"apiKey": "key", "timestamp": self.venue.ledger.now // 10**6}
        payload = socket_payload({name: str(value) for name, value in params.items()})
        return params | {"signature": hmac.new(SECRET.encode(), payload.encode(), hashlib.sha256).hexdigest()}

    async def listen(self, socket: ClientConnection) -> None:
        """Subscribe the account's events."""
        method = "userDataStream.subscribe.signature"
        await socket.send(json.dumps({"id": "1", "method": method, "params": self.proof()}))
        assert (await heard(socket, 1))[0]["result"] == {"subscriptionId": 0}

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[ClientConnection]:
        before = len(self.venue.peers)
        async with websockets.connect(f"{self.venue.stream_url}/{path}", ping_interval=None, close_timeout=1) as socket:
            await until(lambda: len(self.venue.peers) > before)
            yield socket


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110  # what is waited for is the venue's, which has no event for a test
        await asyncio.sleep(0.001)


async def heard(socket: ClientConnection, count: int | None = None) -> list[Any]:
    """The next messages; without a count all that come until an answer of the venue says that they have come."""
    found = []
    if count is None:
        await socket.send('{"method":"LIST_SUBSCRIPTIONS","id":"end"}')
    while count is None or len(found) < count:
        message = json.loads(await asyncio.wait_for(socket.recv(), 10))
        if count is None and message.get("id") == "end":
            break
        found.append(message)
    return found


def run(
    work: Callable[[Client], Awaitable[None]], *faults: VenueFault, terms: ConnectionTerms = PATIENT, **options: Any
) -> None:
    async def whole() -> None:
        exchange = Exchange(LISTINGS, CROWDS, seed=3, start=START)
        exchange.accounts.open("ann")
        exchange.deposit("ann", "USDT", 100_000 * ATOMS)
        exchange.deposit("ann", "BTC", ATOMS)
        venue = BinanceVenue(exchange, Faults(faults), terms=terms, **options)
        venue.add_key("key", "ann", secret=SECRET)
        await venue.start()
        try:
            async with aiohttp.ClientSession() as http:
                client = Client(venue, http)
                client.advance(10.05)
                await asyncio.wait_for(work(client), 60)
        finally:
            await venue.stop()

    asyncio.run(whole())


def test_trades_aggregates_and_quotes_are_streamed_and_agree_with_rest() -> None:
    async def work(client: Client) -> None:
        async with client.stream("stream?streams=btcusdt@trade/btcusdt@aggTrade/btcusdt@bookTicker") as socket:
            client.advance(20)
            said = await heard(socket)
            assert {row["stream"] for row in said} == {"btcusdt@trade", "btcusdt@aggTrade", "btcusdt@bookTicker"}
            trades = [row["data"] for row in said if row["stream"] == "btcusdt@trade"]
            assert [row["t"] for row in trades] == list(range(trades[0]["t"], trades[0]["t"] + len(trades)))
            assert set(trades[0]) == {"e", "E", "s", "t", "p", "q", "T", "m", "M"}
            rest = await client.get("historicalTrades", symbol="BTCUSDT", fromId=trades[0]["t"])
            assert [(row["id"], row["price"], row["qty"], row["time"], row["isBuyerMaker"]) for row in rest] == [
                (row["t"], row["p"], row["q"], row["T"], row["m"]) for row in trades
            ]
            together = [row["data"] for row in said if row["stream"] == "btcusdt@aggTrade"]
            assert together[0]["f"] == trades[0]["t"]
            assert all(after["f"] == before["l"] + 1 for before, after in pairwise(together))
            rest = await client.get("aggTrades", symbol="BTCUSDT", fromId=together[0]["a"])
            assert rest == [{name: row[name] for name in "apqflTmM"} for row in together]
            assert sum(Decimal(row["q"]) for row in together) == sum(Decimal(row["q"]) for row in trades)
            quote = [row["data"] for row in said if row["stream"] == "btcusdt@bookTicker"][-1]
            best = await client.get("ticker/bookTicker", symbol="BTCUSDT")
            assert [quote[name] for name in "bBaA"] == [
                best[name] for name in ("bidPrice", "bidQty", "askPrice", "askQty")
            ]
            assert set(quote) == set("usbBaA")

    run(work)


def test_a_local_book_follows_the_official_algorithm_through_an_overlapping_first_event() -> None:
    async def work(client: Client) -> None:
        async with client.stream("ws/btcusdt@depth@100ms") as socket:
            snapshot = await client.get("depth", symbol="BTCUSDT", limit=5000)
            client.advance(4.95)
            events = await heard(socket)
            last = snapshot["lastUpdateId"]
            assert events[0]["U"] <= last < events[0]["u"]  # overlaps, as the snapshot lies within its 100 ms
            book = {side: dict(snapshot[name]) for side, name in (("b", "bids"), ("a", "asks"))}
            for event in events:
                if event["u"] <= last:
                    continue
                assert event["U"] <= last + 1
                last = event["u"]
                for side in "ba":
                    for price, size in event[side]:
                        book[side][price] = size
            whole = await client.get("depth", symbol="BTCUSDT", limit=5000)
            assert whole["lastUpdateId"] == last
            for side, name in (("b", "bids"), ("a", "asks")):
                assert {row: size for row, size in book[side].items() if Decimal(size)} == dict(whole[name])
            assert len(events) > 20
            assert all(after["U"] == before["u"] + 1 for before, after in pairwise(events))

    run(work)


def test_partial_books_bars_and_microseconds() -> None:
    async def work(client: Client) -> None:
        names = "btcusdt@depth5@100ms/btcusdt@kline_1m/btcusdt@kline_1s/btcusdt@trade"
        async with client.stream(f"stream?streams={names}&timeUnit=MICROSECOND") as socket:
            client.advance(120)
            said = await heard(socket)
        books = [row["data"] for row in said if "@depth5" in row["stream"]]
        assert all(
            len(book["bids"]) <= 5 and Decimal(book["bids"][0][0]) < Decimal(book["asks"][0][0]) for book in books
        )
        trades = [row["data"] for row in said if row["stream"] == "btcusdt@trade"]
        finals = [row["data"]["k"] for row in said if row["stream"] == "btcusdt@kline_1m" and row["data"]["k"]["x"]]
        bar = finals[1]
        inside = [row for row in trades if bar["t"] <= row["T"] <= bar["T"]]
        assert bar["T"] - bar["t"] == 60 * 10**6 - 1
        prices = [Decimal(row["p"]) for row in inside]
        assert [Decimal(bar[name]) for name in "ohlc"] == [prices[0], max(prices), min(prices), prices[-1]]
        assert (Decimal(bar["v"]), bar["n"]) == (sum(Decimal(row["q"]) for row in inside), len(inside))
        rows = await client.get("klines", symbol="BTCUSDT", interval="1m", startTime=bar["t"] // 1000, limit=1)
        assert rows[0][1:6] == [bar[name] for name in "ohlcv"]
        assert rows[0][0] * 1000 == bar["t"]
        assert len([row for row in said if row["stream"] == "btcusdt@kline_1s"]) == 120

    run(work)


def test_control_messages_and_their_errors() -> None:
    async def work(client: Client) -> None:
        async with client.stream("ws") as socket:

            async def ask(text: str) -> Any:
                client.advance(1)
                await socket.send(text)
                while True:
                    answer = (await heard(socket, 1))[0]
                    if "stream" not in answer and "e" not in answer:
                        return answer

            streams = '["btcusdt@kline_1w","nosuch@trade","btcusdt@nothing"]'
            assert await ask(f'{{"method":"SUBSCRIBE","params":{streams},"id":1}}') == {"result": None, "id": 1}
            assert await ask('{"method":"UNSUBSCRIBE","params":["btcusdt@kline_1w"],"id":2}') == {
                "result": None,
                "id": 2,
            }
            listed = await ask('{"method":"LIST_SUBSCRIPTIONS","id":"x"}')
            assert listed == {"result": ["nosuch@trade", "btcusdt@nothing"], "id": "x"}
            assert await ask('{"method":"GET_PROPERTY","params":["combined"],"id":3}') == {"result": False, "id": 3}
            assert (await ask('{"method":"SET_PROPERTY","params":["combined",1],"id":3}'))["code"] == 1
            assert (await ask('{"method":"SET_PROPERTY","params":["colour",true],"id":3}'))["code"] == 0
            assert (await ask('{"method":"SING","id":3}'))["code"] == 2
            assert (await ask("{"))["code"] == 3
            assert await ask('{"method":"SET_PROPERTY","params":["combined",true],"id":4}') == {"result": None, "id": 4}
            await ask('{"method":"SUBSCRIBE","params":["ethusdt@trade"],"id":5}')
            client.advance(5)
            assert (await heard(socket, 1))[0]["stream"] == "ethusdt@trade"

    run(work)


def test_too_many_messages_a_missing_pong_and_the_end_of_a_life_drop_a_connection() -> None:
    async def work(client: Client) -> None:
        async with client.stream("ws") as socket:
            for number in range(6):
                await socket.send(json.dumps({"method": "LIST_SUBSCRIPTIONS", "id": number}))
            with pytest.raises(websockets.ConnectionClosed):
                await heard(socket, 7)
        async with client.stream("ws") as socket:
            client.advance(20)
            peer = next(iter(client.venue.peers.values()))
            await until(lambda: peer._unanswered is None)  # the client answers by itself
            client.advance(59)
            assert await heard(socket) == []
            client.advance(100)
            with pytest.raises(websockets.ConnectionClosed) as raised:
                await heard(socket, 1)
            assert raised.value.rcvd is None  # no answer to a ping: cut
        async with client.stream("ws") as socket:
            for peer in client.venue.peers.values():
                peer._opened -= 300 * SECOND
            client.advance(0.1)
            with pytest.raises(websockets.ConnectionClosedOK):
                await heard(socket, 1)

    run(work, terms=ConnectionTerms(life_s=300))


def test_weights_are_counted_and_too_much_is_refused_and_then_banned() -> None:
    async def work(client: Client) -> None:
        url = f"{client.venue.rest_url}/api/v3/depth?symbol=BTCUSDT&limit=1000"
        statuses = []
        for _ in range(6):
            async with client.http.get(url) as answer:
                statuses.append(
                    (answer.status, answer.headers.get("Retry-After"), answer.headers["X-MBX-USED-WEIGHT-1M"])
                )
        assert [status for status, _, _ in statuses] == [200, 200, 429, 429, 418, 418]
        assert [used for _, _, used in statuses[:2]] == ["50", "100"]
        assert (statuses[2][1], statuses[4][1]) == (str(60 - client.now // SECOND % 60), "120")
        client.advance(130)
        async with client.http.get(url) as answer:
            assert answer.status == 200

    run(work, weight_limit=100)


@pytest.mark.parametrize(
    ("path", "params", "code"),
    [
        ("depth", {}, -1102),
        ("depth", {"symbol": "NOSUCH"}, -1121),
        ("depth", {"symbol": "BTCUSDT", "limit": "-1"}, -1100),
        ("klines", {"symbol": "BTCUSDT", "interval": "1M"}, -1120),
        ("ticker/price", {"symbols": "BTCUSDT"}, -1100),
        ("account", {}, -2014),
    ],
)
def test_wrong_requests_get_the_codes_of_the_venue(path: str, params: dict[str, str], code: int) -> None:
    async def work(client: Client) -> None:
        assert (await client.get(path, **params))["code"] == code

    run(work)


def test_an_order_is_placed_filled_found_and_cancelled_and_its_owner_hears_of_it() -> None:
    async def work(client: Client) -> None:
        async with websockets.connect(client.venue.socket_api_url) as socket:
            await client.listen(socket)
            status, bought = await client.order(type="MARKET", quantity="0.01000")
            assert (status, bought["status"], bought["executedQty"]) == (200, "FILLED", "0.01000000")
            assert sum(Decimal(fill["qty"]) for fill in bought["fills"]) == Decimal("0.01")
            best = await client.get("ticker/bookTicker", symbol="BTCUSDT")
            low = f"{Decimal(best['bidPrice']) - 1000:.2f}"
            resting = {"quantity": "0.01", "price": low, "timeInForce": "GTC", "newClientOrderId": "mine"}
            status, placed = await client.order(**resting)
            assert (status, placed["status"], placed["clientOrderId"], placed["fills"]) == (200, "NEW", "mine", [])
            assert (await client.order(**resting))[1] == {"code": -2010, "msg": "Duplicate order sent."}
            _, found = await client.signed("GET", "openOrders", symbol="BTCUSDT")
            assert [(row["orderId"], row["isWorking"]) for row in found] == [(placed["orderId"], True)]
            _, account = await client.signed("GET", "account")
            usdt = next(row for row in account["balances"] if row["asset"] == "USDT")
            assert Decimal(usdt["locked"]) == Decimal(low) * Decimal("0.01")
            status, gone = await client.signed("DELETE", "order", symbol="BTCUSDT", origClientOrderId="mine")
            assert (gone["status"], gone["origClientOrderId"]) == ("CANCELED", "mine")
            assert (await client.signed("DELETE", "order", symbol="BTCUSDT", orderId=placed["orderId"]))[1][
                "code"
            ] == -2011
            _, trades = await client.signed("GET", "myTrades", symbol="BTCUSDT", orderId=bought["orderId"])
            assert [row["id"] for row in trades] == [fill["tradeId"] for fill in bought["fills"]]
            _, orders = await client.signed("GET", "allOrders", symbol="BTCUSDT")
            assert [row["status"] for row in orders] == ["FILLED", "CANCELED"]
            events = [row["event"] for row in await heard(socket, 6 + len(trades))]
            reports = [(row["x"], row["X"], row["i"]) for row in events if row["e"] == "executionReport"]
            fills = [("TRADE", "PARTIALLY_FILLED", bought["orderId"])] * (len(trades) - 1)
            assert reports == [
                ("NEW", "NEW", bought["orderId"]), *fills, ("TRADE", "FILLED", bought["orderId"]),
                ("NEW", "NEW", placed["orderId"]), ("CANCELED", "CANCELED", placed["orderId"]),
            ]  # fmt: skip
            assert events[-2]["c"] == gone["clientOrderId"]
            assert events[-2]["C"] == "mine"
            assert events[-1]["e"] == "outboundAccountPosition"

    run(work)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"price": "60000.001"}, -1013),
        ({"price": "60000.000000001"}, -1111),
        ({"quantity": "0.000001"}, -1013),
        ({"quantity": "0"}, -1013),
        ({"quantity": "-1"}, -1100),
        ({"quantity": "NaN"}, -1100),
        ({"price": "1e5"}, -1100),
        ({"price": "99999999999999999999"}, -1013),
        ({"quantity": "0.00001"}, -1013),
        ({"quantity": "100"}, -2010),
        ({"symbol": "X"}, -1121),
        ({"side": "HOLD"}, -1117),
        ({"type": "ICEBERG"}, -1116),
        ({"timeInForce": "DAY"}, -1115),
        ({"timeInForce": ""}, -1102),
        ({"stopPrice": "1"}, -1106),
        ({"type": "LIMIT_MAKER", "timeInForce": "", "price": "90000"}, -2010),
        ({"recvWindow": "60001"}, -1131),
    ],
)
def test_wrong_orders_get_the_codes_of_the_venue_and_change_nothing(changed: dict[str, str], code: int) -> None:
    async def work(client: Client) -> None:
        params = {"quantity": "0.01", "price": "60000", "timeInForce": "GTC", **changed}
        status, answer = await client.order(**params)
        assert (status, answer["code"]) == (400, code)
        assert client.venue.exchange.open_orders("ann") == []

    run(work)


def test_signatures_are_checked_with_the_published_vectors() -> None:
    payload = (
        "symbol=LTCBTC&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=0.1&recvWindow=5000&timestamp=1499827319559"
    )
    key = BinanceKey("k", "ann", secret=SECRET)
    key.check(payload, "c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71")
    with pytest.raises(ApiError, match="Signature"):
        key.check(payload + "0", "c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71")
    encoded = payload.replace("LTCBTC", quote("１２３４５６"))
    key.check(encoded, "e1353ec6b14d888f1164ae9af8228a3dbd508bc82eb867db8ab6046442f33ef3")
    params = {
        "symbol": "BTCUSDT", "side": "SELL", "type": "LIMIT", "timeInForce": "GTC", "quantity": "0.01000000",
        "price": "52000.00", "recvWindow": "100", "timestamp": "1645423376532", "signature": "ignored",
        "apiKey": "vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A",
    }  # fmt: skip
    key.check(socket_payload(params), "aa1b5712c094bc4e57c05a1a5c1fd8d88dcd628338ea863fec7b88e59fe2db24")
    assert SECRET not in repr(key)
    with pytest.raises(VenueError, match="either"):
        BinanceKey("k", "ann")


def test_an_ed25519_signature_is_checked() -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    key = BinanceKey(
        "k", "ann", public=ed25519.Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    )
    payload = "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=1&price=0.2"
    payload += "&timestamp=1668481559918&recvWindow=5000"
    signature = "XtZirsmmi0noRzUfkqktvkVfxpkq/WtbLg2UOL3QGYdUBZVlqOBEMuEVw8zioY93N54NcKj9UuAXQEa9zgTDBg=="
    key.check(payload, signature)
    for wrong in (base64.b64encode(bytes(64)).decode(), "?", ""):
        with pytest.raises(ApiError, match="Signature"):
            key.check(payload, wrong)


def test_a_session_with_an_ed25519_key_needs_no_further_signatures() -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    private = ed25519.Ed25519PrivateKey.generate()

    async def work(client: Client) -> None:
        client.venue.add_key("pair", "ann", public=private.public_key().public_bytes_raw())
        async with websockets.connect(client.venue.socket_api_url) as socket:

            async def ask(method: str, **params: Any) -> Any:
                client.advance(1)
                await socket.send(json.dumps({"id": 7, "method": method, "params": params}))
                return (await heard(socket, 1))[0]

            assert (await ask("userDataStream.subscribe"))["status"] == 401
            assert (await ask("account.status"))["status"] == 401
            stamp = (client.now + SECOND) // 10**6  # `ask` lets a second pass
            signed = base64.b64encode(private.sign(f"apiKey=pair&timestamp={stamp}".encode())).decode()
            logon = await ask("session.logon", apiKey="pair", timestamp=stamp, signature=signed)
            assert logon["result"]["apiKey"] == "pair"
            assert (await ask("account.status"))["result"]["accountType"] == "SPOT"
            assert (await ask("userDataStream.subscribe"))["result"] == {"subscriptionId": 0}
            assert (await ask("userDataStream.subscribe"))["error"]["code"] == -2035
            assert (await ask("userDataStream.unsubscribe", subscriptionId=0))["event"]["e"] == "eventStreamTerminated"

    run(work)


def test_a_clock_that_is_wrong_a_foreign_key_and_a_wrong_signature_are_refused() -> None:
    async def work(client: Client) -> None:
        assert (await client.signed("GET", "account", key="other"))[1]["code"] == -2015
        for ahead, code in ((2000, -1021), (-6000, -1021), (0, -1022)):
            stamp = client.venue.ledger.now // 10**6 + ahead
            signature = hmac.new(SECRET.encode(), f"timestamp={stamp}".encode(), hashlib.sha256).hexdigest()
            params = {"timestamp": stamp, "signature": signature if code == -1021 else "00"}
            url = f"{client.venue.rest_url}/api/v3/account?{urlencode(params)}"
            async with client.http.get(url, headers={"X-MBX-APIKEY": "key"}) as answer:
                assert (await answer.json())["code"] == code
        before = (await client.get("time"))["serverTime"]
        client.venue.faults.faults.append(VenueFault("skew", seconds=5))
        assert (await client.get("time"))["serverTime"] == before + 5000

    run(work)


FAULTED: list[tuple[FaultKind, Callable[[list[int], list[int]], bool]]] = [
    ("mute", lambda clean, seen: seen == []),
    ("gap", lambda clean, seen: 0 < len(seen) < len(clean) and seen == [t for t in clean if t in set(seen)]),
    ("duplicate", lambda clean, seen: sorted(set(seen)) == clean and len(seen) > len(clean)),
    ("reorder", lambda clean, seen: seen != clean and sorted(seen) == clean[: len(seen)]),
    ("ignored", lambda clean, seen: seen == []),
]


@pytest.mark.parametrize(("kind", "holds"), FAULTED)
def test_faults_of_a_stream(kind: FaultKind, holds: Callable[[list[int], list[int]], bool]) -> None:
    seen: list[list[int]] = []

    async def work(client: Client) -> None:
        async with client.stream("ws/btcusdt@trade") as socket:
            client.advance(10)
            client.venue.faults.faults.clear()  # so that the answer below comes
            seen.append([row["t"] for row in await heard(socket)])

    run(work)
    run(work, VenueFault(kind, symbol="BTCUSDT", probability=1 if kind in {"mute", "ignored"} else 0.5))
    assert len(seen[0]) > 10
    assert holds(*seen)


def test_a_frozen_connection_answers_no_ping_and_a_limited_one_is_not_opened() -> None:
    async def work(client: Client) -> None:
        async with client.stream("ws/btcusdt@trade") as socket:
            client.venue.faults.faults[:] = [VenueFault("frozen", connection=0)]
            waiter = await socket.ping()
            client.advance(100)
            await client.get("ping")  # the server has read what came before
            assert not waiter.done()
            assert client.venue.peers
        for path in ("stream", "ws-api/v3"):
            client.venue.faults.faults[:] = [VenueFault("limited", path=f"/{path}", seconds=30)]
            with pytest.raises(websockets.InvalidStatus) as raised:
                await websockets.connect(f"{client.venue.stream_url}/{path}")
            response = raised.value.response
            assert (response.status_code, response.headers["Retry-After"]) == (429, "30")

    run(work)


def test_late_frames_a_shutdown_and_disconnects() -> None:
    begin = START + int(15 * SECOND)

    async def work(client: Client) -> None:
        async with client.stream("stream?streams=btcusdt@trade") as socket:
            client.advance(1)
            assert await heard(socket) == []
            client.advance(2)
            assert (await heard(socket))[0]["data"]["T"] < client.now // 10**6 - 1900
            client.advance(2)
            shutdown = [row for row in await heard(socket) if row["stream"] == "!serverShutdown"]
            assert shutdown[0]["data"]["e"] == "serverShutdown"
            client.advance(1)
            with pytest.raises(websockets.ConnectionClosedOK):
                await heard(socket, 10_000)
        with pytest.raises(websockets.InvalidStatus):
            await websockets.connect(f"{client.venue.stream_url}/ws")
        client.advance(10)
        async with client.stream("ws") as socket:
            client.advance(20)
            with pytest.raises(websockets.ConnectionClosedError):
                await heard(socket, 1)

    run(
        work,
        VenueFault("latency", seconds=2),
        VenueFault("shutdown", begin),
        VenueFault("close", begin + SECOND, begin + 5 * SECOND),
        VenueFault("abort", begin + 20 * SECOND),
    )


def test_an_order_whose_answer_is_lost_late_or_after_its_execution_is_carried_out_all_the_same() -> None:
    async def work(client: Client) -> None:
        client.venue.faults.faults.append(VenueFault("lost-answer", path="/api/v3/order", status=503))
        status, answer = await client.order(type="MARKET", quantity="0.01", newClientOrderId="a")
        assert (status, answer["code"]) == (503, -1007)
        client.venue.faults.faults.clear()
        found = (await client.signed("GET", "order", symbol="BTCUSDT", origClientOrderId="a"))[1]
        assert found["status"] == "FILLED"
        for kind in ("hang", "early-execution"):
            fault = VenueFault(kind, path="/api/v3/order", seconds=10)  # type: ignore[arg-type]
            client.venue.faults.faults[:] = [fault]
            asked = asyncio.create_task(client.order(type="MARKET", quantity="0.01", newClientOrderId=kind))
            await until(lambda kind=kind: client.venue.exchange.by_client_id("ann", kind) is not None)
            client.advance(9)
            assert not asked.done()
            client.advance(1)
            assert (await asked)[1]["status"] == "FILLED"
        client.venue.faults.faults[:] = [VenueFault("limited", path="/api/v3/order", seconds=7, status=418)]
        assert (await client.order(type="MARKET", quantity="0.01"))[0] == 418
        client.venue.faults.faults[:] = [VenueFault("slow", path="/api/v3/ping", seconds=3)]
        slow = asyncio.create_task(client.get("ping"))
        await until(lambda: bool(client.venue._alarms._waiting))
        client.advance(3)
        assert await slow == {}

    run(work)


def test_executions_are_lost_doubled_or_come_before_the_answer() -> None:
    async def work(client: Client) -> None:
        async def executions(socket: ClientConnection) -> list[tuple[str, int]]:
            """Of one order, up to the balances that follow them."""
            found: list[tuple[str, int]] = []
            while True:
                event = (await heard(socket, 1))[0]["event"]
                if event["e"] == "outboundAccountPosition":
                    return found
                found.append((event["x"], event["I"]))

        async with websockets.connect(client.venue.socket_api_url) as socket:
            await client.listen(socket)
            faults = client.venue.faults.faults
            order = {"type": "MARKET", "quantity": "0.00010"}
            await client.order(**order)
            plain = await executions(socket)
            assert plain[0][0] == "NEW"
            assert plain[1][0] == "TRADE"
            faults.append(VenueFault("duplicate", channel="execution"))
            await client.order(**order)
            doubled = await executions(socket)
            assert doubled == [event for event in doubled[::2] for _ in range(2)]
            faults[:] = [VenueFault("gap", channel="execution")]
            await client.order(**order)
            assert await executions(socket) == []
            faults[:] = [VenueFault("early-execution", seconds=1)]
            asked = asyncio.create_task(client.order(**order))
            assert [kind for kind, _ in await executions(socket)][:2] == ["NEW", "TRADE"]
            assert not asked.done()
            client.advance(1)
            assert (await asked)[1]["status"] == "FILLED"

    run(work)


def test_an_account_lags() -> None:
    async def work(client: Client) -> None:
        client.advance(10)
        before = (await client.signed("GET", "account"))[1]["balances"]
        client.venue.faults.faults.append(VenueFault("lagging-account", seconds=5))
        await client.order(type="MARKET", quantity="0.01")
        client.advance(4)
        assert (await client.signed("GET", "account"))[1]["balances"] == before
        client.advance(1)
        assert (await client.signed("GET", "account"))[1]["balances"] != before

    run(work)


TEXTS = st.sampled_from(
    ["", "0", "-1", "1", "99999999999999999999", "1e9", "NaN", "٣", "1_0", "BTCUSDT", "BUY", "SELL", "MARKET", "LIMIT"]
) | st.text(max_size=8)  # fmt: skip
NAMES = (
    "symbol", "symbols", "limit", "fromId", "startTime", "endTime", "interval", "side", "type", "quantity", "price",
    "stopPrice", "quoteOrderQty", "timeInForce", "newClientOrderId", "newOrderRespType", "orderId", "origClientOrderId",
)  # fmt: skip
KNOWN = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "1", "interval": "1m"}


@given(st.sampled_from(desk.OPERATIONS), st.dictionaries(st.sampled_from(NAMES), TEXTS), st.booleans())
@settings(max_examples=120, deadline=None, derandomize=True)
def test_whatever_is_asked_gets_an_answer_or_an_error_of_the_venue(
    operation: Operation, params: dict[str, str], helped: bool
) -> None:
    exchange = Exchange(LISTINGS, start=START)
    exchange.accounts.open("ann")
    venue = BinanceVenue(exchange)
    answer: object = None
    with suppress(ApiError):
        answer = venue.desk.answer(operation, {**(KNOWN if helped else {}), **params}, 10**6, "ann")
    assert json.dumps(answer, allow_nan=False)


def test_a_venue_knows_what_happened_at_its_exchange_before() -> None:
    exchange = Exchange(LISTINGS, CROWDS, seed=3, start=START)
    exchange.accounts.open("ann")
    exchange.deposit("ann", "USDT", 7)
    exchange.advance(START + 20 * SECOND)
    late = BinanceVenue(exchange, Faults([VenueFault("lagging-account", seconds=60)]))
    early = BinanceVenue(Exchange(LISTINGS, CROWDS, seed=3, start=START))
    early.advance(START + 20 * SECOND)
    assert late.ledger.aggregates == early.ledger.aggregates
    assert len(late.ledger.aggregates["BTCUSDT"]) > 20
    assert late.ledger.holdings("ann", late.ledger.shown())["USDT"].free == 7


def test_a_connection_that_does_not_read_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "MOST_WAITING", 50)

    async def work(client: Client) -> None:
        async with client.stream("ws/btcusdt@trade") as socket:
            client.advance(60)
            with pytest.raises(websockets.ConnectionClosedError):
                await heard(socket, 51)

    run(work)


def test_orders_go_over_the_socket_with_limits_and_errors() -> None:
    async def work(client: Client) -> None:
        async with websockets.connect(client.venue.socket_api_url) as socket:

            async def ask(method: str, **params: Any) -> Any:
                client.advance(1)
                await socket.send(json.dumps({"id": 7, "method": method, "params": client.proof(**params)}))
                return (await heard(socket, 1))[0]

            placed = await ask("order.place", symbol="BTCUSDT", side="BUY", type="MARKET", quantity="0.01")
            assert (placed["id"], placed["status"], placed["result"]["status"]) == (7, 200, "FILLED")
            assert placed["rateLimits"][0] == {
                "rateLimitType": "ORDERS", "interval": "SECOND", "intervalNum": 10, "limit": 50, "count": 1,
            }  # fmt: skip
            wrong = await ask("order.cancel", symbol="BTCUSDT", orderId=99)
            assert (wrong["status"], wrong["error"]) == (400, {"code": -2011, "msg": "Unknown order sent."})
            assert (await ask("sing"))["status"] == 400
            client.advance(1)
            await socket.send("[")
            assert (await heard(socket, 1))[0]["status"] == 400
            assert (await ask("session.logon"))["error"]["code"] == -4056

    run(work)


def test_a_fault_that_cannot_be_is_refused() -> None:
    for options in ({"begin": 2, "end": 2}, {"probability": 2.0}, {"seconds": -1.0}):
        with pytest.raises(VenueError, match="fault 'gap'"):
            VenueFault("gap", **options)  # type: ignore[arg-type]
