"""A session on a venue, in real time: decisions go in as inputs of the feed's machine, and all of it onto a tape."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from openfingym.errors import VenueError
from openfingym.market.clock import Clock, SystemClock
from openfingym.market.commands import Instant
from openfingym.market.live import PASS_S, Live
from openfingym.market.session.account import Mark
from openfingym.market.session.machine import TradingIngest, decision_payload
from openfingym.market.tape import RecordKind, TapeHeader
from openfingym.market.tape_writer import TapeWriter
from openfingym.trading.actions import parse_decision

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from openfingym.market.feed import Feed
    from openfingym.market.session.terms import SessionTerms

BEGIN_S = 90.0
"""Seconds beyond two bars that a venue has for all that the first mark needs."""
LATE_S = 30.0
"""Seconds after its time at which a mark that has not come shows that the session is broken."""
QUICK_S = 0.02
"""Between two looks at the time where bars are short."""
SHORT_S = 10


class LiveSession:
    """An account that trades on a venue for a while; a context manager.

    Args:
        venue: gives the feed, and has the venue for as long as it is entered, such as a local one.
        terms: of the session.
        tape: path of the tape, which must not exist.
        task: name and digest of the task, for the tape.
        seed: of the jitter of waits.
        clock: the time.
    """

    def __init__(
        self,
        venue: AbstractContextManager[Feed],
        terms: SessionTerms,
        tape: Path,
        *,
        task: tuple[str, str] = ("", ""),
        seed: int = 0,
        clock: Clock | None = None,
    ) -> None:
        self.terms, self.path = terms, tape
        self._venue, self._task, self._seed = venue, task, seed
        self._clock = clock or SystemClock()
        self._marks = threading.Condition()
        self._shown: Mark | None = None

    def __enter__(self) -> Self:
        feed = self._venue.__enter__()
        try:
            name, digest = self._task
            seeds, session = {"waits": self._seed}, self.terms.to_dict() | {"task": name}
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
                self._live.__enter__()
            except BaseException:
                self._writer.close()
                raise
        except BaseException:
            self._venue.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def simulated(self) -> bool:
        """Whether the venue is one of :mod:`openfingym.market.sim`."""
        return self.machine.feed.simulated

    def begin(self) -> Mark:
        """Wait for the first mark.

        Raises:
            VenueError: the venue does not give what it needs, or not in time.
        """
        return self._wait(lambda mark: mark.number >= 0, BEGIN_S + 2.0 * self.terms.interval_s)

    def step(self, action: object) -> Mark:
        """Decide, and wait for the next mark.

        Raises:
            SubmissionError: the action is malformed; nothing has happened.
            VenueError: the feed has ended for good, or the mark does not come.
        """
        parse_decision(action, self.terms.symbols)
        before = self._shown
        assert before is not None, "a session begins before its first step"
        self._live.enter(RecordKind.DECIDED, decision_payload(before.number, action))
        return self._wait(lambda mark: mark.number > before.number or mark.done, self.terms.interval_s + LATE_S)

    def leave(self) -> None:
        """Decide no more: orders are cancelled and positions sold, and the rest of the session is waited for.

        Raises:
            VenueError: the feed has ended for good, or a mark does not come.
        """
        if self._shown is None or self._shown.done:
            return
        self._live.enter(RecordKind.LEFT, "")
        while not self._shown.done:
            number = self._shown.number
            self._wait(lambda mark: mark.number > number or mark.done, self.terms.interval_s + LATE_S)  # noqa: B023  # called at once

    def outcome(self) -> NDArray[np.float64]:
        """The record, float64[steps + 1, 7]; see :attr:`TradingIngest.record`."""
        return self.machine.record

    def close(self) -> None:
        """End the feed and the tape; a second call does nothing."""
        try:
            self._live.stop()
        finally:
            try:
                self._writer.close()
            finally:
                self._venue.__exit__(None, None, None)

    def _marked(self, mark: Mark) -> None:
        with self._marks:
            self._shown = mark
            self._marks.notify_all()

    def _wait(self, enough: Callable[[Mark], bool], seconds: float) -> Mark:
        deadline = time.monotonic() + seconds
        with self._marks:
            while self._shown is None or not enough(self._shown):
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
