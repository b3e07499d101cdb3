"""Calls to the verifier through the gate's unix socket, with the retries that a program should not have to write."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from openfingym_agent.websocket import HandshakeRefused, WebSocket

Reply = tuple[int, float | None, dict[str, Any]]
"""HTTP status, seconds to wait before another try (None if none are stated), and JSON document."""

LIVE = "/v1/episodes/live"
GATE = "/run/openfingym/gate.sock"
RESPONSE_TIMEOUT_S = 390.0
"""Longest wait for an answer; longer than the gate waits for the verifier, so that its explanation arrives."""
RECONNECTS = 3
"""Connections that are tried, one after the other, before a call fails."""
UNAVAILABLE_PATIENCE_S = 20.0
"""How long a verifier that fails is asked again."""


class SubmissionRefused(ValueError):  # noqa: N818 (reads as a sentence at the place where it is caught)
    """A submission or an action was refused; the message says what was expected.

    Attributes:
        problem: the stable name of the problem, such as ``wrong-shape``.
        status: the HTTP status, or None where the check was made before sending.
    """

    def __init__(self, detail: str, *, problem: str, status: int | None = None) -> None:
        super().__init__(detail)
        self.problem = problem
        self.status = status


class VerifierUnavailable(ConnectionError):  # noqa: N818
    """The verifier cannot be reached. It is not the program's fault, and does not count against it."""


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


class GateClient:
    """Calls through the gate; keeps one connection open."""

    def __init__(self, path: str | None = None) -> None:
        """Use the socket at ``path``; by default $OPENFINGYM_GATE, or else ``/run/openfingym/gate.sock``."""
        self._path = path or os.environ.get("OPENFINGYM_GATE") or GATE
        self._connection: UnixConnection | None = None

    def call(self, method: str, path: str, headers: dict[str, str], body: bytes | None, deadline: float | None) -> Any:
        """Make one call and return the JSON document that answers it.

        At the rate limit it waits as long as the verifier asks, and it waits for a verifier that is restarting. A POST
        must carry an ``Idempotency-Key``, so that sending it again costs nothing.

        Args:
            method: HTTP method, such as ``POST``.
            path: path of the request, such as ``/v1/submissions``.
            headers: header fields by name.
            body: bytes of the request's body; None for no body.
            deadline: Unix time after which nothing is retried; None for no such time.

        Raises:
            SubmissionRefused: the verifier or the gate refused, which is the program's fault.
            VerifierUnavailable: the verifier does not answer.
        """
        return _insist(lambda: self._exchange(method, path, headers, body), deadline)

    def _exchange(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Reply:
        return _reconnecting(self._path, lambda: self._once(method, path, headers, body), self.close)

    def _once(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Reply:
        if self._connection is None:
            self._connection = UnixConnection(self._path)
        connection = self._connection
        try:
            connection.request(method, path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            # The gate may refuse before it has read the body, and close; then its answer is there already.
            if connection.sock is None:
                raise
        response = connection.getresponse()
        content = response.read()
        if response.will_close:
            self.close()
        return response.status, _seconds(response.headers.get("Retry-After", "")), _document(content)

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class LiveGate:
    """Calls through the gate by messages on one WebSocket."""

    def __init__(self, path: str | None = None) -> None:
        """Use the socket at ``path``, with the same default as :class:`GateClient`."""
        self._path = path or os.environ.get("OPENFINGYM_GATE") or GATE
        self._socket: WebSocket | None = None

    def call(self, message: str, deadline: float | None) -> Any:
        """Send a message and return the JSON document that answers it.

        It waits, and sends the message again on another connection, as :meth:`GateClient.call` does.

        Args:
            message: the message as JSON text.
            deadline: Unix time after which nothing is retried; None for no such time.

        Raises:
            SubmissionRefused: the verifier or the gate refused, which is the program's fault.
            VerifierUnavailable: the verifier does not answer.
        """
        return _insist(lambda: _reconnecting(self._path, lambda: self._once(message), self.close), deadline)

    def _once(self, message: str) -> Reply:
        if self._socket is None:
            try:
                self._socket = WebSocket(self._path, LIVE, timeout_s=RESPONSE_TIMEOUT_S)
            except HandshakeRefused as refused:
                return refused.status, _seconds(refused.retry_after), _document(refused.content)
        self._socket.send(message)
        document = json.loads(self._socket.receive())
        if document.get("type") == "problem":
            problem = document["problem"]
            return int(problem["status"]), document["retry_after_s"], problem
        return 200, None, document

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _insist(exchange: Callable[[], Reply], deadline: float | None) -> Any:
    """Repeat an exchange for as long as that can help, and return the document that it ends with.

    Raises:
        SubmissionRefused: the last answer was a refusal.
        VerifierUnavailable: the verifier kept failing.
    """
    patience = time.monotonic() + UNAVAILABLE_PATIENCE_S
    pause = 0.1
    while True:
        status, retry_after, document = exchange()
        if status < 300:
            return document
        # The rate limit, which passes; a wait beyond the deadline would only end in the program being stopped.
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


def _reconnecting(path: str, exchange: Callable[[], Reply], close: Callable[[], None]) -> Reply:
    """Repeat an exchange whose connection failed, each time on a new connection.

    Raises:
        VerifierUnavailable: the last connection failed as well.
    """
    for attempt in range(RECONNECTS):
        try:
            return exchange()
        except (OSError, http.client.HTTPException) as error:
            close()
            if attempt == RECONNECTS - 1:
                raise VerifierUnavailable(f"{path}: {type(error).__name__}: {error}") from error
            time.sleep(0.05 * (attempt + 1))
    raise AssertionError("unreachable")


def _document(content: bytes) -> dict[str, Any]:
    """The JSON object in an answer; one that is something else becomes the detail of a problem."""
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"detail": content[:200].decode("utf-8", "replace")}


def _seconds(retry_after: str) -> float | None:
    return float(retry_after) if retry_after.replace(".", "", 1).isdigit() else None


def _fits(seconds: float, deadline: float | None) -> bool:
    """Whether a wait of so many seconds ends before the deadline."""
    return deadline is None or time.time() + seconds < deadline


def _detail(document: dict[str, Any], status: int) -> str:
    return str(document.get("detail") or document.get("title") or f"status {status}")
