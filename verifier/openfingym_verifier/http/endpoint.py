"""The routes that agents call, as bare ASGI applications: no copy of the body, no validation layer, no middleware."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from openfingym.headers import KEY_RULE, is_idempotency_key
from openfingym.listener.asgi import DISCARDED_BYTES
from openfingym_verifier.clock import now_ns
from openfingym_verifier.problems import Problem
from openfingym_verifier.submissions.intake import Submission

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from openfingym_verifier.participants.tokens import TokenIssuer
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.service import Service


class PostRoute:
    """One POST route: authenticates, lets the body be read within its limits, and answers."""

    def __init__(
        self,
        service: Service,
        tokens: TokenIssuer,
        body_timeout_s: float,
        act: Callable[[Rollout, Submission], Awaitable[bytes]],
        *,
        status: int,
    ) -> None:
        """Answer with ``status`` and the JSON that ``act`` gives.

        Args:
            service: finds the rollout of a token.
            tokens: recognises callers by their tokens.
            body_timeout_s: seconds that a body may take to arrive.
            act: does what is asked for, for the rollout, and gives the body of the answer.
            status: HTTP status of an answer.
        """
        self._service = service
        self._tokens = tokens
        self._body_timeout_s = body_timeout_s
        self._act = act
        self._status = status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a :class:`Problem` is left to the application's handler."""
        headers = dict(scope["headers"])
        try:
            await self._answer(headers, receive, send)
        except Problem as problem:
            # What is left of a slow body will be as slow; that connection goes in any case.
            problem.close = problem.close and (problem.slug == "request-timeout" or not _small(headers))
            raise

    async def _answer(self, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        # Before a byte of the body is read, so that nobody without a token can fill memory.
        rollout = await self._service.find(self._tokens.require_rollout(headers.get(b"authorization"), now_ns()))

        async def read_body(limit: int) -> bytes:
            return await read_within(receive, headers, limit, self._body_timeout_s)

        answer = await self._act(rollout, Submission(_media_type(headers), _idempotency_key(headers), read_body))
        sent_headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": self._status, "headers": sent_headers})
        await send({"type": "http.response.body", "body": answer})


def _small(headers: dict[bytes, bytes]) -> bool:
    """Whether discarding an unread body is cheaper than making a new connection."""
    stated = headers.get(b"content-length", b"")
    return stated.isdigit() and len(stated) < 10 and int(stated) <= DISCARDED_BYTES


def _media_type(headers: dict[bytes, bytes]) -> str:
    """The media type of a body, without parameters, in lower case; empty where none is stated."""
    # A decompressor would turn a body within the limit into one of any size.
    encoding = headers.get(b"content-encoding", b"identity").strip().lower()
    if encoding not in {b"identity", b""}:
        raise Problem("unsupported-media-type", "Send the body without a Content-Encoding.", close=True)
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")


def _idempotency_key(headers: dict[bytes, bytes]) -> str | None:
    """The idempotency key of a request; None for a request without one."""
    raw = headers.get(b"idempotency-key")
    if raw is None:
        return None
    key = raw.decode("latin-1")
    if not is_idempotency_key(key):
        raise Problem("bad-request", KEY_RULE, close=True)
    return key


async def read_within(receive: Receive, headers: dict[bytes, bytes], limit: int, seconds: float) -> bytes:
    """The whole body of a request, within limits on its length and its time.

    Args:
        receive: the ASGI callable that gives the body in pieces.
        headers: headers of the request, names in lower case.
        limit: largest number of bytes.
        seconds: longest time that the body may take to arrive.

    Raises:
        Problem: ``payload-too-large``; ``request-timeout``, if it does not arrive in time; ``bad-request``, if it
            breaks off.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _read(receive, headers, limit)
    except TimeoutError:
        raise Problem("request-timeout", f"The body did not arrive within {seconds:g} s.", close=True) from None


async def _read(receive: Receive, headers: dict[bytes, bytes], limit: int) -> bytes:
    """Read a body, and refuse it once it is known to exceed ``limit`` bytes: by its stated length, then by counting."""
    detail = f"A body has at most {limit} bytes here."
    stated = headers.get(b"content-length")
    # int() is slow with very many digits, and refuses more; a number that is cut is still too large.
    if stated is not None and (not stated.isdigit() or int(stated[:20]) > limit):
        raise Problem("payload-too-large", detail, close=True)
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Problem("bad-request", "The connection was closed before the body was complete.", close=True)
        chunk = message.get("body", b"")
        size += len(chunk)
        # A body in chunks states no length ahead.
        if size > limit:
            raise Problem("payload-too-large", detail, close=True)
        chunks.append(chunk)
        if not message.get("more_body", False):
            # The usual small body is one chunk, and joining would copy it.
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
