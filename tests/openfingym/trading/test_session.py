"""A session: what its record says, and that looking ahead does not move it."""

from __future__ import annotations

import numpy as np
import pytest

from openfingym.errors import UsageError
from openfingym.trading.actions import Decision
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Order, OrderType, Side
from openfingym.trading.session import Session
from tests.openfingym.trading.one_symbol import bars_of


def test_the_record_of_a_round_trip() -> None:
    session = Session(bars_of([100.0, 110.0, 120.0, 120.0]), MarketRules(fee_bps=10.0), cash=1000.0, first=0, steps=3)
    session.decide(Decision(orders=(Order(0, Side.BUY, 5.0),)))
    session.advance()  # bought at the open of row 1, which is 100
    session.decide(Decision(orders=(Order(0, Side.SELL, 5.0),)))
    session.advance()  # sold at the open of row 2, which is 110
    session.advance()
    assert session.done
    bought, sold = 500.0 * 0.001, 550.0 * 0.001
    np.testing.assert_allclose(
        session.record,
        [
            [1000.0, 0, 0, 0, 0, 0, 0],
            [1050.0 - bought, 500.0, bought, 550.0, 0, 0, 0],
            [1050.0 - bought - sold, 550.0, sold, 0, 0, 1, 1],
            [1050.0 - bought - sold, 0, 0, 0, 0, 0, 0],
        ],
    )


def test_an_outcome_plays_the_rest_out_and_leaves_the_session_alone() -> None:
    session = Session(bars_of([100.0, 110.0, 120.0, 90.0, 130.0]), MarketRules(), cash=1000.0, first=0, steps=4)
    session.decide(
        Decision(orders=(Order(0, Side.BUY, 5.0), Order(0, Side.SELL, 5.0, OrderType.STOP, stop_price=95.0)))
    )
    session.advance()
    before = session.record.copy()
    outcome = session.outcome()
    assert outcome[:, 0].tolist() == [1000.0, 1050.0, 1100.0, 975.0, 975.0]  # the stop sold at 95
    assert np.array_equal(session.record, before)
    assert session.rows == 1
    assert len(session.simulator.open_orders()) == 1
    while not session.done:
        session.advance()
    assert np.array_equal(session.record, outcome)


def test_a_bankrupt_account_stays_at_zero() -> None:
    session = Session(bars_of([100.0, 100.0, 250.0, 50.0]), MarketRules(), cash=1000.0, first=0, steps=3)
    session.decide(Decision(weights=(-1.0,)))
    outcome = session.outcome()
    assert outcome[:, 0].tolist() == [1000.0, 1000.0, 0.0, 0.0]


@pytest.mark.parametrize(("first", "steps"), [(-1, 2), (0, 0), (0, 4), (3, 1)])
def test_rows_that_are_not_there(first: int, steps: int) -> None:
    with pytest.raises(UsageError, match="the bars have 4"):
        Session(bars_of([1.0, 2.0, 3.0, 4.0]), MarketRules(), cash=1.0, first=first, steps=steps)


def test_no_step_after_the_end() -> None:
    session = Session(bars_of([1.0, 2.0]), MarketRules(), cash=1.0, first=0, steps=1)
    session.advance()
    with pytest.raises(UsageError, match="over"):
        session.advance()
