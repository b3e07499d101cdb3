"""The mirror's rules one by one: each is a way in which a broker's account has been misread before."""

from __future__ import annotations

from decimal import Decimal

import pytest

from openfingym.market.brokers.changes import Drift
from openfingym.market.brokers.mirror import Exposure, Mirror
from openfingym.market.brokers.reports import (
    Absent,
    AccountReport,
    BrokerExecution,
    Bust,
    Instrument,
    OrderRefused,
    OrderReport,
    OrderState,
    ReportSource,
    Submitted,
    Unanswered,
)
from openfingym.market.commands import Instant
from openfingym.trading.orders import OrderType, Reason, Side, TimeInForce

D = Decimal
S = 1_000_000_000


def at(seconds: float) -> Instant:
    return Instant(round(seconds * S), 0)


def order(client="c1", quantity="5", side=Side.BUY, kind=OrderType.LIMIT, replaces="") -> Submitted:
    limit = D(100) if kind is OrderType.LIMIT else None
    return Submitted(client, "AAPL", side, D(quantity), kind, TimeInForce.GTC, limit, None, D(100), 0, None, replaces)


def fill(number, cumulative, quantity, price="100", source=ReportSource.STREAM, **more) -> BrokerExecution:
    return BrokerExecution(
        "o1", number, "AAPL", Side.BUY, D(quantity), D(price), 1, source,
        slot=f"{cumulative}/{quantity}", client_id="c1" if source is ReportSource.STREAM else "", **more,
    )  # fmt: skip


def report(filled, cost, state=OrderState.OPEN, client="c1", order_id="o1", quantity="5") -> OrderReport:
    return OrderReport(order_id, client, "AAPL", Side.BUY, D(quantity), D(filled), D(cost), state)


@pytest.fixture
def mirror() -> Mirror:
    one = Mirror([Instrument("AAPL", "AAPL", "USD")], cash="USD")
    one.merge(AccountReport({"AAPL": D(0), "USD": D(1000)}, 0), at(0))
    one.merge(order(), at(1))
    return one


def test_an_execution_counts_once_by_id_and_by_what_it_adds_up_to(mirror):
    for one in (fill("x1", 2, 2), fill("x1", 2, 2), fill("a1", 2, 2, "99", ReportSource.ACTIVITY), fill("x1", 2, 2)):
        mirror.merge(one, at(2))
    assert mirror.position("AAPL") == 2
    assert mirror.cash == D(1000) - 2 * 99  # what the query says of it is believed


def test_a_fill_before_the_acknowledgement_and_before_the_state_new(mirror):
    mirror.merge(fill("x1", 5, 5), at(2))
    mirror.merge(report(0, 0), at(3))
    tracked = mirror.orders["c1"]
    assert (tracked.state, tracked.order_id, tracked.filled) == (OrderState.FILLED, "o1", 5)
    assert not mirror.live


def test_a_report_of_more_than_the_executions_known_is_a_fill_until_they_come(mirror):
    mirror.merge(fill("x1", 2, 2, "100"), at(2))
    mirror.merge(report(5, 470, OrderState.FILLED), at(3))
    assert (mirror.position("AAPL"), mirror.cash) == (5, 530)
    assert list(mirror.gaps) == ["c1"]
    mirror.merge(report(3, 290), at(4))
    assert mirror.position("AAPL") == 5
    mirror.merge(fill("a2", 5, 3, "91", ReportSource.ACTIVITY), at(5))
    assert (mirror.position("AAPL"), mirror.cash) == (5, 1000 - 200 - 273)
    assert not mirror.gaps


def test_a_fill_known_only_from_an_answer_waits_for_the_order_it_belongs_to(mirror):
    mirror.merge(fill("a1", 2, 2, source=ReportSource.ACTIVITY), at(2))
    assert mirror.position("AAPL") == 0
    assert list(mirror.parked) == ["o1"]
    mirror.merge(report(0, 0), at(3))
    assert mirror.position("AAPL") == 2
    assert not mirror.parked


def test_the_worst_case_counts_while_an_order_has_no_answer(mirror):
    assert (mirror.exposure("AAPL"), mirror.held) == (Exposure(D(0), D(5)), 500)
    mirror.merge(Unanswered("c1"), at(2))
    assert (mirror.exposure("AAPL"), mirror.held) == (Exposure(D(0), D(5)), 500)
    mirror.merge(order("c2", "3", Side.SELL), at(3))
    mirror.merge(order("c3", "1", kind=OrderType.MARKET), at(3))
    assert (mirror.exposure("AAPL"), mirror.held) == (Exposure(D(-3), D(6)), 605)
    mirror.merge(Absent("c1"), at(20))
    assert (mirror.exposure("AAPL"), mirror.held) == (Exposure(D(-3), D(1)), 105)
    mirror.merge(report(0, 0), at(21))  # it had been on its way after all
    assert mirror.held == 605
    mirror.merge(OrderRefused("c3", Reason.SHORT_CAP), at(22))
    assert mirror.held == 500


@pytest.mark.parametrize("final", [state for state in OrderState if state.final])
def test_nothing_leaves_a_final_state(mirror, final):
    mirror.merge(report(2, 200, final), at(2))
    for state in OrderState:
        mirror.merge(report(2, 200, state), at(3))
    mirror.merge(Unanswered("c1"), at(4))
    assert mirror.orders["c1"].state is final
    assert (mirror.orders["c1"].filled, mirror.held) == (2, 0)


def test_a_replacement_is_another_order_of_the_same_number(mirror):
    mirror.merge(fill("x1", 2, 2), at(2))
    mirror.merge(order("c2", "3", replaces="c1"), at(3))
    mirror.merge(report(0, 0, client="c2", order_id="o2", quantity="3"), at(4))
    mirror.merge(report(2, 200, OrderState.REPLACED), at(5))
    assert mirror.current[1] is mirror.orders["c2"]
    assert mirror.orders["c2"].number == mirror.orders["c1"].number
    assert (mirror.position("AAPL"), mirror.exposure("AAPL").most) == (2, 5)


def test_a_refused_replacement_leaves_the_old_order(mirror):
    mirror.merge(report(0, 0), at(2))
    mirror.merge(order("c2", "3", replaces="c1"), at(3))
    mirror.merge(OrderRefused("c2", Reason.BAD_PRICE), at(4))
    assert mirror.current[1] is mirror.orders["c1"]
    assert mirror.orders["c1"].live


@pytest.mark.parametrize("first", [True, False])
def test_a_bust_reverses_a_fill_whichever_comes_first(mirror, first):
    bust = Bust("o1", "x2", ReportSource.STREAM)
    mirror.merge(fill("x1", 2, 2), at(2))
    for one in (bust, fill("x2", 5, 3)) if first else (fill("x2", 5, 3), bust):
        mirror.merge(one, at(3))
    mirror.merge(report(5, 500), at(4))
    assert (mirror.position("AAPL"), mirror.cash) == (2, 800)
    mirror.merge(fill("x3", 5, 3, "90"), at(5))  # it trades again, up to the same sum
    mirror.merge(bust, at(6))
    assert (mirror.position("AAPL"), mirror.cash) == (5, 530)


def test_a_correction_takes_the_place_of_a_fill(mirror):
    mirror.merge(fill("x1", 2, 2, "100"), at(2))
    mirror.merge(fill("x2", 2, 2, "10", corrects="x1"), at(3))
    mirror.merge(fill("x1", 2, 2, "100"), at(4))
    assert (mirror.position("AAPL"), mirror.cash) == (2, 980)


def stated(mirror, shares, cash, when):
    mirror.merge(AccountReport({"AAPL": D(shares), "USD": D(cash)}, round(when * S)), at(when + 1))
    return mirror.position("AAPL"), mirror.cash


def test_an_account_that_lags_never_undoes_a_fill(mirror):
    mirror.merge(fill("x1", 5, 5), at(10))
    for when in range(2, 20):
        assert stated(mirror, 0, 1000, when) == (5, 500)
    assert not [one for one in mirror.changes if isinstance(one, Drift)]


def test_a_difference_is_taken_over_only_when_nothing_else_explains_it(mirror):
    mirror.merge(fill("x1", 2, 2), at(10))
    for when in (30, 40, 50):
        assert stated(mirror, 3, 700, when) == (2, 800)  # an order may still explain it
    mirror.merge(report(2, 200, OrderState.CANCELLED), at(55))
    assert stated(mirror, 3, 700, 60) == (2, 800)  # said once
    assert stated(mirror, 3, 700, 60) == (2, 800)  # the same answer again
    assert stated(mirror, 4, 600, 70) == (2, 800)  # said differently
    assert stated(mirror, 4, 600, 80) == (4, 600)
    drifts = [(one.asset, one.adopted) for one in mirror.changes if isinstance(one, Drift)]
    assert drifts[-2:] == [("AAPL", True), ("USD", True)]


def test_no_difference_is_taken_over_while_the_order_of_a_fill_is_not_known(mirror):
    mirror.merge(report(0, 0, OrderState.CANCELLED), at(5))
    mirror.merge(fill("a9", 2, 2, source=ReportSource.ACTIVITY)._replace(order_id="o9"), at(6))
    for when in (30, 40, 50):
        assert stated(mirror, 2, 800, when) == (0, 1000)
    mirror.merge(report(2, 200, OrderState.FILLED, client="by hand", order_id="o9", quantity="2"), at(60))
    assert stated(mirror, 2, 800, 90) == (2, 800)
    assert not [one for one in mirror.changes if isinstance(one, Drift)]


def test_profit_counts_fills_fees_and_what_is_still_held(mirror):
    mirror.merge(fill("x1", 2, 2, "90", fee=D(1), fee_asset="USD"), at(2))
    assert mirror.profit("AAPL", D(95)) == 9
    mirror.merge(order("c2", "2", Side.SELL), at(3))
    sold = BrokerExecution("o2", "x9", "AAPL", Side.SELL, D(2), D(96), 1, ReportSource.STREAM, client_id="c2")
    mirror.merge(sold, at(4))
    assert mirror.profit("AAPL", D(1)) == 11


def test_orders_of_other_symbols_are_none_of_ours(mirror):
    before = mirror.cash
    other = fill("x1", 1, 1)._replace(symbol="MSFT", client_id="")
    mirror.merge(other, at(2))
    mirror.merge(report(1, 100)._replace(symbol="MSFT", client_id="z", order_id="o9"), at(2))
    assert (mirror.cash, len(mirror.orders), mirror.parked) == (before, 1, {})


def test_an_order_somebody_else_placed_is_followed_too(mirror):
    mirror.merge(report(1, 100, client="by hand", order_id="o9"), at(2))
    assert (mirror.position("AAPL"), mirror.held) == (1, 420 + 500)
    assert not mirror.orders["by hand"].ours
