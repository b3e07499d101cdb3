"""Live sessions: the private episodes of rollouts on a market that goes on, each with its feed, account and tape.

::

    <state>/sessions/<rollout>.tape    everything that went into the session

What is scored is computed from the tape, once the session is over: the account's record, and the bars on which the
baseline is scored. A session that was interrupted has no score: it is an error of ours, and the rollout is made again.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import OpenFinGymError, UsageError, VerifierError
from openfingym.market.session.terms import SessionOrder, SessionTerms
from openfingym_verifier.problems import Problem

# The rest is loaded with the first session: clients and servers of WebSockets take longer than all else here.
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from openfingym.kinds.live import LiveContract, SessionEpisode
    from openfingym.market.feed import Feed
    from openfingym.market.session.live import LiveSession
    from openfingym.market.session.machine import TradingIngest
    from openfingym.market.session.taped import TapedSession
    from openfingym_verifier.ledger import RolloutRow
    from openfingym_verifier.truth import HiddenTask

MOST = 64
"""Sessions at once; each has a thread that waits for its next bar, one of its feed, and perhaps one of its venue."""


@dataclass(frozen=True, eq=False)
class Over:
    """A session that has ended."""

    terms: SessionTerms
    record: NDArray[np.float64]
    """float64[steps + 1, 7]"""
    bars: NDArray[np.float64]
    """float64[lookback + steps, symbols, 5]"""
    first: int
    """Left edge of the first bar, in nanoseconds since the epoch."""
    said: dict[str, object]
    """What the result says of it."""


class Sessions:
    """The sessions of one verifier. Its methods wait, and are called in its own threads.

    Args:
        state: the verifier's folder.
        wall: nanoseconds since the epoch, by which markets open and close.
    """

    def __init__(self, state: Path, *, wall: Callable[[], int] = time.time_ns) -> None:
        self._wall = wall
        self.threads = ThreadPoolExecutor(MOST, thread_name_prefix="session")
        self._folder = state / "sessions"
        self._open: dict[str, LiveSession | TapedSession] = {}
        self._broken: dict[str, str] = {}
        self._over: dict[str, Over] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Break off what is still open."""
        for rollout in list(self._open):
            self._end(rollout)
        self.threads.shutdown(wait=False, cancel_futures=True)

    def tape(self, rollout: str) -> Path:
        """Path of a rollout's own tape."""
        return self._folder / f"{rollout}.tape"

    def require(self, order: SessionOrder, task: HiddenTask) -> None:
        """Return if a task can have a session as ordered.

        Raises:
            Problem: ``malformed-request``, with the reason.
        """
        from openfingym.kinds.live import live_contract

        try:
            terms = self._terms(order, task)
            if order.tape is None and order.venue == "real":
                self._real(live_contract(task.spec.contract), terms)
        except OpenFinGymError as error:
            raise Problem("malformed-request", str(error)) from error

    def begin(self, row: RolloutRow, task: HiddenTask) -> SessionEpisode:
        """Open the session of a rollout.

        Raises:
            Problem: ``unavailable``: there are too many at once.
            VerifierError: it cannot begin, or began before and is lost.
        """
        from openfingym.kinds.live import SessionEpisode

        order = order_of(row)
        with self._lock:
            if row.id in self._open or row.id in self._broken or self.tape(row.id).exists():
                raise VerifierError("the session of this rollout was interrupted; create a new rollout")
            if len(self._open) >= MOST:
                raise Problem("unavailable", f"{MOST} live sessions are open already.", retry_after_s=60.0)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            try:
                session = self._made(row, order, task)
            except UsageError as error:  # such as a market that has closed since the rollout was created
                raise VerifierError(str(error)) from error
            self._open[row.id] = session
        try:
            session.__enter__()
        except BaseException:
            with self._lock:
                del self._open[row.id]
            raise
        return SessionEpisode(session)

    def break_off(self, row: RolloutRow, error: Exception) -> VerifierError:
        """End a session that has failed; returns the error that says so."""
        self._broken[row.id] = f"the live session broke off: {error}"
        self._end(row.id)
        return VerifierError(self._broken[row.id])

    def finish(self, row: RolloutRow) -> None:
        """End the session of a rollout, if one was begun, and read its tape once more. Waits for what is left of it.

        Raises:
            VerifierError: it was interrupted, or the tape does not say what the session did.
        """
        if row.id in self._over:
            return
        if row.id in self._broken:
            raise VerifierError(self._broken[row.id])
        session = self._open.get(row.id)
        if session is None:
            if self.tape(row.id).exists():
                self._over[row.id] = self._read(row, None)
            return
        try:
            session.leave()
            record = session.outcome().copy()
        except OpenFinGymError as error:
            raise self.break_off(row, error) from error
        self._end(row.id)
        self._over[row.id] = self._read(row, session, record)

    def over(self, rollout: str) -> Over | None:
        """The session of a rollout that has ended; None where none has."""
        return self._over.get(rollout)

    def played(self, rollout: str, task: HiddenTask) -> HiddenTask:
        """The task on what happened in a rollout's session; as it was, where none has ended."""
        from openfingym.kinds.live import on_session, session_arrays
        from openfingym_verifier.truth import load_task

        over = self._over.get(rollout)
        if over is None:
            return task
        hidden = session_arrays(task.hidden, over.bars, over.first, over.terms.interval)
        spec = on_session(task.spec, over.terms)
        return load_task(task.package, hidden, None, f"{task.name}/{rollout}", spec)

    def _made(self, row: RolloutRow, order: SessionOrder, task: HiddenTask) -> LiveSession | TapedSession:
        from openfingym.kinds.live import live_contract
        from openfingym.market.session.live import LiveSession
        from openfingym.market.session.taped import TapedSession
        from openfingym.market.session.venues import simulated_venue

        if order.tape is not None:
            return TapedSession(Path(order.tape))
        contract, terms = live_contract(task.spec.contract), self._terms(order, task)
        if order.venue == "real":
            venue = self._real(contract, terms)
        else:
            before = (terms.lookback + 2) * terms.interval_s + 60.0
            # Who knows the seed knows what will happen; nobody but this process does.
            venue = simulated_venue(contract.venue, contract.instruments, seed=secrets.randbits(62), before_s=before)
        about = (task.name, task.manifest.digest)
        return LiveSession(venue, terms, self.tape(row.id), task=about, seed=secrets.randbits(31))

    def _real(self, contract: LiveContract, terms: SessionTerms) -> AbstractContextManager[Feed]:
        """The real venue, which is not connected to yet.

        Raises:
            UsageError: there are no keys for it, or its market does not trade for as long as the session takes.
        """
        from openfingym.market.session.hours import require_hours
        from openfingym.market.session.venues import real_venue

        venue = real_venue(contract.venue, contract.instruments)
        if contract.calendar is not None:
            # Up to two bars pass before the first mark, until one begins and the history is there.
            require_hours(contract.calendar, self._wall(), (terms.steps + 2) * terms.interval_s)
        return venue

    def _terms(self, order: SessionOrder, task: HiddenTask) -> SessionTerms:
        from openfingym.kinds.live import live_contract, session_terms
        from openfingym.market.session.taped import machine_of
        from openfingym.market.tape_reader import TapeReader

        contract = live_contract(task.spec.contract)
        if order.tape is None:
            return session_terms(contract, order.duration_s)
        with TapeReader(Path(order.tape)) as reader:
            terms = machine_of(reader.header).terms
        own = session_terms(contract, terms.interval_s * contract.steps)
        if terms != own:
            raise UsageError(f"the tape is of a session with other terms than those of {task.name}: {terms} and {own}")
        return terms

    def _read(
        self, row: RolloutRow, session: LiveSession | TapedSession | None, record: NDArray[np.float64] | None = None
    ) -> Over:
        from openfingym.market.session.taped import TapedSession, replayed

        order = order_of(row)
        if order.tape is not None:
            if not isinstance(session, TapedSession) or record is None:
                raise VerifierError("the session of this rollout was interrupted; create a new rollout")
            return _over(session.machine, record, simulated=session.simulated, digest=None)
        machine, found = replayed(self.tape(row.id))
        if found.difference is not None:
            raise VerifierError(f"the session's tape gives another session than there was: {found.difference}")
        if not machine.over:
            raise VerifierError("the session of this rollout was interrupted; create a new rollout")
        if record is not None and not np.array_equal(record, machine.record):
            raise VerifierError("the session's tape gives another account than there was")
        digest = hashlib.sha256(self.tape(row.id).read_bytes()).hexdigest()
        return _over(machine, machine.record, simulated=machine.feed.simulated, digest=digest)

    def _end(self, rollout: str) -> None:
        with self._lock:
            session = self._open.pop(rollout, None)
        if session is not None:
            session.close()


def _over(machine: TradingIngest, record: NDArray[np.float64], *, simulated: bool, digest: str | None) -> Over:
    terms = machine.terms
    said: dict[str, object] = {
        "venue": machine.feed.venue,
        "simulated": simulated,
        "interval_s": terms.interval_s,
        "duration_s": terms.interval_s * terms.steps,
        "incomplete_bars": machine.incomplete,
        "left_early": machine.left,
        "tape_sha256": digest,
    }
    return Over(terms, record, machine.bars, machine.first_bar, said)


def order_of(row: RolloutRow) -> SessionOrder:
    """Which session a rollout is to have."""
    assert row.session is not None, "only a rollout with a session has an order"
    return SessionOrder(**row.session)  # type: ignore[arg-type]  # as SessionOrder.to_dict wrote it
