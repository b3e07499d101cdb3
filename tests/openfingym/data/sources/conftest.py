"""A real HTTP server on a real socket, told by each test what to answer, faults of the wire included."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from openfingym.data.sources import Cache, Client
from openfingym.data.sources.transport import ClientPolicy


@dataclass
class Reply:
    """One answer."""

    body: bytes = b""
    status: int = 200
    headers: dict = field(default_factory=dict)
    send: int | None = None
    """Send only this many bytes of the body, though Content-Length states them all, and hang up."""
    etag: str | None = None
    """With one, Range, If-Range and If-None-Match are honoured as RFC 9110 says."""
    hold_s: float = 0.0
    """Silence before the answer."""


@dataclass
class Asked:
    path: str
    headers: dict


class Site:
    """Answers by path (query included); a list is used up one answer a request, its last one stays."""

    def __init__(self):
        self.routes = {}
        self.asked = []
        self.default = Reply(b"nothing here", 404)
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                site.asked.append(Asked(self.path, {key.lower(): value for key, value in self.headers.items()}))
                site.answer(self)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.stop = threading.Event()
        self.thread.start()

    def on(self, path, *replies):
        self.routes[path] = [reply if isinstance(reply, Reply) else Reply(reply) for reply in replies]
        return self.url + path

    def paths(self):
        return [asked.path for asked in self.asked]

    def answer(self, handler):
        queue = self.routes.get(handler.path) or self.routes.get(handler.path.partition("?")[0]) or [self.default]
        reply = queue.pop(0) if len(queue) > 1 else queue[0]
        if reply.hold_s:
            self.stop.wait(reply.hold_s)
        status, body, headers = reply.status, reply.body, dict(reply.headers)
        if reply.etag:
            headers["ETag"] = reply.etag
            wanted, condition = handler.headers.get("Range"), handler.headers.get("If-Range")
            if handler.headers.get("If-None-Match") == reply.etag:
                status, body = 304, b""
            elif wanted and condition == reply.etag:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
                status, body = 206, body[start:]
        handler.send_response(status)
        for key, value in headers.items():
            handler.send_header(key, value)
        if status != 304:
            handler.send_header("Content-Length", str(len(body)))
        if reply.send is not None:
            handler.send_header("Connection", "close")
        with contextlib.suppress(ConnectionError):  # The client may be gone: killed, timed out, or satisfied early.
            self.send(handler, body, reply)

    def send(self, handler, body, reply):
        handler.end_headers()
        handler.wfile.write(body[: reply.send])
        if reply.send is not None:
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True

    def close(self):
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site():
    site = Site()
    yield site
    site.close()


@pytest.fixture
def reply():
    return Reply


@pytest.fixture
def naps():
    """Every wait that the client made, in seconds; none is really slept."""
    return []


@pytest.fixture
def client(naps):
    with Client(
        ClientPolicy(attempts=3, read_timeout_s=0.5, connect_timeout_s=0.5, pause_s=0.0), sleep=naps.append
    ) as client:
        yield client


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "downloads")
