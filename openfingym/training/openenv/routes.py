"""The server's routes over plain HTTP: what it offers, and episodes of one step, as OpenEnv has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from openfingym.training.openenv.rpc import PARSE_ERROR, answered, error_of
from openfingym.training.openenv.served import TYPES
from openfingym.training.openenv.sessions import EnvSessions
from openfingym.training.openenv.sockets import Sockets
from openfingym.training.openenv.wire import ActionRefused, Json, decode, encode
from openfingym.version import __version__

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PROTOCOL = "1.0.0"
"""Version of OpenEnv's interface that is served."""
STATUS = {
    "INVALID_JSON": 422,
    "VALIDATION_ERROR": 422,
    "CAPACITY_REACHED": 503,
    "FACTORY_ERROR": 500,
    "EXECUTION_ERROR": 500,
}
"""HTTP status of each code of an error."""


def told(value: object, status: int = 200) -> web.Response:
    """A response whose body is a value as JSON."""
    return web.Response(body=encode(value), status=status, content_type="application/json")


class Routes:
    """The handlers of requests over plain HTTP."""

    def __init__(self, sessions: EnvSessions, sockets: Sockets) -> None:
        self._sessions, self._served = sessions, sessions.served
        self._sockets = sockets

    def all(self) -> list[web.RouteDef]:
        """All routes of the server."""
        answering: list[tuple[str, str, Handler]] = [
            ("GET", "/metadata", self._metadata),
            ("GET", "/schema", self._schema),
            ("GET", "/state", self._state),
            ("POST", "/reset", self._reset),
            ("POST", "/step", self._step),
            ("POST", "/mcp", self._rpc),
            ("GET", "/list_environments", self._names),
            ("GET", "/{name}/splits", self._splits),
            ("POST", "/{name}/tasks", self._tasks),
            ("POST", "/{name}/num_tasks", self._number),
            ("POST", "/{name}/task", self._task),
            ("POST", "/{name}/task_range", self._range),
        ]
        return [
            web.get("/health", self._health),
            web.get("/openapi.json", self._openapi),
            web.get("/ws", self._sockets.environment),
            web.get("/mcp", self._sockets.rpc),
            *(web.route(method, path, _answering(handler)) for method, path, handler in answering),
        ]

    async def _health(self, _request: web.Request) -> web.Response:
        return told({"status": "healthy"})

    async def _openapi(self, _request: web.Request) -> web.Response:
        paths = {
            "/health": "get", "/metadata": "get", "/schema": "get", "/state": "get", "/reset": "post", "/step": "post",
            "/mcp": "post", "/list_environments": "get", "/{env_name}/splits": "get", "/{env_name}/tasks": "post",
            "/{env_name}/num_tasks": "post", "/{env_name}/task": "post", "/{env_name}/task_range": "post",
        }  # fmt: skip
        described = {
            path: {method: {"responses": {"200": {"description": "Successful response"}}}}
            for path, method in paths.items()
        }
        info = {"title": "OpenFinGym", "version": PROTOCOL, "x-openfingym": __version__}
        return told({"openapi": "3.1.0", "info": info, "paths": described})

    async def _metadata(self, _request: web.Request) -> web.Response:
        await self._sessions.prepared()
        return told(self._served.metadata())

    async def _schema(self, request: web.Request) -> web.Response:
        await self._sessions.prepared()
        name = request.query.get("task", self._served.names[0])
        return told(self._served.schema(self._named(name)))

    async def _state(self, _request: web.Request) -> web.Response:
        return told({"episode_id": None, "step_count": 0})

    async def _reset(self, request: web.Request) -> web.Response:
        data = await _object(request, empty=True)
        # Over plain HTTP there is no session to come back to: each request has an environment of its own.
        session = await self._sessions.create()
        try:
            return told(await session.reset(data))
        finally:
            await self._sessions.close(session)

    async def _step(self, request: web.Request) -> web.Response:
        body = await _object(request)
        action = body.get("action")
        if not isinstance(action, dict):
            raise _unfit("action", "expected an object")
        if action.get("type") in {"call_tool", "message"} or "tool_name" in action:
            # A sandbox for one call would be gone before the next: such a rollout is played in a session.
            raise _unfit("action", "a rollout with tools is played in a session; connect to /ws")
        session = await self._sessions.create()
        try:
            if action.get("type") != "list_tools":
                await session.reset({})
            return told(await session.step(action))
        finally:
            await self._sessions.close(session)

    async def _rpc(self, request: web.Request) -> web.Response:
        try:
            value = decode(await request.read())
        except ActionRefused:
            return told(error_of(PARSE_ERROR, "Parse error"))
        return told(await answered(value, self._sessions))

    async def _names(self, _request: web.Request) -> web.Response:
        return told(list(self._served.names))

    async def _splits(self, request: web.Request) -> web.Response:
        self._named(request.match_info["name"])
        return told([{"name": split, "type": TYPES[split]} for split in self._served.splits])

    async def _tasks(self, request: web.Request) -> web.Response:
        name, split, body = await self._about_tasks(request)
        _require_known(body, {"split"})
        return told({"tasks": self._served.tasks(name, split, range(self._served.count(split))), "env_name": name})

    async def _number(self, request: web.Request) -> web.Response:
        _, split, body = await self._about_tasks(request)
        _require_known(body, {"split"})
        return told({"num_tasks": self._served.count(split)})

    async def _task(self, request: web.Request) -> web.Response:
        name, split, body = await self._about_tasks(request)
        _require_known(body, {"split", "index"})
        index = _whole_number(body, "index")
        if index is None:
            raise _unfit("index", "it is missing")
        if not 0 <= index < self._served.count(split):
            return told({"detail": f"Invalid task index: there are 0 to {self._served.count(split) - 1}"}, 400)
        return told({"task": self._served.tasks(name, split, [index])[0]})

    async def _range(self, request: web.Request) -> web.Response:
        name, split, body = await self._about_tasks(request)
        _require_known(body, {"split", "start", "stop"})
        start, stop = _whole_number(body, "start"), _whole_number(body, "stop")
        if any(end is not None and end < 0 for end in (start, stop)):
            return told({"detail": "Invalid task index: start and stop are counted from 0"}, 400)
        return told({"tasks": self._served.tasks(name, split, range(self._served.count(split))[start:stop])})

    async def _about_tasks(self, request: web.Request) -> tuple[str, str, Json]:
        """The task, the split and the body of a request about tasks.

        Raises:
            HTTPNotFound: there is no such task or split.
            ActionRefused: the body is no object with a split.
        """
        name = self._named(request.match_info["name"])
        body = await _object(request)
        split = body.get("split")
        if not isinstance(split, str):
            raise _unfit("split", "expected a text")
        if split not in self._served.splits:
            raise web.HTTPNotFound(
                text=_detail(f"unknown split {split[:100]!r}; there are {', '.join(self._served.splits)}"),
                content_type="application/json",
            )
        return name, split, body

    def _named(self, name: str) -> str:
        """The name of a task, found in any case.

        Raises:
            HTTPNotFound: there is no such task.
        """
        for known in self._served.names:
            if known.lower() == name.lower():
                return known
        raise web.HTTPNotFound(
            text=_detail(f"unknown environment {name[:100]!r}; there are {', '.join(self._served.names)}"),
            content_type="application/json",
        )


def _answering(handler: Handler) -> Handler:
    """The handler, with its refusals as responses."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except ActionRefused as refused:
            detail = refused.more.get("errors") or str(refused)
            more = {key: value for key, value in refused.more.items() if key != "errors"}
            return told({"detail": detail, "code": refused.code, **more}, STATUS.get(refused.code, 500))

    return answer


async def _object(request: web.Request, *, empty: bool = False) -> Json:
    """The body of a request, a JSON object; an empty body is one without keys where ``empty``.

    Raises:
        ActionRefused: the body is no JSON object.
    """
    raw = await request.read()
    if not raw and empty:
        return {}
    value: Any = decode(raw)
    if not isinstance(value, dict):
        raise _unfit("body", "expected an object")
    return value


def _require_known(body: Json, known: set[str]) -> None:
    """Refuse a body with keys that are not known.

    Raises:
        ActionRefused: names the first such key.
    """
    if extra := sorted(set(body) - known):
        raise _unfit(extra[0], "there is no such key")


def _whole_number(body: Json, key: str) -> int | None:
    """The whole number that a body has under a key; None where it has none.

    Raises:
        ActionRefused: the value is no whole number.
    """
    value = body.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise _unfit(key, "expected a whole number")
    return value


def _unfit(key: str, problem: str) -> ActionRefused:
    from openfingym.training.openenv.wire import invalid

    return invalid(key, problem, message="Invalid request")


def _detail(text: str) -> str:
    """The body of an error of HTTP's own."""
    return msgspec.json.encode({"detail": text}).decode()
