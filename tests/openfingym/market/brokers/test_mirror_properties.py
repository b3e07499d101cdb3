"""Whatever a line does to a broker's messages, the mirror ends equal to the broker, and never goes back on the way."""

from __future__ import annotations

import random
import tempfile
from decimal import Decimal
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.market.brokers.changes import Drift
from openfingym.market.brokers.journal import Journal
from openfingym.market.brokers.mirror import Mirror
from openfingym.market.brokers.reports import BrokerExecution, Bust, OrderReport, OrderState, Report, ReportSource
from tests.openfingym.market.brokers.model import ASSETS, INSTRUMENTS, Model, at


def new_mirror(keeper: Journal | None = None) -> Mirror:
    return Mirror(INSTRUMENTS, cash="USDT", fee_assets=["BNB"], keeper=keeper)


def holdings(mirror: Mirror) -> dict[str, Decimal]:
    return {asset: mirror.holding(asset) for asset in ASSETS}


def fills(mirror: Mirror) -> dict[str, tuple[OrderState, Decimal, Decimal]]:
    return {order.order_id: (order.state, order.filled, order.cost) for order in mirror}


def assert_equal(mirror: Mirror, model: Model) -> None:
    assert holdings(mirror) == model.holdings(model.end)
    assert not mirror.live
    assert not mirror.parked
    for client, reports in model.last_reports.items():
        tracked = mirror.orders[client]
        live = live_executions(model, tracked.order_id)
        assert tracked.filled == sum((one.quantity for one in live), Decimal(0))
        assert tracked.cost == sum((one.quantity * one.price for one in live), Decimal(0))
        assert tracked.busted or tracked.state == reports[-1][1].state


def live_executions(model: Model, order_id: str) -> list[BrokerExecution]:
    busted = {(one.order_id, one.id) for _, one in model.activities if isinstance(one, Bust)}
    return [
        one
        for _, one in model.activities
        if isinstance(one, BrokerExecution) and one.order_id == order_id and (order_id, one.id) not in busted
    ]


seeds = st.integers(0, 2**32)
SETTINGS = settings(max_examples=150, deadline=None, derandomize=True)


@SETTINGS
@given(seeds, st.booleans(), st.booleans(), st.booleans())
def test_the_mirror_ends_equal_to_the_broker(seed: int, agree: bool, busts: bool, surprises: bool) -> None:
    model = Model(random.Random(seed), ids_agree=agree, busts=busts, surprises=surprises)
    mirror, filled = new_mirror(), dict.fromkeys(model.last_reports, Decimal(0))
    for time, _, report in model.deliveries():
        mirror.merge(report, at(time))
        for client, before in filled.items():
            if client in mirror.orders and not mirror.orders[client].busted:
                assert mirror.orders[client].filled >= before
                filled[client] = mirror.orders[client].filled
    for time, _, report in model.everything():
        mirror.merge(report, at(time))
    assert_equal(mirror, model)
    if not surprises and not busts:
        # Nothing but fills moved the account, so that no difference was anything but its lag.
        assert not [change for change in mirror.changes if isinstance(change, Drift) and change.adopted]


@SETTINGS
@given(seeds, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_a_process_killed_at_any_point_counts_nothing_twice_and_forgets_nothing(
    seed: int, agree: bool, busts: bool, kills: random.Random
) -> None:
    model = Model(random.Random(seed), ids_agree=agree, busts=busts, surprises=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        journal = Journal(folder)
        mirror = new_mirror(journal)
        for time, _, report in model.deliveries():
            mirror.merge(report, at(time))
            if kills.random() < 0.15:
                before = holdings(mirror), fills(mirror), mirror.held, mirror.profit("BTCUSDT", Decimal(100))
                journal.close()
                if kills.random() < 0.5:
                    with journal.path.open("ab") as torn:
                        torn.write(b'["Submitted","torn","BTCU')
                journal = Journal(folder)
                mirror = new_mirror(journal)
                mirror.recover(journal.reports, at(time))
                after = holdings(mirror), fills(mirror), mirror.held, mirror.profit("BTCUSDT", Decimal(100))
                unknown = {OrderState.SUBMITTED: OrderState.UNKNOWN}
                told = {key: (unknown.get(state, state), *rest) for key, (state, *rest) in before[1].items()}
                assert after == (before[0], told, *before[2:])
        for time, _, report in model.everything():
            mirror.merge(report, at(time))
        assert_equal(mirror, model)
        journal.close()


@SETTINGS
@given(seeds, st.booleans(), st.randoms(use_true_random=False))
def test_order_and_number_of_deliveries_do_not_matter(seed: int, agree: bool, shuffles: random.Random) -> None:
    model = Model(random.Random(seed), ids_agree=agree, busts=True, surprises=False)
    orders: list[Report] = [step.order for step in model.steps if step.order is not None]
    told: list[Report] = [report for step in model.steps for report in step.told]
    told += [activity for _, activity in model.activities]
    results = []
    for _ in range(3):
        shuffles.shuffle(told)
        mirror = new_mirror()
        for report in (*orders, *told, *told[: len(told) // 2]):
            mirror.merge(report, at(0))
        results.append((holdings(mirror), fills(mirror)))
    assert results[0] == results[1] == results[2]


def test_the_model_makes_what_the_properties_are_about() -> None:
    """The generator is worth something: fills, busts, losses and repeats all occur, as do snapshots that lag."""
    seen: set[str] = set()
    for seed in range(40):
        model = Model(random.Random(seed), ids_agree=bool(seed % 2), busts=True, surprises=True)
        found = [report for _, _, report in model.deliveries()]
        streamed = [report for step in model.steps for report in step.told]
        seen |= {type(report).__name__ for report in found}
        seen |= {"lost" for report in streamed if found.count(report) == 0}
        seen |= {"repeated" for report in streamed if found.count(report) > 1}
        seen |= {
            "activity" for one in found if isinstance(one, BrokerExecution) and one.source is ReportSource.ACTIVITY
        }
        ends = [one for one in found if isinstance(one, OrderReport) and one.state is OrderState.CANCELLED]
        seen |= {"partial then cancel" for one in ends if one.filled}
    kinds = {"BrokerExecution", "Bust", "OrderReport", "AccountReport", "Unanswered"}
    assert seen >= kinds | {"lost", "repeated", "activity"}
    assert "partial then cancel" in seen
