"""Requests and notifications of a client, and the answers to them.

This is what a server of tools needs of the protocol's revisions from 2024-11-05 to 2025-11-25. A client of a later
revision begins with a method that is not known here, and then falls back to ``initialize``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from openfingym.errors import OpenFinGymError
from openfingym.training.mcp.played import FINISH, PlayedRollout, PlayTerms
from openfingym.version import __version__

_log = logging.getLogger(__name__)
Message = dict[str, Any]
BATCHED = frozenset({"2024-11-05", "2025-03-26"})
"""Revisions whose clients may send several messages at once, as a list; the later ones have taken that back."""
MOST_AT_ONCE = 64
"""Most messages of one list."""
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions of the protocol that are spoken, oldest first."""
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
"""Codes of JSON-RPC."""
RESOURCE_NOT_FOUND = -32002
"""Code of MCP."""
INSTRUCTION = "openfingym://instruction"
"""URI of the resource with the task's instruction."""
PROMPT = "play"
"""Name of the prompt with the task's instruction."""
PROGRESS_S = 5.0
"""Seconds between two notices that a call still goes on."""
INSTRUCTION_S = 15.0
"""Seconds for which the first answer waits for the task's instruction; a client waits no longer than a minute for
it."""


class RequestError(Exception):
    """A request that cannot be answered; the message says why.

    Attributes:
        code: code of the error, as JSON-RPC or MCP has it.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class McpConversation:
    """The messages between one client and this server.

    Attributes:
        rollout: the rollout that is played; None before the client has introduced itself.
        version: revision of the protocol that was agreed to; None before.
    """

    def __init__(self, terms: PlayTerms, *, send: Callable[[Message], Awaitable[None]]) -> None:
        """Expect the client's first message.

        Args:
            terms: the task and the instance that are played, and how.
            send: sends a notification to the client.
        """
        self.rollout: PlayedRollout | None = None
        self.version: str | None = None
        self._terms = terms
        self._send = send
        self._going: dict[str | int, asyncio.Task[Message]] = {}
        """Requests that are not answered yet, by their identifiers."""

    async def answered_all(
        self, message: object, notify: Callable[[Message], Awaitable[None]] | None = None
    ) -> Message | list[Message] | None:
        """Answer a message, or all messages of a list where the revision has lists; see :meth:`answered`.

        Returns:
            The answer, or the answers in a list; None where there is none to give.
        """
        if not isinstance(message, list):
            return await self.answered(message, notify)
        if self.version not in BATCHED:
            return error_of(INVALID_REQUEST, "messages come one by one, not in lists")
        if not 0 < len(message) <= MOST_AT_ONCE:
            return error_of(INVALID_REQUEST, f"a list is of 1 to {MOST_AT_ONCE} messages, found {len(message)}")
        # At the same time, so that one of them can cancel another.
        answers = await asyncio.gather(*(self.answered(one, notify) for one in message))
        return [answer for answer in answers if answer is not None] or None

    async def answered(
        self, message: object, notify: Callable[[Message], Awaitable[None]] | None = None
    ) -> Message | None:
        """Answer a message.

        Args:
            message: the client's message, decoded from JSON.
            notify: sends a notification that belongs to this request; None for the way that all others go.

        Returns:
            The answer; None to a notification, and to a request that was cancelled.
        """
        problem = _problem(message)
        if problem is not None or not isinstance(message, dict):
            return error_of(INVALID_REQUEST, f"no request: {problem}", id_of(message))
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            return None  # an answer, although this server asks nothing
        if "id" not in message:
            self._notified(method, params)
            return None
        name = message["id"]
        if name in self._going:
            return error_of(INVALID_REQUEST, f"the id {name!r} is one of a request that is not answered yet", name)
        # A task, so that a notification can cancel the work and not this method, which must still tidy up.
        work = asyncio.ensure_future(self._result(method, params, notify or self._send))
        self._going[name] = work
        try:
            return {"jsonrpc": "2.0", "id": name, "result": await work}
        except RequestError as error:
            return error_of(error.code, str(error), name)
        except OpenFinGymError as error:
            return error_of(INTERNAL_ERROR, str(error), name)
        except asyncio.CancelledError:
            # Cancelled by its client: the protocol wants no answer. Else it is this method that is cancelled.
            if work.cancelled() and not _being_cancelled():
                return None
            work.cancel()
            raise
        except Exception as error:
            _log.exception("a request failed in an unforeseen way")
            return error_of(INTERNAL_ERROR, f"a failure of ours: {type(error).__name__}: {error}", name)
        finally:
            del self._going[name]

    async def leave(self) -> str | None:
        """End the rollout, as the client has gone, and tell its result in words; None where none was begun."""
        for work in list(self._going.values()):
            work.cancel()
        return None if self.rollout is None else await self.rollout.leave()

    def _notified(self, method: str, params: Message) -> None:
        """Take a notification: of all that there are, the cancelling of a request alone has an effect."""
        if method == "notifications/cancelled":
            # The identifier may be anything, and nothing that cannot be one is looked up.
            name = id_of({"id": params.get("requestId")})
            work = None if name is None else self._going.get(name)
            if work is not None:
                work.cancel()

    async def _result(self, method: str, params: Message, notify: Callable[[Message], Awaitable[None]]) -> Message:
        """The result of a request.

        Raises:
            RequestError: the request cannot be answered.
            OpenFinGymError: the task cannot be played.
        """
        if method == "ping":
            return {}
        if method == "initialize":
            return await self._initialized(params)
        if self.rollout is None:
            if method in _METHODS:
                raise RequestError(INVALID_REQUEST, "the first request is initialize")
            raise RequestError(METHOD_NOT_FOUND, f"there is no method {method[:100]!r}")
        if method == "tools/list":
            return {"tools": await self.rollout.tools()}
        if method == "tools/call":
            return await self._called(self.rollout, params, notify)
        if method == "resources/list":
            about = {"uri": INSTRUCTION, "name": "instruction", "mimeType": "text/markdown"}
            return {
                "resources": [{**about, "description": f"What the task {self._terms.task} asks, and how it is scored."}]
            }
        if method == "resources/templates/list":
            return {"resourceTemplates": []}
        if method == "resources/read":
            if params.get("uri") != INSTRUCTION:
                raise RequestError(RESOURCE_NOT_FOUND, f"there is no resource but {INSTRUCTION}")
            text = await self.rollout.instruction()
            return {"contents": [{"uri": INSTRUCTION, "mimeType": "text/markdown", "text": text}]}
        if method == "prompts/list":
            return {"prompts": [{"name": PROMPT, "description": f"Play the task {self._terms.task}."}]}
        if method == "prompts/get":
            if params.get("name") != PROMPT:
                raise RequestError(INVALID_PARAMS, f"there is no prompt but {PROMPT!r}")
            content = {"type": "text", "text": await self.rollout.instruction()}
            return {"messages": [{"role": "user", "content": content}]}
        if method == "logging/setLevel":
            return {}
        raise RequestError(METHOD_NOT_FOUND, f"there is no method {method[:100]!r}")

    async def _initialized(self, params: Message) -> Message:
        """Introduce this server to the client, with the task's instruction if it is there in time."""
        asked, client = params.get("protocolVersion"), params.get("clientInfo")
        if self.rollout is None:
            name = client.get("name") if isinstance(client, dict) else None
            self.rollout = PlayedRollout(self._terms, name if isinstance(name, str) else "client")
        try:
            # A first build takes longer than clients wait; shielded, since the rollout goes on being opened.
            async with asyncio.timeout(INSTRUCTION_S):
                text = await asyncio.shield(self.rollout.instruction())
        except TimeoutError:
            where = f"the resource {INSTRUCTION}, or the file /task/instruction.md"
            text = f"Play the task {self._terms.task}. Read first what it asks: {where}."
        # A client that asks for an unknown revision is offered the latest, and may leave.
        self.version = asked if isinstance(asked, str) and asked in VERSIONS else VERSIONS[-1]
        return {
            "protocolVersion": self.version,
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "logging": {}},
            "serverInfo": {"name": "openfingym", "title": "OpenFinGym", "version": __version__},
            "instructions": text,
        }

    async def _called(
        self, rollout: PlayedRollout, params: Message, notify: Callable[[Message], Awaitable[None]]
    ) -> Message:
        """Call a tool, with notices of progress where the client has asked for them.

        Raises:
            RequestError: there is no such tool, or the call is malformed.
        """
        name, arguments = params.get("name"), params.get("arguments")
        arguments = {} if arguments is None else arguments
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise RequestError(INVALID_PARAMS, "a call has a name, a text, and arguments, an object")
        known = [tool["name"] for tool in await rollout.tools()]
        if name not in known:
            raise RequestError(INVALID_PARAMS, f"there is no tool {name[:100]!r}; there are {', '.join(known)}")
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if token is None:
            return await rollout.call(name, arguments)
        progress = asyncio.ensure_future(_tell(token, "the result is computed" if name == FINISH else name, notify))
        try:
            return await rollout.call(name, arguments)
        finally:
            progress.cancel()


_METHODS = frozenset(
    {
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "logging/setLevel",
    }
)
"""Methods that are known, and that need a client which has introduced itself."""


def error_of(code: int, message: str, name: str | int | None = None) -> Message:
    """An answer that tells of an error."""
    return {"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": message}}


def id_of(message: object) -> str | int | None:
    """The identifier of a message; None where it has none, or one that no request can have."""
    name = message.get("id") if isinstance(message, dict) else None
    # JSON's true and false are whole numbers to Python.
    return name if isinstance(name, str | int) and not isinstance(name, bool) else None


def _problem(message: object) -> str | None:
    """Why a value is no message of JSON-RPC; None where it is one."""
    if not isinstance(message, dict):
        return "expected an object"
    if message.get("jsonrpc") != "2.0":
        return "jsonrpc is not '2.0'"
    if "method" in message:
        if not isinstance(message["method"], str):
            return "method is no text"
        if not isinstance(message.get("params", {}), dict | None):
            return "params is no object"
        if "id" in message and id_of(message) is None:
            return "id is neither a text nor a whole number"
    elif "result" not in message and "error" not in message:
        return "it has no method"
    return None


async def _tell(token: object, what: str, notify: Callable[[Message], Awaitable[None]]) -> None:
    """Tell the client from time to time that a call goes on, for ever."""
    begun = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_S)
        passed = time.monotonic() - begun
        params = {"progressToken": token, "progress": round(passed, 1), "message": f"{what}: {passed:.0f} s"}
        await notify({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def _being_cancelled() -> bool:
    """Whether it is this task that is cancelled, and not what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
