"""A session on a venue in real time: decisions are inputs of the feed's machine, and all inputs go onto a tape."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from openfingym.errors import VenueError
from openfingym.market.brokers.live import LiveBroker
from openfingym.market.clock import Clock, SystemClock
from openfingym.market.commands import Instant
from openfingym.market.live import PASS_S, Live
from openfingym.market.session.account import Mark
from openfingym.market.session.broker_account import alone, orders_to, report
from openfingym.market.session.machine import TradingIngest, decision_payload
from openfingym.market.session.venues import broker_of
from openfingym.market.tape import RecordKind, TapeHeader
from openfingym.market.tape_writer import TapeWriter
from openfingym.trading.actions import Decision, carry_out, parse_decision

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from openfingym.market.feed import Feed
    from openfingym.market.session.terms import SessionTerms

BEGIN_S = 90.0
"""Seconds beyond two bars that a venue has for everything that the first mark needs."""
LATE_S = 30.0
"""Seconds after its time at which a mark that has not come shows that the session is broken."""
CAUGHT_UP_S = 10.0
"""Seconds to wait at the last mark, at most, for a broker's account that lags."""
QUICK_S = 0.02
"""Seconds between two looks of the machine at the time where bars are short: a mark is late by up to this."""
SHORT_S = 10
"""Seconds of a bar below which it is short."""


class LiveSession:
    """An account that trades on a venue for a while; a context manager.

    Args:
        venue: a context manager that gives the feed; a local venue runs for as long as it is entered.
        terms: the terms of the session.
        tape: path of the tape, which must not exist.
        task: name and digest of the task, for the tape.
        rollout: id of the rollout whose session it is, for the tape.
        seed: the seed of the jitter of waits.
        clock: the clock by which the session runs; default: this machine's.
    """

    def __init__(
        self,
        venue: AbstractContextManager[Feed],
        terms: SessionTerms,
        tape: Path,
        *,
        task: tuple[str, str] = ("", ""),
        rollout: str = "",
        seed: int = 0,
        clock: Clock | None = None,
    ) -> None:
        self.terms, self.path = terms, tape
        self._venue, self._task, self._rollout, self._seed = venue, task, rollout, seed
        self._clock = clock or SystemClock()
        self._marks = threading.Condition()
        self._shown: Mark | None = None
        """The newest mark."""
        self._seen: Mark | None = None
        """The newest mark that the agent was shown; others may have come since."""
        self._closing = threading.Lock()
        """Held while the session is closed and while an input is entered, so that none comes after the tape's end."""
        self._closed = False
        self._broker: LiveBroker | None = None
        """The account to which orders go; None where they are filled on paper."""
        self._failure: Exception | None = None
        """Why the session did not end well."""

    def __enter__(self) -> Self:
        with self._closing:
            if self._closed:
                raise VenueError("the session was closed before it was open")
            self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def simulated(self) -> bool:
        """Whether the venue is one of :mod:`openfingym.market.sim`."""
        return self.machine.feed.simulated

    @property
    def closed(self) -> bool:
        """Whether its feed and its tape have ended, by :meth:`close` or because the last mark was made."""
        return self._closed

    def begin(self) -> Mark:
        """Wait for the first mark.

        Raises:
            VenueError: the venue does not give in time what the first mark needs.
        """
        self._seen = self._wait(-1, BEGIN_S + 2.0 * self.terms.interval_s)
        return self._seen

    def step(self, action: object) -> Mark:
        """Decide, and wait for the next mark; after the last one, nothing is decided any more.

        Raises:
            SubmissionError: the action is malformed; nothing has happened.
            VenueError: the feed has ended for good, or the mark does not come.
        """
        decision = parse_decision(action, self.terms.symbols)
        seen, before = self._seen, self._shown
        assert seen is not None, "a session begins before its first step"
        assert before is not None, "a session begins before its first step"
        if self._enter(RecordKind.DECIDED, decision_payload(seen.number, action)):
            self._trade(decision)
        self._seen = self._wait(before.number, self.terms.interval_s + LATE_S)
        return self._seen

    def leave(self) -> None:
        """Decide no more: cancel orders, close positions, and wait for the rest of the session.

        Raises:
            VenueError: the feed has ended for good, or a mark does not come.
        """
        if self._shown is None:
            return
        if self._enter(RecordKind.LEFT, "") and self._broker is not None:
            orders = tuple(order.id for order in self._broker.open_orders())
            self._trade(Decision(weights=(0.0,) * len(self.terms.symbols), cancels=orders))
        while not self._last(self._shown):
            self._wait(self._shown.number, self.terms.interval_s + LATE_S)

    def outcome(self) -> NDArray[np.float64]:
        """The record, float64[steps + 1, 7]; see :attr:`TradingIngest.record`."""
        return self.machine.record

    def close(self) -> None:
        """End the feed, the tape and the venue; once the last mark was made, that has begun already. Each call raises
        the same error.

        Raises:
            StoreError: the tape could not be written.
            VenueError: the feed does not end, or the local venue failed.
        """
        with self._closing:
            if not self._closed:
                self._closed = True
                try:
                    self._end()
                except Exception as error:
                    self._failure = error
            with self._marks:
                self._marks.notify_all()
        if self._failure is not None:
            raise self._failure

    def _open(self) -> None:
        # If a step fails, all that was opened before it is closed again, the last one first.
        feed = self._venue.__enter__()
        try:
            name, digest = self._task
            seeds, session = {"waits": self._seed}, self.terms.to_dict() | {"task": name, "rollout": self._rollout}
            header = TapeHeader(feed.venue, feed.arguments(), feed.simulated, digest, seeds, session=session)
            at = Instant(self._clock.monotonic(), self._clock.wall())
            self._writer = TapeWriter(self.path, header, at)
            try:
                for secret in feed.secrets:
                    self._writer.hide(secret)
                self.machine = TradingIngest(feed, self.terms, np.random.default_rng(self._seed), marked=self._marked)
                self._live = Live(
                    self.machine,
                    recorder=self._writer,
                    clock=self._clock,
                    digest=self.machine.digest,
                    pass_s=QUICK_S if self.terms.interval_s < SHORT_S else PASS_S,
                )
                self._live.passing = self._report
                if self.terms.orders == "broker":
                    self._broker = self._account_at(feed)
                try:
                    self._live.__enter__()
                except BaseException:
                    self._leave_broker()
                    raise
            except BaseException:
                self._writer.close()
                raise
        except BaseException:
            self._venue.__exit__(None, None, None)
            raise

    def _account_at(self, feed: Feed) -> LiveBroker:
        """The account at the broker, running.

        Raises:
            VenueError: the account cannot be reached, or holds something already.
        """
        account = broker_of(feed)
        self._held_alone = alone(account)
        broker = LiveBroker(account, self.terms.instruments, price=self._price, clock=self._clock)
        broker.__enter__()
        try:
            broker.ready(BEGIN_S)
            # What it held would count as the session's gain or loss.
            if any(broker.positions()) or broker.open_orders():
                held = dict(zip(self.terms.instruments, broker.positions(), strict=True))
                raise VenueError(
                    f"the account at {feed.venue} holds {held} and has {len(broker.open_orders())} open orders; a "
                    "session begins with nothing: close them first"
                )
        except BaseException:
            try:
                broker.stop()
            finally:
                self._held_alone.release()
            raise
        return broker

    def _leave_broker(self) -> None:
        if self._broker is not None:
            try:
                self._broker.stop()
            finally:
                self._held_alone.release()

    def _end(self) -> None:
        # Each step is taken even if the one before it fails; the tape ends after all that writes to it.
        try:
            try:
                self._leave_broker()
            finally:
                self._live.stop()
        finally:
            try:
                self._writer.close()
            finally:
                self._venue.__exit__(None, None, None)

    def _close_in_peace(self) -> None:
        with contextlib.suppress(Exception):  # a later close() raises it again
            self.close()

    def _enter(self, kind: RecordKind, payload: str) -> bool:
        """Tell the machine an input, unless the session is over; return whether it was told."""
        with self._closing:
            going = self._shown is not None and not self._closed and not self._last(self._shown)
            if going:
                self._live.enter(kind, payload)
            return going

    def _trade(self, decision: Decision) -> None:
        """Send a decision to the broker, if orders go to one: cancels and replacements, target weights, then orders."""
        broker = self._broker
        if broker is None or (self._shown is not None and self._shown.terminated):
            return
        broker.check()
        carry_out(Decision(cancels=decision.cancels, replaces=decision.replaces), broker)
        orders = list(decision.orders)
        if decision.weights is not None and self.machine.account.admits(decision.weights):
            prices = [self._price(instrument) for instrument in self.terms.instruments]
            orders = orders_to(decision.weights, broker, prices, 1.0) + orders
        if orders:
            broker.submit(orders)

    def _price(self, symbol: str) -> float:
        """The mid of the quote, by which an account on paper is valued too, and which own trades move less than they do
        the last price; that price where there is no sound quote.
        """
        snapshot = self.machine.state.snapshots[symbol]
        quote = snapshot.quote
        if quote is not None and 0.0 < quote.bid <= quote.ask < math.inf:
            return (quote.bid + quote.ask) / 2.0
        return snapshot.price

    def _report(self) -> None:
        """Tell the machine what the broker's account holds, at the beginning and before every mark."""
        broker, machine = self._broker, self.machine
        if broker is None or machine.over:
            return
        if not machine.account.ready or (machine.due and self._clock.monotonic() >= machine.due):
            broker.check()  # an account of which nothing is known any more is not marked
            if machine.shown is not None and machine.shown.number == self.terms.steps - 1:
                broker.ready(CAUGHT_UP_S)  # nor is the last mark of one that has not caught up
            with broker.still():  # the parts of a report are of one instant
                payload = report(broker, broker.strangers)
            self._live.enter(RecordKind.REPORTED, payload)

    def _last(self, mark: Mark) -> bool:
        return mark.number == self.terms.steps

    def _marked(self, mark: Mark) -> None:
        with self._marks:
            self._shown = mark
            self._marks.notify_all()
        if self._last(mark):
            # Whether anybody still asks or not: a feed that nobody needs would fill the disk. In a thread of its own,
            # since closing waits for the feed's thread, which is this one.
            threading.Thread(target=self._close_in_peace, name="end of a session", daemon=True).start()

    def _wait(self, after: int, seconds: float) -> Mark:
        """Wait for a mark.

        Args:
            after: number of a mark; a later one is waited for, or the last one.
            seconds: real seconds to wait at most.

        Returns:
            The newest mark.

        Raises:
            VenueError: no mark comes, or the session was closed.
        """
        deadline = time.monotonic() + seconds
        with self._marks:
            while self._shown is None or not (self._shown.number > after or self._last(self._shown)):
                if self._closed:
                    raise VenueError("the session was broken off before its end")
                self._live.check()
                if time.monotonic() > deadline:
                    venue = self.machine.feed.venue
                    raise VenueError(
                        f"{venue} gave nothing to go on with within {seconds:g} s: "
                        + (
                            "it is connected, and some symbol has no price or no history"
                            if self.machine.connected
                            else "it is not connected"
                        )
                    )
                self._marks.wait(0.5)
            return self._shown
