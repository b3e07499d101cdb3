"""An account that runs, against the local Binance venue over real sockets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from openfingym.errors import VenueError
from openfingym.market.brokers.journal import Journal
from openfingym.market.brokers.reports import OrderRefused, OrderState
from openfingym.market.clock import SystemClock
from openfingym.market.commands import Instant
from openfingym.market.feed import Frame
from openfingym.market.keys import Keys
from openfingym.market.sim.faults import VenueFault
from openfingym.market.tape import NoRecorder, RecordKind, TapeHeader
from openfingym.market.tape_reader import TapeReader
from openfingym.market.tape_writer import TapeWriter
from openfingym.trading.orders import Event, EventKind, Order, OrderType, Reason, Side
from tests.openfingym.market.brokers.local_venue import KEYS, Account, LocalVenue

ORDERS = "/api/v3/order"


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue() as running:
        yield running


def limit(side: Side, quantity: float, price: float, name: str | None = None) -> Order:
    return Order(0, side, quantity, OrderType.LIMIT, price, client_id=name)


def states(account: Account) -> list[OrderState]:
    return [order.state for order in account.live.machine.executor.mirror]


def test_orders_are_placed_filled_replaced_and_cancelled(venue: LocalVenue) -> None:
    venue.bob(-1, 2.0, 100.0)
    with Account(venue) as account:
        live = account.live
        live.ready(20)
        assert live.positions() == (100.0,)
        bought, rests = live.submit([Order(0, Side.BUY, 0.5), limit(Side.BUY, 1.0, 90.0)])
        assert len(live.open_orders()) == 2, "at once"
        account.until(lambda: states(account) == [OrderState.FILLED, OrderState.OPEN])
        account.settled()
        live.replace(rests, quantity=0.7, limit_price=91.0)
        account.until(lambda: len(venue.orders()) == 3 and states(account)[-1] is OrderState.OPEN)
        (order,) = live.open_orders()
        assert (order.remaining, order.limit_price) == (0.7, 91.0)
        live.cancel(rests)
        account.until(lambda: not live.open_orders())
        account.settled()
        kinds = [(event.kind, event.order_id) for event in live.events()]
        assert kinds == [
            (EventKind.FILLED, bought),
            (EventKind.REPLACED, rests),
            (EventKind.CANCELLED, rests),
        ], "in this order, each once"
        live.check()


def test_fills_that_the_stream_has_brought_are_not_called_missing(venue: LocalVenue) -> None:
    venue.bob(-1, 2.0, 100.0)
    with Account(venue) as account:
        account.live.ready(20)
        account.live.submit([Order(0, Side.BUY, 0.5)])
        account.until(lambda: states(account) == [OrderState.FILLED])
        account.settled()
        venue.abort()
        account.until(lambda: account.heard("connected") == 2, jump=1.0)
        account.settled()
        assert account.heard("filled-gap") == 0


def test_the_venues_words_reach_the_strategy_without_the_keys(venue: LocalVenue, tmp_path: Path) -> None:
    with Journal(tmp_path) as journal, Account(venue, journal=journal) as account:
        live = account.live
        live.ready(20)
        [rests] = live.submit([limit(Side.BUY, 1.0, 90.0)])
        account.until(lambda: states(account) == [OrderState.OPEN])
        words = f"Market is closed for {KEYS.secret}, and for all others."
        venue.faults.append(VenueFault("refused", path=ORDERS, status=400, text=words))
        live.submit([limit(Side.BUY, 1.0, 91.0)])
        live.cancel(rests)
        live.replace(rests, limit_price=92.0)
        found = list[Event]()

        def all_came() -> bool:
            found.extend(live.events())
            return len(found) == 3

        account.until(all_came)
        assert {(event.kind, event.reason) for event in found} == {(EventKind.REJECTED, Reason.VENUE_REFUSED)}
        masked = f"Market is closed for {'*' * len(KEYS.secret)}, and for all others."
        assert {event.text for event in found} == {masked}
        venue.faults.clear()
    with Journal(tmp_path) as journal:
        assert [report.text for report in journal.reports if isinstance(report, OrderRefused)] == [masked] * 2


def test_a_replacement_that_is_refused_leaves_what_the_venue_says(venue: LocalVenue) -> None:
    with Account(venue) as account:
        live = account.live
        live.ready(20)
        (number,) = live.submit([limit(Side.BUY, 1.0, 90.0)])
        account.until(lambda: states(account) == [OrderState.OPEN])
        venue.bob(-1, 1.0, 90.0)
        live.replace(number, limit_price=80.0)
        account.settled()
        assert not live.open_orders()
        filled = [event.quantity for event in live.events() if event.kind is EventKind.FILLED]
        assert filled == [1.0]


def test_an_order_whose_answer_is_lost_is_found_and_not_sent_again(venue: LocalVenue) -> None:
    with Account(venue) as account:
        live = account.live
        live.ready(20)
        venue.faults.append(VenueFault("lost-answer", path="/api/v3/"))
        # Its events are lost too, so that the mirror has nothing but its questions.
        venue.faults.append(VenueFault("gap", channel="execution"))
        live.submit([limit(Side.BUY, 1.0, 90.0)])
        account.until(lambda: OrderState.UNKNOWN in states(account))
        venue.faults.clear()
        account.settled()
        assert states(account) == [OrderState.OPEN]
        assert len(venue.orders()) == 1, "sent once"


def test_an_answer_that_comes_after_it_was_given_up_changes_nothing(venue: LocalVenue) -> None:
    with Account(venue) as account:
        live = account.live
        live.ready(20)
        venue.faults += [VenueFault("hang", path=ORDERS, seconds=0.5), VenueFault("gap", channel="execution")]
        (number,) = live.submit([limit(Side.BUY, 1.0, 90.0)])
        account.until(lambda: len(venue.orders()) == 1)
        venue.faults.clear()
        account.clock.jump(16)
        account.until(lambda: states(account) == [OrderState.OPEN])
        venue.bob(-1, 1.0, 90.0)
        account.settled()
        dispatcher = live.machine.executor._dispatcher
        account.until(lambda: not dispatcher._late and not live._asking)
        account.settled()
        assert [(event.kind, event.order_id, event.quantity) for event in live.events()] == [
            (EventKind.FILLED, number, 1.0)
        ]
        assert len(venue.orders()) == 1


def test_fills_that_the_stream_loses_or_doubles_count_once(venue: LocalVenue) -> None:
    with Account(venue) as account:
        live = account.live
        live.ready(20)
        venue.faults += [
            VenueFault("gap", channel="execution", probability=0.4),
            VenueFault("duplicate", channel="execution", probability=0.5),
            VenueFault("lagging-account", seconds=2.0),
        ]
        live.submit([limit(Side.BUY, 1.0, 90.0 + n) for n in range(8)])
        account.until(lambda: len(venue.orders()) == 8)
        for n in range(20):
            venue.bob(-1, 0.3, 90.0 + n % 8)
        account.settled()
        assert live.positions()[0] > 101


def test_fills_while_the_connection_is_cut_are_known_afterwards(venue: LocalVenue) -> None:
    with Account(venue) as account:
        live = account.live
        live.ready(20)
        live.submit([limit(Side.BUY, 2.0, 95.0)])
        account.until(lambda: states(account) == [OrderState.OPEN])
        venue.faults.append(VenueFault("abort"))
        venue.abort()
        account.until(lambda: account.heard("lost") > 0)
        assert live.submit([limit(Side.BUY, 1.0, 90.0)]) == [0], "nothing is placed in the dark"
        assert live.events()[-1].reason is Reason.VENUE_AWAY
        venue.bob(-1, 0.5, 95.0)
        venue.faults.clear()
        account.until(lambda: account.heard("connected") > 1, jump=0.5)
        account.settled()
        assert [order.remaining for order in live.open_orders()] == [1.5]


def test_a_wrong_secret_is_an_error_that_says_what_to_do_and_not_the_secret(venue: LocalVenue) -> None:
    wrong = Keys(KEYS.key, "another-secret-nobody-may-see")
    with Account(venue, keys=wrong) as account:
        with pytest.raises(VenueError, match="set BINANCE_API_KEY and BINANCE_API_SECRET") as refused:
            account.live.ready(20)
        with pytest.raises(VenueError, match="Signature"):
            account.live.check()
        assert account.live.submit([limit(Side.BUY, 1.0, 90.0)]) == [0]
    said = " ".join([str(refused.value), *(tell.text for tell in account.told)])
    assert wrong.secret not in said
    assert KEYS.key not in said
    assert account.heard("failed") == 1


def test_a_limit_is_respected_for_as_long_as_the_venue_says(venue: LocalVenue) -> None:
    with Account(venue) as account:
        live = account.live
        live.ready(20)
        venue.faults.append(VenueFault("limited", path=ORDERS, status=418, seconds=600.0))
        live.submit([limit(Side.BUY, 1.0, 90.0)])
        account.until(lambda: account.heard("lagging") == 1)
        assert states(account) == [OrderState.REJECTED], "it was surely not taken"
        venue.faults.clear()
        # Nothing is asked while the ban lasts: neither an order nor the account, which is due each 15 seconds.
        used = venue.do(lambda: venue.venue.desk.used_weight)
        (number,) = live.submit([limit(Side.BUY, 1.0, 91.0)])
        account.clock.jump(10)
        account.until(lambda: True)
        looks = iter(range(20))
        account.until(lambda: next(looks) > 15)
        assert not venue.orders()
        # What was used is forgotten with each minute of the venue.
        assert venue.do(lambda: venue.venue.desk.used_weight) in {used, 0}
        account.until(lambda: any(event.reason is Reason.VENUE_AWAY for event in live.events()), jump=1.0)
        account.clock.jump(600)
        assert number
        account.settled()
        live.submit([limit(Side.BUY, 1.0, 92.0)])
        account.until(lambda: len(venue.orders()) == 1)


def test_a_clock_that_is_years_off_is_set_by_the_venue() -> None:
    with LocalVenue(start=1_700_000_000 * 10**9) as venue, Account(venue) as account:
        account.until(lambda: account.live.machine.executor.ready, jump=0.2)
        account.live.submit([limit(Side.BUY, 1.0, 90.0)])
        account.until(lambda: states(account) == [OrderState.OPEN])
        assert account.live.machine.executor.ready


def test_leaving_cancels_what_is_open_and_nothing_that_others_placed(venue: LocalVenue) -> None:
    with Account(venue) as account:
        account.live.ready(20)
        foreign = venue.do(lambda: venue.exchange.place("ann", "BTCUSDT", 1, "limit", 10_000, price=5000))
        account.live.submit([limit(Side.BUY, 1.0, 90.0), limit(Side.SELL, 1.0, 110.0)])
        account.until(lambda: len(venue.orders()) == 3 and states(account).count(OrderState.OPEN) == 3)
    assert [order for order in venue.orders() if order.open] == [foreign]
    assert [tell.text for tell in account.told if tell.kind == "cancelled"] == [
        "2 of 2 open orders were cancelled on leaving"
    ]
    assert account.live.submit([limit(Side.BUY, 1.0, 90.0)]) == [0]
    account.live.stop()


def test_orders_that_cannot_be_cancelled_are_an_error_that_names_them(venue: LocalVenue) -> None:
    account = Account(venue, leave_s=0.2)
    account.live.__enter__()
    account.live.ready(20)
    account.live.submit([limit(Side.BUY, 1.0, 90.0)])
    account.until(lambda: states(account) == [OrderState.OPEN])
    venue.faults.append(VenueFault("limited", path=ORDERS, seconds=60.0))
    with pytest.raises(VenueError, match=r"BTCUSDT/3.*Cancel them at the venue"):
        account.live.stop()


def test_an_error_of_the_caller_is_not_hidden_by_orders_that_stay_open(venue: LocalVenue) -> None:
    def fails(account: Account) -> None:
        with account:
            account.live.ready(20)
            account.live.submit([limit(Side.BUY, 1.0, 90.0)])
            account.until(lambda: states(account) == [OrderState.OPEN])
            venue.faults.append(VenueFault("limited", path=ORDERS, seconds=60.0))
            raise KeyError("the caller's")

    with pytest.raises(KeyError, match="the caller's") as error:
        fails(Account(venue, leave_s=0.2))
    assert "BTCUSDT/3" in error.value.__notes__[0]


def test_orders_stay_where_it_is_wished(venue: LocalVenue) -> None:
    with Account(venue, cancel_on_exit=False) as account:
        account.live.ready(20)
        account.live.submit([limit(Side.BUY, 1.0, 90.0)])
        account.until(lambda: states(account) == [OrderState.OPEN])
    assert [order.open for order in venue.orders()] == [True]
    assert account.heard("left-open") == 1


class Tape(NoRecorder):
    """Keeps kinds of inputs."""

    def __init__(self) -> None:
        self.kinds: list[RecordKind] = []
        self.decisions: list[dict[str, object]] = []
        self.full = False

    def record(self, kind: RecordKind, at: Instant, connection: int = 0, payload: Frame = b"") -> None:
        if self.full:
            raise VenueError("the tape is full")
        self.kinds.append(kind)
        if kind is RecordKind.ORDER:
            self.decisions.append(json.loads(payload))


def test_every_input_is_recorded_before_it_has_an_effect(venue: LocalVenue) -> None:
    tape = Tape()
    account = Account(venue, recorder=tape)
    live = account.live
    live.__enter__()
    live.ready(20)
    live.submit([limit(Side.BUY, 1.0, 90.0), limit(Side.BUY, float("nan"), 90.0)])
    account.until(lambda: OrderState.OPEN in states(account))
    inputs = {RecordKind.START, RecordKind.OPENED, RecordKind.FRAME, RecordKind.ANSWERED, RecordKind.PASSED}
    assert inputs | {RecordKind.ASKED, RecordKind.TOLD, RecordKind.ORDER} == set(tape.kinds)
    assert tape.decisions[0]["do"] == "submit"
    tape.full = True
    with pytest.raises(VenueError, match="full"):
        live.submit([limit(Side.BUY, 1.0, 91.0)])
    assert len(live.open_orders()) == 1, "what is not recorded is not done"
    account.until(lambda: not live._thread.is_alive())
    with pytest.raises(VenueError, match="full"):
        live.check()
    tape.full = False
    assert live.submit([limit(Side.BUY, 1.0, 91.0)]) == [0], "nobody would send it"
    assert not any(order.open for order in venue.orders()), "nobody would watch over it"
    live.stop()


def test_orders_that_an_error_leaves_open_are_named(venue: LocalVenue) -> None:
    tape = Tape()
    account = Account(venue, recorder=tape)
    account.live.__enter__()
    account.live.ready(20)
    account.live.submit([limit(Side.BUY, 1.0, 90.0)])
    account.until(lambda: states(account) == [OrderState.OPEN])
    venue.faults.append(VenueFault("limited", path=ORDERS, seconds=60.0))
    tape.full = True
    account.until(lambda: not account.live._thread.is_alive())
    with pytest.raises(VenueError, match="may still be open"):
        account.live.stop()


def test_no_key_is_on_the_tape_of_an_account(venue: LocalVenue, tmp_path: Path) -> None:
    path = tmp_path / "account.tape"
    with (
        TapeWriter(path, TapeHeader("binance"), Instant(0, 0), secrets=()) as tape,
        Account(venue, recorder=tape, clock=SystemClock()) as account,
    ):
        account.live.ready(20)
        # As a venue that repeats what it was sent.
        account.live._input(RecordKind.FRAME, 1, json.dumps({"apiKey": KEYS.key, "secret": KEYS.secret}))
        account.live.submit([limit(Side.BUY, 1.0, 90.0)])
        account.until(lambda: states(account) == [OrderState.OPEN])
    with TapeReader(path) as reader:
        records = list(reader)
    text = b"".join(
        record.payload.encode() if isinstance(record.payload, str) else record.payload for record in records
    )
    assert any(record.kind is RecordKind.ASKED for record in records)
    assert KEYS.secret.encode() not in text
    assert KEYS.key.encode() not in text
    asked = [str(record.json()) for record in records if record.kind is RecordKind.ASKED]
    assert all("signature=(secret)" in one for one in asked)


CHILD = """
import sys, time
from pathlib import Path
from openfingym.market.brokers.binance import Binance
from openfingym.market.brokers.journal import Journal
from openfingym.market.brokers.live import LiveBroker
from openfingym.trading.orders import Order, OrderType, Side
from tests.openfingym.market.brokers.local_venue import ITEM, KEYS, SYMBOL

folder, rest, stream = sys.argv[1:]
live = LiveBroker(
    Binance([ITEM], KEYS, rest=rest, stream=stream), [SYMBOL], price=lambda symbol: 100.0, journal=Journal(Path(folder))
)
with live:
    live.ready(20)
    live.submit([Order(0, Side.BUY, 1.0, OrderType.LIMIT, 95.0), Order(0, Side.BUY, 2.0, OrderType.LIMIT, 94.0)])
    while len(live.events()) + len(live.machine.executor.mirror.by_id) < 2:
        time.sleep(0.01)
    assert live.submit([Order(0, Side.SELL, 3.0, OrderType.LIMIT, 120.0)]) == [3]  # killed before its answer, or after
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_new_process_knows_what_the_killed_one_did(venue: LocalVenue, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path), venue.venue.rest_url, venue.venue.socket_api_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    venue.bob(-1, 1.5, 94.0)
    with Journal(tmp_path) as journal, Account(venue, journal=journal) as account:
        assert len(account.live.machine.open_orders()) == 3, "before the venue was asked"
        account.live.ready(20)
        account.settled()
        ours = [order.client_id for order in venue.orders()]
        assert len(ours) == len(set(ours)), "nothing is sent again"
        known = {order.order_id: order for order in account.live.machine.executor.mirror if order.order_id}
        assert [known[f"BTCUSDT/{one.id}"].executed for one in venue.orders()][:2] == [Decimal(1), Decimal("0.5")]
        assert all(order.ours for order in known.values())
    assert not any(order.open for order in venue.orders())
