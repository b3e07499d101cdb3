"""A service on this machine that answers what a test tells it to, byte for byte."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from openfingym.questions.web import Web


@dataclass
class Raw:
    """An answer that is no JSON document with status 200."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    stated: int | None = None
    """Length that is stated, where it is another one."""


Answer = object | Raw | Callable[[dict[str, object]], object]


@dataclass
class Service:
    """Paths without their query, and what each is answered with: a document, a :class:`Raw`, or a function of the
    query that returns one of these.
    """

    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    posted: list[object] = field(default_factory=list)
    """The documents that came with requests."""
    now_ns: int | None = None
    """What its clock shows; None for this machine's time."""

    @property
    def web(self) -> Web:
        return Web(self.url, per_second=1e6, timeout_s=5.0)

    def answer(self, target: str) -> Raw:
        parts = urlsplit(target)
        found = self.answers.get(parts.path, Raw(b'{"message":"not found"}', 404))
        if callable(found):
            found = found({name: one[-1] if len(one) == 1 else one for name, one in parse_qs(parts.query).items()})
        return found if isinstance(found, Raw) else Raw(json.dumps(found).encode())


@contextlib.contextmanager
def serve() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            service.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.do_GET()

        def do_GET(self):
            service.asked.append(self.path)
            service.headers.append(dict(self.headers))
            found = service.answer(self.path)
            self.send_response(found.status)
            for name, value in {"Content-Type": "application/json", **found.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(found.stated or len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        def date_time_string(self, timestamp=None):
            at = timestamp if service.now_ns is None else service.now_ns // 10**9
            return super().date_time_string(at)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        service.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
