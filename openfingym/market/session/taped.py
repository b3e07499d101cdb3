"""A session on the tape of an earlier one: the same market, with the same or other decisions at the same instants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from openfingym.errors import DataError
from openfingym.market.replay import TapeReplay, replay, tellers
from openfingym.market.session.account import Mark
from openfingym.market.session.machine import TradingIngest, decision_payload
from openfingym.market.session.terms import SessionTerms
from openfingym.market.session.venues import feed_of
from openfingym.market.tape import Record, RecordKind, TapeHeader
from openfingym.market.tape_reader import TapeReader
from openfingym.trading.actions import parse_decision

if TYPE_CHECKING:
    from numpy.typing import NDArray

OWN = frozenset({RecordKind.DECIDED, RecordKind.LEFT})
"""Kinds of records of what the tape's own agent did."""


def machine_of(header: TapeHeader, *, on_paper: bool = False) -> TradingIngest:
    """A new machine, made as the one of the tape's session was.

    Args:
        header: the header of the tape.
        on_paper: whether to fill orders on paper even if those of the session went to a broker.

    Raises:
        DataError: the tape is not of a session with an account.
    """
    if not header.session:
        raise DataError("the tape is of a feed alone: no account traded, so there is nothing to play again")
    terms = SessionTerms.from_dict(header.session)
    if on_paper:
        terms = replace(terms, orders="paper")
    feed = feed_of(header.venue, terms.instruments, header.feed)
    return TradingIngest(feed, terms, np.random.default_rng(header.seeds.get("waits", 0)))


def decides(record: Record, machine: TradingIngest) -> bool:
    """Whether a decision that was made at the newest mark takes effect before this record: where the tape's own agent
    decided, or just before the next mark where it did not.
    """
    return record.kind in OWN or (record.kind is RecordKind.PASSED and record.at.monotonic >= machine.due)


class TapedSession:
    """A session like a :class:`~openfingym.market.session.live.LiveSession`, on a tape; a context manager.

    A decision takes the place of the one that the tape's own agent took after the same mark: it takes effect at that
    instant. Where that agent took none, it takes effect just before the next mark. Orders fill on paper, even if those
    of the session went to a broker.
    """

    def __init__(self, tape: Path) -> None:
        """Open a tape.

        Raises:
            TapeError: the tape cannot be read.
            DataError: the tape is not of a session with an account.
        """
        self.path = tape
        self._reader = TapeReader(tape)
        try:
            self.machine = machine_of(self._reader.header, on_paper=True)
        except BaseException:
            self._reader.close()
            raise
        self.terms = self.machine.terms
        self.simulated = self._reader.header.simulated
        self._records: Iterator[Record] = iter(self._reader)
        self._inputs = tellers(self.machine)
        self.closed = False
        """Whether :meth:`close` was called."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self) -> Mark:
        """Go on to the first mark.

        Raises:
            TapeError: the tape ends before it, or is damaged.
        """
        while self.machine.shown is None:
            self._enter(self._next())
        return self.machine.shown

    def step(self, action: object) -> Mark:
        """Decide, and go on to the next mark.

        Raises:
            SubmissionError: the action is malformed; nothing has happened.
            TapeError: the tape ends before the mark, or is damaged.
        """
        machine = self.machine
        before = machine.shown
        assert before is not None, "a session begins before its first step"
        parse_decision(action, self.terms.symbols)
        payload: str | None = decision_payload(before.number, action)
        while machine.shown is before:
            record = self._next()
            if payload is not None and decides(record, machine):
                machine.decided(payload, record.at)
                payload = None
            self._enter(record)
        assert machine.shown is not None
        return machine.shown

    def leave(self) -> None:
        """Decide no more: cancel orders and close positions at the instant of the newest mark, and play the tape to the
        session's end.

        Raises:
            TapeError: the tape ends before the session does, or is damaged.
        """
        self.machine.leave(self._at)
        while not self.machine.over:
            self._enter(self._next())

    def outcome(self) -> NDArray[np.float64]:
        """The record, float64[steps + 1, 7]; see :attr:`TradingIngest.record`."""
        return self.machine.record

    def close(self) -> None:
        """Close the tape; a second call does nothing."""
        self.closed = True
        self._reader.close()

    def _next(self) -> Record:
        for record in self._records:
            self._at = record.at
            return record
        raise DataError("the tape ends before the session does: it was interrupted")

    def _enter(self, record: Record) -> None:
        """Tell the machine a record of the tape, unless it is no input, or one of the tape's own agent."""
        enter = self._inputs.get(record.kind)
        if enter is not None and record.kind not in OWN:
            enter(record)


def replayed(tape: Path) -> tuple[TradingIngest, TapeReplay]:
    """Play a tape again as it was, its own agent's decisions included, and compare the state at every checkpoint.

    Raises:
        TapeError: the tape cannot be read to its end.
        DataError: the tape is not of a session with an account.
    """
    with TapeReader(tape) as reader:
        machine = machine_of(reader.header)
        return machine, replay(reader, machine, machine.digest)
