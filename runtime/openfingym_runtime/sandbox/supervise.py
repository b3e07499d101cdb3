"""Watching a running program until it ends or passes one of its limits."""

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
"""Seconds between two looks at the program's memory and at whether the job was cancelled."""
_CHUNK: Final = 1 << 16


def supervise(running: Sandbox, job: Job) -> Outcome:
    """Collect the program's output, and end it when it ends, passes a limit or is cancelled.

    Args:
        running: a sandbox whose program was just started.
        job: the job that the program belongs to.

    Raises:
        RuntimeFailureError: the sandbox broke; however the program ends by itself, that is not an error.
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
        # Once all writers are gone a pipe is always ready, and this loop would spin.
        if running.output in ready and not _read(running.output, output):
            poll.unregister(running.output)
        if len(output) > job.limits.output_bytes:
            ended_by = "output"
        elif running.link.fileno() in ready:
            # Asked first, because for want of memory the kernel may have ended the program, or the sandbox's own
            # processes, which then report nothing.
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
    # A program may exceed the limit in what it prints just before it ends.
    if ended_by == "exit" and len(output) > job.limits.output_bytes:
        ended_by, exit_code = "output", None
    return Outcome(ended_by, exit_code, bytes(output[: job.limits.output_bytes]), wall_s)


def _read(descriptor: int, output: bytearray) -> bool:
    """Append what can be read now to ``output``; False at the end of the stream."""
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
