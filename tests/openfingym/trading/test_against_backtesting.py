"""Cash, short cap and flips agree with backtesting.py's (margin 1): position and equity after every bar, without
tolerance.

backtesting.py reserves nothing at submission, so neither do we here, and nothing costs anything. Prices are on a grid
of quarters and sizes whole, so that sums are exact in both. Two kinds of streams:

- *crowded*: several market orders a bar on both sides, of sizes at which cash and cap bind all the time;
- *lonely*: one market, limit or stop order at a time, which may flip the position.

Excluded, and why: stop-limit orders (backtesting.py ignores gaps and fills them outside the bar). Adding to a short at
a price other than the bar's close: backtesting.py values a short at the close of the bar in which the order fills,
which is not known then; so the crowded bars close where they open, and lonely orders do not add to shorts. Bankruptcy:
it ends their run, and prices stay in a range in which it cannot happen.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

from openfingym.trading.market import MarketRules
from openfingym.trading.orders import EventKind, Order, OrderType, Reason, Side
from openfingym.trading.simulator import Simulator

CASH = 10_000.0
PATIENCE = 3
"""Bars after which a lonely order is cancelled."""


def random_bars(rng, rows, flat):
    """float64[rows, 4] between 75 and 125; closing where they open if ``flat``."""
    opening = rng.integers(320, 480, rows) / 4
    close = opening if flat else np.clip(opening + rng.integers(-20, 21, rows) / 4, 80, 120)
    high = np.maximum(opening, close) + rng.integers(0, 20, rows) / 4
    low = np.minimum(opening, close) - rng.integers(0, 20, rows) / 4
    return np.stack([opening, high, low, close], axis=1)


def crowded(rng, rows):
    """Orders by row: up to three market orders of 1 to 90 units."""

    def decide(row, position, waiting):
        return [Order(0, Side(int(side)), float(size)) for side, size in plan[row]]

    plan = [[(rng.choice([-1, 1]), rng.integers(1, 91)) for _ in range(rng.integers(0, 4))] for _ in range(rows)]
    return decide


def lonely(rng, rows):
    """Orders by row: one at a time, of any type but stop-limit; none that adds to a short."""
    plan = [
        (rng.choice([-1, 1]), rng.integers(1, 220), rng.integers(0, 3), rng.integers(-24, 25) / 4) for _ in range(rows)
    ]

    def decide(row, position, waiting):
        if waiting:
            return []
        side, size, kind, distance = plan[row]
        side = 1 if position < 0 else side
        price = 100.0 + distance
        limit, stop = (price if kind == OrderType.LIMIT else np.nan), (price if kind == OrderType.STOP else np.nan)
        return [Order(0, Side(int(side)), float(size), OrderType(int(kind)), limit, stop)]

    return decide


def our_run(bars, decide):
    """[(position, equity)] after each bar from the second on, and how often each reason was given."""
    simulator = Simulator(MarketRules(check_on_submit=False), cash=CASH, closes=[bars[0, 3]])
    trace, reasons, born = [], [], {}
    for row, (o, h, low, c) in enumerate(bars.tolist()):
        if row == 0:
            continue
        if row > 1:
            simulator.on_bar([o], [h], [low], [c], [1.0])
        for event in simulator.events():
            reasons.append(event.reason)
            if (
                event.kind is EventKind.FILLED
                and event.side * simulator.position[0] > 0
                and event.quantity > abs(simulator.position[0])
            ):
                reasons.append("flip")
        trace.append((row, simulator.position[0], simulator.equity))
        waiting = [order.id for order in simulator.open_orders()]
        for order_id in waiting:
            if row - born[order_id] >= PATIENCE:
                simulator.cancel(order_id)
                simulator.events()
        for order_id in simulator.submit(decide(row, simulator.position[0], bool(simulator.open_orders()))):
            assert order_id
            born[order_id] = row
    return trace, reasons


def their_run(bars, decide):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import backtesting  # here: it takes as long as all that other tests import
    trace, born = [], {}

    class Replay(backtesting.Strategy):
        def init(self):
            pass

        def next(self):
            row = len(self.data) - 1
            trace.append((row, float(self.position.size), float(self.equity)))
            for order in self.orders:
                if row - born[id(order)] >= PATIENCE:
                    order.cancel()
            for order in decide(row, self.position.size, bool(self.orders)):
                send = self.buy if order.side > 0 else self.sell
                prices = {"limit": order.limit_price, "stop": order.stop_price}
                sent = send(
                    size=int(order.quantity), **{name: price for name, price in prices.items() if not np.isnan(price)}
                )
                born[id(sent)] = row

    frame = pd.DataFrame(
        bars, columns=["Open", "High", "Low", "Close"], index=pd.date_range("2020-01-01", periods=len(bars))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each refusal is a warning
        run = backtesting.Backtest(
            frame,
            Replay,
            cash=CASH,
            margin=1.0,
            commission=0.0,
            trade_on_close=False,
            exclusive_orders=False,
            hedging=False,
        )
        run.run()
    return trace


def compare(seed, rows, stream):
    """Compare one stream; returns the reasons given."""
    bars = random_bars(np.random.default_rng(seed), rows, flat=stream is crowded)
    ours, reasons = our_run(bars, stream(np.random.default_rng(seed + 1), rows))
    theirs = their_run(bars, stream(np.random.default_rng(seed + 1), rows))
    assert len(ours) == rows - 1
    assert ours == theirs
    return reasons


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("stream", [crowded, lonely])
@pytest.mark.parametrize("seed", [1, 2])
def test_position_and_equity_are_those_of_backtesting(seed, stream):
    reasons = compare(seed, 2500, stream)
    assert min(reasons.count(found) for found in (Reason.INSUFFICIENT_CASH, Reason.SHORT_CAP, "flip")) > 15
