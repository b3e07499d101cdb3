"""A session whose orders go to a broker: a local venue's account, and its reports on the tape.

Attacks, each for a gain that no decision of the session made: another program that trades in the account, two sessions
in one account, an account that holds something already.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest

from openfingym.errors import DataError, UsageError, VenueError
from openfingym.market.brokers.live import LiveBroker
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
from openfingym.metrics.performance import RecordColumn
from openfingym.trading.actions import parse_decision
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
    made = report(Fixed(account, (1.0, -2.0), (fill(0, Side.SELL, 3.0, 10.0),)), 0)  # type: ignore[arg-type]
    found = read_report(made)
    assert (found.account(), found.positions()) == (account, (1.0, -2.0))
    (order,) = found.open_orders()
    assert (order.side, order.type, order.limit_price) == (Side.BUY, OrderType.LIMIT, 9.5)
    assert math.isnan(order.stop_price)
    assert found.new == (fill(0, Side.SELL, 3.0, 10.0),)
    for wrong in ("", "[]", "{}", "[[1],[2],[3],[4],5]", made.replace("[1.0", '["x"', 1)):
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
    made.reported(report(Fixed(Account(1.0, 100.0, 1.0, 60.0, 0.0), (0.0, 0.0), events), 0))  # type: ignore[arg-type]
    mark = made.mark(0, {}, {}, at)
    traded = 1000.0 + 1100.0 + 530.0 + 2600.0 + 1030.0
    assert made.record[0].tolist() == [100.0, traded, 1.0, 60.0, 0.0, 3.0, 2.0]
    assert len(mark.observation["fills"]) == 5  # type: ignore[arg-type]
    assert made.fault is None
    for held, units, fault in (
        (1.0, (3.0, 0.0), "fills come to"),
        (-9.0, (0.0, 0.0), "10.00 of its cash is gone|9.00"),
    ):
        made.reported(report(Fixed(Account(held, 1.0, 1.0, 0.0, 0.0), units), 0))  # type: ignore[arg-type]
        assert re.search(fault, str(made.fault))
    with pytest.raises(DataError, match="1 positions for 2 symbols"):
        made.reported(report(Fixed(Account(1.0, 1.0, 1.0, 0.0, 0.0), (0.0,)), 0))  # type: ignore[arg-type]


def test_weights_become_whole_orders_that_the_free_cash_pays() -> None:
    account = Fixed(Account(20_000.0, 100_000.0, 20_000.0, 80_000.0, 0.0), (800.0, 0.0))
    orders = orders_to((0.3, 0.5), account, (100.0, 50.0), 1.0)  # type: ignore[arg-type]
    assert [(order.symbol, order.side, order.quantity) for order in orders] == [
        (0, Side.SELL, 500.0),
        (1, Side.BUY, 396.0),  # of 1,000 wanted what 99 % of the free cash pays
    ]
    assert orders_to((0.8, 0.0), account, (100.0, 50.0), 1.0) == []  # type: ignore[arg-type]
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
    assert record[:, RecordColumn.TRADED].sum() > 0.0
    assert record[0, RecordColumn.EQUITY] == 100_000.0
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


@contextlib.contextmanager
def at_a_venue(folder: Path, steps: int = 4) -> Iterator[tuple[LiveSession, AlpacaFeed]]:
    """A session that has begun, and the feed of its venue."""
    with local_alpaca(NAMES, seed=1, before_s=30.0) as (venue, keys):
        feed = AlpacaFeed(NAMES, keys, stream_url=venue.stream_url, rest_url=venue.rest_url, simulated=True)
        with LiveSession(contextlib.nullcontext(feed), replace(TERMS, steps=steps), folder / "tape") as session:
            session.begin()
            yield session, feed


def test_no_action_breaks_a_session_at_a_broker(tmp_path: Path) -> None:
    """Otherwise an agent whose session goes badly would end it without a score."""
    random, names = np.random.default_rng(2), ["aapl", "msft", "?", -1, 10**17]
    numbers = [0, -0.0, 1, -1, 0.5, 1e-320, 1e18, 1e300, 1.7e308, 10**17, -(10**17), None]
    with at_a_venue(tmp_path, 600) as (session, _):  # steps of a second, more than a busy machine can take
        for _ in range(150):
            number = lambda: numbers[random.integers(len(numbers))]  # noqa: E731  # short
            action: dict[str, object] = {"weights": [number(), number()]}
            if random.integers(2):
                order = {"symbol": names[random.integers(5)], "side": "buy", "quantity": number(), "type": "limit"}
                action = {
                    "orders": [order | {"limit_price": number()}, order | {"side": "sell", "type": "market"}],
                    "cancels": [int(random.integers(-1, 5))],
                    "replaces": [{"order": int(random.integers(5)), "quantity": number(), "limit_price": number()}],
                }
            session._trade(parse_decision(action, TERMS.symbols))
        mark = session.step({"weights": [1e308, 0.0]})
        reasons = [refused["reason"] for refused in mark.observation["rejections"]]  # type: ignore[attr-defined]
        assert "bad-weights" in reasons


def test_what_others_do_in_the_account_is_a_fault_and_no_score(tmp_path: Path) -> None:
    with at_a_venue(tmp_path) as (session, feed):
        session.step(None)
        assert session.machine.account.fault is None
        body = {"symbol": "AAPL", "qty": "7", "side": "buy", "type": "market", "time_in_force": "day"}
        address = feed.rest()
        request = Request(
            f"{address.url}/v2/orders",
            json.dumps(body).encode(),
            {**address.headers, "Content-Type": "application/json"},
        )
        urlopen(request, timeout=10).close()
        session.leave()
    assert "1 orders that the session did not place" in str(session.machine.account.fault)


def test_an_account_of_which_nothing_is_known_ends_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dead(_: LiveBroker) -> None:
        raise VenueError("the keys were revoked")

    with at_a_venue(tmp_path) as (session, _):
        monkeypatch.setattr(LiveBroker, "check", dead)
        with pytest.raises(VenueError, match="the keys were revoked"):
            session.step(None)


def test_one_session_at_a_time_has_an_account(tmp_path: Path) -> None:
    refused = pytest.raises(VenueError, match="another session trades for this account")
    with at_a_venue(tmp_path) as (_, feed), refused:
        LiveSession(contextlib.nullcontext(feed), TERMS, tmp_path / "other").__enter__()


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
