"""The single writer of the ledger: it runs statements on the event loop, and commits in a thread, in groups.

An operation's statements take microseconds and run where they are submitted; the commit, which
waits for the disk, runs in a thread that holds no Python lock meanwhile. What is submitted
during a commit forms the next group, so that a slow disk makes larger groups and not a longer
queue. One writer also means that no write ever waits for a database lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.receipts.tiles import WIDTH
from openfingym_verifier.ledger import log, tree

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

LINGER_S = 0.05
"""Longest time that a write nobody waits for is held back to share a commit."""
HANDOVER_S = 0.005
"""Longest time that the event loop stands aside for a commit to begin."""
HEAVY_BYTES = 1 << 20
"""Bytes above which the statements of a group run in the thread as well, where they do not hold up the event loop."""

logger = logging.getLogger(__name__)


class Transaction:
    """What the operations of a group work with: the connection, and the log."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Go on from the last row that is in the log: call it inside the transaction."""
        self.connection = connection
        self.seq, self.head = log.last_of(connection)
        """Number and hash of the latest row of the log, written or about to be."""
        self._rows: list[log.Row] = []

    def log(self, rollout_id: str, entry: dict[str, object]) -> str:
        """Append to the hash-chained log; returns the new row's hash."""
        row = log.row_after(self.seq + 1, self.head, rollout_id, entry)
        self._rows.append(row)
        self.seq, self.head = row[0], row[4]
        # This row completes a tile, whose hash is computed from rows that must be in the table by then.
        if self.seq % WIDTH == 0:
            self.write_log()
            tree.grow(self.connection, self.seq)
        return self.head

    def write_log(self) -> None:
        """Write the rows of the log that operations have appended: together, in half the time."""
        log.write(self.connection, self._rows)
        self._rows.clear()


@dataclass(frozen=True)
class _Work:
    """An operation that is queued."""

    operation: Callable[[Transaction], object]
    size: int
    """Bytes that it writes, if many."""
    done: asyncio.Future[object]
    """Resolved with the operation's return value once that is on the disk."""


class LedgerWriter:
    """Runs operations on the ledger, each all or nothing, in the order they were submitted.

    All methods but :meth:`close` and :meth:`run` belong to the event loop's thread.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._pending: list[_Work] = []
        """What somebody waits for, in the order it was submitted."""
        self._idle: list[_Work] = []
        """What nobody waits for, held back to share a commit."""
        self._flush = False
        """Whether the next group takes what is held back along."""
        self._committing: list[_Work] = []
        """The group that is being written; the connection is the thread's meanwhile."""
        self._timer: asyncio.TimerHandle | None = None
        self._begun = threading.Lock()
        """Released by the thread when it takes up a commit; the event loop waits for that by acquiring it."""
        self._begun.acquire()
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="ledger-commit", daemon=True)
        self._thread.start()

    @property
    def depth(self) -> int:
        """Number of operations that are not yet on the disk."""
        return len(self._pending) + len(self._idle) + len(self._committing)

    @property
    def alive(self) -> bool:
        """Whether commits are still made."""
        return self._thread.is_alive()

    def submit(
        self,
        operation: Callable[[Transaction], object],
        *,
        awaited: bool = True,
        overtakes: bool = False,
        size: int = 0,
    ) -> asyncio.Future[object]:
        """Queue an operation; the future resolves with its return value once that is on the disk.

        Args:
            operation: the statements to run, with the entries to append to the log; it may be run again if another
                operation of its group fails, and so changes nothing but the ledger.
            awaited: whether anyone waits for the future; what nobody waits for may be held back for up to 50 ms.
            overtakes: whether it may be written before what is held back; by default everything stays in order.
            size: bytes that the operation writes, if many.
        """
        loop = asyncio.get_running_loop()
        work = _Work(operation, size, loop.create_future())
        if awaited:
            self._pending.append(work)
            # What is held back was submitted before, and would otherwise be written after.
            self._flush = self._flush or not overtakes
            self._start_group()
        else:
            # Its failure is logged where it happens; nobody will retrieve it.
            work.done.add_done_callback(lambda future: future.cancelled() or future.exception())
            self._idle.append(work)
            if self._timer is None:
                self._timer = loop.call_later(LINGER_S, self._start_flush)
        return work.done

    def run(self, operation: Callable[[Transaction], object]) -> object:
        """Run one operation at once and wait for the disk; only before the event loop runs, or after."""
        results = _stage(self._connection, [operation])
        self._connection.execute("COMMIT")
        return results[0]

    def close(self) -> None:
        """Write everything queued and end the thread; call when the event loop no longer runs."""
        # Behind the commit that may be under way, which is finished.
        self._jobs.put(None)
        self._thread.join()
        # The thread has ended, so this one owns the connection now. What is held back was submitted first.
        for work in (*self._idle, *self._pending):
            with contextlib.suppress(Exception):
                _alone(self._connection, work)
        self._connection.close()

    def _start_flush(self) -> None:
        self._flush = True
        self._start_group()

    def _start_group(self) -> None:
        # One group at a time: what arrives meanwhile forms the next, so that a slow disk makes larger groups.
        if self._committing or not (self._pending or self._flush):
            return
        group, self._pending = self._pending, []
        if self._flush:
            # What is held back comes first: a score, for example, before the result that is made of it.
            group, self._idle, self._flush = [*self._idle, *group], [], False
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        # The timer may come when another group has taken everything along.
        if not group:
            return
        self._committing = group
        results: list[object] | None = None
        # Statements with much data would hold up the event loop, so they are run in the thread.
        if sum(work.size for work in group) <= HEAVY_BYTES:
            # A failure is repeated, and sorted out, in the thread.
            with contextlib.suppress(Exception):
                results = _stage(self._connection, [work.operation for work in group])
        loop = asyncio.get_running_loop()
        self._jobs.put(lambda: self._commit(loop, group, results))
        # A woken thread would ask for the interpreter while a score is computed here, and begin only after it.
        self._begun.acquire(timeout=HANDOVER_S)

    def _serve(self) -> None:
        """The thread: commit group after group, until there is None in the queue."""
        while (job := self._jobs.get()) is not None:
            # Free already if the event loop gave up waiting for an earlier commit; a second release would raise.
            if self._begun.locked():
                self._begun.release()
            job()

    def _commit(self, loop: asyncio.AbstractEventLoop, group: list[_Work], results: list[object] | None) -> None:
        """In the thread: finish the group together or, if that fails, each operation by itself."""
        outcome: list[object]
        try:
            outcome = _stage(self._connection, [work.operation for work in group]) if results is None else results
            self._connection.execute("COMMIT")
        except Exception:
            _roll_back(self._connection)
            # One bad operation must not fail those that happened to be in its group.
            outcome = [_alone(self._connection, work) for work in group]
        with contextlib.suppress(RuntimeError):  # the loop ended while the disk was busy
            loop.call_soon_threadsafe(self._finish, group, outcome)

    def _finish(self, group: list[_Work], outcome: list[object]) -> None:
        """On the event loop: resolve the futures of a group, and begin the next group."""
        self._committing = []
        for work, result in zip(group, outcome, strict=True):
            if work.done.done():  # its request was cancelled; what it submitted is written all the same
                continue
            if isinstance(result, Exception):
                work.done.set_exception(result)
            else:
                work.done.set_result(result)
        self._start_group()


def _stage(connection: sqlite3.Connection, operations: list[Callable[[Transaction], object]]) -> list[object]:
    """Run the statements of all operations without committing; on failure the transaction is rolled back."""
    # Takes the write lock now: a deferred transaction would take it at its first write, and could fail there.
    connection.execute("BEGIN IMMEDIATE")
    try:
        transaction = Transaction(connection)
        results = [operation(transaction) for operation in operations]
        # Rows and their entries are in one transaction, so that no crash leaves one without the other.
        transaction.write_log()
    except BaseException:
        _roll_back(connection)
        raise
    return results


def _alone(connection: sqlite3.Connection, work: _Work) -> object:
    """Run one operation in a transaction of its own; returns its result, or its error."""
    try:
        result = _stage(connection, [work.operation])[0]
        connection.execute("COMMIT")
    except Exception as error:
        _roll_back(connection)
        logger.exception("a ledger operation failed")
        return error
    return result


def _roll_back(connection: sqlite3.Connection) -> None:
    # SQLite rolls some failures back by itself, such as a full disk.
    if connection.in_transaction:
        connection.execute("ROLLBACK")
