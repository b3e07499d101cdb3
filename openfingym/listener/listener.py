"""Where a server listens, whom it lets in, and how it serves until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import signal
import socket
import stat
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import UsageError, VerifierError
from openfingym.listener.connections import HEAD_S, Connections, room
from openfingym.listener.guard import Guard

if TYPE_CHECKING:
    import ssl

    import uvicorn
    from aiohttp import web
    from starlette.types import ASGIApp

    from openfingym.listener.tls import TlsCertificate

DEFAULT_HOST = "127.0.0.1"
THIS_MACHINE = "127.0.0.1,::1"
"""Addresses of a proxy on the same machine."""
SHUTDOWN_S = 5
"""Seconds that requests under way get to finish when a server is stopped."""
BACKLOG = 2048
"""Connections that may wait to be accepted."""
PLAYERS = 2048
"""Largest number of open connections to a server of players, each of which costs more than a verifier's."""


@dataclass(frozen=True)
class Listener:
    """Listens on TCP, a unix socket, or both, for clients that are strangers until they have shown a token.

    Half-open connections make room for new ones, heads and bodies end in time and length, and web pages of other
    origins are refused, whatever application is served.
    """

    host: str | None = None
    """Name or address to listen on."""
    port: int = 0
    """TCP port; 0 lets the system choose."""
    uds: Path | None = None
    """Path of a unix socket, created with mode 0600; a socket left behind by a dead server is replaced."""
    tls: TlsCertificate | None = None
    """What TCP is encrypted with; None for plain HTTP."""
    proxies: str | None = None
    """Addresses or networks of the proxies that encrypt, separated by commas: their word on who asks is taken."""
    token: str | None = field(default=None, repr=False)
    """The token that every client has to send; None where there is none, or the application has tokens of its own."""

    @property
    def loopback(self) -> bool:
        """Whether nobody beyond this machine reaches the server."""
        return self.proxies is None and (self.host is None or _is_loopback(self.host))

    def require_encrypted(self) -> None:
        """Check that no token travels over a network unencrypted.

        Raises:
            UsageError: a token would, or TLS is combined with a unix socket.
        """
        if self.tls is not None and self.uds is not None:
            raise UsageError("a unix socket is not encrypted; serve it from a verifier of its own, or leave TLS out")
        if self.tls is not None or self.proxies is not None or self.loopback:
            return
        raise UsageError(
            f"tokens and labels would travel from {self.host} in the clear: give --tls-cert and --tls-key, or "
            "--behind-proxy where "
            "a proxy encrypts"
        )

    @functools.cached_property
    def connections(self) -> Connections:
        """The connections of an ASGI application; this process's limit on descriptors is raised for them."""
        return Connections(room())

    @contextlib.contextmanager
    def bound(self) -> Iterator[list[socket.socket]]:
        """The sockets, bound and listening; the file of a unix socket is removed at the end.

        Raises:
            UsageError: there is nowhere to listen.
            VerifierError: an address is in use.
        """
        if self.host is None and self.uds is None:
            raise UsageError("nowhere to listen: give a host, a unix socket, or both")
        with contextlib.ExitStack() as stack:
            sockets: list[socket.socket] = []
            try:
                if self.host is not None:
                    family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
                    sockets.append(socket.create_server((self.host, self.port), backlog=BACKLOG, family=family))
                if self.uds is not None:
                    sockets.append(_unix_socket(self.uds))
                    stack.callback(self.uds.unlink, missing_ok=True)
            except (OSError, OverflowError) as error:
                raise VerifierError(
                    f"cannot listen: {error}; end what listens there, or choose another address"
                ) from error
            for sock in sockets:
                stack.callback(sock.close)
            yield sockets

    def serve_asgi(
        self,
        app: ASGIApp,
        sockets: list[socket.socket],
        *,
        encryption: ssl.SSLContext | None = None,
        longest_message: int,
        on_ready: Callable[[list[str], Callable[[], None]], None] | None = None,
        beside: Callable[[], Coroutine[None, None, None]] | None = None,
    ) -> None:
        """Serve an ASGI application, which asks its callers who they are, until SIGINT or SIGTERM.

        Args:
            app: the application.
            sockets: the sockets of :meth:`bound`.
            encryption: the context of :attr:`tls`; None for plain HTTP.
            longest_message: most bytes of a message of a WebSocket.
            on_ready: called on the event loop, with the addresses and a thread-safe function that stops the server.
            beside: makes a coroutine that runs beside the server, and is cancelled with its end; None for none.
        """
        import uvicorn

        from openfingym.listener.asgi import AsgiServer, GuardedApp

        # A certificate is of a name, to which no page can rebind another.
        guard = Guard(self.loopback and encryption is None, knows_callers=True)
        server = AsgiServer(
            uvicorn.Config(
                GuardedApp(app, guard),
                log_level="warning",
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=SHUTDOWN_S,
                ws_max_size=longest_message,
                # An agent may think for long, without answering; idle connections are ended elsewhere.
                ws_ping_interval=None,
                # The gate lets no frame with a reserved bit through, so compression could not be used.
                ws_per_message_deflate=False,
                # Who asks is what the socket says, unless a proxy is known to stand before it.
                proxy_headers=self.proxies is not None,
                forwarded_allow_ips=self.proxies,
            ),
            self.connections,
            encryption,
        )
        ready = None
        if on_ready is not None:
            names = [_name(sock, encrypted=encryption is not None) for sock in sockets]
            ready = functools.partial(on_ready, names)
        with _signals_only_stop(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_run(server, sockets, ready, beside))

    @contextlib.asynccontextmanager
    async def serving(self, app: web.Application) -> AsyncIterator[str]:
        """Serve an aiohttp application during the block, which is given the URL.

        Args:
            app: the application; whoever reaches it has shown :attr:`token`, and its bodies are within its
                ``client_max_size``.

        Raises:
            UsageError: the address cannot be listened on.
        """
        from openfingym.listener.web import KEEP_S, BoundedRunner

        connections = Connections(room(PLAYERS), head_s=HEAD_S, keep_s=KEEP_S)
        runner = BoundedRunner(app, Guard(self.loopback, self.token), connections)
        await runner.setup()
        assert runner.server is not None
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(runner.cleanup)
            try:
                sock, *_ = stack.enter_context(self.bound())
            except VerifierError as error:
                raise UsageError(f"{self.host}:{self.port}: {error}") from None
            accepting = asyncio.create_task(connections.accept(sock, runner.server, None))
            stack.callback(accepting.cancel)
            yield _name(sock, encrypted=False)

    def serve_web(
        self,
        app: web.Application,
        ready: Callable[[str], None],
        meanwhile: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Serve an aiohttp application until the process is interrupted or terminated.

        Args:
            app: the application to serve.
            ready: called with the URL as soon as the application listens.
            meanwhile: called once the application listens, and awaited beside it; if it raises, the application is
                ended and the error raised here.

        Raises:
            UsageError: the address cannot be listened on.
        """

        async def main() -> None:
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            for name in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(name, stop.set)
            async with self.serving(app) as url:
                ready(url)
                waiting = asyncio.ensure_future(stop.wait())
                doing: asyncio.Future[Any] = asyncio.ensure_future(meanwhile()) if meanwhile is not None else waiting
                await asyncio.wait({doing, waiting}, return_when=asyncio.FIRST_COMPLETED)
                try:
                    if doing.done():
                        doing.result()
                    await waiting
                finally:
                    waiting.cancel()
                    doing.cancel()

        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(main())


async def _run(
    server: uvicorn.Server,
    sockets: list[socket.socket],
    ready: Callable[[Callable[[], None]], None] | None,
    beside: Callable[[], Coroutine[None, None, None]] | None,
) -> None:
    """Run a server until it is told to stop, on the sockets that it accepts connections on."""

    def stop() -> None:
        server.should_exit = True

    serving = asyncio.create_task(server.serve(sockets=sockets))
    while not (server.started or serving.done()):  # noqa: ASYNC110 - uvicorn has no event to wait for
        await asyncio.sleep(0.002)
    if ready is not None and server.started:
        ready(stop)
    other = None if beside is None else asyncio.create_task(beside())
    await serving
    if other is not None:
        other.cancel()


@contextlib.contextmanager
def _signals_only_stop() -> Iterator[None]:
    """Let a signal only stop the server: Uvicorn raises it again, which would end the process with the ledger open."""
    # Python lets the main thread alone set handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop of uvloop if that is installed, which is a matter of speed alone; None for asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _unix_socket(path: Path) -> socket.socket:
    # A verifier that was killed leaves its socket; one that is alive is not taken over, and binding then fails.
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode) and not _answers(path):
        path.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(str(path))
    # Nobody can connect between bind and listen, so the mode is in force before the first caller.
    path.chmod(0o600)
    sock.listen(BACKLOG)
    return sock


def _answers(path: Path) -> bool:
    """Whether a server is listening on a unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def _name(sock: socket.socket, *, encrypted: bool) -> str:
    """The URL of a TCP socket, with the port that the system chose, or the path of a unix socket."""
    bound = sock.getsockname()
    if isinstance(bound, str):
        return f"unix:{bound}"
    host = f"[{bound[0]}]" if sock.family == socket.AF_INET6 else bound[0]
    return f"http{'s' if encrypted else ''}://{host}:{bound[1]}"


def _is_loopback(host: str) -> bool:
    """Whether every address of a host name is a loopback address."""
    try:
        # An IPv6 address may come with the name of its interface, as fe80::1%eth0.
        addresses = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except OSError as error:
        raise UsageError(f"{host}: no address to listen on ({error})") from error
    return all(ipaddress.ip_address(address).is_loopback for address in addresses)
