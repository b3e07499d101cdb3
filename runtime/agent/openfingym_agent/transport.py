"""HTTP to the verifier through the gate's unix socket, with the retries a program should not have to write."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from typing import Any

GATE = "/run/openfingym/gate.sock"
RESPONSE_TIMEOUT_S = 390.0
"""Longer than the gate waits for the verifier."""
RECONNECTS = 3
UNAVAILABLE_PATIENCE_S = 20.0
"""How long a verifier that does not answer is waited for."""


class SubmissionRefused(ValueError):  # noqa: N818 (reads as a sentence at the place where it is caught)
    """The submission was refused; the message says what was expected.

    Attributes:
        problem: the stable name of the problem, such as ``wrong-shape``.
        status: the HTTP status, or None where the check was made before sending.
    """

    def __init__(self, detail: str, *, problem: str, status: int | None = None) -> None:
        super().__init__(detail)
        self.problem = problem
        self.status = status


class VerifierUnavailable(ConnectionError):  # noqa: N818
    """The verifier cannot be reached. Not the program's fault: the rollout will not be scored against it."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        """Prepare a connection to the socket at ``path``."""
        super().__init__("gate", timeout=RESPONSE_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Gate:
    """Calls through the gate; keeps one connection open."""

    def __init__(self, path: str | None = None) -> None:
        """Use the socket at ``path``, by default $OPENFINGYM_GATE or ``/run/openfingym/gate.sock``."""
        self._path = path or os.environ.get("OPENFINGYM_GATE") or GATE
        self._connection: UnixConnection | None = None

    def call(self, method: str, path: str, headers: dict[str, str], body: bytes | None, deadline: float | None) -> Any:
        """Make one call and return the JSON it answers with.

        Waits as told where the rate limit is reached, and for a verifier that is restarting; a POST must
        carry an ``Idempotency-Key``, so that sending it again costs nothing.

        Args:
            method: the method.
            path: the path.
            headers: the headers.
            body: the body, or None.
            deadline: Unix time after which nothing is retried, or None.

        Raises:
            SubmissionRefused: the verifier or the gate refused, by a fault of the program's.
            VerifierUnavailable: no answer.
        """
        patience = time.monotonic() + UNAVAILABLE_PATIENCE_S
        pause = 0.1
        while True:
            status, retry_after, document = self._exchange(method, path, headers, body)
            if status < 300:
                return document
            if status == 429 and retry_after is not None and _fits(retry_after, deadline):
                time.sleep(retry_after)
            elif status >= 500:
                if time.monotonic() + pause > patience or not _fits(pause, deadline):
                    raise VerifierUnavailable(_detail(document, status))
                time.sleep(pause)
                pause = min(2 * pause, 2.0)
            else:
                problem = str(document.get("type", "")).rpartition(":")[2] or "refused"
                raise SubmissionRefused(_detail(document, status), problem=problem, status=status)

    def _exchange(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> tuple[int, float | None, dict[str, Any]]:
        for attempt in range(RECONNECTS):
            try:
                return self._once(method, path, headers, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if attempt == RECONNECTS - 1:
                    raise VerifierUnavailable(f"{self._path}: {type(error).__name__}: {error}") from error
                time.sleep(0.05 * (attempt + 1))
        raise AssertionError("unreachable")

    def _once(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> tuple[int, float | None, dict[str, Any]]:
        if self._connection is None:
            self._connection = UnixConnection(self._path)
        connection = self._connection
        try:
            connection.request(method, path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            # Refused before the body was read: the answer may be there already.
            if connection.sock is None:
                raise
        response = connection.getresponse()
        content = response.read()
        if response.will_close:
            self.close()
        try:
            document = json.loads(content)
        except ValueError:
            document = {"detail": content[:200].decode("utf-8", "replace")}
        pause = response.headers.get("Retry-After", "")
        return response.status, float(pause) if pause.replace(".", "", 1).isdigit() else None, document

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _fits(seconds: float, deadline: float | None) -> bool:
    return deadline is None or time.time() + seconds < deadline


def _detail(document: dict[str, Any], status: int) -> str:
    return str(document.get("detail") or document.get("title") or f"status {status}")
