"""A session whose orders go to a broker: a local venue's account, and its reports on the tape."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from openfingym.errors import DataError, UsageError, VenueError
from openfingym.market.commands import Instant
from openfingym.market.feeds.alpaca import AlpacaFeed
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.keys import Keys
from openfingym.market.session.broker_account import BrokerAccount, orders_to, read_report, report
from openfingym.market.session.live import LiveSession
from openfingym.market.session.taped import TapedSession, replayed
from openfingym.market.session.terms import SessionTerms
from openfingym.market.session.venues import broker_of, simulated_venue
from openfingym.market.sim.local import local_alpaca
from openfingym.metrics.performance import Column
from openfingym.trading.executor import Account, OpenOrder
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Event, EventKind, OrderType, Side, TimeInForce

NAMES = ("AAPL", "MSFT")
TERMS = SessionTerms(("aapl", "msft"), NAMES, 1, 4, 5, 100_000.0, MarketRules(lot=1.0, tick=0.01), "broker")


class Fixed:
    """An account that holds what it is made with."""

    def __init__(self, account: Account, units: tuple[float, ...], events: tuple[Event, ...] = ()) -> None:
        self._account, self._units, self._events = account, units, list(events)

    def account(self) -> Account:
        return self._account

    def positions(self) -> tuple[float, ...]:
        return self._units

    def open_orders(self) -> tuple[OpenOrder, ...]:
        nan = math.nan
        return (
            OpenOrder(3, 1, Side.BUY, OrderType.LIMIT, TimeInForce.GTC, 2.0, 9.5, nan, triggered=False, client_id="a"),
        )

    def events(self) -> list[Event]:
        events, self._events = self._events, []
        return events


def fill(symbol: int, side: Side, quantity: float, price: float, fee: float = 0.0) -> Event:
    return Event(EventKind.FILLED, 0, 1, symbol, side, quantity, price, fee)


def test_a_report_is_read_as_it_was_written() -> None:
    account = Account(1.5, 2.5, 0.5, 1.0, 0.0)
    made = report(Fixed(account, (1.0, -2.0), (fill(0, Side.SELL, 3.0, 10.0),)))  # type: ignore[arg-type]
    found = read_report(made)
    assert (found.account(), found.positions()) == (account, (1.0, -2.0))
    (order,) = found.open_orders()
    assert (order.side, order.type, order.limit_price) == (Side.BUY, OrderType.LIMIT, 9.5)
    assert math.isnan(order.stop_price)
    assert found.new == (fill(0, Side.SELL, 3.0, 10.0),)
    for wrong in ("", "[]", "{}", "[[1],[2],[3],[4]]", made.replace("[1.0", '["x"', 1)):
        with pytest.raises(DataError, match="account's report"):
            read_report(wrong)


def test_the_record_counts_what_fills_closed_and_won() -> None:
    made, at = BrokerAccount(replace(TERMS, steps=1)), Instant(0, 0)
    made.open(None, at, lambda _: 0)  # type: ignore[arg-type]
    events = (
        fill(0, Side.BUY, 10.0, 100.0),
        fill(0, Side.BUY, 10.0, 110.0),  # 105 on average
        fill(0, Side.SELL, 5.0, 106.0, fee=1.0),  # won 4
        fill(0, Side.SELL, 25.0, 104.0),  # lost 15, and is short by 10 at 104
        fill(0, Side.BUY, 10.0, 103.0),  # won 10
    )
    made.reported(report(Fixed(Account(1.0, 100.0, 1.0, 60.0, 0.0), (0.0, 0.0), events)))  # type: ignore[arg-type]
    mark = made.mark(0, {}, {}, at)
    traded = 1000.0 + 1100.0 + 530.0 + 2600.0 + 1030.0
    assert made.record[0].tolist() == [100.0, traded, 1.0, 60.0, 0.0, 3.0, 2.0]
    assert len(mark.observation["fills"]) == 5  # type: ignore[arg-type]
    with pytest.raises(DataError, match="1 positions for 2 symbols"):
        made.reported(report(Fixed(Account(1.0, 1.0, 1.0, 0.0, 0.0), (0.0,))))  # type: ignore[arg-type]


def test_weights_become_whole_orders_that_the_free_cash_pays() -> None:
    account = Fixed(Account(20_000.0, 100_000.0, 20_000.0, 80_000.0, 0.0), (800.0, 0.0))
    orders = orders_to((0.3, 0.5), account, (100.0, 50.0), 1.0)  # type: ignore[arg-type]
    assert [(order.symbol, order.side, order.quantity) for order in orders] == [
        (0, Side.SELL, 500.0),
        (1, Side.BUY, 396.0),  # of 1,000 wanted what 99 % of the free cash pays
    ]
    assert orders_to((0.8, math.nan), account, (100.0, 50.0), 1.0) == []  # type: ignore[arg-type]
    assert orders_to((0.0, 0.1), account, (math.nan, math.nan), 1.0) == []  # type: ignore[arg-type]


def test_orders_go_to_an_account_and_a_replay_gives_it_back(tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    with LiveSession(simulated_venue("alpaca", NAMES, seed=4, before_s=60.0), TERMS, tape) as session:
        session.begin()
        marks = [session.step({"weights": [0.4, 0.3]})]
        for _ in range(20):
            if marks[-1].observation["fills"] or marks[-1].done:
                break
            marks.append(session.step(None))
        session.leave()
        record = session.outcome().copy()
    assert any(mark.observation["fills"] for mark in marks)
    assert record[:, Column.TRADED].sum() > 0.0
    assert record[0, Column.EQUITY] == 100_000.0
    machine, found = replayed(tape)
    assert found.difference is None
    assert machine.record.tobytes() == record.tobytes()
    with TapedSession(tape) as other:
        mark = other.begin()
        while not mark.done:
            mark = other.step({"weights": [0.4, 0.3]})
        assert other.terms.orders == "paper"
        assert np.isfinite(other.outcome()).all()
        assert other.machine.bars.tobytes() == machine.bars.tobytes()


def test_an_account_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    with local_alpaca(NAMES, seed=1, before_s=30.0) as (venue, keys):
        venue.exchange.deposit("session", "AAPL", 10**8)
        feed = AlpacaFeed(NAMES, keys, stream_url=venue.stream_url, rest_url=venue.rest_url, simulated=True)
        with pytest.raises(VenueError, match="close them first"):
            LiveSession(contextlib.nullcontext(feed), TERMS, tmp_path / "tape").__enter__()
        assert venue.exchange.open_orders("session", "AAPL") == []


def test_orders_go_to_paper_accounts_alone() -> None:
    keys = Keys("k" * 10, "s" * 10)
    assert not broker_of(AlpacaFeed(NAMES, keys)).real
    with pytest.raises(UsageError, match="cost real money"):
        broker_of(AlpacaFeed(NAMES, keys, rest_url="https://api.alpaca.markets", simulated=True))
    with pytest.raises(UsageError, match="alpaca alone"):
        broker_of(BinanceFeed(["BTCUSDT"]))
