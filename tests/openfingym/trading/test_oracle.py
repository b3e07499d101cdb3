"""Trading with hindsight against every path that there is, on markets so small that all can be tried."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from openfingym.data.bars import Bars
from openfingym.trading import MarketRules
from openfingym.trading.actions import Decision
from openfingym.trading.oracle import hindsight
from openfingym.trading.session import Session

CASH = 100_000.0
GAP = 0.001
"""By how much of equity brute force may be better: what one width of the finest corridor, 1/256 of equity, may gain in
a bar that moves by some percent, over four bars."""


def bars_of(seed: int, steps: int, symbols: int, *, move: float = 0.03, actions: bool = False) -> Bars:
    """Random bars, of which some thousand units trade; with ``actions``, of one split, a dividend and a halt."""
    rng = np.random.default_rng(seed)
    shape = steps + 1, symbols
    close = 100.0 * np.exp(np.cumsum(move * rng.standard_normal(shape), axis=0))
    opening = np.concatenate([close[:1], close[:-1]]) * np.exp(0.3 * move * rng.standard_normal(shape))
    volume = 3_000.0 * rng.uniform(0.3, 2.0, shape)
    split, dividend = np.ones(shape), np.zeros(shape)
    if actions:
        split[2, 0], dividend[-1, 0], volume[steps, -1] = 2.0, 1.5, 0.0
        opening[2:, 0], close[2:, 0], volume[2:, 0] = opening[2:, 0] / 2, close[2:, 0] / 2, volume[2:, 0] * 2
    high, low = np.maximum(opening, close) * 1.001, np.minimum(opening, close) * 0.999
    times = np.datetime64("2024-01-01", "ns") + np.arange(steps + 1) * np.timedelta64(1, "D")
    names = tuple(f"s{number}" for number in range(symbols))
    values = np.stack([opening, high, low, close, volume], axis=2)
    return Bars.from_array(times, names, values, split=split, dividend=dividend)


def opened(bars: Bars, market: MarketRules, cash: float = CASH) -> Session:
    return Session(bars, market, cash=cash, first=0, steps=len(bars.times) - 1)


def equity_of(session: Session, plan: Iterable[Sequence[float] | None]) -> float:
    """The last equity of a copy of an account that is given these target weights."""
    played = session.copy()
    for weights in plan:
        if not played.done:
            played.decide(Decision(weights=None if weights is None else tuple(weights)))
            played.advance()
    return float(played.record[-1, 0])


def held(session: Session) -> float:
    """The last equity of buy-and-hold."""
    symbols = len(session.bars.symbols)
    return equity_of(session, [[1.0 / symbols] * symbols, *[None] * (session.steps - 1)])


LIQUIDITY = {
    "neither": {},
    "impact": {"impact": 0.3},
    "cap": {"max_participation": 0.1},
    "both": {"impact": 0.1, "max_participation": 0.2},
    "tight": {"impact": 0.1, "max_participation": 0.01},
    "fixed fee": {"fee_per_trade": 300.0},
    "long only": {"impact": 0.3, "max_participation": 0.1, "max_short": 0.0},
}


CASES = [(name, *shape) for name in LIQUIDITY for shape in [(1, 3, 5), (2, 2, 3)]]
UNPROVED = {("neither", 2), ("fixed fee", 2)}
"""Where hindsight does not claim to be the best: without a price of liquidity it holds one symbol at a time, and with a
fixed fee the problem is not concave."""


@pytest.mark.parametrize(("liquidity", "symbols", "steps", "levels"), [c for c in CASES if c[:2] not in UNPROVED])
def test_no_path_is_better_than_hindsight(liquidity: str, symbols: int, steps: int, levels: int) -> None:
    """Brute force: each of the target weights, or no trade, at each bar; with fees, borrowing, impact and the cap."""
    rules = {"fee_bps": 5.0, "slippage_bps": 5.0, "borrow_bps_per_year": 300.0, "lot": 0.0, **LIQUIDITY[liquidity]}
    market = MarketRules(**rules)
    grid = itertools.product(np.linspace(-market.max_short, 1.0, levels), repeat=symbols)
    states = [None, *(w for w in grid if sum(np.maximum(w, 0.0)) <= 1.0 and sum(np.minimum(w, 0.0)) >= -1.0)]
    for seed in range(2):
        session = opened(bars_of(seed, steps, symbols, actions=seed == 1 and steps > 2), market)
        best, worst = hindsight(session), hindsight(session, worst=True)
        tried = [equity_of(session, path) for path in itertools.product(states, repeat=steps)]
        assert best.equity >= max(tried) * (1.0 - GAP)
        assert worst.equity <= CASH <= best.equity
        # What it says that it does is what it reaches.
        assert equity_of(session, best.weights) == best.equity


@pytest.mark.parametrize("liquidity", LIQUIDITY)
def test_hindsight_is_never_worse_than_buy_and_hold_nor_than_nothing(liquidity: str) -> None:
    for seed, (lot, cash) in enumerate([(0.0, CASH), (1.0, CASH), (10.0, 2_000.0), (1.0, 1e7)]):
        market = MarketRules(fee_bps=5.0, slippage_bps=5.0, lot=lot, **LIQUIDITY[liquidity])
        session = opened(bars_of(seed, 12, 3, actions=seed % 2 == 1), market, cash)
        best, worst = hindsight(session), hindsight(session, worst=True)
        assert best.equity >= max(held(session), cash)
        assert worst.equity <= min(held(session), cash)


def test_a_cap_that_fills_a_position_over_many_bars_is_planned_for() -> None:
    """A rise that follows a fall: who waits for it holds a tenth of what may be held by then."""
    steps = 20
    price = np.concatenate([np.linspace(100.0, 98.0, 11), np.full(10, 150.0)])[:, None]
    values = np.stack([price, price, price, price, np.full_like(price, 1_000.0)], axis=2)
    times = np.datetime64("2024-01-01", "ns") + np.arange(steps + 1) * np.timedelta64(1, "D")
    session = opened(Bars.from_array(times, ("s0",), values), MarketRules(max_participation=0.05, lot=1.0))
    # Fifty units a bar, at the open of bars 1 to 10, of which the last costs 98 and is worth 150.
    gained = 50.0 * float((150.0 - price[1:11, 0]).sum())
    assert hindsight(session).equity == pytest.approx(CASH + gained, rel=1e-4)
