"""Reading what a container prints, while it runs, without ever holding more than its limit."""

from __future__ import annotations

import os
import select
import struct
import time
from dataclasses import dataclass, field
from typing import Literal

from openfingym_runtime.job import Job

FRAME_HEADER = struct.Struct(">BxxxL")
CHUNK = 256 * 1024
CANCEL_CHECK_S = 0.1


@dataclass
class Output:
    """Standard output and error as the engine multiplexes them on its attach stream."""

    limit: int
    data: bytearray = field(default_factory=bytearray)
    _header: bytearray = field(default_factory=bytearray)
    _left: int = 0
    """Bytes missing of the frame at hand."""

    def feed(self, chunk: bytes) -> bool:
        """Take bytes of the stream; False once the program has printed more than its limit."""
        view = memoryview(chunk)
        while view:
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
        job: the job whose ``cancel`` is obeyed.
        stop_at: ``time.monotonic()`` at which to give up.
        output: receives the bytes that the container prints.
    """
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    while True:
        left = stop_at - time.monotonic()
        if job.cancel.is_set():
            return "cancelled"
        if left <= 0:
            return "timeout"
        # In short waits, because cancelling sets an event, which poll cannot wait for.
        if not poller.poll(min(left, CANCEL_CHECK_S) * 1000):
            continue
        chunk = os.read(descriptor, CHUNK)
        if not chunk:
            return "end"
        if not output.feed(chunk):
            return "output"
