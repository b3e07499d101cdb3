"""The stand-in's endpoint: an HTTP server on this machine that speaks chat completions."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Self

from openfingym.errors import RuntimeFailureError, UsageError
from openfingym.models.testing.answers import CREATED, SentReply, answer
from openfingym.models.testing.broken import SORTS, Broken
from openfingym.models.testing.conversation import CompletionRequest
from openfingym.models.testing.faults import OF_A_FIELD, ONLY_BLOCKS, REFUSALS, RETRY_AFTER_S, WRITTEN, Fault
from openfingym.models.testing.policies import StandInPolicy, find_policy, known_models

if TYPE_CHECKING:
    import fastapi
    import uvicorn

FAULT_HEADER = "x-stand-in-fault"
"""Header by which one request meets a fault."""
START_S = 10.0
"""Seconds that the server may take to start, and to stop."""


class StandIn:
    """A server on this machine that answers in place of a model; a context manager.

    Args:
        latency_s: seconds by which every answer is delayed, as if a model thought.
        port: TCP port to listen on; 0 for any that is free.
        policies: policies to serve in addition to the built-in ones, by the name of the model that each is.

    Attributes:
        served: how many requests were begun, by model.
        most_at_once: most requests that were under way at the same time.
    """

    def __init__(
        self, *, latency_s: float = 0.0, port: int = 0, policies: Mapping[str, StandInPolicy] | None = None
    ) -> None:
        self.served: Counter[str] = Counter()
        self.most_at_once = 0
        self._latency_s = latency_s
        self._port = port
        self._policies = policies or {}
        self._now = 0
        """Requests that are under way."""
        self._met: Counter[str] = Counter()
        """How many requests have met each fault of each model."""
        self._stopping = False

    @property
    def base_url(self) -> str:
        """Base URL of the endpoint."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        import uvicorn

        # Bound here, so that the port is known, and taken by nobody else, before the thread runs.
        self._socket = socket.create_server(("127.0.0.1", self._port))
        self._port = int(self._socket.getsockname()[1])
        config = uvicorn.Config(self._app(), log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        self._server: uvicorn.Server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="stand-in", daemon=True
        )
        self._thread.start()
        end = time.monotonic() + START_S
        while not self._server.started:
            if time.monotonic() > end or not self._thread.is_alive():
                self.__exit__()
                raise RuntimeFailureError(
                    f"the stand-in model did not start within {START_S:g} s; is the machine very busy?"
                )
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = self._server.should_exit = True
        self._thread.join(START_S)
        self._socket.close()

    def _app(self) -> fastapi.FastAPI:
        import fastapi

        app = fastapi.FastAPI(openapi_url=None)
        app.add_route("/v1/chat/completions", self._complete, methods=["POST"])
        app.add_route("/v1/models", self._models, methods=["GET"])
        return app

    async def _models(self, _: fastapi.Request) -> fastapi.Response:
        return _json(
            {
                "object": "list",
                "data": [
                    {"id": name, "object": "model", "created": CREATED, "owned_by": "local"} for name in known_models()
                ],
            }
        )

    async def _complete(self, http: fastapi.Request) -> fastapi.Response:
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            return await self._respond(http)
        except UsageError as error:
            return _json(
                {"error": {"message": str(error), "type": "invalid_request_error", "code": "invalid_value"}}, 400
            )
        finally:
            self._now -= 1

    async def _respond(self, http: fastapi.Request) -> fastapi.Response:
        from fastapi.responses import Response, StreamingResponse

        body = await _body(http)
        model = str(body.get("model"))
        own = self._policies.get(model)
        policy, fault = find_policy(model) if own is None else (own, None)
        request = CompletionRequest.read(body)
        self.served[model] += 1
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        stated = http.headers.get(FAULT_HEADER)
        fault = Fault.parse(stated) if stated else fault
        # Every request has a model, so that this holds for faults of no field.
        if fault and OF_A_FIELD.get(fault.name, "model") not in body:
            fault = None
        if fault and fault.name == "no-system" and request.messages[0].role != "system":
            fault = None
        if fault and fault.name == "no-late-system" and all(one.role != "system" for one in request.messages[1:]):
            fault = None
        if fault and fault.name == "stream-only" and body.get("stream"):
            fault = None
        met = self._meet(model, fault)
        # Faults of the endpoint, before any policy is asked.
        if met in REFUSALS:
            return _refusal(met, http.headers.get("authorization", "").removeprefix("Bearer "))
        if met == "hang":
            await self._hang(http)
            return Response(status_code=503)
        if met == ONLY_BLOCKS:
            request = replace(request, form="blocks", tools={})
        # Faults of the model: what it says, and how.
        reply = (Broken(met) if met in SORTS else policy).respond(request)
        if met is not None and met in WRITTEN and request.form == "tools":
            reply = reply.written(WRITTEN[met])
        if body.get("stream") and reply.endless and "max_tokens" not in body and "max_completion_tokens" not in body:
            return StreamingResponse(
                _forever(answer({**body, "max_tokens": 400}, request, reply), http), media_type="text/event-stream"
            )
        # Faults of the connection: what arrives of an answer that was given.
        sent = answer(body, request, reply)
        events = _events(sent, body) if body.get("stream") else None
        if met == "garbage":
            return Response(
                "data: <html>bad gateway</html>\n\n" if events else "<html>bad gateway</html>",
                media_type="application/json",
            )
        whole = "".join(events) if events else json.dumps(sent.whole())
        media_type = "text/event-stream" if events else "application/json"
        if met == "cut":
            return StreamingResponse(_cut(whole), media_type=media_type)
        return Response(whole, media_type=media_type)

    def _meet(self, model: str, fault: Fault | None) -> str | None:
        """Name of the fault that this request meets; None where there is none, or it has been met often enough."""
        if fault is None:
            return None
        key = f"{model} {fault.name}"
        self._met[key] += 1
        return fault.name if fault.times is None or self._met[key] <= fault.times else None

    async def _hang(self, http: fastapi.Request) -> None:
        # Starlette has no event to wait for.
        while not (self._stopping or await http.is_disconnected()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def _body(http: fastapi.Request) -> Mapping[str, object]:
    try:
        body = json.loads(await http.body())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not JSON ({error})") from None
    if not isinstance(body, Mapping):
        raise UsageError("the body must be a JSON object")
    return body


def _json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> fastapi.Response:
    from fastapi.responses import JSONResponse

    return JSONResponse(value, status, dict(headers or {}))


def _refusal(name: str, key: str) -> fastapi.Response:
    status, code, message = REFUSALS[name]
    headers = {}
    if name == "rate-limit-seconds":
        headers["Retry-After"] = str(RETRY_AFTER_S)
    elif name == "rate-limit-date":
        headers["Retry-After"] = format_datetime(datetime.now(UTC) + timedelta(seconds=RETRY_AFTER_S + 1), usegmt=True)
    # Some endpoints repeat the key that they refuse.
    error = {
        "message": message.format(key=key),
        "type": "invalid_request_error",
        "code": code,
        "param": "max_tokens" if name == "renamed" else None,
    }
    return _json({"error": error}, status, headers)


def _events(sent: SentReply, body: Mapping[str, object]) -> list[str]:
    """The server-sent events of a streamed answer; with the counts of tokens only where they are asked for."""
    options = body.get("stream_options")
    wanted = isinstance(options, Mapping) and bool(options.get("include_usage"))
    return [*(f"data: {json.dumps(chunk)}\n\n" for chunk in sent.chunks(usage=wanted)), "data: [DONE]\n\n"]


async def _cut(text: str) -> AsyncIterator[str]:
    """Half of what was to be sent; then the connection breaks."""
    yield text[: len(text) // 2]
    # Time for the half to be sent, before the error closes the connection.
    await asyncio.sleep(0.01)
    raise ConnectionAbortedError


async def _forever(sent: SentReply, http: fastapi.Request) -> AsyncIterator[str]:
    """The same text again and again, until the client has enough."""
    piece = f"data: {json.dumps(sent.chunk({'content': sent.content}))}\n\n"
    while not await http.is_disconnected():
        yield piece
        # Other requests must be served meanwhile.
        await asyncio.sleep(0)
