"""Live sessions: the private episodes of rollouts on a market that goes on, each with its feed, account and tape.

::

    <state>/sessions/<rollout>.tape      everything that went into the session
    <state>/sessions/<rollout>.broken    why there will never be a score, where it broke off

What is scored is computed from the tape, once the session is over: the account's record, and the bars on which the
baseline is scored. A session that was interrupted has no score: it is an error of ours, and the rollout is made again.
"""

from __future__ import annotations

import hashlib
import logging
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
    from openfingym_verifier.ledger_rows import RolloutRow
    from openfingym_verifier.truth import HiddenTask

logger = logging.getLogger(__name__)

INTERRUPTED = "the live session of this rollout was interrupted; create a new rollout"
MOST = 64
"""Sessions at once; each has a thread that waits for its next bar, one of its feed, and perhaps one of its venue."""
SPARE = 8
"""Threads beyond theirs, for what is quick: while all sessions wait, others are told that there is no room."""


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
        self.threads = ThreadPoolExecutor(MOST + SPARE, thread_name_prefix="session")
        self._folder = state / "sessions"
        self._open: dict[str, LiveSession | TapedSession] = {}
        self._broken: dict[str, str] = {}
        self._over: dict[str, Over] = {}
        self._lock = threading.Lock()
        self._shut = False

    def close(self) -> None:
        """Break off what is still open, all at once; those who wait for a bar are told."""
        with self._lock:
            self._shut, left = True, list(self._open)
        ending = [threading.Thread(target=self._end, args=(rollout,), name="end of a session") for rollout in left]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join()
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

        with self._lock:
            if self._shut:
                raise Problem("unavailable", "The verifier is being stopped.", retry_after_s=60.0)
            if row.id in self._open or self._why_broken(row.id) or self.tape(row.id).exists():
                raise VerifierError(INTERRUPTED)
            if sum(not session.closed for session in self._open.values()) >= MOST:
                raise Problem("unavailable", f"{MOST} live sessions are open already.", retry_after_s=60.0)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            try:
                session = self._open[row.id] = self._made(row, order_of(row), task)
            except UsageError as error:  # such as a market that has closed since the rollout was created
                raise VerifierError(str(error)) from error
        try:
            session.__enter__()
        except Exception as error:
            raise self.break_off(row, error) from error
        return SessionEpisode(session)

    def is_open(self, rollout: str) -> bool:
        """Whether a rollout has a session that has not been ended by anybody yet."""
        return rollout in self._open

    def break_off(self, row: RolloutRow, error: BaseException) -> VerifierError:
        """End a rollout's session, which has failed, for good; returns the error that says so."""
        reason = self._broken.setdefault(row.id, f"the live session broke off: {error}")
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._marker(row.id).write_text(reason)
        except OSError:  # then the tape has no end either, and after a restart that says the same
            logger.exception("rollout %s: it cannot be kept on the disk that its session broke off", row.id)
        self._end(row.id)
        return VerifierError(reason)

    def finish(self, row: RolloutRow) -> None:
        """End the session of a rollout, if one was begun, and read its tape once more. Waits for what is left of it.

        Raises:
            VerifierError: it was interrupted, or the tape does not say what the session did.
        """
        if row.id in self._over:
            return
        if (reason := self._why_broken(row.id)) is not None:
            raise VerifierError(reason)
        session = self._open.get(row.id)
        if session is None and not self.tape(row.id).exists():
            return
        try:
            record = None
            if session is not None:
                session.leave()
                session.close()
                record = session.outcome().copy()
            over = self._read(row, session, record)
        except Exception as error:
            raise self.break_off(row, error) from error
        self._end(row.id)
        self._over[row.id] = over

    def forget(self, rollout: str) -> None:
        """Drop what is in memory of a session whose result is written."""
        self._over.pop(rollout, None)

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
        return LiveSession(venue, terms, self.tape(row.id), task=about, rollout=row.id, seed=secrets.randbits(31))

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
        from openfingym.market.tape_reader import TapeReader

        contract = live_contract(task.spec.contract)
        if order.tape is None:
            return session_terms(contract, order.duration_s)
        with TapeReader(Path(order.tape)) as reader:
            terms = SessionTerms.from_dict(reader.header.session)
        own = session_terms(contract, terms.interval_s * contract.steps)
        if terms != own:
            raise UsageError(f"the tape is of a session with other terms than those of {task.name}: {terms} and {own}")
        return terms

    def _read(
        self, row: RolloutRow, session: LiveSession | TapedSession | None, record: NDArray[np.float64] | None = None
    ) -> Over:
        from openfingym.market.session.taped import TapedSession, replayed
        from openfingym.market.tape_reader import TapeReader

        if order_of(row).tape is not None:
            assert isinstance(session, TapedSession), "a session on a tape has no tape of its own to be read later"
            assert record is not None, "an open session has a record"
            return _over(session.machine, record, simulated=session.simulated, digest=None)
        path = self.tape(row.id)
        with TapeReader(path) as reader:
            header = reader.header
        # A tape lies in a folder: a file that was put in its place must not become the result of this rollout.
        if header.session.get("rollout") != row.id or header.task != row.task_digest:
            raise VerifierError(f"{path} is not the tape of this rollout's session")
        machine, found = replayed(path)
        if found.difference is not None:
            raise VerifierError(f"the session's tape gives another session than there was: {found.difference}")
        if not machine.over:
            raise VerifierError(INTERRUPTED)
        if (fault := machine.account.fault) is not None:
            raise VerifierError(f"the account at {machine.feed.venue} is not the session's own: {fault}")
        # What was valued live and what the tape gives must be the same to the last bit, or nobody could check the
        # score.
        if record is not None and not np.array_equal(record, machine.record):
            raise VerifierError("the session's tape gives another account than there was")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return _over(machine, machine.record, simulated=machine.feed.simulated, digest=digest)

    def _marker(self, rollout: str) -> Path:
        return self._folder / f"{rollout}.broken"

    def _why_broken(self, rollout: str) -> str | None:
        """Why a rollout's session will never have a score; None where nothing is known against it."""
        if rollout in self._broken:
            return self._broken[rollout]
        marker = self._marker(rollout)
        return marker.read_text() if marker.exists() else None

    def _end(self, rollout: str) -> None:
        with self._lock:
            session = self._open.pop(rollout, None)
        if session is not None:
            try:
                session.close()
            except Exception:
                logger.warning("rollout %s: its session did not end well", rollout, exc_info=True)


def _over(machine: TradingIngest, record: NDArray[np.float64], *, simulated: bool, digest: str | None) -> Over:
    terms = machine.terms
    said: dict[str, object] = {
        "venue": machine.feed.venue,
        "simulated": simulated,
        "interval_s": terms.interval_s,
        "duration_s": terms.interval_s * terms.steps,
        "incomplete_bars": machine.incomplete,
        "left_early": machine.left,
        "orders": terms.orders,
        "tape_sha256": digest,
    }
    return Over(terms, record, machine.bars, machine.first_bar, said)


def order_of(row: RolloutRow) -> SessionOrder:
    """Which session a rollout is to have."""
    assert row.session is not None, "only a rollout with a session has an order"
    return SessionOrder(**row.session)  # type: ignore[arg-type]  # as SessionOrder.to_dict wrote it
