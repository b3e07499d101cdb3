"""The gate: the one unix socket through which an agent may speak to the verifier.

A gate belongs to one rollout. It adds the rollout's token on this side, so that no secret is ever
inside; it forwards a few routes, within limits; and it closes the moment the rollout ends. Its folder
has mode 0755 and its socket 0666, because the agent's user is another one; both are in a private folder.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import os
import re
import threading
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Self, TypeVar

from openfingym.errors import RuntimeFailureError, UsageError, VerifierError
from openfingym.machine import require_socket_path
from openfingym.verifiers.stopwatch import Stopwatch
from openfingym_runtime import owned_directory
from openfingym_runtime.gate.protocol import GateConnection, Gatekeeping
from openfingym_runtime.gate.relay import accept_of, new_key
from openfingym_runtime.gate.request import LIVE, GateRequest, Refusal
from openfingym_runtime.gate.upstream import LiveConnection, Upstream, UpstreamAddress, UpstreamAnswer

ModelHandler = Callable[[str, bytes], Awaitable[UpstreamAnswer]]
"""Answers a request to the model, given its path and its body. It is called on the keeper's event loop, and cancelled
where the gate closes."""

SOCKET_NAME = "gate.sock"
MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_CALLS = 10_000
"""Requests and WebSocket frames of one rollout that are forwarded, unless its opener sets another number."""
MAX_CONNECTIONS = 8
"""Connections that an agent may have open at once; each takes a file descriptor of the launcher."""
MODEL_CONNECTIONS = 16
"""The same where a model answers too: clients keep connections to it open."""
MODEL_REQUESTS = 20_000
"""Most requests of one rollout to its model, also those that come to nothing."""

UNAVAILABLE = Refusal(503, "verifier-unavailable", "the verifier does not answer; this is no fault of the agent")
CALLS_SPENT = Refusal(403, "call-limit", "this rollout has made all the calls it may make")
OURS = frozenset({502, 503, 504})
"""Statuses by which a verifier, or a proxy before it, says that it failed. A 500 is not among them: it says that the
verifier does not know why, and an agent may have brought it about."""
TOKEN = re.compile(r"[!-~]+")
"""Visible ASCII characters, of which a rollout's token consists."""

T = TypeVar("T")


class Gate:
    """One rollout's gate. Use as a context manager, or call :meth:`close`."""

    def __init__(
        self,
        keeper: GateKeeper,
        *,
        rollout_id: str,
        directory: Path,
        token: str,
        max_body_bytes: int,
        max_calls: int,
        model: ModelHandler | None = None,
    ) -> None:
        self.rollout_id = rollout_id
        self.directory = directory
        """Host folder to show at ``/run/openfingym``."""
        self.calls = 0
        """Requests and WebSocket frames that were forwarded."""
        self.refused = 0
        """Requests that the gate itself turned away."""
        self.verifier_failures = 0
        """Requests that could not be put to the verifier or that it answered as its own failure, and WebSockets that it
        broke off; none of them is the agent's fault."""
        self.told = False
        """Whether an answer to the agent may have held anything that follows from hidden data."""
        self.waiting = Stopwatch()
        """Time that requests spent at the verifier, which is not the agent's. Frames of a WebSocket, which take
        milliseconds, are not counted."""
        self._keeper = keeper
        self._authorization = f"Authorization: Bearer {token}\r\n".encode("ascii")
        self._max_calls = max_calls
        self._model = model
        self._model_requests = 0
        self._server: asyncio.AbstractServer | None = None
        self._keeping = Gatekeeping(
            max_body_bytes=max_body_bytes,
            max_connections=MAX_CONNECTIONS if model is None else MODEL_CONNECTIONS,
            with_model=model is not None,
            forward=self._forward,
            open_live=self._open_live,
            spend=self._spend,
            refused=self._count_refusal,
            verifier_failed=self._count_failure,
        )

    @property
    def socket(self) -> Path:
        """Path of the socket on the host."""
        return self.directory / SOCKET_NAME

    def close(self) -> None:
        """Drop every connection at once and remove the socket; a second call does nothing."""
        self._keeper.close_gate(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def serve(self) -> None:
        """Start listening; runs on the keeper's loop."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: GateConnection(self._keeping), str(self.socket))
        # To connect to a socket takes the right to write to it, and the agent's user is another one.
        self.socket.chmod(0o666)

    async def shut(self) -> None:
        """Stop listening and drop every connection; runs on the keeper's loop."""
        if self._server is not None:
            self._server.close()
        # Closing the server only stops new connections; those that are open must go too, since a rollout that is over
        # may send nothing more.
        for connection in tuple(self._keeping.connections):
            connection.abort()

    async def _forward(self, request: GateRequest) -> UpstreamAnswer:
        if self._model is not None and request.for_model:
            return await self._ask_model(self._model, request)
        if not self._spend(1):
            return CALLS_SPENT.answer()
        # The token is added here and never sent inside; of the agent's own headers only those on an allow-list go on.
        headers = self._authorization + request.forwarded_headers()
        body = request.body[0] if len(request.body) == 1 else b"".join(request.body)
        try:
            with self.waiting.running():
                answer = await self._keeper.upstream.request(
                    request.method.decode("ascii"), request.target.decode("ascii"), headers, body
                )
        except VerifierError:
            self.verifier_failures += 1
            return UNAVAILABLE.answer()
        self.verifier_failures += answer.status in OURS
        # An accepted POST may have returned feedback; such a rollout is not run again after a failure of ours.
        self.told |= request.method == b"POST" and answer.status < 300
        return answer

    async def _ask_model(self, model: ModelHandler, request: GateRequest) -> UpstreamAnswer:
        """Have the model answer; the rollout's token, and the verifier, have no part in it."""
        self._model_requests += 1
        if self._model_requests > MODEL_REQUESTS:
            self.refused += 1
            return CALLS_SPENT.answer()
        return await model(request.target.partition(b"?")[0].decode("ascii"), b"".join(request.body))

    async def _open_live(self) -> LiveConnection | UpstreamAnswer:
        if not self._spend(1):
            return CALLS_SPENT.answer()
        key = new_key()
        try:
            opened = await self._keeper.upstream.upgrade(LIVE.decode("ascii"), self._authorization, key, accept_of(key))
        except VerifierError:
            self.verifier_failures += 1
            return UNAVAILABLE.answer()
        if isinstance(opened, UpstreamAnswer):
            self.verifier_failures += opened.status in OURS
        else:
            # Frames are passed on unread, so any of them may hold feedback.
            self.told = True
        return opened

    def _spend(self, calls: int) -> bool:
        """Count calls that are about to be made; False if not so many are left."""
        if self.calls + calls > self._max_calls:
            self.refused += 1
            return False
        self.calls += calls
        return True

    def _count_refusal(self) -> None:
        self.refused += 1

    def _count_failure(self) -> None:
        self.verifier_failures += 1


class GateKeeper:
    """Serves the gates of all live rollouts of this process, on one thread of its own.

    Its methods may be called from any thread. Use as a context manager, or call :meth:`close`.
    """

    def __init__(self, verifier: Path | str, *, runtime_directory: Path | None = None) -> None:
        """Start the thread, and remove the sockets that dead processes left behind.

        Args:
            verifier: address of the verifier: the path of its unix socket, or its base URL.
            runtime_directory: folder in which the sockets are made; by default $XDG_RUNTIME_DIR, or else the temporary
                folder.

        Raises:
            UsageError: ``verifier`` is neither a path nor a URL.
            RuntimeFailureError: the folder for the sockets cannot be made.
        """
        self.upstream = Upstream(UpstreamAddress.parse(verifier))
        owned_directory.reap(runtime_directory)
        self._directory = owned_directory.create(runtime_directory)
        self._numbers = itertools.count(1)
        self._gates: set[Gate] = set()
        # Rollouts in several threads open and close gates. Reentrant, because closing the keeper closes its gates.
        self._lock = threading.RLock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openfingym-gate", daemon=True)
        self._thread.start()
        # A forked child has neither the thread nor the gates, and must not end its parent's.
        self._pid = os.getpid()
        # The thread is a daemon, so nothing else would remove the folder at the end of the process.
        atexit.register(self.close)

    def reserve(self) -> Path:
        """Make the folder of a gate that is opened later: a container can be shown it before its rollout exists.

        Raises:
            UsageError: the keeper has been closed.
            RuntimeFailureError: the folder cannot be made.
        """
        with self._lock:
            if self._closed:
                raise UsageError("this gate keeper is closed")
            directory = self._directory / str(next(self._numbers))
            try:
                directory.mkdir()
                directory.chmod(0o755)  # mkdir's own mode would be lessened by the umask
            except OSError as error:
                raise RuntimeFailureError(f"{directory}: cannot be made ({error})") from error
            return directory

    def open(
        self,
        *,
        rollout_id: str,
        token: str,
        max_body_bytes: int = MAX_BODY_BYTES,
        max_calls: int = MAX_CALLS,
        directory: Path | None = None,
        model: ModelHandler | None = None,
    ) -> Gate:
        """Open the gate of a rollout.

        Args:
            rollout_id: identifier of the rollout that uses the gate.
            token: the rollout's secret token, which stays on this side.
            max_body_bytes: length in bytes of the longest request body, and of the longest message of a WebSocket.
            max_calls: number of requests and frames that are forwarded before the gate refuses.
            directory: a folder that :meth:`reserve` made, for this gate alone; None makes one. It is removed with the
                gate.
            model: answers requests to the rollout's model; None where programs may reach none.

        Raises:
            UsageError: the keeper is closed, or the token cannot be a bearer token.
            RuntimeFailureError: the socket cannot be made.
        """
        # The token becomes part of a header line: a line break in it would begin another header.
        if not TOKEN.fullmatch(token):
            raise UsageError("a rollout's token must be visible ASCII characters")
        with self._lock:
            if self._closed:
                raise UsageError("this gate keeper is closed")
            directory = directory or self.reserve()
            gate = Gate(
                self,
                rollout_id=rollout_id,
                directory=directory,
                token=token,
                max_body_bytes=max_body_bytes,
                max_calls=max_calls,
                model=model,
            )
            self._gates.add(gate)
            try:
                require_socket_path(gate.socket)
                self._run(gate.serve())
            except RuntimeFailureError:
                gate.close()
                raise
            except OSError as error:
                gate.close()
                raise RuntimeFailureError(f"{gate.socket}: cannot listen there ({error})") from error
            return gate

    def close_gate(self, gate: Gate) -> None:
        """Close one gate; :meth:`Gate.close` calls this."""
        with self._lock:
            if gate in self._gates:
                self._run(gate.shut())
                owned_directory.remove(gate.directory)
                self._gates.discard(gate)

    def close(self) -> None:
        """Close every gate, end the thread and remove the folder; a second call, or a forked child's, does nothing."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._closed:
                return
            for gate in tuple(self._gates):
                self.close_gate(gate)
            self._closed = True
            self._run(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            # A loop may be closed only once nothing runs it.
            self._thread.join()
            self._loop.close()
            owned_directory.remove(self._directory)
            atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on the keeper's thread and wait for it; called on that thread, it would wait for ever."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _end(self) -> None:
        self.upstream.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # aborted transports close their sockets in the loop's next turn
