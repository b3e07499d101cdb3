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
    from openfingym_verifier.ledger.rows import RolloutRow
    from openfingym_verifier.scoring.truth import HiddenTask

logger = logging.getLogger(__name__)

INTERRUPTED = "the live session of this rollout was interrupted; create a new rollout"
MOST = 64
"""Sessions at once; each has a thread that waits for its next bar, one of its feed, and perhaps one of its venue."""
SPARE = 8
"""Threads beyond theirs, for what is quick: while all sessions wait, others are told that there is no room."""


@dataclass(frozen=True, eq=False)
class EndedSession:
    """A session that has ended."""

    terms: SessionTerms
    record: NDArray[np.float64]
    """The account's record, float64[steps + 1, 7]; see :mod:`openfingym.metrics.performance`."""
    bars: NDArray[np.float64]
    """The market's bars, float64[lookback + steps, symbols, 5], on which the baseline is scored."""
    first: int
    """Left edge of the first bar, in nanoseconds since the epoch."""
    summary: dict[str, object]
    """What the result of the rollout says of the session."""


class Sessions:
    """The sessions of one verifier. Its methods wait, and are called in its own threads.

    Args:
        state: the verifier's state directory.
        wall: gives the time of day, in nanoseconds since the epoch, by which markets open and close.
    """

    def __init__(self, state: Path, *, wall: Callable[[], int] = time.time_ns) -> None:
        self._wall = wall
        self.threads = ThreadPoolExecutor(MOST + SPARE, thread_name_prefix="session")
        self._folder = state / "sessions"
        self._open: dict[str, LiveSession | TapedSession] = {}
        self._broken: dict[str, str] = {}
        self._ended: dict[str, EndedSession] = {}
        self._lock = threading.Lock()
        """Held while :attr:`_open` changes."""
        self._shut = False

    def close(self) -> None:
        """Break off what is still open, all at once; those who wait for a bar are told."""
        with self._lock:
            self._shut, left = True, list(self._open)
        # In threads of their own: each waits for its venue, and those of the pool may all be waiting for bars.
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
        """Return if a rollout of a task can have the session that an order wants.

        Args:
            order: which session is wanted.
            task: the task about a live market.

        Raises:
            Problem: ``malformed-request``, with the reason.
        """
        from openfingym.kinds.live import live_contract

        try:
            terms = self._terms(order, task)
            if order.tape is None and order.venue == "real":
                # Nothing is connected to: this finds out whether there are keys, and whether the market is open.
                self._real_venue(live_contract(task.spec.contract), terms)
        except OpenFinGymError as error:
            raise Problem("malformed-request", str(error)) from error

    def begin(self, row: RolloutRow, task: HiddenTask) -> SessionEpisode:
        """Open the session of a rollout.

        Args:
            row: the rollout's row in the ledger.
            task: the task of the rollout, as the package has it.

        Raises:
            Problem: ``unavailable``: too many sessions are open, or the verifier is being stopped.
            VerifierError: the session cannot begin, or began before and is lost.
        """
        from openfingym.kinds.live import SessionEpisode

        with self._lock:
            if self._shut:
                raise Problem("unavailable", "The verifier is being stopped.", retry_after_s=60.0)
            # A tape without a session in memory is of one that another process began: it cannot be gone on with, and a
            # second one would be a second try.
            if row.id in self._open or self._why_broken(row.id) or self.tape(row.id).exists():
                raise VerifierError(INTERRUPTED)
            if sum(not session.closed for session in self._open.values()) >= MOST:
                raise Problem("unavailable", f"{MOST} live sessions are open already.", retry_after_s=60.0)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            try:
                session = self._open[row.id] = self._new_session(row, order_of(row), task)
            except UsageError as error:  # such as a market that has closed since the rollout was created
                raise VerifierError(str(error)) from error
        # Outside the lock: connecting to a venue takes seconds, in which other sessions begin and end.
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
        # The first reason stays: later failures follow from it.
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
            VerifierError: the session was interrupted, or the tape does not say what the session did.
        """
        if row.id in self._ended:
            return
        if (reason := self._why_broken(row.id)) is not None:
            raise VerifierError(reason)
        session = self._open.get(row.id)
        if session is None and not self.tape(row.id).exists():
            return
        try:
            record = None
            if session is not None:
                # The tape has an end only once the session is closed; it is read below from its first byte.
                session.leave()
                session.close()
                record = session.outcome().copy()
            ended = self._read_tape(row, session, record)
        except Exception as error:
            raise self.break_off(row, error) from error
        self._end(row.id)
        self._ended[row.id] = ended

    def forget(self, rollout: str) -> None:
        """Drop what is in memory of a session whose result is written."""
        self._ended.pop(rollout, None)

    def ended(self, rollout: str) -> EndedSession | None:
        """The session of a rollout that has ended; None where none has."""
        return self._ended.get(rollout)

    def task_on_session(self, rollout: str, task: HiddenTask) -> HiddenTask:
        """The task with the bars of a rollout's session as its private ones; unchanged where no session has ended.

        Args:
            rollout: id of the rollout.
            task: the task of the rollout, as the package has it.
        """
        from openfingym.kinds.live import on_session, session_arrays
        from openfingym_verifier.scoring.truth import load_task

        ended = self._ended.get(rollout)
        if ended is None:
            return task
        hidden = session_arrays(task.hidden, ended.bars, ended.first, ended.terms.interval)
        spec = on_session(task.spec, ended.terms)
        return load_task(task.package, hidden, None, f"{task.name}/{rollout}", spec)

    def _new_session(self, row: RolloutRow, order: SessionOrder, task: HiddenTask) -> LiveSession | TapedSession:
        """The session that an order wants, not opened yet."""
        from openfingym.kinds.live import live_contract
        from openfingym.market.session.live import LiveSession
        from openfingym.market.session.taped import TapedSession
        from openfingym.market.session.venues import simulated_venue

        if order.tape is not None:
            return TapedSession(Path(order.tape))
        contract, terms = live_contract(task.spec.contract), self._terms(order, task)
        if order.venue == "real":
            venue = self._real_venue(contract, terms)
        else:
            # History for the first observation, two bars that may pass before the first mark, and a minute to spare.
            before = (terms.lookback + 2) * terms.interval_s + 60.0
            # Who knows the seed knows what will happen; nobody but this process does.
            venue = simulated_venue(contract.venue, contract.instruments, seed=secrets.randbits(62), before_s=before)
        about = (task.name, task.manifest.digest)
        return LiveSession(venue, terms, self.tape(row.id), task=about, rollout=row.id, seed=secrets.randbits(31))

    def _real_venue(self, contract: LiveContract, terms: SessionTerms) -> AbstractContextManager[Feed]:
        """The real venue, which is not connected to yet.

        Raises:
            UsageError: there are no keys for the venue, or its market does not trade for as long as the session takes.
        """
        from openfingym.market.session.hours import require_hours
        from openfingym.market.session.venues import real_venue

        venue = real_venue(contract.venue, contract.instruments)
        if contract.calendar is not None:
            # Up to two bars pass before the first mark, until one begins and the history is there.
            require_hours(contract.calendar, self._wall(), (terms.steps + 2) * terms.interval_s)
        return venue

    def _terms(self, order: SessionOrder, task: HiddenTask) -> SessionTerms:
        """The terms of the session that an order wants; those of a tape are in its header.

        Raises:
            OpenFinGymError: the tape cannot be read, or the session cannot last as long as the order says.
        """
        from openfingym.kinds.live import live_contract, session_terms
        from openfingym.market.tape_reader import TapeReader

        contract = live_contract(task.spec.contract)
        if order.tape is None:
            return session_terms(contract, order.duration_s)
        with TapeReader(Path(order.tape)) as reader:
            terms = SessionTerms.from_dict(reader.header.session)
        # All but the length of a bar must be the task's own, or the scores of sessions could not be compared.
        own = session_terms(contract, terms.interval_s * contract.steps)
        if terms != own:
            raise UsageError(f"the tape is of a session with other terms than those of {task.name}: {terms} and {own}")
        return terms

    def _read_tape(
        self, row: RolloutRow, session: LiveSession | TapedSession | None, record: NDArray[np.float64] | None
    ) -> EndedSession:
        """What happened in a session, by its tape.

        Args:
            row: the rollout's row in the ledger.
            session: the session, closed; None after a restart, when only its tape is left.
            record: the account's record as it was valued live, float64[steps + 1, 7]; None after a restart.

        Raises:
            VerifierError: the tape is not that of this session, gives another account, or has no end.
        """
        from openfingym.market.session.taped import TapedSession, replayed
        from openfingym.market.tape_reader import TapeReader

        if order_of(row).tape is not None:
            assert isinstance(session, TapedSession), "a session on a tape has no tape of its own to be read later"
            assert record is not None, "an open session has a record"
            return _ended(session.machine, record, simulated=session.simulated, digest=None)
        path = self.tape(row.id)
        with TapeReader(path) as reader:
            header = reader.header
        # A tape lies in a folder: a file that was put in its place must not become the result of this rollout.
        if header.session.get("rollout") != row.id or header.task != row.task_digest:
            raise VerifierError(f"{path} is not the tape of this rollout's session")
        machine, replay = replayed(path)
        if replay.difference is not None:
            raise VerifierError(f"the session's tape gives another session than there was: {replay.difference}")
        # A tape without a last mark is of a session that was cut short, by a crash for instance.
        if not machine.over:
            raise VerifierError(INTERRUPTED)
        # Cash or positions at the broker that the session's own fills do not explain: somebody else traded there.
        if (fault := machine.account.fault) is not None:
            raise VerifierError(f"the account at {machine.feed.venue} is not the session's own: {fault}")
        # What was valued live and what the tape gives must be the same to the last bit, or nobody could check the
        # score.
        if record is not None and not np.array_equal(record, machine.record):
            raise VerifierError("the session's tape gives another account than there was")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return _ended(machine, machine.record, simulated=machine.feed.simulated, digest=digest)

    def _marker(self, rollout: str) -> Path:
        return self._folder / f"{rollout}.broken"

    def _why_broken(self, rollout: str) -> str | None:
        """Why a rollout's session will never have a score; None where it has not broken off."""
        if rollout in self._broken:
            return self._broken[rollout]
        marker = self._marker(rollout)
        return marker.read_text() if marker.exists() else None

    def _end(self, rollout: str) -> None:
        """Close a rollout's session, if it is open."""
        # Taken out under the lock, so that of several threads one alone closes it.
        with self._lock:
            session = self._open.pop(rollout, None)
        if session is not None:
            try:
                session.close()
            except Exception:
                logger.warning("rollout %s: its session did not end well", rollout, exc_info=True)


def _ended(machine: TradingIngest, record: NDArray[np.float64], *, simulated: bool, digest: str | None) -> EndedSession:
    """A session that has ended, from the machine that its tape was played through.

    Args:
        machine: the machine, behind the last mark.
        record: the account's record, float64[steps + 1, 7].
        simulated: whether the venue was simulated.
        digest: SHA-256 of the session's tape; None of a session on another one's tape.
    """
    terms = machine.terms
    summary: dict[str, object] = {
        "venue": machine.feed.venue,
        "simulated": simulated,
        "interval_s": terms.interval_s,
        "duration_s": terms.interval_s * terms.steps,
        "incomplete_bars": machine.incomplete,
        "left_early": machine.left,
        "orders": terms.orders,
        "tape_sha256": digest,
    }
    return EndedSession(terms, record, machine.bars, machine.first_bar, summary)


def order_of(row: RolloutRow) -> SessionOrder:
    """Which session a rollout of this row is to have."""
    assert row.session is not None, "only a rollout with a session has an order"
    return SessionOrder(**row.session)  # type: ignore[arg-type]  # as SessionOrder.to_dict wrote it
