"""How a container ended and who ended it, as the engine reports it. The program's exit status does not say so: a
program can send itself any signal.

A stream of the container's events is open from before its start to its end. It shows somebody's ``docker kill``, and an
engine that stops and ends its containers. If the engine dies, the stream breaks, even if another engine answers in its
place.
"""

from __future__ import annotations

import json
import select
import time
from typing import TYPE_CHECKING

from openfingym.errors import RuntimeFailureError
from openfingym_runtime.docker.output import CANCEL_CHECK_S
from openfingym_runtime.job import EndedBy, Job

if TYPE_CHECKING:
    from docker import APIClient

KILLED = 128 + 9
"""Exit code of a program that SIGKILL ended."""
OOM_REPORT_S = 0.5
"""Seconds to wait for the report that memory ran out, of which the engine may learn a moment after the exit."""


class ContainerEnding:
    """Waits for the end of one container, and finds out its cause."""

    def __init__(self, api: APIClient, container: str) -> None:
        """Begin to listen for events, which must be before the container is started; :meth:`close` ends it.

        Raises:
            DockerException: the engine refuses the request for events.
            OSError: the engine cannot be reached.
        """
        self._api = api
        self._container = container
        filters = {"type": ["container"], "container": [container], "event": ["kill", "die"]}
        url = f"{api.base_url}/v{api.api_version}/events"
        self._events = api.get(url, params={"filters": json.dumps(filters)}, stream=True, timeout=api.timeout)
        self._events.raise_for_status()

    def wait(self, job: Job, stop_at: float) -> tuple[EndedBy, int | None]:
        """Wait for the end of ``job``, whose program has closed its output.

        Args:
            job: the job that the container runs; setting its ``cancel`` ends the wait.
            stop_at: value of ``time.monotonic()`` at which to give up.

        Returns:
            How the job ended, and the program's exit status or negative signal number; None for the latter where the
            program was stopped.

        Raises:
            RuntimeFailureError: the container was ended by somebody else, or together with the engine.
        """
        connection, poller = self._events.raw.connection, select.poll()
        # Nothing is buffered yet, so the socket alone tells whether an event has come; and only a socket can be waited
        # for with a time limit.
        assert connection is not None, "nothing of a stream has been read yet"
        poller.register(connection.sock, select.POLLIN)
        while True:
            left = stop_at - time.monotonic()
            if job.cancel.is_set():
                return "cancelled", None
            if left <= 0:
                return "timeout", None
            if poller.poll(min(left, CANCEL_CHECK_S) * 1000):
                break
        code = self._exit_code()
        # Any code but 0 may follow from want of memory: the kernel may have killed a child, and the program then failed
        # in its own way. One that ends with 0 has coped with that.
        if code != 0 and self._ran_out_of_memory(patient=code == KILLED):
            return "memory", None
        # The shell's convention for a death by signal, turned into Python's.
        return "exit", 128 - code if 128 < code < 160 else code

    def close(self) -> None:
        """Stop listening for events."""
        self._events.close()

    def _exit_code(self) -> int:
        from requests.exceptions import RequestException

        try:
            # Read byte by byte: a larger read would wait for further events, which do not come.
            event = json.loads(next(self._events.iter_lines(chunk_size=1)))
        except (RequestException, StopIteration) as error:
            raise RuntimeFailureError("the Docker engine stopped while the program ran") from error
        if event["Action"] == "kill":
            raise RuntimeFailureError("the container was killed from outside")
        return int(event["Actor"]["Attributes"]["exitCode"])

    def _ran_out_of_memory(self, *, patient: bool) -> bool:
        until = time.monotonic() + (OOM_REPORT_S if patient else 0.0)
        while True:
            # The engine may set this a moment after the container's end, so after a SIGKILL it is asked repeatedly.
            if self._api.inspect_container(self._container)["State"]["OOMKilled"]:
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(0.05)
