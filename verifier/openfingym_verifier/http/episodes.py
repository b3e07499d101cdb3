"""Episodes over HTTP, one request a step, and over a WebSocket, one message a step, with the same answers."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING

from openfingym.headers import KEY_RULE, is_idempotency_key
from openfingym.listener.connections import CrowdedError
from openfingym.task.episodes import MAX_ACTION_BYTES
from openfingym.verifiers.routes import JSON
from openfingym_verifier.clock import now_ns
from openfingym_verifier.episodes.play import read_json
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.problems import Problem, of_failure

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from openfingym.listener.connections import Connections
    from openfingym_verifier.participants.tokens import TokenIssuer
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.service import Service
    from openfingym_verifier.submissions.intake import Submission

IDLE_S = 600.0
"""Seconds that a WebSocket may be silent before it is closed."""
POLICY_VIOLATION, UNSUPPORTED_DATA = 1008, 1003
"""Codes of RFC 6455 with which a WebSocket is closed."""

logger = logging.getLogger(__name__)


class EpisodeEndpoints:
    """The HTTP endpoints ``POST /v1/episodes`` and ``POST /v1/steps``."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def start(self, rollout: Rollout, request: Submission) -> bytes:
        """Begin the next episode."""
        return await self._service.episodes.start(rollout, await _document(request), request.idempotency_key)

    async def step(self, rollout: Rollout, request: Submission) -> bytes:
        """Take an action."""
        return await self._service.episodes.step(rollout, await _document(request))


class LiveEndpoint:
    """The WebSocket endpoint ``/v1/episodes/live``."""

    def __init__(self, service: Service, tokens: TokenIssuer, connections: Connections) -> None:
        self._service = service
        self._tokens = tokens
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection to its end."""
        await receive()  # the request to connect
        authorization = dict(scope["headers"]).get(b"authorization")
        try:
            row = (await self._rollout(authorization)).row
            # The operator's rollouts are of agents that it launched, and as many as it likes.
            party = None if row.principal in {LOCAL_USER, OPERATOR} else f"principal {row.principal}"
            with self._connections.socket(row.id, party):
                await self._serve(authorization, receive, send)
        except Problem as problem:
            await _deny(problem, send)
        except CrowdedError as error:
            await _deny(Problem("too-many-connections", f"{str(error).capitalize()}."), send)

    async def _serve(self, authorization: bytes | None, receive: Receive, send: Send) -> None:
        """Answer the messages of a rollout that is open."""
        await send({"type": "websocket.accept"})
        while True:
            try:
                async with asyncio.timeout(IDLE_S):
                    message = await receive()
            except TimeoutError:
                await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": "idle"})
                return
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if text is None:
                await send({"type": "websocket.close", "code": UNSUPPORTED_DATA, "reason": "JSON text only"})
                return
            answer, close = await self._answer(authorization, text)
            await send({"type": "websocket.send", "text": answer})
            if close:
                await send({"type": "websocket.close", "code": POLICY_VIOLATION})
                return
            # Thousands of messages may lie here already, and reading them would not let anybody else have a turn.
            await asyncio.sleep(0)

    async def _rollout(self, authorization: bytes | None) -> Rollout:
        """The open rollout of a token."""
        rollout = await self._service.find(self._tokens.require_rollout(authorization, now_ns()))
        rollout.require_open()
        return rollout

    async def _answer(self, authorization: bytes | None, text: str) -> tuple[str, bool]:
        """The answer to one message, and whether it is the last."""
        try:
            # Each message is a call of its own: tokens expire and rollouts end while a connection is open.
            answer = await self._call(await self._rollout(authorization), text)
        except Problem as problem:
            return _refusal(problem), problem.slug in {"unauthorized", "rollout-finished"}
        except Exception as error:
            logger.exception("a step failed")
            return _refusal(of_failure(error)), False
        return '{"type":"step",' + answer.decode()[1:], False

    async def _call(self, rollout: Rollout, text: str) -> bytes:
        """The answer to one message, as over HTTP."""
        document = read_json(text)
        match document.pop("type", None):
            case "step":
                return await self._service.episodes.step(rollout, document)
            case "start":
                return await self._service.episodes.start(rollout, document, _key(document.pop("key", None)))
        raise Problem("malformed-request", 'A message has the type "start" or "step".')


async def _document(request: Submission) -> dict[str, object]:
    """The JSON object in the body of a request."""
    body = await request.read_body(MAX_ACTION_BYTES)
    if request.media_type != JSON:
        raise Problem("unsupported-media-type", f"Found Content-Type {request.media_type[:100]!r}; expected {JSON}.")
    return read_json(body)


def _key(key: object) -> str | None:
    """The idempotency key of a message; None for a message without one."""
    if key is None:
        return None
    if isinstance(key, str) and is_idempotency_key(key):
        return key
    raise Problem("malformed-request", KEY_RULE)


def _refusal(problem: Problem) -> str:
    return json.dumps({"type": "problem", "problem": problem.document, "retry_after_s": problem.retry_after_s})


async def _deny(problem: Problem, send: Send) -> None:
    """Refuse the handshake with a problem document."""
    response = problem.response()
    await send(
        {"type": "websocket.http.response.start", "status": response.status_code, "headers": response.raw_headers}
    )
    await send({"type": "websocket.http.response.body", "body": response.body})
