"""Round trips: their profits are the account's, whatever was traded and whatever happened to it."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.reports.trading.replay import Replay
from openfingym.reports.trading.surface import PlayedEpisode
from openfingym.reports.trading.trace import EpisodeTrace
from openfingym.reports.trading.trades import to_csv, trades_of
from openfingym.trading.actions import HOLD, Decision
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Order, Side
from openfingym.trading.session import Session
from tests.openfingym.trading.test_compiled import ENDS, bars_of, ending, random_decision, random_market

CASH = 100_000.0


def played(bars, market, decide, *, first=0, cash=CASH):
    """An episode whose decisions ``decide(session)`` makes."""
    session = Session(bars, market, cash=cash, first=first, steps=len(bars) - 1 - first)
    positions, events = [session.simulator.positions()], []
    while not session.done:
        session.decide(decide(session) or HOLD)
        events += session.advance()
        positions.append(session.simulator.positions())
    positions += [positions[-1]] * (session.steps + 1 - len(positions))
    trace = EpisodeTrace(
        bars.times[first:],
        bars.symbols,
        bars.close[first:],
        np.array(positions),
        tuple(event._replace(bar=event.bar - first) for event in events),
        session.record,
    )
    return Replay(trace, PlayedEpisode(bars, market, cash, first, session.steps, ()))


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(ENDS))
def test_the_profits_of_all_trades_are_the_accounts(seed, end):
    rng = np.random.default_rng(seed)
    bars, market = ending(bars_of(rng, 40, 2), end, 30), random_market(rng)
    cash = float(rng.choice([1000.0, 1e4, 1e5]))
    one = played(bars, market, lambda session: random_decision(rng, session), first=3, cash=cash)
    trades = trades_of([one])
    won = one.trace.record[-1, 0] - one.trace.record[0, 0]
    assert sum(trade.pnl for trade in trades) == pytest.approx(won, abs=0.005)
    # The file says the same as the trades, to the last bit.
    rows = list(csv.DictReader(io.StringIO(to_csv(trades))))
    assert [float(row["pnl"]) for row in rows] == [trade.pnl for trade in trades]
    fees = sum(event.fee for event in one.trace.events)
    assert sum(trade.fees for trade in trades) == pytest.approx(fees, abs=0.005)
    for symbol, name in enumerate(bars.symbols):
        held = sum(
            t.quantity * (1 if t.side == "long" else -1) for t in trades if t.symbol == name and t.status == "open"
        )
        assert held == pytest.approx(one.trace.positions[-1, symbol], rel=1e-9, abs=1e-9)
    for trade in trades:
        assert trade.status == "forgiven" or trade.quantity > 0.0
        assert trade.entry_time <= trade.exit_time


def test_the_first_bought_is_the_first_sold():
    shape = (6, 1)
    from openfingym.data.bars import Bars

    close = np.array([10.0, 10.0, 12.0, 15.0, 14.0, 14.0])[:, None]
    bars = Bars.from_arrays(
        np.datetime64("2024-01-01", "ns") + np.arange(6) * np.timedelta64(1, "D"),
        ["=aapl"],
        open=close,
        high=close,
        low=close,
        close=close,
        volume=np.full(shape, 1e6),
    )
    wanted = iter([(Side.BUY, 100.0), (Side.BUY, 50.0), (Side.SELL, 120.0), (Side.SELL, 50.0)])

    def decide(session):
        side, quantity = next(wanted, (None, 0.0))
        return Decision(orders=(Order(0, side, quantity),)) if side else None

    one = played(bars, MarketRules(fee_bps=10.0), decide)
    first, second, third, left = trades_of([one])
    # 100 at 10 and 20 of 50 at 12, sold at 15; 30 at 12 sold at 14; 20 sold short at 14 and still open.
    assert [(t.quantity, t.entry_price, t.exit_price) for t in (first, second, third, left)] == [
        (100.0, 10.0, 15.0),
        (20.0, 12.0, 15.0),
        (30.0, 12.0, 14.0),
        (20.0, 14.0, 14.0),
    ]
    assert [t.status for t in (first, second, third, left)] == ["closed", "closed", "closed", "open"]
    assert [t.side for t in (third, left)] == ["long", "short"]
    assert first.fees == pytest.approx(0.001 * 100.0 * (10.0 + 15.0))
    assert first.pnl == pytest.approx(500.0 - first.fees)
    assert (first.bars, second.bars, third.bars, left.bars) == (2, 1, 2, 1)
    # A spreadsheet must not take a symbol for a formula.
    assert to_csv([first]).splitlines()[1].startswith("1,'=aapl,long,closed,100.0,2024-01-02T00:00:00,10.0,")
