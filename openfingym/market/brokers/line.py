"""The line to a broker: the connection of its stream, reopened after growing waits, and the executor that gets all that
comes on it.
"""

from __future__ import annotations

import numpy as np

from openfingym.errors import FeedError
from openfingym.market.brokers.broker import BrokerAnswer
from openfingym.market.brokers.executor import BrokerExecutor
from openfingym.market.brokers.tracked import TrackedOrder
from openfingym.market.commands import Close, Command, Connect, Instant, RestAnswer, Send, Tell, read_ending
from openfingym.market.feed import Frame
from openfingym.market.keys import NAMES
from openfingym.market.links import OPEN_S, SUBSCRIBE_S, BackOff
from openfingym.market.redaction import SHORTEST, Mask
from openfingym.market.ticks import SECOND


class BrokerLine:
    """A machine that does no input or output: a :class:`~openfingym.market.commands.RunMachine`.

    The executor's requests go out through the ``send`` that it was made with, and not as commands of this machine: an
    agent may cause them at any time.

    Args:
        executor: the executor of the account.
        rng: draws the jitter of waits.
    """

    def __init__(self, executor: BrokerExecutor, rng: np.random.Generator) -> None:
        self.executor = executor
        self._back_off = BackOff(rng)
        self._mask = Mask(secret for secret in executor.broker.secrets if len(secret) >= SHORTEST)
        self._number = 0
        self._open = False
        """Whether there is a connection, or one is being opened."""
        self._stopped = False
        self._caught_up = False
        self._since = self._opened = self._ready = -1
        """When the connection was asked for, was open, and reported everything, in nanoseconds of the monotonic clock;
        -1 where it does not yet.
        """
        self._due: int | None = None
        """When the next one is to be opened; None where none is."""

    @property
    def failed(self) -> str:
        """Why the machine has stopped for good; empty while it has not."""
        reason, venue = self.executor.reconciler.stopped, self.executor.broker.venue
        if reason is None:
            return ""
        names = " and ".join(NAMES.get(venue, ("its keys",)))
        return (
            f"{venue} does not accept the account's keys ({reason.rstrip('.')}): set {names} to those of this account; "
            "a demo or paper account has keys of its own, and a key may be bound to addresses or permissions"
        )

    def open_orders(self) -> list[TrackedOrder]:
        """Orders placed here or by an earlier process that may still trade, as far as is known."""
        return [order for order in self.executor.mirror.live.values() if order.ours]

    def start(self, at: Instant) -> list[Command]:
        """The session begins."""
        return self._connect(at)

    def stop(self, at: Instant) -> list[Command]:
        """The session ends: nothing is opened any more."""
        self._stopped = True
        return self._lost(at)

    def leave(self, at: Instant) -> list[Command]:
        """Take no more orders, and cancel those of ours that are open."""
        self.executor.leaving = True
        for number in {order.number for order in self.open_orders()}:
            self.executor.cancel(number)
        return self._after([], at)

    def opened(self, connection: int, at: Instant) -> list[Command]:
        """A connection is open."""
        if connection != self._number or not self._open:
            return [Close(connection)]  # it was given up meanwhile
        self._opened = at.monotonic
        return self._after(self._sends(self.executor.opened(at)), at)

    def frame(self, connection: int, frame: Frame, at: Instant) -> list[Command]:
        """A frame was received."""
        if connection != self._number or not self._open:
            return []
        try:
            replies = self.executor.received(frame, at)
        except FeedError as error:
            return self._drop("unreadable", str(error), at)
        return self._after(self._sends(replies), at)

    def closed(self, connection: int, reason: str, at: Instant) -> list[Command]:
        """A connection has ended, or could not be opened."""
        if connection != self._number or not self._open:
            return []
        self._open = False
        text, wait_s = read_ending(reason)
        return self._drop("lost", text, at, wait_s)

    def answered(self, question: int, answer: RestAnswer, at: Instant) -> list[Command]:
        """A question was answered."""
        answered = BrokerAnswer.of(answer)
        if not answered.good:  # its words are shown and kept, and may repeat the keys that it was asked with
            answered = answered._replace(body=self._mask(answered.body))
        self.executor.answered(question, answered, at)
        return self._after([], at)

    def passed(self, at: Instant) -> list[Command]:
        """Time has passed."""
        self.executor.passed(at)
        now = at.monotonic
        if self._open and self._opened < 0 and now - self._since > OPEN_S * SECOND:
            return self._drop("lost", f"the stream did not open within {OPEN_S:g} s", at)
        if self._open and self._ready < 0 <= self._opened and now - self._opened > SUBSCRIBE_S * SECOND:
            return self._drop("lost", f"the stream did not begin within {SUBSCRIBE_S:g} s", at)
        if self._due is not None and now >= self._due:
            return self._after(self._connect(at), at)
        return self._after([], at)

    def _connect(self, at: Instant) -> list[Command]:
        self._number += 1
        self._open, self._due = True, None
        self._since, self._opened, self._ready = at.monotonic, -1, -1
        return [Connect(self._number)]

    def _sends(self, frames: list[Frame]) -> list[Command]:
        return [Send(self._number, frame) for frame in frames]

    def _after(self, commands: list[Command], at: Instant) -> list[Command]:
        """Commands that follow from what the executor has learned meanwhile, after those given."""
        executor = self.executor
        session = executor.session
        if session is not None and session.ready and self._ready < 0:
            self._ready = at.monotonic
        commands += self._tells()
        if executor.ready and not self._caught_up:
            commands.append(Tell("connected", "", "the account is known, and orders may be sent"))
        self._caught_up = executor.ready
        if self.failed and not self._stopped:
            self._stopped = True
            return [*commands, *self._lost(at), Tell("failed", "", self.failed)]
        if session is not None and session.over:
            return [*commands, *self._drop("lost", "the venue tells no more on this connection", at)]
        return commands

    def _tells(self) -> list[Command]:
        tells, self.executor.tells = self.executor.tells, []
        return list(tells)

    def _drop(self, kind: str, reason: str, at: Instant, wait_s: float | None = None) -> list[Command]:
        """Give up the connection, and open another one after a while."""
        if not self._stopped:
            self._due = self._back_off.due(at.monotonic, self._ready, wait_s)
        return self._after([*self._lost(at), Tell(kind, "", reason)], at)

    def _lost(self, at: Instant) -> list[Command]:
        """Take note that there is no connection any more, and close it if there was one."""
        commands: list[Command] = [Close(self._number)] if self._open else []
        self._open, self._due = False, None if self._stopped else self._due
        self.executor.closed(at)
        return commands
