"""Reading what a container prints while it runs, without ever holding more than the limit on output."""

from __future__ import annotations

import os
import select
import struct
import time
from dataclasses import dataclass, field
from typing import Literal

from openfingym_runtime.job import Job

FRAME_HEADER = struct.Struct(">BxxxL")
"""Header of a frame of the attach stream: which stream it is of, three bytes of padding, and its length."""
CHUNK = 256 * 1024
"""Most bytes that are read at once."""
CANCEL_CHECK_S = 0.1
"""Seconds between two looks at whether a job was cancelled."""


@dataclass
class Output:
    """Standard output and error as the engine multiplexes them on its attach stream."""

    limit: int
    """Most bytes that are kept."""
    data: bytearray = field(default_factory=bytearray)
    """The program's output so far, both streams in the order in which they came."""
    _header: bytearray = field(default_factory=bytearray)
    """The header of the next frame, as far as it has arrived."""
    _left: int = 0
    """Bytes of the current frame that are still to come."""

    def feed(self, chunk: bytes) -> bool:
        """Take bytes of the stream; False once the program has printed more than its limit."""
        view = memoryview(chunk)
        while view:
            # A read may end anywhere, in the middle of a header too.
            if self._left == 0:
                missing = FRAME_HEADER.size - len(self._header)
                self._header += view[:missing]
                view = view[missing:]
                if len(self._header) == FRAME_HEADER.size:
                    self._left = FRAME_HEADER.unpack(self._header)[1]
                    self._header.clear()
                continue
            part = view[: self._left]
            self._left -= len(part)
            view = view[len(part) :]
            room = self.limit - len(self.data)
            self.data += part[:room]
            if len(part) > room:
                return False
        return True


def follow(
    descriptor: int, job: Job, stop_at: float, output: Output
) -> Literal["end", "output", "timeout", "cancelled"]:
    """Read an attach stream to its end or to a limit.

    Args:
        descriptor: file descriptor of the attach stream.
        job: the job that the container runs; setting its ``cancel`` ends the reading.
        stop_at: value of ``time.monotonic()`` at which to give up.
        output: receives the bytes that the container prints.

    Returns:
        Why the reading ended: ``end`` of the stream, too much ``output``, ``timeout``, or ``cancelled``.
    """
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    while True:
        left = stop_at - time.monotonic()
        if job.cancel.is_set():
            return "cancelled"
        if left <= 0:
            return "timeout"
        # In short waits, because a job is cancelled by an event of `threading`, for which poll cannot wait.
        if not poller.poll(min(left, CANCEL_CHECK_S) * 1000):
            continue
        chunk = os.read(descriptor, CHUNK)
        if not chunk:
            return "end"
        if not output.feed(chunk):
            return "output"
