"""The cost-delay surface against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from openfingym.data.bars import Bars
from openfingym.errors import UsageError
from openfingym.reports.trading.surface import Decided, PlayedEpisode, cost_delay_surface, rescore
from openfingym.trading.actions import Decision, Replacement
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Order, OrderType, Side
from openfingym.trading.session import Session
from tests.openfingym.trading.one_symbol import bars_of


def play(bars: Bars, market: MarketRules, decisions: list[Decision], cash: float) -> tuple[PlayedEpisode, np.ndarray]:
    """Play decisions as an agent would, and keep the tape."""
    steps = len(bars) - 1
    session = Session(bars, market, cash=cash, first=0, steps=steps)
    decided = []
    for decision in decisions:
        decided.append(Decided(decision, tuple(session.decide(decision))))
        session.advance()
    while not session.done:
        session.advance()
    return PlayedEpisode(bars, market, cash, 0, steps, tuple(decided)), session.record


def test_as_played_is_the_record_itself() -> None:
    rng = np.random.default_rng(0)
    bars = bars_of(100.0 * np.exp(np.cumsum(0.02 * rng.standard_normal(80))))
    market = MarketRules(fee_bps=3.0, slippage_bps=2.0, fee_per_trade=0.5)
    decisions = []
    for row in range(70):
        price = float(bars.close[row, 0])
        orders = (Order(0, Side.BUY, 3.0), Order(0, Side.SELL, 2.0, OrderType.LIMIT, limit_price=price * 1.01))
        # Ids are given from 1 on, two a step.
        changes = (Replacement(2 * row - 2, quantity=1.0),) if row > 2 else ()
        decisions.append(Decision(orders=orders, cancels=(2 * row - 6,) if row > 6 else (), replaces=changes))
    tape, record = play(bars, market, decisions, 10_000.0)
    assert record[:, 5].sum() > 5
    assert np.array_equal(rescore(tape), record)


def test_the_break_even_cost_of_one_round_trip() -> None:
    bought, sold = 100.0, 103.0
    bars = bars_of(np.array([100.0, 101.0, 103.0, 104.0]))
    decisions = [
        Decision(orders=(Order(0, Side.BUY, 10.0),)),
        Decision(),
        Decision(orders=(Order(0, Side.SELL, 10.0),)),
    ]
    tape, _ = play(bars, MarketRules(fee_bps=1.0), decisions, 1e6)
    surface = cost_delay_surface([tape], costs_bps=(0.0, 10.0), delays=(0,))
    # sold (1 - c) = bought (1 + c)
    assert surface.break_even_cost_bps == pytest.approx(1e4 * (sold - bought) / (sold + bought), abs=0.01)
    assert surface.total_return[0, 0] == pytest.approx(30.0 / 1e6)
    assert surface.total_return[1, 0] == pytest.approx((30.0 - 10 * 203 * 1e-3) / 1e6)


def test_knowledge_of_the_next_bar_is_worthless_two_bars_later() -> None:
    rng = np.random.default_rng(1)
    steps = 0.01 * rng.choice([-1.0, 1.0], 4000)
    bars = bars_of(100.0 * np.exp(np.concatenate(([0.0], np.cumsum(steps)))))
    tape, _ = play(bars, MarketRules(lot=0.0), [Decision(weights=(float(np.sign(step)),)) for step in steps], 1e6)
    surface = cost_delay_surface([tape], costs_bps=(0.0,), delays=(0, 1))
    # Long gains e^0.01 - 1 in each rising bar, short 1 - e^-0.01 in each falling one.
    ups = int((steps > 0).sum())
    expected = np.exp(0.01 * ups) * (2.0 - np.exp(-0.01)) ** (len(steps) - ups) - 1.0
    assert surface.total_return[0, 0] == pytest.approx(expected, rel=1e-9)
    assert np.log1p(surface.total_return[0, 1]) < 0.05 * np.log1p(surface.total_return[0, 0])
    assert surface.as_played == pytest.approx(expected, rel=1e-9)


def test_a_losing_policy_has_no_break_even() -> None:
    bars = bars_of(np.array([100.0, 90.0, 80.0]))
    tape, _ = play(bars, MarketRules(), [Decision(weights=(1.0,))], 1e4)
    surface = cost_delay_surface([tape], costs_bps=(0.0,), delays=(0,))
    assert surface.break_even_cost_bps is None
    assert surface.break_even_delay is None


def test_bad_grids() -> None:
    with pytest.raises(UsageError, match="no episode"):
        cost_delay_surface([])
    bars = bars_of(np.array([100.0, 90.0, 80.0]))
    tape, _ = play(bars, MarketRules(), [], 1e4)
    with pytest.raises(UsageError, match="negative"):
        cost_delay_surface([tape], delays=(-1,))
