"""Many clients of the protocol over HTTP, each of which plays a rollout of its own."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import msgspec
from aiohttp import ClientConnectionError, web

from openfingym.listener import Listener
from openfingym.training.mcp.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    VERSIONS,
    McpConversation,
    Message,
    error_of,
    id_of,
)
from openfingym.training.mcp.played import PlayTerms

SESSION, VERSION = "Mcp-Session-Id", "MCP-Protocol-Version"
"""Header fields of the protocol."""
PATH = "/mcp"
"""Path of the protocol's one endpoint."""
MAX_BODY = 16 * 1024 * 1024
"""Most bytes of a message that a client may send."""
KEEP_S = 15.0
"""Seconds of silence after which a response that is waited for says that it goes on, so that no proxy closes it."""
LOOK_S = 5.0
"""Seconds between two looks for clients that have gone."""
END_S = 30.0
"""Seconds that rollouts are given to end, where the server is stopped."""


class _Client:
    """A client that has introduced itself.

    Attributes:
        conversation: its rollout, and the requests that are not answered yet.
        used_at: when it last sent a request or was answered, by the monotonic clock.
        calls: number of its requests that are not answered yet.
    """

    def __init__(self, terms: PlayTerms) -> None:
        self.conversation = McpConversation(terms, send=_drop)
        self.used_at = time.monotonic()
        self.calls = 0


async def _drop(_message: Message) -> None:
    """Drop a notification that belongs to no request: only in the response to one can a client be reached."""


class Streamable:
    """The one endpoint of the protocol over HTTP."""

    def __init__(self, terms: PlayTerms, *, sessions: int, idle_s: float) -> None:
        """Begin nothing yet.

        Args:
            terms: what is played. The first client plays the instance that is named, the next one the next instance.
            sessions: most clients at once.
            idle_s: seconds after which a client that says nothing is taken to have gone.
        """
        self._terms = replace(terms, places=sessions)
        self._most, self._idle_s = sessions, idle_s
        self._clients: dict[str, _Client] = {}
        self._numbers = itertools.count(terms.index)

    def application(self) -> web.Application:
        """The application of the server; every rollout ends with it."""
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_post(PATH, self._post)
        app.router.add_delete(PATH, self._delete)
        app.router.add_get("/health", self._health)
        app.cleanup_ctx.append(self._looking)
        return app

    async def _looking(self, _app: web.Application) -> AsyncIterator[None]:
        """Look for clients that have gone while the application runs, and end every rollout when it stops."""
        look = asyncio.ensure_future(self._look())
        yield
        look.cancel()
        leaving = [asyncio.ensure_future(self._left(name)) for name in list(self._clients)]
        if leaving:
            await asyncio.wait(leaving, timeout=END_S)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(min(LOOK_S, self._idle_s))
            for name, client in list(self._clients.items()):
                if client.calls == 0 and time.monotonic() - client.used_at > self._idle_s:
                    await self._left(name)

    async def _left(self, name: str) -> None:
        """End the rollout of a client that has gone."""
        client = self._clients.get(name)
        if client is not None:
            try:
                await client.conversation.leave()
            finally:
                # Only when its rollout is over, so that there are never more of them than there are sessions.
                self._clients.pop(name, None)

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "healthy"})

    async def _post(self, request: web.Request) -> web.StreamResponse:
        try:
            message = msgspec.json.decode(await request.read())
        except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError) as error:
            return _told(error_of(PARSE_ERROR, f"no JSON: {error}"), 400)
        if not isinstance(message, dict | list):
            return _told(error_of(INVALID_REQUEST, "expected a message, an object"), 400)
        name, given = id_of(message), request.headers.get(SESSION)
        version = request.headers.get(VERSION)
        if isinstance(message, dict) and message.get("method") == "initialize" and given is None:
            return await self._introduced(request, message)
        if given is None:
            return _told(error_of(INVALID_REQUEST, f"the header {SESSION} is missing; begin by initialize", name), 400)
        client = self._clients.get(given)
        if client is None:
            return _told(error_of(INVALID_REQUEST, "there is no such session; begin by initialize", name), 404)
        if version is not None and version not in VERSIONS:
            return _told(error_of(INVALID_REQUEST, f"{VERSION}: known are {', '.join(VERSIONS)}", name), 400)
        return await self._answered(request, client, message)

    async def _introduced(self, request: web.Request, message: Message) -> web.StreamResponse:
        """Begin a session for a client, and answer its first request."""
        if len(self._clients) >= self._most:
            text = f"all {self._most} sessions are taken; end one, or serve with a larger --sessions"
            return _told(error_of(INVALID_REQUEST, text, id_of(message)), 503)
        terms = self._terms
        if terms.split != "test":
            from openfingym.instances import INSTANCE_COUNT

            terms = replace(terms, index=next(self._numbers) % INSTANCE_COUNT)
        # The name is all that a client shows of itself, so it must not be guessed.
        name, client = secrets.token_urlsafe(24), _Client(terms)
        self._clients[name] = client
        response = await self._answered(request, client, message, {SESSION: name})
        # The request was malformed, and began nothing.
        if client.conversation.rollout is None:
            self._clients.pop(name, None)
        return response

    async def _answered(
        self,
        request: web.Request,
        client: _Client,
        message: Message | list[object],
        headers: dict[str, str] | None = None,
    ) -> web.StreamResponse:
        """Answer a message of a client; a call, which may take minutes, by a stream of events."""
        client.used_at = time.monotonic()
        client.calls += 1
        try:
            if any(map(_calls, message if isinstance(message, list) else [message])):
                return await _streamed(request, client.conversation, message)
            answer = await client.conversation.answered_all(message)
        finally:
            client.calls -= 1
            client.used_at = time.monotonic()
        if answer is None:
            return web.Response(status=202, headers=headers)
        # A list that its revision does not have is no message at all.
        return _told(answer, 400 if isinstance(message, list) and isinstance(answer, dict) else 200, headers)

    async def _delete(self, request: web.Request) -> web.Response:
        name = request.headers.get(SESSION, "")
        if name not in self._clients:
            return web.Response(status=404)
        await self._left(name)
        return web.Response(status=204)


def _calls(message: object) -> bool:
    """Whether a message asks for a call of a tool, which may take minutes."""
    return isinstance(message, dict) and message.get("method") == "tools/call" and "id" in message


async def _streamed(
    request: web.Request, conversation: McpConversation, message: Message | list[object]
) -> web.StreamResponse:
    """Answer a call by a stream of events: notices that it goes on, and the answer."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    # Notices come from another task, and two events must not be mixed.
    writing = asyncio.Lock()

    async def event(value: Message | list[Message]) -> None:
        async with writing:
            await response.write(b"event: message\ndata: " + msgspec.json.encode(value) + b"\n\n")

    work = asyncio.ensure_future(conversation.answered_all(message, event))
    try:
        while True:
            await asyncio.wait({work}, timeout=KEEP_S)
            if work.done():
                break
            # A comment in the form of server-sent events, which clients skip.
            async with writing:
                await response.write(b": going on\n\n")
        if (answer := work.result()) is not None:
            await event(answer)
        await response.write_eof()
    except (ConnectionError, ClientConnectionError):
        pass  # what is under way goes on: a client that comes back finds its rollout
    return response


def _told(value: Message | list[Message], status: int, headers: dict[str, str] | None = None) -> web.Response:
    body = msgspec.json.encode(value)
    return web.Response(body=body, status=status, headers=headers, content_type="application/json")


def serve(
    terms: PlayTerms,
    *,
    listener: Listener,
    sessions: int,
    idle_s: float,
    ready: Callable[[str], None],
) -> None:
    """Serve clients until the process is interrupted or terminated.

    Args:
        terms: the task and the first instance that are played, and how.
        listener: where the server listens, and for whom.
        sessions: most clients at once.
        idle_s: seconds after which a client that says nothing is taken to have gone.
        ready: called with the endpoint's URL as soon as it is listened on.

    Raises:
        UsageError: the address cannot be listened on, or the task's test data need another verifier for these clients.
        VerifierError: the verifier does not answer.
    """
    from openfingym.training.strangers import require_strict

    hidden = (terms.task,) if terms.split == "test" else ()
    require_strict(listener, hidden, terms.verifier, f"openfingym mcp {terms.task} --http")
    app = Streamable(terms, sessions=sessions, idle_s=idle_s).application()
    listener.serve_web(app, lambda url: ready(url + PATH))
