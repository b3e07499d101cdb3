"""An executor over a broker: an agent trades through it, and it answers at once from the mirror of the account."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Sequence
from functools import partial

from openfingym.errors import FeedError
from openfingym.market.brokers.admission import Price, equity, prepared, refusal, short_value
from openfingym.market.brokers.broker import Broker, BrokerAnswer, BrokerRefusal, OrderSession
from openfingym.market.brokers.dispatch import Dispatcher, Purpose, RequestBudget, SentRequest, Urgency
from openfingym.market.brokers.events import Events
from openfingym.market.brokers.journal import Journal
from openfingym.market.brokers.mirror import Mirror
from openfingym.market.brokers.reconcile import QUERIES, Reconciler
from openfingym.market.brokers.reports import BrokerExecution, OrderRefused, OrderState, Submitted, Unanswered
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.clock import Clock
from openfingym.market.commands import Ask, Instant, Tell
from openfingym.market.feed import Frame
from openfingym.market.ticks import SECOND
from openfingym.trading.executor import Account, OpenOrder
from openfingym.trading.orders import Event, EventKind, Order, Reason, order_number, replaced, well_formed

_NAN = math.nan
NO_PAIRS = (
    "pairs of orders (oco) are traded by simulated accounts alone, and are not sent to a venue; send one of the two, "
    "and cancel it before you send the other"
)
"""Why a pair is refused."""


class BrokerExecutor:
    """One account at a broker; an :class:`~openfingym.trading.executor.Executor`.

    A runner tells it what happened (:meth:`opened`, :meth:`received`, :meth:`closed`, :meth:`answered`,
    :meth:`passed`), from whatever thread; its requests go out through ``send``.
    """

    def __init__(
        self,
        broker: Broker,
        symbols: Sequence[str],
        *,
        send: Callable[[Ask], None],
        clock: Clock,
        price: Price,
        journal: Journal | None = None,
        prefix: str | None = None,
        timeout_s: float = 15.0,
    ) -> None:
        """An executor that knows what its journal holds.

        Args:
            broker: the broker's adapter, with the account's keys.
            symbols: the episode's symbols, in its order.
            send: sends a request; its answer goes to :meth:`answered`. It must not wait.
            clock: the clock by which requests are timed.
            price: gives the last price of a symbol, NaN while there is none.
            journal: holds the reports that earlier processes merged, and takes those of this one; None for neither.
            prefix: beginning of our client order ids, of at most 20 characters; drawn at random if None.
            timeout_s: seconds after which a request counts as unanswered.
        """
        self.broker, self.symbols, self.row = broker, tuple(symbols), 0
        self.mirror = Mirror(
            broker.instruments.values(), cash=broker.cash, fee_assets=broker.fee_assets, keeper=journal
        )
        self.session: OrderSession | None = None
        """The protocol of the open connection; None without one."""
        self.tells: list[Tell] = []
        """Messages for people; the caller takes them and clears the list."""
        self.leaving = False
        """Whether no more orders are taken."""
        self._price, self._send, self._clock = price, send, clock
        self._lock = threading.RLock()
        self._dispatcher = Dispatcher(RequestBudget(broker.weight_per_minute), timeout_s=timeout_s)
        self.reconciler = Reconciler(self.mirror, broker, self._dispatcher)
        self._index = {symbol: number for number, symbol in enumerate(self.symbols)}
        self._events = Events(self.mirror, self._index)
        self._prefix, self._orders = prefix or f"ofg-{secrets.token_hex(6)}", 0
        self._cancelling: dict[str, int] = {}
        """Orders to cancel, by our ids, with the earliest time to ask for it, in nanoseconds of the monotonic clock."""
        if journal is not None:
            self.mirror.recover(journal.reports, self._now())
        # The agent's own ids, with the numbers and terms of their orders: an id that comes again is the same order.
        self._labels = {
            order.asked.label: (order.number, self._wanted(order))
            for order in self.mirror
            if order.asked.label is not None and not order.asked.replaces
        }

    @property
    def ready(self) -> bool:
        """Whether orders may be sent: the stream reports everything, and the mirror has caught up."""
        return self.reconciler.ready and self.mirror.complete and not self.leaving

    # What an agent does.

    def submit(self, orders: Sequence[Order]) -> list[int]:
        """See :class:`~openfingym.trading.executor.Executor`."""
        with self._lock:
            numbers = [self._submit(order) for order in orders]
            self._proceed(self._now())
            return numbers

    def cancel(self, order_id: int) -> None:
        """See :class:`~openfingym.trading.executor.Executor`. An order without an answer is cancelled once it has
        one.
        """
        with self._lock:
            order = self._find(order_id)
            if order is not None:
                self._cancelling[order.asked.client_id] = 0
                self._proceed(self._now())

    def replace(
        self,
        order_id: int,
        *,
        quantity: float | None = None,
        limit_price: float | None = None,
        stop_price: float | None = None,
    ) -> None:
        """See :class:`~openfingym.trading.executor.Executor`. What the old order fills while the request is on its way
        comes on top of the new quantity.
        """
        with self._lock:
            order = self._find(order_id)
            if order is None:
                return
            before = self._wanted(order)
            wanted = before._replace(
                quantity=replaced(float(order.remaining), quantity),
                limit_price=replaced(before.limit_price, limit_price),
                stop_price=replaced(before.stop_price, stop_price),
            )
            # The broker knows no order yet, or no longer, that could be replaced.
            reason = self._unready() if order.state is OrderState.OPEN else Reason.NOT_OPEN
            new = reason or self._admitted(wanted, order)
            if isinstance(new, Reason):
                self._events.rejected(self.row, wanted, new, order.number)
                return
            new = new._replace(replaces=order.asked.client_id)
            self.mirror.merge(new, self._now())
            purpose = Purpose("replace", new.client_id, new.symbol)
            self._dispatcher.add(purpose, partial(self.broker.replace, order, new), Urgency.ORDER)
            self._proceed(self._now())

    def account(self) -> Account:
        """See :class:`~openfingym.trading.executor.Executor`."""
        mirror = self.mirror
        # All by the same prices, which a feed may change at any moment, and in decimals: differences are exact, so that
        # no long value is below zero.
        prices = {symbol: self._price(symbol) for symbol in mirror.instruments}
        short, total = short_value(mirror, prices.__getitem__), equity(mirror, prices.__getitem__)
        cash = mirror.cash
        values = cash, total, cash - mirror.held - short, total - cash + short, short
        return Account(*map(float, values))

    def positions(self) -> tuple[float, ...]:
        """See :class:`~openfingym.trading.executor.Executor`."""
        return tuple(float(self.mirror.position(symbol)) for symbol in self.symbols)

    def open_orders(self) -> tuple[OpenOrder, ...]:
        """See :class:`~openfingym.trading.executor.Executor`: by time of submission, orders without an answer too."""
        with self._lock:
            return tuple(
                OpenOrder(
                    order.number,
                    self._index.get(order.asked.symbol, -1),
                    order.asked.side,
                    order.asked.type,
                    order.asked.time_in_force,
                    float(order.remaining),
                    _float(order.asked.limit_price),
                    _float(order.asked.stop_price),
                    triggered=False,
                    client_id=order.asked.label,
                )
                for order in self.mirror.live.values()
                if self.mirror.current[order.number] is order  # and not one that is being replaced
            )

    def events(self) -> list[Event]:
        """See :class:`~openfingym.trading.executor.Executor`."""
        with self._lock:
            return self._events.taken()

    # What a runner reports.

    def opened(self, at: Instant) -> list[Frame]:
        """The stream's connection is open; returns the frames to send on it."""
        with self._lock:
            self.session = self.broker.session()
            self.session.opened(at)
            return self._replies()

    def received(self, frame: Frame, at: Instant) -> list[Frame]:
        """A frame of the stream has come; returns the frames to send.

        Raises:
            FeedError: the frame is not of the venue's protocol, so that the connection is of no more use.
        """
        with self._lock:
            session = self.session
            if session is None:
                return []
            before = session.ready
            for report in session.received(frame):
                news = self.mirror.merge(report, at)
                if not (news and isinstance(report, BrokerExecution)) or report.position is None:
                    continue
                if report.position != self.mirror.position(report.symbol):
                    self.reconciler.moved()  # a fill is missing here, or a fee was taken in units
            if session.refusal is not None:
                self.tells += self.reconciler.refused(session.refusal, at)
                session.refusal, session.over = None, True
            if session.ready and not before:
                self.reconciler.connected(at)
            elif before and not session.ready:
                self.reconciler.lost()
            if session.moved:
                session.moved = False
                self.reconciler.moved()
            self._proceed(at)
            return self._replies()

    def closed(self, at: Instant) -> None:
        """The stream's connection has ended."""
        with self._lock:
            self.session = None
            self.reconciler.lost()
            self._proceed(at)

    def answered(self, question: int, answer: BrokerAnswer, at: Instant) -> None:
        """A request has its answer; one that has failed has an answer of status 0."""
        with self._lock:
            asked = self._dispatcher.answered(question)
            if asked is not None:
                self._answer(asked, answer, at)
                self._proceed(at)

    def passed(self, at: Instant) -> None:
        """Time has passed; to be called about once a second."""
        with self._lock:
            for asked in self._dispatcher.overdue(at):
                self._answer(asked, BrokerAnswer(0), at)
            # An order that could not be sent for so long was meant for another market.
            self._give_up(self._dispatcher.stale(at), at)
            self._proceed(at)

    # How it is done.

    def _now(self) -> Instant:
        return Instant(self._clock.monotonic(), self._clock.wall())

    def _replies(self) -> list[Frame]:
        if self.session is None:
            return []
        replies, self.session.replies = self.session.replies, []
        return replies

    def _unready(self) -> Reason:
        return Reason.NONE if self.ready else Reason.VENUE_AWAY

    def _find(self, order_id: int) -> TrackedOrder | None:
        """The open order of a number; None, and an event of the refusal, where there is none."""
        number = order_number(order_id)
        order = self.mirror.current.get(number)
        if order is not None and order.live:
            return order
        reason = Reason.UNKNOWN_ORDER if order is None else Reason.NOT_OPEN
        self._events.add(EventKind.REJECTED, self.row, number if order else 0, -1, 0, _NAN, reason=reason)
        return None

    def _wanted(self, order: TrackedOrder) -> Order:
        """An order as an agent would ask for it."""
        asked = order.asked
        return Order(
            self._index.get(asked.symbol, -1),
            asked.side,
            float(asked.quantity),
            asked.type,
            _float(asked.limit_price),
            _float(asked.stop_price),
            asked.time_in_force,
            asked.label,
        )

    def _submit(self, order: Order) -> int:
        """Send an order, or refuse it; return its number, 0 for a refused one."""
        plain = well_formed(order)
        if plain is None:
            self._events.add(EventKind.REJECTED, self.row, 0, -1, 0, _NAN, reason=Reason.MALFORMED)
            return 0
        if plain.client_id is not None and plain.client_id in self._labels:
            number, known = self._labels[plain.client_id]
            if plain.same_as(known):  # the agent repeats itself, as after an answer that it missed
                return number
            return self._events.rejected(self.row, plain, Reason.DUPLICATE_ID)
        if plain.oco is not None:
            return self._events.rejected(self.row, plain, Reason.BAD_PAIR, text=NO_PAIRS)
        made = self._unready() or self._admitted(plain, None)
        if isinstance(made, Reason):
            return self._events.rejected(self.row, plain, made, text=self.reconciler.stopped or "")
        # Into the journal, and on the disk, before the request goes out: a kill in between must not lose an order that
        # the broker may have.
        self.mirror.merge(made, self._now())
        purpose = Purpose("place", made.client_id, made.symbol)
        self._dispatcher.add(purpose, partial(self.broker.place, made), Urgency.ORDER)
        number = self.mirror.orders[made.client_id].number
        if plain.client_id is not None:
            self._labels[plain.client_id] = number, plain
        return number

    def _admitted(self, order: Order, old: TrackedOrder | None) -> Submitted | Reason:
        """An order as it goes to the broker, or why it does not."""
        item = None
        if 0 <= order.symbol < len(self.symbols):
            item = self.mirror.instruments.get(self.symbols[order.symbol])
        if item is None:
            return Reason.UNKNOWN_SYMBOL
        self._orders += 1
        client_id = f"{self._prefix}-{self._orders}"
        made = prepared(order, item, self._price(item.symbol), client_id, self._clock.wall())
        if isinstance(made, Reason):
            return made
        return refusal(self.mirror, self.broker, made, self._price, old) or made

    def _answer(self, asked: SentRequest, answer: BrokerAnswer, at: Instant) -> None:
        """Take the answer to a request, or that there is none."""
        if asked.purpose.kind in QUERIES:
            self.tells += self.reconciler.answered(asked, answer, at)
            return
        refusal = self.broker.refusal(answer, at)
        if refusal is not None:
            self.tells += self.reconciler.refused(refusal, at)
            self._refused(asked.purpose, refusal, answer, at)
            return
        try:
            for report in self.broker.read_order(answer.body):
                self.mirror.merge(report, at)
        except FeedError as error:
            self.tells.append(Tell("refused", asked.purpose.symbol, str(error)))
            self.mirror.merge(Unanswered(asked.purpose.client_id), at)

    def _refused(self, purpose: Purpose, refusal: BrokerRefusal, answer: BrokerAnswer, at: Instant) -> None:
        """A request to place, replace or cancel an order was refused, or has no clear answer."""
        order = self.mirror.orders[purpose.client_id]
        if purpose.kind == "cancel":
            if not order.live:
                return
            if refusal.certain and refusal.wait_s is None:
                self._events.refused(self.row, order, refusal)
            else:
                self._cancelling[purpose.client_id] = at.monotonic + SECOND
            # The order may have ended meanwhile, which is why it cannot be cancelled: ask what has become of it.
            self.reconciler.look_for(order)
            return
        if purpose.kind == "replace":
            for report in self.broker.read_refused_replacement(answer.body):
                self.mirror.merge(report, at)
        client = purpose.client_id
        refused = OrderRefused(client, refusal.reason, refusal.text)
        self.mirror.merge(refused if refusal.certain else Unanswered(client, refusal.text), at)

    def _proceed(self, at: Instant) -> None:
        """Turn what has changed into events, and send what may be sent."""
        self.tells += self._events.take_over(self.row)
        if self.reconciler.stopped:
            self._give_up(self._dispatcher.drop(), at)
            self.tells += self._events.take_over(self.row)
            return
        self._cancel_known(at)
        self.reconciler.passed(at)
        for ask in self._dispatcher.release(at):
            self._send(ask)

    def _give_up(self, purposes: list[Purpose], at: Instant) -> None:
        """Refuse orders that were never sent."""
        for purpose in purposes:
            if purpose.kind in {"place", "replace"}:
                why = self.reconciler.stopped or ""
                self.mirror.merge(OrderRefused(purpose.client_id, Reason.VENUE_AWAY, why), at)

    def _cancel_known(self, at: Instant) -> None:
        """Request the cancellations that are due, of orders whose id at the broker is known."""
        for client, due in sorted(self._cancelling.items()):
            order = self.mirror.orders[client]
            before = self.mirror.orders.get(order.asked.replaces)
            if not order.live:
                del self._cancelling[client]
                if before is not None and before.live:
                    # The replacement has failed: what the agent wanted cancelled is the order before it.
                    self._cancelling[before.asked.client_id] = 0
            elif order.order_id and due <= at.monotonic:
                del self._cancelling[client]
                purpose = Purpose("cancel", client, order.asked.symbol)
                if not self._dispatcher.has(purpose):
                    self._dispatcher.add(purpose, partial(self.broker.cancel, order), Urgency.CANCEL)


def _float(value: object) -> float:
    return _NAN if value is None else float(str(value))
