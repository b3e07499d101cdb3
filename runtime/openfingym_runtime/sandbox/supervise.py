"""Watch a running program until it ends or passes one of its limits."""

from __future__ import annotations

import contextlib
import os
import select
import time
from typing import Final

from openfingym.errors import RuntimeFailureError
from openfingym_runtime.job import EndedBy, Job, Outcome
from openfingym_runtime.sandbox.inside import channel
from openfingym_runtime.sandbox.launch import Sandbox

TICK_S: Final = 0.05
"""How often memory and cancellation are looked at."""
_CHUNK: Final = 1 << 16


def supervise(running: Sandbox, job: Job) -> Outcome:
    """Collect the program's output and end it at its limits.

    Raises:
        RuntimeFailureError: the sandbox broke; the program's own end is never an error.
    """
    memory = running.memory
    assert memory is not None
    started = time.monotonic()
    job.started()
    deadline = started + job.limits.timeout_s
    next_tick = started
    output = bytearray()
    poll = select.poll()
    poll.register(running.output, select.POLLIN)
    poll.register(running.link.fileno(), select.POLLIN)
    ended_by: EndedBy | None = None
    exit_code: int | None = None
    while ended_by is None:
        now = time.monotonic()
        ready = {descriptor for descriptor, _event in poll.poll(max(0.0, min(next_tick, deadline) - now) * 1000)}
        # At its end a pipe is always ready, and polling it further would spin.
        if running.output in ready and not _read(running.output, output):
            poll.unregister(running.output)
        if len(output) > job.limits.output_bytes:
            ended_by = "output"
        elif running.link.fileno() in ready:
            # The kernel may have ended the program, or the sandbox's own processes, for want of memory.
            ended_by, exit_code = ("memory", None) if memory.ran_out() else ("exit", _exit_code(running))
        elif (now := time.monotonic()) >= deadline:
            ended_by = "timeout"
        elif now >= next_tick:
            next_tick = now + TICK_S
            if job.cancel.is_set():
                ended_by = "cancelled"
            elif memory.ran_out():
                ended_by = "memory"
    wall_s = time.monotonic() - started
    running.kill()
    # All writers are gone, so this reads what the pipe still holds and no more.
    while len(output) <= job.limits.output_bytes and _read(running.output, output):
        pass
    # A program that prints much just before it ends went over the limit as well.
    if ended_by == "exit" and len(output) > job.limits.output_bytes:
        ended_by, exit_code = "output", None
    return Outcome(ended_by, exit_code, bytes(output[: job.limits.output_bytes]), wall_s)


def _read(descriptor: int, output: bytearray) -> bool:
    """Append what is there; False at the end of the stream."""
    with contextlib.suppress(BlockingIOError):
        chunk = os.read(descriptor, _CHUNK)
        output += chunk
        return bool(chunk)
    return True


def _exit_code(running: Sandbox) -> int:
    try:
        message, _fds = channel.receive(running.link)
    except (EOFError, OSError) as error:
        raise RuntimeFailureError(
            "the sandbox's first process ended without a report; is the machine out of memory?"
        ) from error
    code = message.get("exit_code")
    if message.get("state") != "ended" or not isinstance(code, int):
        raise RuntimeFailureError(f"the sandbox could not start the program: {message.get('detail', message)}")
    return code
