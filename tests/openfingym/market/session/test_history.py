"""The bars from before a session: out of the venue's own bars, shorter ones, or trades, over several answers."""

from __future__ import annotations

import json

import pytest

from openfingym.errors import FeedError
from openfingym.market.feed import Feed
from openfingym.market.feeds.alpaca import AlpacaFeed
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.feeds.reading import rfc3339_text
from openfingym.market.keys import Keys
from openfingym.market.session.history import BarHistory
from openfingym.market.ticks import SECOND

END = 1_790_000_040 * SECOND
MINUTE = 60 * SECOND
STOCKS = AlpacaFeed(["AAPL"], Keys("a-key-of-nobody", "a-secret-of-nobody"))
COINS = BinanceFeed(["BTCUSDT"])


def trade(number: int, ago: float, price: float, size: float = 100.0, *conditions: str) -> dict[str, object]:
    stamp = rfc3339_text(END - int(ago * SECOND))
    return {"i": number, "t": stamp, "p": price, "s": size, "x": "V", "z": "C", "c": list(conditions)}


def trades(*rows: dict[str, object]) -> bytes:
    return json.dumps({"trades": {"AAPL": rows}, "next_page_token": None}).encode()


def kline(begin: int, o: float, h: float, l: float, c: float) -> list[object]:  # noqa: E741
    return [begin // 10**6, f"{o}", f"{h}", f"{l}", f"{c}", "2.0", 0, "0", 3, "0", "0", "0"]


@pytest.mark.parametrize(
    ("feed", "interval", "unit"),
    [
        (COINS, 5 * SECOND, SECOND),
        (COINS, 60 * SECOND, MINUTE),
        (COINS, 6 * MINUTE, 3 * MINUTE),
        (STOCKS, 60 * SECOND, MINUTE),
        (STOCKS, 120 * MINUTE, 60 * MINUTE),
        (STOCKS, 24 * 60 * MINUTE, 60 * MINUTE),
        (STOCKS, 30 * SECOND, None),
        (STOCKS, SECOND, None),
    ],
)
def test_the_bars_that_others_are_made_of(feed: Feed, interval: int, unit: int | None) -> None:
    assert feed.bar_length(interval) == unit


def test_trades_where_the_venue_has_no_bars_so_short() -> None:
    history = BarHistory(STOCKS, "AAPL", SECOND, 4, END)
    first = history.ask()
    assert first.path.startswith("/v2/stocks/trades?symbols=AAPL&start=")
    history.answered(trades(trade(7, 3.5, 10.0), trade(9, 3.2, 12.0, 50.0, "I"), trade(8, 3.1, 11.0)))
    assert not history.over, "there may be more"
    assert history.ask() != first
    # The answer begins with what was there before; the trade at the instant itself belongs to the next bar.
    history.answered(trades(trade(8, 3.1, 11.0), trade(20, 0.5, 9.0), trade(21, 0.4, 9.5), trade(22, 0.0, 99.0)))
    assert history.over
    assert history.rows() == [
        [10.0, 11.0, 10.0, 11.0, 250.0],  # an odd lot has a volume, and sets no price
        [11.0, 11.0, 11.0, 11.0, 0.0],
        [11.0, 11.0, 11.0, 11.0, 0.0],
        [9.0, 9.5, 9.0, 9.5, 200.0],
    ]


def test_trades_end_with_an_answer_that_holds_nothing_new() -> None:
    history = BarHistory(STOCKS, "AAPL", SECOND, 4, END)
    history.answered(trades(trade(1, 1.5, 10.0)))
    assert not history.over
    history.answered(trades(trade(1, 1.5, 10.0)))
    assert history.over
    assert [row[:4] for row in history.rows()] == [[10.0] * 4] * 4, "before the first trade, its price"


def test_bars_of_shorter_ones_over_two_answers() -> None:
    history = BarHistory(COINS, "BTCUSDT", 5 * SECOND, 2, END)
    assert "interval=1s" in history.ask().path
    seconds = [END - number * SECOND for number in range(10, 0, -1)]
    history.answered(json.dumps([kline(at, 10, 12, 9, 11) for at in seconds[:4]]).encode())
    assert not history.over
    assert f"startTime={seconds[4] // 10**6}" in history.ask().path
    history.answered(json.dumps([kline(at, 11, 15, 8, 14) for at in seconds[4:]]).encode())
    assert history.over
    assert history.rows() == [[10.0, 15.0, 8.0, 14.0, 10.0], [11.0, 15.0, 8.0, 14.0, 10.0]]


def test_a_venue_without_anything_says_so() -> None:
    for interval, body in ((SECOND, trades()), (MINUTE, b'{"bars": {}, "next_page_token": null}')):
        history = BarHistory(STOCKS, "AAPL", interval, 4, END - END % MINUTE)
        with pytest.raises(FeedError, match="no bars of AAPL from before the session"):
            history.answered(body)
    odd = BarHistory(STOCKS, "AAPL", SECOND, 4, END)
    odd.answered(trades(trade(1, 1.0, 10.0, 5.0, "I")))
    with pytest.raises(FeedError, match="no bars of AAPL"):
        odd.answered(trades())
