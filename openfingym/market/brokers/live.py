"""An account at a broker that runs: a thread that sends its executor's requests, and tells it what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from openfingym.errors import VenueError
from openfingym.market.brokers.admission import Price
from openfingym.market.brokers.broker import Broker, BrokerAnswer
from openfingym.market.brokers.executor import BrokerExecutor
from openfingym.market.brokers.journal import Journal
from openfingym.market.brokers.line import BrokerLine
from openfingym.market.brokers.reports import OrderState
from openfingym.market.clock import Clock, SystemClock
from openfingym.market.commands import Ask, Command, Tell, VenueAddresses
from openfingym.market.live import STOP_S, MachineRunner
from openfingym.market.redaction import SHORTEST, Mask
from openfingym.market.rest import RestClient
from openfingym.market.tape import NoRecorder, Recorder, RecordKind
from openfingym.market.ticks import SECOND
from openfingym.market.transport import AiohttpTransport, Transport
from openfingym.trading.executor import Account, OpenOrder
from openfingym.trading.orders import Event, Order

LEAVE_S = 20.0
"""Seconds in which open orders are cancelled on leaving: longer than an order without an answer is looked for."""
_LOOK_S = 0.02
"""Seconds between two looks at whether they are."""


class LiveBroker(MachineRunner[BrokerLine]):
    """An account that runs from entering the context to leaving it; an :class:`~openfingym.trading.executor.Executor`.

    Its methods may be called from any thread and never wait for the venue; requests are sent by a thread of its own. An
    order whose answer is lost is looked for by our id, and never sent again. With a journal, a new process knows what a
    killed one did.
    """

    def __init__(
        self,
        broker: Broker,
        symbols: Sequence[str],
        *,
        price: Price,
        journal: Journal | None = None,
        cancel_on_exit: bool = True,
        leave_s: float = LEAVE_S,
        timeout_s: float = 15.0,
        prefix: str | None = None,
        rng: np.random.Generator | None = None,
        transport: Callable[[], Transport] = AiohttpTransport,
        recorder: Recorder | None = None,
        clock: Clock | None = None,
        tell: Callable[[Tell], None] | None = None,
    ) -> None:
        """An account that does not run yet, and knows what its journal holds.

        Args:
            broker: the broker's adapter, with the account's keys.
            symbols: the episode's symbols, in its order.
            price: gives the last price of a symbol, NaN while there is none; called from the threads that use this.
            journal: holds the reports that earlier processes merged, and takes those of this one; None for neither.
            cancel_on_exit: whether leaving cancels the open orders that were placed here or by an earlier process of
                this journal; those that somebody else placed stay.
            leave_s: seconds to wait on leaving until they are cancelled.
            timeout_s: seconds after which a request counts as unanswered.
            prefix: beginning of our client order ids, of at most 20 characters; drawn at random if None.
            rng: draws the jitter of waits, so that many clients do not come back at once.
            transport: makes the transport of the stream's connections; called in the thread.
            recorder: records every input before it has any effect; None for nothing. It needs a tape of its own, since
                connections and questions are numbered from 1, as those of a feed are. The account's keys are kept off
                it.
            clock: the clock by which inputs are timed; default: this machine's.
            tell: called in the thread with what people should know; must return soon.
        """
        clock, recorder = clock or SystemClock(), recorder or NoRecorder()
        secrets = [secret for secret in broker.secrets if len(secret) >= SHORTEST]
        for secret in secrets:
            recorder.hide(secret)
        self._mask = Mask(secrets)
        self._waiting: deque[Ask] = deque()
        self._news = threading.Condition()
        self._gone: set[str] = set()
        """Our ids of orders that were cancelled after the thread had failed, of which the mirror does not know."""
        self._cancel_on_exit, self._leave_s = cancel_on_exit, leave_s
        self._stop_s = leave_s + STOP_S
        executor = BrokerExecutor(
            broker,
            symbols,
            send=self._send,
            clock=clock,
            price=price,
            journal=journal,
            prefix=prefix,
            timeout_s=timeout_s,
        )
        line = BrokerLine(executor, rng or np.random.default_rng())
        super().__init__(line, transport=transport, recorder=recorder, clock=clock, tell=tell)
        self._executor = executor

    @property
    def name(self) -> str:
        """See :class:`~openfingym.market.live.MachineRunner`."""
        return f"account at {self._venue.venue}"

    @property
    def _venue(self) -> VenueAddresses:
        return self.machine.executor.broker

    def check(self) -> None:
        """See :class:`~openfingym.market.live.MachineRunner`."""
        try:
            super().check()
        except VenueError as error:
            if (masked := self._masked(str(error))) != str(error):
                raise VenueError(masked) from None
            raise

    def ready(self, timeout_s: float) -> None:
        """Wait until the account is known, so that orders may be sent.

        Args:
            timeout_s: seconds to wait at most.

        Raises:
            VenueError: the account is not known in this time, or never will be, with the reason.
        """
        with self._news:
            done = self._news.wait_for(lambda: self._executor.ready or not self._working, timeout_s)
        self.check()
        if not done:
            raise VenueError(
                f"The {self.name} was not known within {timeout_s:g} s ({self._last or 'no answer came'}); expected "
                f"answers of {self._venue.rest().url}: see whether it can be reached from here, and wait longer."
            )
        if not self._executor.ready:
            raise VenueError(f"The {self.name} does not run; enter its context first.")

    def stop(self) -> None:
        """Cancel open orders, unless they are to stay, close the connection and wait for the thread; a second call does
        nothing.

        Raises:
            VenueError: the thread does not end, or orders may still be open that were to be cancelled.
        """
        begun = self._thread.is_alive() or self._error is not None
        super().stop()
        orders = [order for order in self.machine.open_orders() if order.asked.client_id not in self._gone]
        if begun and orders and self._cancel_on_exit:
            names = ", ".join(order.order_id or order.asked.client_id for order in orders)
            raise VenueError(
                f"Orders of the {self.name} may still be open, since they could not be cancelled: {names}. Cancel them "
                "at the venue, or start again with the same journal and leave."
            )

    # What an agent does.

    def submit(self, orders: Sequence[Order]) -> list[int]:
        """See :class:`~openfingym.trading.executor.Executor`."""
        with self._turn:
            self._decided("submit", orders=orders)
            return self._executor.submit(orders)

    def cancel(self, order_id: int) -> None:
        """See :class:`~openfingym.trading.executor.Executor`."""
        with self._turn:
            self._decided("cancel", order_id=order_id)
            self._executor.cancel(order_id)

    def replace(
        self,
        order_id: int,
        *,
        quantity: float | None = None,
        limit_price: float | None = None,
        stop_price: float | None = None,
    ) -> None:
        """See :class:`~openfingym.trading.executor.Executor`."""
        terms = {"quantity": quantity, "limit_price": limit_price, "stop_price": stop_price}
        with self._turn:
            self._decided("replace", order_id=order_id, **terms)
            self._executor.replace(order_id, **terms)

    def account(self) -> Account:
        """See :class:`~openfingym.trading.executor.Executor`."""
        with self._turn:
            return self._executor.account()

    def positions(self) -> tuple[float, ...]:
        """See :class:`~openfingym.trading.executor.Executor`."""
        with self._turn:
            return self._executor.positions()

    def open_orders(self) -> tuple[OpenOrder, ...]:
        """See :class:`~openfingym.trading.executor.Executor`."""
        with self._turn:
            return self._executor.open_orders()

    def events(self) -> list[Event]:
        """See :class:`~openfingym.trading.executor.Executor`."""
        with self._turn:
            return self._executor.events()

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Keep the account as it is while this is entered, so that several readings are of one instant."""
        with self._turn:
            yield

    @property
    def strangers(self) -> int:
        """How many orders of the account were placed by somebody else, as far as the venue has reported them."""
        with self._turn:
            return sum(not order.ours for order in self._executor.mirror)

    # How it is done.

    _last = ""
    """The last message for people."""

    @property
    def _working(self) -> bool:
        return self._thread.is_alive() and self._error is None and not self.machine.failed

    def _decided(self, what: str, **terms: object) -> None:
        """Record a decision. An agent may ask for anything: what JSON has no form for is written as text."""
        payload = json.dumps({"do": what, **{name: _plain(value) for name, value in terms.items()}})
        self._input(RecordKind.ORDER, 0, payload)

    def _send(self, ask: Ask) -> None:
        # From whatever thread the agent runs in; the request itself belongs to the loop's thread.
        self._waiting.append(ask)
        self._call(self._carry)

    def _carry(self) -> None:
        while self._waiting and not self._over:
            self._do([self._waiting.popleft()])

    def _do(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Tell):
                self._last = self._masked(command.text)
                super()._do([command._replace(text=self._last)])
            else:
                super()._do([command])
        with self._news:
            self._news.notify_all()

    def _masked(self, text: str) -> str:
        """A text without the account's keys, which the venue's answers may repeat."""
        return self._mask(text.encode(errors="replace")).decode()

    def _died(self) -> None:
        """See :class:`~openfingym.market.live.MachineRunner`: no order would be sent any more."""
        self._executor.leaving = True
        with self._news:
            self._news.notify_all()
        if self._cancel_on_exit and not self.machine.failed:
            asyncio.run(self._cancel_at_once())

    async def _cancel_at_once(self) -> None:
        """Cancel open orders although nothing can be recorded or merged any more: nobody would watch over them."""
        client, broker = RestClient(self._executor.broker.rest()), self._executor.broker
        orders = [order for order in self.machine.open_orders() if order.order_id]
        try:
            answers = await asyncio.gather(*(client.ask(broker.cancel(order, self._now())) for order in orders))
        finally:
            await client.close()
        done = [order for order, answer in zip(orders, answers, strict=True) if BrokerAnswer.of(answer).good]
        self._gone |= {order.asked.client_id for order in done}
        if orders and self._tell is not None:
            self._call_tell(
                Tell("cancelled", "", f"{len(done)} of {len(orders)} open orders were cancelled after an error")
            )

    async def _leave(self) -> None:
        """See :class:`~openfingym.market.live.MachineRunner`: cancel the open orders, or say that they stay."""
        orders = self.machine.open_orders()
        if not orders or self.machine.failed:
            return
        if not self._cancel_on_exit:
            self._do([Tell("left-open", "", f"{len(orders)} orders stay open at the venue")])
            return
        with self._turn:
            self._decided("leave")
            commands = self.machine.leave(self._now())
        self._do(commands)
        until = self._clock.monotonic() + round(self._leave_s * SECOND)
        while self.machine.open_orders() and not self.machine.failed and self._clock.monotonic() < until:
            await self._clock.sleep(_LOOK_S)
        gone = [order for order in orders if order.state is OrderState.CANCELLED]
        left = self.machine.open_orders()
        text = f"{len(gone)} of {len(orders)} open orders were cancelled on leaving"
        self._do([Tell("cancelled", "", f"{text}; {len(left)} may still be open" if left else text)])


def _plain(value: object) -> object:
    """A term of an agent's decision as JSON has it."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else repr(value)
