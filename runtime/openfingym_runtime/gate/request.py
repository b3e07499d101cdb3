"""The requests that an agent may make through its gate, and the refusals of all others."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from http import HTTPStatus

from openfingym.headers import KEY_RULE, is_idempotency_key
from openfingym.verifiers import routes
from openfingym_runtime.gate.relay import is_handshake
from openfingym_runtime.gate.upstream import UpstreamAnswer

SUBMISSIONS, LIVE = routes.SUBMISSIONS.encode(), routes.LIVE.encode()
ROUTES = frozenset(
    {
        *((b"GET", path.encode()) for path in (routes.TASK, routes.ROLLOUT, routes.LIVE)),
        *((b"POST", path.encode()) for path in (routes.SUBMISSIONS, routes.EPISODES, routes.STEPS)),
    }
)
"""Methods and targets that are forwarded; nothing else is."""
MODEL_ROUTES = frozenset(
    {
        (b"GET", b"/v1/models"),
        (b"POST", b"/v1/chat/completions"),
        (b"POST", b"/v1/messages"),
        # As the clients of some command lines spell it.
        (b"POST", b"/v1/messages?beta=true"),
    }
)
"""Methods and targets that the model answers, where a gate has one: whole answers and streams, and nothing else that
an endpoint may offer."""
MODEL_BODY_BYTES = 8 * 1024 * 1024
"""Longest body of a request to the model: several times what fits into a model's context."""
JSON = frozenset({routes.JSON.encode()})
CONTENT_TYPES = frozenset(media_type.encode() for media_type in routes.MEDIA_TYPES)
"""Content types of a submission."""

HEADER_BYTES = 16 * 1024
"""Most bytes of a request's head."""


@dataclass(frozen=True)
class Refusal:
    """A problem document (RFC 9457) of the gate's own."""

    status: int
    """HTTP status."""
    problem: str
    """Stable name of the problem, such as ``not-found``."""
    detail: str
    """What was expected, for whoever wrote the agent."""

    def answer(self) -> UpstreamAnswer:
        """The document as an answer."""
        document = {
            "type": f"{routes.PROBLEM}{self.problem}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return UpstreamAnswer(self.status, b"application/problem+json", None, json.dumps(document).encode())


NOT_FOUND = Refusal(
    404,
    "not-found",
    "the gate serves GET /v1/task and /v1/rollout, POST /v1/submissions, /v1/episodes and /v1/steps, "
    "a WebSocket at /v1/episodes/live, and nothing else",
)
NO_SUCH_MODEL_ROUTE = Refusal(
    404,
    "not-found",
    "the model answers POST /v1/chat/completions, POST /v1/messages and GET /v1/models, and nothing else",
)
NO_HANDSHAKE = Refusal(400, "malformed-request", "expected a WebSocket handshake: RFC 6455, version 13")
MALFORMED = Refusal(400, "malformed-request", "not a well-formed HTTP/1.1 request")
HEADERS_TOO_LARGE = Refusal(431, "headers-too-large", f"request headers may take {HEADER_BYTES} bytes")
TOO_SLOW = Refusal(408, "request-timeout", "the request took too long to arrive")
TOO_MANY = Refusal(503, "too-many-connections", "close a connection before opening another")


@dataclass
class GateRequest:
    """One request as far as it has been read."""

    method: bytes = b""
    target: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    repeated: bool = False
    """Whether some header came twice."""
    raw_bytes: int = 0
    """Bytes of the request received so far, framing included."""
    body: list[bytes] = field(default_factory=list)
    """The body's parts, as they arrived."""
    body_bytes: int = 0
    """Length of the body so far."""

    @property
    def is_live(self) -> bool:
        """Whether the request asks for the WebSocket."""
        return self.target == LIVE

    @property
    def for_model(self) -> bool:
        """Whether the request is one that a model answers."""
        return (self.method, self.target) in MODEL_ROUTES

    def limit(self, max_body_bytes: int) -> int:
        """The longest body that the request may have, where one for the verifier may have ``max_body_bytes``."""
        return MODEL_BODY_BYTES if self.for_model else max_body_bytes

    def forwarded_headers(self) -> bytes:
        """The header lines that go on to the verifier."""
        if self.method != b"POST":
            return b""
        media_type = self.headers[b"content-type"].partition(b";")[0].strip().lower()
        # A request without a key gets one, so that it is counted once even if it has to be sent again.
        key = self.headers.get(b"idempotency-key") or uuid.uuid4().hex.encode()
        return b"Content-Type: %s\r\nIdempotency-Key: %s\r\n" % (media_type, key)

    def refusal(self, max_body_bytes: int, *, with_model: bool = False) -> Refusal | None:
        """Why the gate does not forward a request with this head, or None.

        Args:
            max_body_bytes: length of the longest body that goes to the verifier.
            with_model: whether the gate has a model.
        """
        length = self.headers.get(b"content-length", b"0")
        coding = self.headers.get(b"transfer-encoding")
        # If gate and verifier disagree about where a body ends, a second request can be smuggled in behind it. So a
        # header that is repeated, a length that is not plain digits, and a length together with chunks are refused
        # and not interpreted.
        if (
            self.repeated
            or not length.isdigit()
            or (coding is not None and (coding.lower() != b"chunked" or b"content-length" in self.headers))
        ):
            return MALFORMED
        # Compared byte by byte with the list: nothing is decoded or normalized first, so that no other spelling of a
        # route can pass.
        known = (self.method, self.target) in ROUTES or (with_model and self.for_model)
        if not known or (b"upgrade" in self.headers and not self.is_live):
            return NO_SUCH_MODEL_ROUTE if with_model and self.method == b"POST" else NOT_FOUND
        if self.is_live and not is_handshake(self.headers):
            return NO_HANDSHAKE
        # Servers differ in whether they read the body of a GET, which is another way to smuggle a request.
        if self.method == b"GET":
            return MALFORMED if int(length) or coding is not None else None
        if int(length) > self.limit(max_body_bytes):
            return too_large(self.limit(max_body_bytes))
        types = CONTENT_TYPES if self.target == SUBMISSIONS else JSON
        if self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() not in types:
            accepted = b", ".join(sorted(types)).decode()
            return Refusal(415, "unsupported-media-type", f"Content-Type must be one of {accepted}")
        # Of a request to the model no header goes on.
        key = None if self.for_model else self.headers.get(b"idempotency-key")
        if key is not None and not is_idempotency_key(key.decode("latin-1")):
            return Refusal(400, "malformed-request", KEY_RULE)
        return None


def too_large(max_body_bytes: int) -> Refusal:
    """The refusal of a body over the limit."""
    return Refusal(
        413,
        "payload-too-large",
        f"a request body may have {max_body_bytes} bytes; submissions: send .npy for the smallest float64 body",
    )
