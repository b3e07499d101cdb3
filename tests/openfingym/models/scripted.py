"""A local endpoint that answers what a test says, word for word, and keeps the bodies that it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Json = dict[str, Any]
Script = Callable[[Json, int], "Json | tuple[int, Json] | list[Json]"]
"""From a request's body and its number to an answer's body; to a status and an error's body; or to the chunks of a
stream."""


def completion(message: Mapping[str, object], finish_reason: str | None = "stop", **more: object) -> Json:
    """The body of an answer; ``more`` goes into its choice."""
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "scripted",
        "choices": [{"index": 0, "message": dict(message), "finish_reason": finish_reason, **more}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def refusal(message: str, **more: object) -> tuple[int, Json]:
    """An error of status 400."""
    return 400, {"error": {"message": message, "type": "invalid_request_error", **more}}


def in_turn(answers: Sequence[Mapping[str, object]]) -> Script:
    """Messages one after the other, the last one for ever."""
    return lambda _, number: completion(answers[min(number, len(answers) - 1)])


class Scripted:
    """The endpoint; a context manager.

    Attributes:
        bodies: bodies of the requests that were answered with success, in order.
        keys: keys that came with requests.
        refused: bodies of the requests that were refused.
    """

    def __init__(self, script: Script, *, stream_kind: str = "text/event-stream") -> None:
        self.bodies: list[Json] = []
        self.refused: list[Json] = []
        self.keys: list[str] = []
        self._script = script
        self._stream_kind = stream_kind
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                scripted.keys.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
                found = scripted._script(body, len(scripted.bodies))
                status, kind = 200, "application/json"
                if isinstance(found, tuple):
                    status, sent = found[0], json.dumps(found[1])
                elif isinstance(found, list):
                    kind = scripted._stream_kind
                    sent = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in found) + "data: [DONE]\n\n"
                else:
                    sent = json.dumps(found)
                (scripted.bodies if status == 200 else scripted.refused).append(body)
                content = sent.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
