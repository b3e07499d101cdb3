"""HTTP over a unix socket, against the standard library's server."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

from openfingym.verifiers.unix_socket import UnixSocketTransport


class Echo(BaseHTTPRequestHandler):
    """Answers with the body of a request; the path says how."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/never":
            self.server.stopped.wait(10)  # type: ignore[attr-defined]
            return
        self.server.served.append(id(self.connection))  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.path == "/last"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def address_string(self) -> str:
        return "unix"


class EchoServer(socketserver.ThreadingUnixStreamServer):
    """Notes the connections of the requests that it answered, and when it has ended one."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), Echo)
        self.served: list[int] = []
        self.stopped, self.ended = threading.Event(), threading.Event()

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.ended.set()


@contextmanager
def serving(path: Path) -> Iterator[EchoServer]:
    """A server at ``path``."""
    with EchoServer(path) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.stopped.set()
            server.shutdown()
            thread.join()
            path.unlink()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with httpx.Client(transport=UnixSocketTransport(tmp_path / "s"), base_url="http://x", timeout=5.0) as client:
        yield client


def test_bodies_of_any_size_arrive_over_one_connection(client: httpx.Client, tmp_path: Path) -> None:
    with serving(tmp_path / "s") as server:
        for size in (0, 1, 70_000, 5_000_000):
            body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
            assert client.post("/", content=body).content == body
        assert len(set(server.served)) == 1
        client.post("/last", content=b"")
        assert server.ended.wait(30)
        assert client.post("/", content=b"again").content == b"again", "a connection that the server ended is not used"


def test_who_waits_too_long_is_told(client: httpx.Client, tmp_path: Path) -> None:
    with serving(tmp_path / "s"), pytest.raises(httpx.ReadTimeout):
        client.post("/never", content=b"", timeout=0.1)


def test_a_failed_connection_leaves_no_socket(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[socket.socket] = []

    class Remembered(socket.socket):
        def __init__(self, *arguments: int) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(socket, "socket", Remembered)
    with pytest.raises(httpx.ConnectError, match="No such file"):
        client.post("/", content=b"")
    (tmp_path / "s").touch()
    with pytest.raises(httpx.ConnectError, match="refused"):
        client.post("/", content=b"")
    assert [sock.fileno() for sock in made] == [-1, -1]
