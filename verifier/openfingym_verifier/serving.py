"""Running the verifier as a service, over TCP, a unix socket, or both."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import OpenFinGymError, UsageError, VerifierError

if TYPE_CHECKING:
    import asyncio
    import ssl

    import uvicorn

    from openfingym.packages.package import BuiltPackage
    from openfingym.results import PolicyName, TapePolicy
    from openfingym_verifier.app import VerifierApp

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8080
BODY_TIMEOUT_S = 30.0
THIS_MACHINE = "127.0.0.1,::1"
"""Addresses of a proxy on the same machine."""
SHUTDOWN_S = 5
"""Seconds that requests under way get to finish when the server is stopped."""
PR_SET_DUMPABLE = 4
BACKLOG = 2048
"""Connections that may wait to be accepted."""
SWITCH_INTERVAL_S = 0.00005
"""How long one thread may keep the interpreter from another: a commit must not wait for a score to be ready before it
starts."""


@dataclass(frozen=True)
class ListenAddress:
    """The addresses to listen on: TCP, a unix socket, or both."""

    host: str | None = None
    """TCP address to listen on."""
    port: int = DEFAULT_PORT
    """TCP port; 0 lets the system choose."""
    uds: Path | None = None
    """Path of a unix socket, created with mode 0600; a socket left behind by a dead server is replaced."""
    tls: TlsCertificate | None = None
    """What TCP is encrypted with; None for plain HTTP."""
    proxies: str | None = None
    """Addresses or networks of the proxies that encrypt, separated by commas: their word on who asks is taken."""

    def require_safe(self) -> None:
        """Check that no token travels over a network unencrypted.

        Raises:
            UsageError: a token would, or TLS is combined with a unix socket.
        """
        if self.tls is not None and self.uds is not None:
            raise UsageError("a unix socket is not encrypted; serve it from a verifier of its own, or leave TLS out")
        if self.host is None or self.tls is not None or self.proxies is not None or _is_loopback(self.host):
            return
        raise UsageError(
            f"tokens and labels would travel from {self.host} in the clear: give --tls-cert and --tls-key, or "
            "--behind-proxy where "
            "a proxy encrypts"
        )


@dataclass(frozen=True)
class TlsCertificate:
    """PEM files of a TLS server."""

    certificate: Path
    """File of the certificate, followed by the certificates that vouch for it."""
    key: Path
    """File of the certificate's private key, without a password."""

    def context(self) -> ssl.SSLContext:
        """The TLS context of the server, for TLS 1.2 and later.

        Raises:
            UsageError: a file cannot be read, or the two do not belong together.
        """
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # an ssl.SSLError is one
            raise UsageError(
                f"{self.certificate}, {self.key}: no certificate with its key ({error.strerror or error})"
            ) from error
        return context


def certificate(file: Path | None, key: Path | None) -> TlsCertificate | None:
    """The certificate that two command-line options name; None without either.

    Args:
        file: file of the certificate.
        key: file of the certificate's private key.

    Raises:
        UsageError: one of them is missing.
    """
    if (file is None) != (key is None):
        raise UsageError("TLS needs both files: --tls-cert and --tls-key")
    return None if file is None or key is None else TlsCertificate(file, key)


def serve(
    packages: Sequence[BuiltPackage],
    *,
    state: Path,
    admin_token: str,
    monitor_token: str | None = None,
    address: ListenAddress,
    policy: PolicyName,
    body_timeout_s: float = BODY_TIMEOUT_S,
    tapes: TapePolicy | None = None,
    resolve_every_s: float | None = None,
    void_after_s: float | None = None,
    wait_s: float = 0.0,
    origin: str | None = None,
    on_ready: Callable[[list[str], Callable[[], None]], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, in a process that does nothing else: files it makes are its user's alone from now
    on, other processes of that user cannot look into it, and its threads take turns more often.

    Args:
        packages: the built packages of the tasks to hold.
        state: directory of the ledger and the signing key; made if missing, used by one verifier at a time.
        admin_token: bearer token of the operator, at least 16 characters.
        monitor_token: bearer token of those who may read the metrics and nothing else; None for nobody but the
            operator.
        address: TCP address, unix socket or both to listen on.
        policy: name of the policy on what is told to whom; see :mod:`openfingym_verifier.policy`.
        body_timeout_s: seconds that the body of a submission may take to arrive.
        tapes: ``fresh`` gives every rollout hidden data of its own, where its task can have any; None leaves it to the
            policy.
        resolve_every_s: seconds between two looks for questions that are due; None to resolve on request alone.
        void_after_s: seconds after its evaluation time that a question is void without a truth; None for two weeks.
        wait_s: seconds to wait for another verifier that uses the state directory.
        origin: name of the log, which its checkpoints and its key bear; None for the one it has, or a random one.
        on_ready: called once, on the event loop, with the addresses and a thread-safe function that stops the server.

    Raises:
        DigestMismatchError: a package is not what it was when it was built.
        StoreError: a package or the state directory cannot be read.
        UsageError: an argument is out of range, or the address would send tokens unencrypted.
        VerifierError: an address or the state directory is in use.
    """
    address.require_safe()
    encryption = None if address.tls is None else address.tls.context()
    # Next to nothing of what is loaded until it is ready is garbage, and all of it stays: to look for some, now and
    # again and again, takes a tenth of the start.
    gc.disable()
    # Before any label or token is read.
    _forbid_inspection()
    _single_threaded_blas()
    import uvicorn

    import openfingym_verifier.app as http
    from openfingym_verifier.ledger import Ledger
    from openfingym_verifier.policy import POLICIES
    from openfingym_verifier.service import Service
    from openfingym_verifier.tokens import TokenIssuer, load_key
    from openfingym_verifier.truth import load_tasks
    from openfingym_verifier.workers import Workers

    # The ledger and its side files hold submissions, and are made under names that SQLite chooses.
    os.umask(0o077)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with contextlib.ExitStack() as stack:
        workers = Workers()
        stack.callback(workers.close)
        # This process loads the tasks on one core; meanwhile the others get ready to score.
        if metrics := _to_prepare(packages):
            workers.prepare(metrics)
        tasks = load_tasks(packages)
        ledger = Ledger(state, wait_s=wait_s)
        stack.callback(ledger.close)
        tokens = TokenIssuer(load_key(state / "token.key"), admin_token, monitor_token)
        # Before rollouts are restored, which may take a while: an address that is taken is found out at once.
        sockets = stack.enter_context(_listen(address))
        service = Service(
            tasks,
            ledger,
            workers,
            policy=POLICIES[policy],
            tapes=tapes,
            origin=origin,
            void_after_s=void_after_s,
        )
        stack.callback(service.close)
        app = http.build_app(service, tokens, body_timeout_s=body_timeout_s, version=_version())
        # What is loaded by now is never looked through again.
        gc.freeze()
        gc.enable()
        server = uvicorn.Server(_configuration(app, address, encryption))
        resolving = None if resolve_every_s is None else lambda: service.questions.resolver.watch(resolve_every_s)
        _run(server, sockets, on_ready, resolving)


def _to_prepare(packages: Sequence[BuiltPackage]) -> tuple[str, ...]:
    """Names of the metrics of heavy tasks that have to be compiled."""
    from openfingym.kinds import is_heavy
    from openfingym.metrics import find_metric

    names: dict[str, None] = {}
    for package in packages:
        # What is wrong with a package is said where it is loaded.
        with contextlib.suppress(OpenFinGymError):
            # A package remembers what was read of it, and must know nothing from before its digest was checked.
            spec = replace(package).task.spec
            if is_heavy(spec):
                metrics = [entry.name for entry in spec.scoring.metrics]
                names |= dict.fromkeys(name for name in metrics if find_metric(name).prepare is not None)
    return tuple(names)


def _configuration(app: VerifierApp, address: ListenAddress, encryption: ssl.SSLContext | None) -> uvicorn.Config:
    """Uvicorn's settings for the application of a verifier."""
    import uvicorn

    from openfingym.task.episodes import MAX_ACTION_BYTES
    from openfingym_verifier.connections import bounded_protocol

    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_S,
        ws_max_size=MAX_ACTION_BYTES,
        # An agent may think for long, without answering; idle connections are ended elsewhere.
        ws_ping_interval=None,
        # The gate lets no frame with a reserved bit through, so compression could not be used.
        ws_per_message_deflate=False,
        backlog=BACKLOG,
        http=bounded_protocol(),
        # Who asks is what the socket says, unless a proxy is known to stand before it.
        proxy_headers=address.proxies is not None,
        forwarded_allow_ips=address.proxies,
        ssl_context_factory=None if encryption is None else lambda _config, _default: encryption,
    )


def _run(
    server: uvicorn.Server,
    sockets: list[socket.socket],
    on_ready: Callable[[list[str], Callable[[], None]], None] | None,
    beside: Callable[[], Coroutine[None, None, None]] | None,
) -> None:
    """Run a server until it is told to stop.

    Args:
        server: the server, not started yet.
        sockets: the sockets that it accepts connections on.
        on_ready: called on the event loop, with the addresses and a function that stops the server.
        beside: makes a coroutine that runs beside the server, and is cancelled with its end; None for none.
    """
    import asyncio

    def stop() -> None:
        server.should_exit = True

    async def main() -> None:
        serving = asyncio.create_task(server.serve(sockets=sockets))
        while not (server.started or serving.done()):  # noqa: ASYNC110 - uvicorn has no event to wait for
            await asyncio.sleep(0.002)
        if on_ready is not None and server.started:
            on_ready([_name(sock, encrypted=server.config.is_ssl) for sock in sockets], stop)
        other = None if beside is None else asyncio.create_task(beside())
        await serving
        if other is not None:
            other.cancel()

    with _signals_only_stop(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main())


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


@contextlib.contextmanager
def _listen(address: ListenAddress) -> Iterator[list[socket.socket]]:
    """The bound sockets of an address; the file of a unix socket is removed at the end."""
    if address.host is None and address.uds is None:
        raise UsageError("nowhere to listen: give a host, a unix socket, or both")
    with contextlib.ExitStack() as stack:
        sockets: list[socket.socket] = []
        try:
            if address.host is not None:
                sockets.append(
                    socket.create_server((address.host, address.port), backlog=BACKLOG, family=_family(address.host))
                )
            if address.uds is not None:
                sockets.append(_unix_socket(address.uds))
                stack.callback(address.uds.unlink, missing_ok=True)
        except OSError as error:
            raise VerifierError(f"cannot listen: {error}; end what listens there, or choose another address") from error
        yield sockets


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


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


def _forbid_inspection() -> None:
    """Make this process unreadable to others of the same user: labels and tokens are in its memory."""
    if sys.platform == "linux":
        import ctypes

        # A process that cannot be dumped cannot be traced either, and its files below /proc belong to root.
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def _single_threaded_blas() -> None:
    """Limit BLAS to one thread: a second one slows small reductions tenfold and competes with the event loop."""
    import threadpoolctl

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported here, so that the BLAS it loads is one that the limit below finds.
    import numpy as np

    del np
    threadpoolctl.threadpool_limits(limits=1, user_api="blas")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("openfingym")
    except PackageNotFoundError:  # a checkout on the path, not installed
        return "0+checkout"
