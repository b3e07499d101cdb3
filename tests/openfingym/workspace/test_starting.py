"""Starting a workspace that nobody wants any more."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from openfingym.workspace import starting
from openfingym.workspace.job_thread import JobThread
from openfingym_runtime.job import Job, Limits


class Endless:
    """A job that does not end by itself."""

    async def finished(self) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize("turns", range(12))
def test_a_call_in_the_moment_of_giving_up_is_hung_up(tmp_path: Path, turns: int) -> None:
    """A socket that nobody closes fails the test: a ``ResourceWarning`` is an error here."""

    async def given_up(listener: socket.socket, caller: socket.socket) -> None:
        waiting = asyncio.ensure_future(starting._connection(listener, cast("Any", Endless())))
        await asyncio.sleep(0.01)
        caller.connect(str(tmp_path / "s"))
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting

    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as caller:
        starting._listen(listener, tmp_path / "s")
        asyncio.run(given_up(listener, caller))
        gc.collect()
        listener.close()
        caller.settimeout(10)
        # Closed, or reset where it was never taken up.
        with contextlib.suppress(ConnectionResetError):
            assert caller.recv(1) == b""


@pytest.mark.parametrize("turns", range(6))
def test_giving_up_in_the_moment_of_an_end_is_not_swallowed(turns: int) -> None:
    """Whoever is cancelled before it has an answer is cancelled: else a rollout that was stopped would go on."""

    class Until:
        """A backend whose job ends when it is told to."""

        def __init__(self) -> None:
            self.told = threading.Event()

        def run(self, job: Job) -> str:
            assert self.told.wait(20)
            return "over"

    async def scenario() -> None:
        backend = Until()
        limits = Limits(1.0, 0, 1, 0, 0, 0)
        job = JobThread(cast("Any", backend), Job("", "", {}, Path("/"), limits))
        waiting = asyncio.ensure_future(job.finished(20.0))
        await asyncio.sleep(0)
        backend.told.set()
        job._thread.join()
        for _ in range(turns):
            await asyncio.sleep(0)
        if waiting.cancel():
            with pytest.raises(asyncio.CancelledError):
                await waiting
        else:
            assert cast("str", await waiting) == "over"

    asyncio.run(scenario())
