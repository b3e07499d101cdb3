"""HTTP over a unix socket, as httpx does it, with two differences.

A connection that fails is closed at once: httpcore leaves that to the collector of garbage, which may take long where a
client waits for a verifier that is away. And no certificates are read, which takes longer than most requests.
"""

from __future__ import annotations

import contextlib
import select
import socket
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class UnixSocketTransport(httpx.HTTPTransport):
    """The transport of an :class:`httpx.Client` whose server listens on a unix socket."""

    def __init__(self, path: Path) -> None:
        """Connect to the socket ``path`` when a request is first sent."""
        # Not super().__init__(), which makes a pool that reads certificates and takes no backend. The limits are those
        # of httpx.
        self._pool = httpcore.ConnectionPool(
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            uds=str(path),
            network_backend=_UnixBackend(),
        )


class _UnixBackend(httpcore.NetworkBackend):
    """Opens the connections of a pool."""

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the socket ``path``.

        Args:
            path: path of the socket.
            timeout: seconds that connecting may take; None waits.
            socket_options: arguments of :meth:`socket.socket.setsockopt`.

        Raises:
            httpcore.ConnectTimeout: it took longer.
            httpcore.ConnectError: nobody listens there.
        """
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(sock.close)
            with _errors(httpcore.ConnectTimeout, httpcore.ConnectError):
                for option in socket_options or ():
                    sock.setsockopt(*option)
                sock.settimeout(timeout)
                sock.connect(path)
            cleanup.pop_all()
        return _UnixStream(sock)


class _UnixStream(httpcore.NetworkStream):
    """A connection over a unix socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What arrives next, ``max_bytes`` at most, in ``timeout`` seconds; nothing at the end of the stream."""
        with _errors(httpcore.ReadTimeout, httpcore.ReadError):
            self._sock.settimeout(timeout)
            return self._sock.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of ``buffer``; ``timeout`` is how long nothing may get on, in seconds."""
        left = memoryview(buffer)
        with _errors(httpcore.WriteTimeout, httpcore.WriteError):
            self._sock.settimeout(timeout)
            while left:
                left = left[self._sock.send(left) :]

    def close(self) -> None:
        """Close the connection."""
        self._sock.close()

    def get_extra_info(self, info: str) -> Any:
        """The socket; or whether it has something to read, which of an idle connection means that it has ended."""
        if info == "socket":
            return self._sock
        if info != "is_readable":
            return None
        if self._sock.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))


@contextlib.contextmanager
def _errors(late: type[Exception], failed: type[Exception]) -> Iterator[None]:
    """Raise a failure of a socket as ``late`` if it is a timeout, and otherwise as ``failed``."""
    try:
        yield
    except TimeoutError as error:
        raise late(error) from error
    except OSError as error:
        raise failed(error) from error
