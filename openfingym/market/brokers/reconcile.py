"""Reconciliation: what to ask a broker, and when, so that the mirror is true again after the loss of a message, a
connection or a process.

After every connection the stream comes first, and then, one after the other: open orders, each order open here, fills
since a minute before the last one known, and the account. Only then may orders be sent. From then on, orders and the
account are asked for at intervals, an order without an answer at once, and a fill that an answer has told of once the
stream has had a moment to bring it.
"""

from __future__ import annotations

from openfingym.errors import FeedError
from openfingym.market.brokers.broker import Broker, BrokerAnswer, BrokerRefusal, FillQuery
from openfingym.market.brokers.dispatch import Dispatcher, Purpose, SentRequest, Urgency
from openfingym.market.brokers.mirror import Mirror
from openfingym.market.brokers.reports import Absent, BrokerExecution, OrderState
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.commands import Instant, Tell
from openfingym.market.feed import Request
from openfingym.market.ticks import SECOND

MINUTE = 60 * SECOND
QUERIES = frozenset({"order", "open", "account", "fills", "time"})
"""Kinds of purposes that only ask, and change nothing at the broker."""
_STAGES = ("open", "order", "fills", "account")
"""What is asked after a connection, in this order; the account comes last, when all that explains it is known."""
_LONGEST = 60 * SECOND
"""Nanoseconds between two questions of the same purpose, where answers do not help, at most."""
_MOMENT = SECOND
"""Nanoseconds that the stream has to bring the fills that an order's answer has told of."""
_FOREIGN = 7 * 24 * 60 * MINUTE
"""How far back the fills of an order that somebody else placed are looked for."""


class Reconciler:
    """Puts questions through a dispatcher, and merges the answers into the mirror."""

    def __init__(
        self,
        mirror: Mirror,
        broker: Broker,
        dispatcher: Dispatcher,
        *,
        orders_s: float = 5.0,
        account_s: float = 15.0,
        absent_s: float = 10.0,
    ) -> None:
        """A reconciler that has asked nothing yet.

        Args:
            mirror: the mirror of the account, which the answers go to.
            broker: the broker's adapter, which words the questions and reads the answers.
            dispatcher: sends the questions, within the venue's limits.
            orders_s: seconds between questions for the open orders, while there are any.
            account_s: seconds between questions for the account.
            absent_s: seconds for which an order without an answer is looked for before it counts as not taken.
        """
        self.mirror, self.broker, self._dispatcher = mirror, broker, dispatcher
        self.ready = False
        """Whether the mirror has caught up since the last connection."""
        self.stopped: str | None = None
        """Why nothing is asked any more: the account's keys are of no use."""
        self._orders, self._account = round(orders_s * SECOND), round(account_s * SECOND)
        self._absent = round(absent_s * SECOND)
        # All times are nanoseconds of the monotonic clock, but for `_began`.
        self._stage = len(_STAGES)  # the stage of catching up; beyond the last one when that is done, or not begun
        self._waiting: set[Purpose] = set()  # questions that the stage waits for
        self._retries: dict[Purpose, int] = {}  # when a failed question is to be asked again
        self._tries: dict[Purpose, int] = {}  # how often a question has failed in a row
        self._due: dict[str, int] = {"open": 0, "account": 0}  # when these are to be asked at the latest
        self._pace: dict[tuple[str, str], tuple[int, int]] = {}  # when to look closer again, and how long after that
        self._missing: dict[str, tuple[int, int]] = {}  # how often an order was not known, and since when
        self._began: int | None = None  # when the first connection was ready, in nanoseconds since the epoch
        self._tag = ""  # a mark of the connection, in the purposes of its questions

    def connected(self, at: Instant) -> None:
        """The stream reports everything from now on: catch up with what came before."""
        if self.stopped:
            return
        if self._began is None:
            self._began = at.wall
        # A question that was sent before does not count: with another mark, it is another purpose.
        self._tag = f"after {at.monotonic}"
        self._stage, self.ready = -1, False
        self._waiting.clear()
        self._pace.clear()
        self._next_stage()

    def lost(self) -> None:
        """The stream has ended: what the mirror holds may be old."""
        self.ready = False
        self._stage = len(_STAGES)
        self._waiting.clear()

    def passed(self, at: Instant) -> None:
        """Time has passed: ask what is due."""
        if self.stopped:
            return
        for purpose in [purpose for purpose, due in self._retries.items() if due <= at.monotonic]:
            del self._retries[purpose]
            self._ask(purpose)
        if self.mirror.live and at.monotonic >= self._due["open"] and self._stage >= len(_STAGES):
            self._due["open"] = at.monotonic + self._orders
            self._ask(Purpose("open"))
        # While catching up, the account comes last.
        if at.monotonic >= self._due["account"] and self.mirror.complete and self._stage >= len(_STAGES):
            self._ask_account(at)
        self._look_closer(at)

    def moved(self) -> None:
        """The account has changed by something else than an order: ask for it next."""
        self._due["account"] = 0

    def answered(self, asked: SentRequest, answer: BrokerAnswer, at: Instant) -> list[Tell]:
        """Take the answer to one of our questions; one of status 0 where none came. Returns messages for people."""
        purpose = asked.purpose
        refusal = self.broker.refusal(answer, at)
        if refusal is not None and not refusal.missing:
            messages = self.refused(refusal, at)
            self._again(purpose, at)
            return messages
        try:
            messages = self._missed(purpose, asked, at) if refusal is not None else self._read(asked, answer.body, at)
        except FeedError as error:
            self._again(purpose, at)
            return [Tell("refused", purpose.symbol, str(error))]
        self._tries.pop(purpose, None)
        if purpose in self._waiting:
            self._waiting.discard(purpose)
            self._advance()
        return messages

    def _again(self, purpose: Purpose, at: Instant) -> None:
        """Ask again after a while, which is twice as long each time."""
        if not self.stopped:
            tries = self._tries[purpose] = self._tries.get(purpose, 0) + 1
            self._retries[purpose] = at.monotonic + min(SECOND << min(tries - 1, 6), _LONGEST)

    def refused(self, refusal: BrokerRefusal, at: Instant) -> list[Tell]:
        """Do what a refusal demands of all requests: to wait, to set the clock, or to stop for good. Returns messages
        for people.
        """
        if refusal.wait_s is not None:
            self._dispatcher.budget.hold(at.monotonic + round(refusal.wait_s * SECOND))
        if refusal.clock and self.broker.ask_time() is not None:
            self._ask(Purpose("time"))
        if refusal.fatal and self.stopped is None:
            self.stopped, self.ready = refusal.text, False
            self._retries.clear()
            self._waiting.clear()
            text = f"{self.broker.venue} does not accept the account's keys any more: {refusal.text}; set new ones"
            return [Tell("refused", "", text)]
        return [Tell("lagging", "", refusal.text)] if refusal.wait_s is not None else []

    def look_for(self, order: TrackedOrder) -> None:
        """Ask for one order now."""
        self._ask(Purpose("order", order.asked.client_id, order.asked.symbol, order.order_id))

    def _ask(self, purpose: Purpose) -> None:
        if self.stopped or self._dispatcher.has(purpose) or purpose in self._retries:
            return
        broker = self.broker

        def make(at: Instant) -> Request:
            match purpose.kind:
                case "open":
                    return broker.ask_open(at)
                case "order":
                    return broker.ask_order(purpose.symbol, purpose.order_id, purpose.client_id, at)
                case "account":
                    return broker.ask_account(int(str(purpose.detail)), at)
                case "fills" if isinstance(purpose.detail, FillQuery):
                    return broker.ask_fills(purpose.detail, at)
            request = broker.ask_time()
            assert request is not None, "asked only where there is one"
            return request

        self._dispatcher.add(purpose, make, Urgency.QUERY)

    def _ask_account(self, at: Instant) -> None:
        self._due["account"] = at.monotonic + self._account
        for number in range(self.broker.account_questions):
            self._ask(Purpose("account", detail=number))

    def _wait_for(self, purpose: Purpose) -> None:
        self._waiting.add(purpose)
        self._ask(purpose)

    def _advance(self) -> None:
        if not self._waiting and self._stage < len(_STAGES):
            self._next_stage()

    def _next_stage(self) -> None:
        """Ask what the next stage of catching up needs; a stage that needs nothing is over at once."""
        self._stage += 1
        if self._stage == len(_STAGES):
            self.ready = True
            return
        stage = _STAGES[self._stage]
        if stage == "open":
            self._wait_for(Purpose("open", order_id=self._tag))
        elif stage == "order":
            # One that was submitted and has no answer yet is looked for once its request counts as unanswered.
            for order in self.mirror.live.values():
                if order.state is not OrderState.SUBMITTED:
                    self._wait_for(Purpose("order", order.asked.client_id, order.asked.symbol, order.order_id))
        elif stage == "fills":
            # From a minute before the last fill known, since the venue's clock and ours differ. Fills have ids, so that
            # one that is read twice counts once.
            since = (self.mirror.last_execution or self._began or 0) - MINUTE
            for query in self.broker.fills_since(max(since, 0)):
                self._wait_for(Purpose("fills", detail=query))
        else:
            for number in range(self.broker.account_questions):
                self._wait_for(Purpose("account", order_id=self._tag, detail=number))
        self._advance()

    def _read(self, asked: SentRequest, body: bytes, at: Instant) -> list[Tell]:
        """Merge an answer into the mirror."""
        purpose, broker, mirror = asked.purpose, self.broker, self.mirror
        match purpose.kind:
            case "open":
                open_orders = broker.read_open(body)
                for report in open_orders:
                    mirror.merge(report, at)
                # An order that we believe open and the venue does not list has ended in a way that was not reported;
                # only its own answer says which.
                listed = {report.order_id for report in open_orders}
                for order in mirror.live.values():
                    if order.order_id and order.order_id not in listed:
                        self.look_for(order)
            case "order":
                self._missing.pop(purpose.client_id, None)
                for answered in broker.read_order(body):
                    mirror.merge(answered, at)
            case "account":
                number = int(str(purpose.detail))
                mirror.merge(broker.read_account(number, body, asked.sent.monotonic), at)
            case "fills" if isinstance(purpose.detail, FillQuery):
                fills, more = broker.read_fills(purpose.detail, body, at)
                # Fills first: what else is on the page may take one of them back.
                news = sum(isinstance(fill, BrokerExecution) and self._missing_fill(fill, at) for fill in fills)
                for fill in fills:
                    if not isinstance(fill, BrokerExecution):
                        mirror.merge(fill, at)
                if more is not None:
                    follow = Purpose("fills", detail=more)
                    if purpose in self._waiting:
                        self._wait_for(follow)
                    else:
                        self._ask(follow)
                if news:
                    return [Tell("filled-gap", purpose.detail.symbol, f"{news} fills were missing")]
            case "time":
                broker.read_time(body, asked.sent, at)
        return []

    def _missing_fill(self, fill: BrokerExecution, at: Instant) -> bool:
        """Merge a fill, and say whether it was missing: one that the stream has brought is another report of it."""
        order = self.mirror.by_id.get(fill.order_id)
        before = None if order is None else order.executed
        return self.mirror.merge(fill, at) and (order is None or order.executed != before)

    def _missed(self, purpose: Purpose, asked: SentRequest, at: Instant) -> list[Tell]:
        """Take note that the venue does not know an order that was asked for. Returns messages for people."""
        order = self.mirror.orders.get(purpose.client_id)
        if order is None or order.order_id:
            return [Tell("refused", purpose.symbol, f"the venue does not know order {purpose.order_id}")]
        # The request may still be on its way: once is not enough, and neither is early.
        times, first = self._missing.get(purpose.client_id, (0, asked.sent.monotonic))
        self._missing[purpose.client_id] = times + 1, first
        if times and asked.sent.monotonic - first >= self._absent:
            del self._missing[purpose.client_id]
            self.mirror.merge(Absent(purpose.client_id), at)
        return []

    def _look_closer(self, at: Instant) -> None:
        """Ask for orders without an answer, fills that are missing, and orders of which only a fill is known."""
        mirror, wanted = self.mirror, set()
        for client, order in mirror.live.items():
            if order.state is OrderState.UNKNOWN:
                wanted.add(("order", client))
                if self._paced("order", client, at):
                    self.look_for(order)
        for client, order in mirror.gaps.items():
            wanted.add(("fills", client))
            # An order's answer may come before its fills, which the stream brings a moment later.
            if self._paced("fills", client, at, _MOMENT) and order.order_id:
                since = (order.asked.time or (self._began or at.wall) - _FOREIGN) - MINUTE
                self._ask(Purpose("fills", detail=FillQuery(order.asked.symbol, order.order_id, max(since, 0))))
        for order_id, parked in mirror.parked.items():
            # Fills of an order that is not known, as of one sent before a restart: they count once the order is.
            wanted.add(("parked", order_id))
            if self._paced("parked", order_id, at):
                symbol = next((report.symbol for report in parked if isinstance(report, BrokerExecution)), "")
                self._ask(Purpose("order", symbol=symbol, order_id=order_id))
        for key in self._pace.keys() - wanted:
            del self._pace[key]

    def _paced(self, kind: str, name: str, at: Instant, patience: int = 0) -> bool:
        """Whether it is time to ask for something: after so many nanoseconds of patience, and then after waits that are
        twice as long each time.
        """
        due, wait = self._pace.setdefault((kind, name), (at.monotonic + patience, SECOND))
        if at.monotonic < due:
            return False
        self._pace[kind, name] = at.monotonic + wait, min(2 * wait, _LONGEST)
        return True
