"""The local Alpaca venue's market data, seen by plain clients over real sockets, in time that is advanced by hand."""

from __future__ import annotations

from openfingym.market.feeds.reading import rfc3339
from tests.openfingym.market.alpaca_clients import SECOND, Client, run


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
            more = {"page_token": token} if token else {}
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
        assert [bar[name] for name in "ohlc"] == [prices[0], max(prices), min(prices), prices[-1]]  # type: ignore[type-var]
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


START_TEXT = "2023-11-15T09:30:00-05:00"


def test_orders_are_placed_filled_replaced_and_cancelled_and_their_owner_hears_of_it() -> None:
    import json

    async def work(client: Client) -> None:
        async with client.updates() as socket:

            async def event() -> dict[str, object]:
                frame = await socket.recv()
                assert isinstance(frame, bytes)
                found: dict[str, object] = json.loads(frame)["data"]
                return found

            status, bought = await client.order(qty="300", client_order_id="mine")
            assert (status, bought["status"], bought["filled_qty"]) == (200, "filled", "300")
            print(bought)
            print(await event())
            print(await event())
            print(await client.get("/v2/positions"))
            print(await client.get("/v2/account"))
            print(await client.get("/v2/account/activities/FILL"))
            print(await client.get("/v2/clock"))
            print(await client.get("/v2/assets"))

    run(work)
