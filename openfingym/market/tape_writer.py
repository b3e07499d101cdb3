"""Writing a session tape while the session runs; :mod:`~openfingym.market.tape` has the format."""

from __future__ import annotations

import asyncio
import hashlib
import os
import struct
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from openfingym.digests import canonical_json
from openfingym.errors import OpenFinGymError, StoreError, UsageError
from openfingym.files.locks import take
from openfingym.files.whole import store_errors
from openfingym.market.commands import Instant
from openfingym.market.feed import Frame
from openfingym.market.redaction import Mask, secrets_of_environment
from openfingym.market.tape import (
    BLOCK_CHECK,
    BLOCK_SIZES,
    END,
    HEADER,
    MAGIC,
    MOST_BLOCK,
    MOST_PAYLOAD,
    RECORD,
    TEXT,
    RecordKind,
    TapeHeader,
)

FLUSH_BYTES = 64 << 10
"""Bytes of records after which they are handed to the thread that writes."""
FLUSH_NS = 250_000_000
"""Nanoseconds after which they are handed over however few there are."""
LAG_BYTES = 8 << 20
"""Bytes: if more than this wait to be written, the recorder lags."""
MOST_WAITING = 256 << 20
"""Bytes: if more than this wait to be written, the recording ends with an error."""
LEVEL = 1
"""Level of deflate: 2 to 6 take up to three times as long, and save a fifth at best."""


class TapeWriter:
    """A tape that is being written, by a thread of its own: a :class:`~openfingym.market.tape.Recorder`.

    Records are handed to the thread every 64 KiB, every 250 ms by the clock of the records, and after 250 ms in which
    nothing was recorded. What the thread has written stays readable when the process is killed; a power cut may take
    more, since only the end of the tape waits for the disk.
    """

    def __init__(
        self,
        path: Path,
        header: TapeHeader,
        at: Instant,
        *,
        secrets: Iterable[str] | None = None,
        flush_s: float = FLUSH_NS / 1e9,
    ) -> None:
        """Begin a tape.

        Args:
            path: path of the file, which must not exist; its folder must.
            header: the header, which says what the session is of.
            at: when the session began.
            secrets: secrets to overwrite wherever they turn up, of at least 8 characters each; default: those of
                the environment, see :func:`~openfingym.market.redaction.secrets_of_environment`.
            flush_s: seconds by the clock of the records after which they are handed over; more in simulated time,
                of which hours pass in a second.

        Raises:
            StoreError: the file is there, or cannot be written.
            UsageError: a secret is too short, or a value in the header is no JSON.
        """
        self._mask = Mask(secrets_of_environment() if secrets is None else secrets)
        try:
            encoded = header.encoded()
        except (TypeError, ValueError) as error:
            raise UsageError(f"the header of a tape is written as JSON, which takes no such value: {error}") from error
        self.path = path
        self._flush_ns = round(flush_s * 1e9)
        self._chain = hashlib.sha256(MAGIC).digest()
        self._content = hashlib.sha256()
        self._deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._buffer = bytearray()  # records that were not handed over yet
        self._queue: list[bytearray] = []  # what was handed over and is not being written yet
        self._waiting = 0  # bytes that were handed over and are not in the file yet
        self._records = 0
        self._last = Instant(0, 0)  # when the last record was
        self._due = at.monotonic  # when the buffer is to be handed over
        self._closed = False
        self._failure: OpenFinGymError | None = None
        with store_errors(path, "name a file that is not there yet, in a folder that you may write to"):
            self._file = take(path, flags=os.O_CREAT | os.O_EXCL)
        try:
            # In the caller's thread, so that a tape which cannot be written is an error here; its due time has come, so
            # that the header is a block of its own.
            self._write(MAGIC)
            self._append(HEADER, at, 0, encoded)
            self._write_block(self._taken())
            self._waiting = 0
        except BaseException:
            self._file.release()
            raise
        self._thread = threading.Thread(target=self._work, name="session tape", daemon=True)
        self._thread.start()

    @property
    def lagging(self) -> bool:
        """See :class:`~openfingym.market.tape.Recorder`."""
        return self._waiting > LAG_BYTES

    def record(self, kind: RecordKind, at: Instant, connection: int = 0, payload: Frame = b"") -> None:
        """See :class:`~openfingym.market.tape.Recorder`."""
        if isinstance(payload, str):
            self._append(kind | TEXT, at, connection, payload.encode(errors="surrogatepass"))
        else:
            self._append(kind, at, connection, payload)

    def hide(self, secret: str) -> None:
        """Keep a secret off the tape that is not in the environment, such as a key from the keyring.

        Raises:
            UsageError: it is shorter than 8 characters.
        """
        self._mask.add(secret)

    def flush(self) -> None:
        """Wait until everything recorded so far is in the file.

        Raises:
            StoreError: it cannot be written.
        """
        self._wait_for(0, hand_over=True)

    async def settle(self) -> None:
        """See :class:`~openfingym.market.tape.Recorder`."""
        await asyncio.to_thread(self._wait_for, LAG_BYTES // 2)

    def close(self) -> None:
        """See :class:`~openfingym.market.tape.Recorder`."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            if self._buffer:
                self._hand_over()
            self._changed.notify_all()
        self._thread.join()  # outside the lock, which the thread takes
        try:
            if self._failure is not None:
                raise self._failure
            with store_errors(self.path):
                self._write_end()
                os.fsync(self._file.descriptor)  # a tape with an end stays whole even when the power fails
        finally:
            self._file.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, code: int, at: Instant, connection: int, payload: bytes) -> None:
        monotonic, wall = at
        with self._lock:  # quicker than by the condition
            if self._failure is not None or self._closed:
                raise self._failure or UsageError(f"{self.path}: the tape is closed; nothing more can be recorded")
            if len(payload) > MOST_PAYLOAD:
                raise UsageError(
                    f"a record of {len(payload):,} bytes; a tape takes up to {MOST_PAYLOAD:,}: ask the venue for less"
                )
            try:
                fixed = RECORD.pack(code, connection, monotonic - self._last.monotonic, wall - monotonic, len(payload))
            except struct.error as error:
                raise UsageError(
                    f"connection {connection} at {at}: a tape takes connections from 0 to 2^32 - 1, and times within "
                    "2^63 nanoseconds of one another"
                ) from error
            # At once, and without a call until all is noted: Python handles an interrupt at calls, and it must not
            # leave half of a record.
            self._buffer += fixed + payload
            self._last = at
            self._records += 1
            if len(self._buffer) >= FLUSH_BYTES or monotonic >= self._due:
                self._hand_over()

    def _hand_over(self) -> None:
        """Hand the buffer to the thread; the caller holds the lock."""
        if self._waiting > MOST_WAITING:
            self._failure = StoreError(
                f"{self.path}: {self._waiting:,} bytes of the tape wait to be written; expected a disk that keeps up: "
                "record to a faster one, or fewer symbols"
            )
        self._queue.append(self._buffer)
        self._waiting += len(self._buffer)
        self._buffer = bytearray()
        self._due = self._last.monotonic + self._flush_ns
        self._changed.notify_all()

    def _wait_for(self, most: int, *, hand_over: bool = False) -> None:
        with self._changed:
            if hand_over and self._buffer:
                self._hand_over()
            self._changed.wait_for(lambda: self._waiting <= most or self._failure is not None)
            if self._failure is not None:
                raise self._failure

    def _work(self) -> None:
        """Write what is handed over until the tape is closed: the body of the thread."""
        while True:
            with self._changed:
                # The records' own clock hands nothing over while nothing is recorded, so real time does it here.
                while not self._queue and not self._closed:
                    if not self._changed.wait(FLUSH_NS / 1e9) and self._buffer:
                        self._hand_over()
                if not self._queue:
                    return
                raw = self._taken()
            try:
                with store_errors(self.path):
                    self._write_block(raw)
            except Exception as error:  # whatever it is, the next call that records raises it
                with self._changed:
                    self._failure = self._failure or _ours(error, self.path)
                    self._changed.notify_all()
                return
            with self._changed:
                self._waiting -= len(raw)
                self._changed.notify_all()

    def _taken(self) -> bytes:
        """The records of the next block: several pieces where the disk is slow; the caller holds the lock."""
        count, size = 1, len(self._queue[0])
        for part in self._queue[1:]:
            size += len(part)
            if size > MOST_BLOCK:
                break
            count += 1
        raw = b"".join(self._queue[:count])
        del self._queue[:count]
        return raw

    def _write_block(self, raw: bytes) -> None:
        raw = self._mask(raw)
        self._content.update(raw)
        self._write_masked(raw)

    def _write_masked(self, raw: bytes) -> None:
        # A sync flush ends the piece on a byte, so that a reader gets all of the block from it, while later blocks
        # still refer back to what was in earlier ones.
        piece = self._deflate.compress(raw) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        sizes = BLOCK_SIZES.pack(len(piece), len(raw))
        block = sizes + BLOCK_CHECK.pack(zlib.crc32(sizes)) + piece
        self._chain = hashlib.sha256(self._chain + block).digest()
        self._write(block + self._chain)

    def _write_end(self) -> None:
        end = {"digest": self._content.hexdigest(), "masked": self._mask.count, "records": self._records}
        payload = canonical_json(end)
        fixed = RECORD.pack(END, 0, 0, self._last.wall - self._last.monotonic, len(payload))
        self._write_masked(fixed + payload)

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left:  # the system may write less than it is given
            left = left[os.write(self._file.descriptor, left) :]


def _ours(error: Exception, path: Path) -> OpenFinGymError:
    if isinstance(error, OpenFinGymError):
        return error
    return StoreError(
        f"{path}: the tape cannot be written on ({error!r}); what is on it can be read: begin another one"
    )
