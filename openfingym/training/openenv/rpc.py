"""JSON-RPC of ``/mcp``, and of ``mcp`` frames on a session's socket: tools, and sessions that outlive a request."""

from __future__ import annotations

from typing import Any

from openfingym.training.openenv.sessions import EnvSession, EnvSessions
from openfingym.training.openenv.wire import ActionRefused, Json

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR, SERVER_ERROR = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
    -32000,
)
"""Codes of JSON-RPC."""
KEYS = frozenset({"jsonrpc", "method", "params", "id"})
"""Keys that a request may have."""


class RpcError(Exception):
    """An error of JSON-RPC; the message is for the client to read.

    Attributes:
        code: code of the error, as JSON-RPC has it.
        data: further data of the error; None for none.
    """

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


def error_of(code: int, message: str, *, data: object = None, request_id: object = None) -> Json:
    """A response that tells of an error."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message, "data": data}}


async def answered(request: object, sessions: EnvSessions, own: EnvSession | None = None) -> Json:
    """Answer a request.

    Args:
        request: the client's request, decoded from JSON.
        sessions: all sessions of the server.
        own: the session of the socket by which the request came; None over HTTP.
    """
    problem = _problem(request)
    if problem is not None or not isinstance(request, dict):
        return error_of(INVALID_REQUEST, f"Invalid request: {problem}")
    name = request.get("id")
    try:
        result = await _result(request["method"], request.get("params", {}), sessions, own)
    except RpcError as error:
        return error_of(error.code, str(error), data=error.data, request_id=name)
    except ActionRefused as refused:
        code = {"VALIDATION_ERROR": INVALID_PARAMS, "CAPACITY_REACHED": SERVER_ERROR, "FACTORY_ERROR": SERVER_ERROR}
        return error_of(
            code.get(refused.code, INTERNAL_ERROR), str(refused), data=refused.more or None, request_id=name
        )
    return {"jsonrpc": "2.0", "id": name, "result": result}


def _problem(request: object) -> str | None:
    """Why a value is no request of JSON-RPC; None where it is one."""
    if not isinstance(request, dict):
        return f"expected an object, found {str(request)[:60]}"
    if extra := sorted(set(request) - KEYS):
        return f"{extra[0][:60]!r} is no key of a request"
    if request.get("jsonrpc") != "2.0":
        return "jsonrpc is not '2.0'"
    if not isinstance(request.get("method"), str):
        return "method is no text"
    if not isinstance(request.get("params", {}), dict):
        return "params is no object"
    name = request.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int | None):
        return "id is neither a text nor a whole number"
    return None


async def _result(method: str, params: Json, sessions: EnvSessions, own: EnvSession | None) -> Any:
    """The result of a request.

    Raises:
        RpcError: the request cannot be answered.
        ActionRefused: the environment refuses what is asked for.
    """
    if method == "openenv/session/create":
        return {"session_id": (own or await sessions.create()).id}
    if method == "openenv/session/close":
        return await _closed(params, sessions, own)
    if method not in {"tools/list", "tools/call"}:
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method[:100]}")
    session = own or _named(params, sessions)
    if method == "tools/list":
        if session is not None:
            return {"tools": session.tools()}
        # Without a session, those that the first task has.
        await sessions.prepared()
        return {"tools": sessions.served.tools(sessions.served.names[0])}
    name, arguments = params.get("name"), params.get("arguments", {})
    if not name or not isinstance(name, str):
        raise RpcError(INVALID_PARAMS, "Missing 'name' in params")
    if session is None:
        raise RpcError(INVALID_PARAMS, "'session_id' is required: openenv/session/create gives one")
    if name not in {tool["name"] for tool in session.tools()}:
        raise RpcError(INVALID_PARAMS, f"Tool not found: {name[:100]}")
    shown = await session.step({"type": "call_tool", "tool_name": name, "arguments": arguments})
    result = shown["observation"].get("result")
    # As MCP has it, and as OpenEnv's clients read it beside that.
    return {"content": [{"type": "text", "text": str(result)}], "data": result, **shown}


def _named(params: Json, sessions: EnvSessions) -> EnvSession | None:
    """The session that a request names; None where it names none."""
    name = params.get("session_id")
    if not name:
        return None
    session = sessions.find(name)
    if session is None:
        raise RpcError(INVALID_PARAMS, f"Unknown session_id: {str(name)[:100]}")
    return session


async def _closed(params: Json, sessions: EnvSessions, own: EnvSession | None) -> Json:
    """Close a session; one with a socket is closed when its socket has gone."""
    if not params.get("session_id"):
        raise RpcError(INVALID_PARAMS, "Invalid params - 'session_id' is required")
    session = _named(params, sessions)
    assert session is not None
    if session is own:
        raise RpcError(INVALID_REQUEST, "Cannot close active WebSocket-managed session via MCP method")
    if session.attached:
        session.closing = True
        return {"session_id": session.id, "closed": False, "closing": True}
    await sessions.close(session)
    return {"session_id": session.id, "closed": True}
