"""The local Alpaca venue's market data, seen by plain clients over real sockets, in time that is advanced by hand."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import date
from typing import Any

import pytest
import websockets
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection

from openfingym.errors import VenueError
from openfingym.market.feeds.reading import rfc3339
from openfingym.market.sim.alpaca import AlpacaVenue, MarketHours
from openfingym.market.sim.alpaca.account import ACCOUNT_ROUTES
from openfingym.market.sim.alpaca.calls import AlpacaCall, AlpacaRoute
from openfingym.market.sim.alpaca.data import DATA_ROUTES
from openfingym.market.sim.alpaca.ledger import order_id
from openfingym.market.sim.alpaca.orders import ORDER_ROUTES
from openfingym.market.sim.alpaca.wire import AlpacaRefusalError
from openfingym.market.sim.events import ATOMS, ListedPair
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import FaultKind, VenueFault
from tests.openfingym.market.alpaca_clients import HEADERS, KEYS, LISTINGS, SECOND, START, Client, run, until

START_TEXT = "2023-11-15T09:30:00-05:00"


def test_trades_quotes_and_bars_of_stocks_are_streamed_and_agree_with_rest() -> None:
    async def work(client: Client) -> None:
        async with client.stream() as socket:
            client.advance(50)
            wanted = {"trades": ["AAPL"], "quotes": ["AAPL"], "bars": ["*"]}
            answer = await socket.ask(action="subscribe", **wanted)
            assert answer == {
                "T": "subscription", **wanted, "updatedBars": [], "dailyBars": [], "statuses": [], "lulds": [],
                "corrections": ["AAPL"], "cancelErrors": ["AAPL"],
            }  # fmt: skip
            begin = client.now
            client.advance(60)
            said = await socket.all()
        trades = [one for one in said if one["T"] == "t"]
        assert {one["S"] for one in trades} == {"AAPL"}
        assert len(trades) > 100
        assert set(trades[0]) == set("TSixpsctz")
        assert {tuple(one["c"]) for one in trades} == {("@",), ("@", "I")}
        rest: list[dict[str, object]] = []
        token = None
        while token is not None or not rest:
            more: dict[str, Any] = {"page_token": token} if token else {}
            found = await client.get("/v2/stocks/trades", symbols="AAPL", start=START_TEXT, limit=40, **more)
            rest += found["trades"]["AAPL"]
            token = found["next_page_token"]
        since = [one for one in rest if rfc3339(str(one["t"])) > begin]
        assert since == [{name: one[name] for name in one if name not in "TS"} for one in trades]
        assert len({one["i"] for one in rest}) == len(rest)
        quote = [one for one in said if one["T"] == "q"][-1]
        latest = (await client.get("/v2/stocks/quotes/latest", symbols="AAPL,NOSUCH"))["quotes"]
        assert set(latest) == {"AAPL"}
        assert [quote[name] for name in ("bp", "bs", "ap", "as")] == [
            latest["AAPL"][name] for name in ("bp", "bs", "ap", "as")
        ]
        assert latest["AAPL"]["bp"] < latest["AAPL"]["ap"]
        bars = {one["S"]: one for one in said if one["T"] == "b"}
        assert set(bars) == {"AAPL", "MSFT"}
        bar = bars["AAPL"]
        left = rfc3339(bar["t"])
        inside = [one for one in rest if left <= rfc3339(str(one["t"])) < left + 60 * SECOND]
        whole = [one for one in inside if "I" not in one["c"]]  # type: ignore[operator]
        prices = [one["p"] for one in whole]
        highest, lowest = max(prices), min(prices)  # type: ignore[type-var]
        assert [bar[name] for name in "ohlc"] == [prices[0], highest, lowest, prices[-1]]
        assert (bar["v"], bar["n"]) == (sum(one["s"] for one in inside), len(inside))  # type: ignore[misc]
        assert len(whole) < len(inside)
        found = await client.get("/v2/stocks/bars", symbols="AAPL,MSFT", timeframe="1Min", start=bar["t"], end=bar["t"])
        assert found == {
            "bars": {
                name: [{key: one[key] for key in one if key not in "TS"}] for name, one in sorted(bars.items())
            },
            "next_page_token": None,
        }  # fmt: skip
        snapshot = (await client.get("/v2/stocks/snapshots", symbols="AAPL"))["AAPL"]
        assert snapshot["latestTrade"] == rest[-1]
        assert snapshot["dailyBar"]["v"] == sum(one["s"] for one in rest)  # type: ignore[misc]

    run(work)


async def events(socket: ClientConnection, count: int) -> list[Any]:
    """The next order events, which the paper venue sends in binary frames."""
    found = []
    for _ in range(count):
        frame = await asyncio.wait_for(socket.recv(), 10)
        assert isinstance(frame, bytes)
        found.append(json.loads(frame)["data"])
    return found


def test_books_of_coins_begin_whole_and_follow_by_changes_and_quiet_minutes_have_bars_of_quotes() -> None:
    async def work(client: Client) -> None:
        async with client.stream("/v1beta3/crypto/us") as socket:
            await socket.ask(action="subscribe", orderbooks=["BTC/USD"], trades=["BTC/USD"], bars=["BTC/USD"])
            client.advance(4.95)
            said = await socket.all()
            books = [one for one in said if one["T"] == "o"]
            assert [one.get("r", False) for one in books] == [True] + [False] * (len(books) - 1)
            assert len(books) > 10
            sides: dict[str, dict[float, float]] = {"b": {}, "a": {}}
            for book in books:
                for side, levels in sides.items():
                    levels |= {one["p"]: one["s"] for one in book[side]}
            path = "/v1beta3/crypto/us/latest/orderbooks"
            _, found = await client.ask("GET", path, headers={}, symbols="BTC/USD")  # nobody needs keys for coins
            for side, levels in sides.items():
                whole = {one["p"]: one["s"] for one in found["orderbooks"]["BTC/USD"][side]}
                assert {price: size for price, size in levels.items() if size} == whole
            trade = next(one for one in said if one["T"] == "t")
            assert set(trade) == {"T", "S", "p", "s", "t", "i", "tks"}
            client.venue.exchange.halt("BTC/USD")
            client.advance(120)
            bars = [one for one in await socket.all() if one["T"] == "b"]
            assert (bars[-1]["v"], bars[-1]["n"], bars[-1]["vw"]) == (0, 0, 0)
            latest = (await client.get("/v1beta3/crypto/us/latest/quotes", symbols="BTC/USD"))["quotes"]["BTC/USD"]
            assert bars[-1]["c"] == pytest.approx((latest["bp"] + latest["ap"]) / 2)
            snapshots = await client.get("/v1beta3/crypto/us/snapshots", symbols="BTC/USD")
            assert snapshots["snapshots"]["BTC/USD"]["minuteBar"]["t"] == bars[-1]["t"]

    run(work)


def test_control_messages_of_the_stream_and_their_errors() -> None:
    async def work(client: Client) -> None:
        async with client.stream(login=False) as socket:

            async def code(**message: Any) -> int:
                found: int = (await socket.ask(**message))["code"]
                return found

            assert await code(action="subscribe", trades=["AAPL"]) == 401
            assert await code(action="auth", key=KEYS.key, secret="wrong") == 402
            assert await code(action="auth", key=7, secret=None) == 402
            assert (await socket.ask(action="auth", key=KEYS.key, secret=KEYS.secret))["msg"] == "authenticated"
            assert await code(action="auth", key=KEYS.key, secret=KEYS.secret) == 403
            assert await code(action="sing") == 400
            assert await code(action="subscribe", orderbooks=["AAPL"]) == 410
            assert await code(action="subscribe", trades="AAPL") == 400
            assert (await socket.ask(action="subscribe", trades=["AAPL"], quotes=["NOSUCH"]))["quotes"] == ["NOSUCH"]
            assert await code(action="subscribe", trades=["MSFT"]) == 405
            assert (await socket.ask(action="unsubscribe", quotes=["NOSUCH"]))["trades"] == ["AAPL"]
            async with client.stream(login=False) as other:
                answer = await other.ask(action="auth", key=KEYS.key, secret=KEYS.secret)
                assert answer == {"T": "error", "code": 406, "msg": "connection limit exceeded"}
                with pytest.raises(websockets.ConnectionClosedOK):
                    await other.heard(1)
            async with client.stream("/v2/sip"):
                pass  # another stream
        await until(lambda: not client.venue.peers)
        async with client.stream(login=False, additional_headers=HEADERS) as socket:
            assert await socket.heard(1) == [{"T": "success", "msg": "authenticated"}]
        async with client.stream(login=False) as socket:
            client.advance(10)
            assert (await socket.heard(1))[0]["code"] == 404
            with pytest.raises(websockets.ConnectionClosedOK):
                await socket.heard(1)

    run(work, most_symbols=2)


FAULTED: list[FaultKind] = ["mute", "gap", "duplicate", "reorder", "ignored"]


@pytest.mark.parametrize("kind", FAULTED)
def test_faults_of_a_stream(kind: FaultKind) -> None:
    seen: list[list[int]] = []

    async def work(client: Client) -> None:
        async with client.stream() as socket:
            await socket.socket.send(json.dumps({"action": "subscribe", "trades": ["AAPL"]}))
            await until(lambda: any(getattr(peer, "wanted", {}).get("trades") for peer in client.venue.peers.values()))
            if kind == "mute" and seen:
                client.faults.append(VenueFault("mute"))
            client.advance(10)
            client.faults.clear()  # so that the answer comes
            found = []
            while True:
                messages = await socket.until_control({"action": "sing"})
                found += [one["i"] for one in messages if one["T"] == "t"]
                if messages[-1]["T"] == "error":
                    break
            seen.append(found)

    run(work)
    faults = [VenueFault(kind, symbol="AAPL", probability=1 if kind == "ignored" else 0.5)]
    run(work, *(faults if kind != "mute" else ()))
    clean, other = seen
    assert len(clean) > 10
    holds = {
        "mute": other == [],
        "gap": 0 < len(other) < len(clean) and other == [one for one in clean if one in set(other)],
        "duplicate": sorted(set(other)) == clean and len(other) > len(clean),
        "reorder": other != clean and set(other) <= set(clean),
        "ignored": other == [],
    }
    assert holds[kind]


def test_orders_are_placed_replaced_and_cancelled_and_their_owner_hears_of_it() -> None:
    async def work(client: Client) -> None:
        async with client.updates() as socket:
            status, bought = await client.order(qty="300", client_order_id="mine")
            assert (status, bought["status"], bought["filled_qty"]) == (200, "filled", "300")
            fills = await client.get("/v2/account/activities/FILL", direction="asc", page_size=1)
            while len(more := await client.get("/v2/account/activities/FILL", direction="asc",
                                               page_token=fills[-1]["id"])):  # fmt: skip
                fills += more
            said = await events(socket, 1 + len(fills))
            assert [one["event"] for one in said] == ["new", *["partial_fill"] * (len(fills) - 1), "fill"]
            assert [one["qty"] for one in said[1:]] == [one["qty"] for one in fills]
            assert [one["order"]["filled_qty"] for one in said[1:]] == [one["cum_qty"] for one in fills]
            assert said[-1]["position_qty"] == "300"
            [position] = await client.get("/v2/positions")
            assert (position["qty"], position["avg_entry_price"]) == ("300", bought["filled_avg_price"])
            account = await client.get("/v2/account")
            spent = sum(float(one["qty"]) * float(one["price"]) for one in fills)
            assert float(account["cash"]) == pytest.approx(100_000 - spent)
            _, low = await client.order(type="limit", limit_price="150.5", time_in_force="gtc")
            assert low["status"] == "new"
            assert await client.get("/v2/orders", status="open") == [low]
            assert await client.get("/v2/orders:by_client_order_id", client_order_id="mine") == bought
            status, new = await client.ask("PATCH", f"/v2/orders/{low['id']}", {"limit_price": "151", "qty": "7"})
            assert (status, new["replaces"], new["qty"], new["limit_price"]) == (200, low["id"], "7", "151")
            assert (await client.get(f"/v2/orders/{low['id']}"))["replaced_by"] == new["id"]
            assert await client.ask("DELETE", f"/v2/orders/{new['id']}") == (204, None)
            status, why = await client.ask("DELETE", f"/v2/orders/{new['id']}")
            assert (status, why["code"]) == (422, 42210000)
            said = [(one["event"], one["order"]["id"]) for one in await events(socket, 4)]
            assert said == [("new", low["id"]), ("replaced", low["id"]), ("new", new["id"]), ("canceled", new["id"])]
            status, closing = await client.ask("DELETE", "/v2/positions/AAPL")
            assert (status, closing["side"], closing["qty"]) == (200, "sell", "300")
            assert (await client.ask("GET", "/v2/positions/AAPL"))[0] == 404
            listed = await client.get("/v2/orders", status="all", direction="asc")
            assert [one["status"] for one in listed] == ["filled", "replaced", "canceled", "filled"]

    run(work)


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({"symbol": "NOSUCH"}, 422, "not found"),
        ({"symbol": None}, 422, "not found"),
        ({"side": "hold"}, 422, "side"),
        ({"type": "trailing_stop"}, 422, "order type"),
        ({"type": "limit"}, 422, "limit_price"),
        ({"limit_price": "100"}, 422, "must not have"),
        ({"type": "limit", "limit_price": "100.001"}, 422, "sub-penny"),
        ({"type": "limit", "limit_price": "NaN"}, 422, "must be > 0"),
        ({"time_in_force": "opg"}, 422, "time_in_force"),
        ({"symbol": "BTC/USD"}, 422, "time_in_force"),
        ({"qty": "0"}, 422, "must be > 0"),
        ({"qty": "1e400"}, 422, "must be > 0"),
        ({"qty": True}, 422, "number"),
        ({"qty": "1.5"}, 422, "increment"),
        ({"qty": None}, 422, "notional"),
        ({"notional": "10"}, 422, "notional"),
        ({"qty": "100000"}, 403, "insufficient buying power"),
        ({"side": "sell"}, 403, "insufficient qty"),
        ({"symbol": "BTC/USD", "time_in_force": "gtc", "qty": "5"}, 403, "insufficient balance"),
        ({"order_class": "bracket"}, 422, "order class"),
        ({"client_order_id": "x" * 129}, 422, "client_order_id"),
        ({"client_order_id": "taken"}, 422, "client_order_id must be unique"),
    ],
)
def test_wrong_orders_get_the_answers_of_the_venue_and_change_nothing(
    changed: dict[str, Any], status: int, words: str
) -> None:
    async def work(client: Client) -> None:
        _, taken = await client.order(type="limit", limit_price="1", qty="1", client_order_id="taken")
        await client.ask("DELETE", f"/v2/orders/{taken['id']}")
        found, why = await client.order(**changed)
        assert (found, set(why)) == (status, {"code", "message"})
        assert words in why["message"]
        assert client.venue.exchange.open_orders("ann") == []
        assert not client.venue.ledger.fills["ann"]

    run(work)


def test_wrong_keys_unknown_orders_and_too_many_requests_are_refused() -> None:
    async def work(client: Client) -> None:
        wrong = HEADERS | {"APCA-API-SECRET-KEY": "wrong"}
        for path in ("/v2/account", "/v2/stocks/trades/latest?symbols=AAPL"):
            assert (await client.ask("GET", path, headers=wrong))[0] == 401
        for method in ("GET", "PATCH", "DELETE"):
            assert (await client.ask(method, "/v2/orders/nosuch", {}))[0] == 404
        assert (await client.ask("GET", "/v2/orders:by_client_order_id", client_order_id="nosuch"))[0] == 404
        assert (await client.ask("POST", "/v2/orders", [1]))[0] == 422
        assert (await client.ask("GET", "/v2/stocks/bars", symbols="AAPL", timeframe="1Fortnight"))[0] == 400
        assert (await client.ask("GET", "/v2/stocks/trades", symbols="AAPL", page_token="?"))[0] == 400
        assert (await client.ask("GET", "/v2/calendar", start="9999-12-31"))[0] == 200
        assert (await client.ask("GET", "/v2/calendar", start="yesterday"))[0] == 400
        used = 0
        while (await client.ask("GET", "/v2/clock"))[0] == 200:
            used += 1
        async with client.http.get(f"{client.venue.rest_url}/v2/clock", headers=HEADERS) as answer:
            assert (answer.status, answer.headers["X-RateLimit-Remaining"]) == (429, "0")
            reset = int(answer.headers["X-RateLimit-Reset"])
        assert 0 < reset - client.now // SECOND <= 60
        assert used < 20
        client.advance(60)
        assert (await client.ask("GET", "/v2/clock"))[0] == 200
        client.faults.append(VenueFault("limited", path="/v2/clock", seconds=7))
        async with client.http.get(f"{client.venue.rest_url}/v2/clock", headers=HEADERS) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
        client.venue.drop_key(KEYS.key)
        assert (await client.ask("GET", "/v2/account"))[0] == 401

    run(work, requests=20)


def test_an_order_whose_answer_is_lost_or_late_is_carried_out_and_an_account_lags() -> None:
    async def work(client: Client) -> None:
        client.faults.append(VenueFault("lost-answer", path="/v2/orders", status=504))
        client.faults.append(VenueFault("lagging-account", seconds=5))
        assert (await client.order(client_order_id="a"))[0] == 504
        client.faults.pop(0)
        found = await client.get("/v2/orders:by_client_order_id", client_order_id="a")
        assert found["status"] == "filled"
        client.advance(4)
        assert await client.get("/v2/positions") == []
        client.advance(1.5)
        assert [one["qty"] for one in await client.get("/v2/positions")] == ["10"]
        async with client.updates() as socket:
            client.faults[:] = [VenueFault("early-execution", path="/v2/orders", seconds=1)]
            asked = asyncio.create_task(client.order(qty="1"))
            assert [one["event"] for one in await events(socket, 2)] == ["new", "fill"]
            assert not asked.done()
            client.advance(1)
            assert (await asked)[1]["status"] == "filled"
            client.faults[:] = [VenueFault("duplicate", channel="execution")]
            await client.order(qty="1")
            said = [one["execution_id"] for one in await events(socket, 4)]
            assert said[::2] == said[1::2]

    run(work)


def test_outside_its_hours_stocks_stand_still_and_orders_wait_or_expire() -> None:
    hours = MarketHours([(START, START + 60 * SECOND), (START + 120 * SECOND, START + 180 * SECOND)])

    async def work(client: Client) -> None:
        clock = await client.get("/v2/clock")
        assert clock["is_open"]
        assert rfc3339(clock["next_close"]) == START + 60 * SECOND
        assert rfc3339(clock["next_open"]) == START + 120 * SECOND
        async with client.updates() as socket:
            _, day = await client.order(type="limit", limit_price="150")
            client.advance(60)
            assert [one["event"] for one in await events(socket, 2)] == ["new", "expired"]
            assert (await client.get(f"/v2/orders/{day['id']}"))["status"] == "expired"
            assert not (await client.get("/v2/clock"))["is_open"]
            trades = len(client.venue.exchange.trades["AAPL"])
            coins = len(client.venue.exchange.trades["BTC/USD"])
            _, waiting = await client.order(qty="5")
            assert (waiting["status"], waiting["filled_qty"]) == ("accepted", "0")
            client.advance(40)
            assert len(client.venue.exchange.trades["AAPL"]) == trades
            assert len(client.venue.exchange.trades["BTC/USD"]) > coins
            client.advance(11)
            said = [one["event"] for one in await events(socket, 3)]
            assert said[:2] == ["accepted", "new"]
            assert said[2].endswith("fill")
            client.advance(10)
            assert len(client.venue.exchange.trades["AAPL"]) > trades + 20
        days = await client.get("/v2/calendar", start="2023-11-15", end="2023-11-16")
        assert [(one["date"], one["open"]) for one in days] == [("2023-11-15", "09:30"), ("2023-11-15", "09:32")]

    run(work, hours=hours)
    regular = MarketHours.regular(date(2023, 11, 15), date(2023, 11, 21), holidays=[date(2023, 11, 16)])
    assert [day["date"][-2:] for day in regular.calendar(date.min, date.max)] == ["15", "17", "20", "21"]
    assert regular.open(START)
    assert not regular.open(START - 1)
    with pytest.raises(VenueError, match="not in order"):
        MarketHours([(2, 1)])


def test_halts_cancelled_and_corrected_trades_are_told() -> None:
    async def work(client: Client) -> None:
        venue = client.venue
        async with client.stream() as socket:
            await socket.ask(action="subscribe", trades=["AAPL"], statuses=["*"], updatedBars=["AAPL"])
            client.advance(60)
            await socket.all()
            first, second = [one.id for one in venue.exchange.trades["AAPL"]][:2]
            venue.cancel_trade("AAPL", first)
            venue.correct_trade("AAPL", second, price=20_000, quantity=500)
            venue.halt("AAPL")
            client.advance(5)
            venue.resume("AAPL")
            said = await socket.all()
            assert [one["T"] for one in said[:4]] == ["x", "c", "s", "s"]
            assert (said[0]["i"], said[0]["a"]) == (first, "C")
            assert (said[1]["oi"], said[1]["cp"], said[1]["cs"]) == (second, 200, 500)
            assert [one["sc"] for one in said[2:4]] == ["H", "T"]
            client.advance(80)
            [bar] = [one for one in await socket.all() if one["T"] == "u"]
            assert bar["h"] == 200
        rows = (await client.get("/v2/stocks/trades", symbols="AAPL", limit=3))["trades"]["AAPL"]
        assert [one.get("u") for one in rows] == ["canceled", "incorrect", "corrected"]
        [first_bar] = (await client.get("/v2/stocks/bars", symbols="AAPL", timeframe="1Min", limit=1))["bars"]["AAPL"]
        assert first_bar == {name: bar[name] for name in first_bar}
        with pytest.raises(VenueError, match="taken back before"):
            venue.cancel_trade("AAPL", first)

    run(work)


def test_an_exchange_that_lists_what_alpaca_would_not_is_refused() -> None:
    for listing in (ListedPair("AAPL", "AAPL", "USD"), ListedPair("BTC/EUR", "BTC", "EUR")):
        with pytest.raises(VenueError, match="would not list"):
            AlpacaVenue(Exchange([listing]))


def test_margin_lets_stocks_be_sold_short_within_the_equity_and_coins_not() -> None:
    async def work(client: Client) -> None:
        _, sold = await client.order(side="sell", qty="100")
        assert sold["filled_qty"] == "100"
        [position] = await client.get("/v2/positions")
        assert (position["side"], position["qty"]) == ("short", "-100")
        account = await client.get("/v2/account")
        assert float(account["cash"]) > 100_000
        assert float(account["buying_power"]) < 200_000
        assert (await client.order(side="sell", qty="1000"))[0] == 403
        assert (await client.order(symbol="BTC/USD", time_in_force="gtc", side="sell", qty="0.1"))[0] == 403
        assert client.venue.exchange.accounts.total("USD") == 100_000 * ATOMS

    run(work, margin=True)


TEXTS = st.sampled_from(
    ["", "0", "-1", "1", "99999999999999999999", "1e9", "NaN", "٣", "1_0", "AAPL", "BTC/USD", "BTCUSD", "buy", "sell",
     "market", "limit", "day", "gtc", "1Min", "1Day", "desc", "0001-01-01", "9999-12-31", "2023-11-15T09:30:00Z"]
) | st.text(max_size=8)  # fmt: skip
VALUES = TEXTS | st.none() | st.booleans() | st.integers() | st.floats() | st.lists(st.integers(), max_size=1)
PARAMS = (
    "symbols", "limit", "start", "end", "timeframe", "sort", "page_token", "status", "after", "until", "direction",
    "side", "asset_class", "date", "page_size", "qty", "percentage", "cancel_orders", "client_order_id",
)  # fmt: skip
FIELDS = (
    "symbol", "qty", "notional", "side", "type", "time_in_force", "limit_price", "stop_price", "client_order_id",
    "extended_hours", "order_class", "take_profit",
)  # fmt: skip
USUAL = {"symbol": "AAPL", "side": "buy", "type": "limit", "time_in_force": "day", "qty": "1", "limit_price": "1"}


@given(
    st.sampled_from((*ORDER_ROUTES, *ACCOUNT_ROUTES, *DATA_ROUTES)),
    st.dictionaries(st.sampled_from(PARAMS), TEXTS),
    st.dictionaries(st.sampled_from(FIELDS), VALUES),
    TEXTS,
    st.booleans(),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_whatever_is_asked_gets_an_answer_or_a_refusal_of_the_venue(
    route: AlpacaRoute, params: dict[str, str], body: dict[str, Any], name: str, helped: bool
) -> None:
    exchange = Exchange(LISTINGS, start=START)
    exchange.accounts.open("ann")
    exchange.deposit("ann", "USD", 10**6 * ATOMS)
    venue = AlpacaVenue(exchange)
    first = exchange.place("ann", "AAPL", 1, "limit", 5, price=100)
    venue.publish()
    given_params = {"symbols": "AAPL", "timeframe": "1Min"} | params if helped else params
    args = {"order": order_id(first) if helped else name, "symbol": name, "kind": "FILL"}
    answer: object = None
    with suppress(AlpacaRefusalError):
        answer = route.run(venue.ledger, AlpacaCall(given_params, args, (USUAL if helped else {}) | body, "ann"))
    assert json.dumps(answer, allow_nan=False)
