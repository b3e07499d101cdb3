"""The HTTP interface: control routes in FastAPI, and the agents' routes as bare ASGI endpoints beside them."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.routing import Route

from openfingym.verifiers.answers import Participant
from openfingym.verifiers.routes import (
    EPISODES,
    JSON,
    LIVE,
    MEDIA_TYPES,
    PAST_FORECASTS,
    QUESTIONS,
    RECORDINGS,
    ROLLOUT,
    STEPS,
    SUBMISSIONS,
    TASK,
)
from openfingym_verifier.clock import now_ns, utc
from openfingym_verifier.http import documents as doc
from openfingym_verifier.http.access import authorization, operators_only
from openfingym_verifier.http.endpoint import PostRoute, read_within
from openfingym_verifier.http.episodes import EpisodeEndpoints, LiveEndpoint
from openfingym_verifier.http.late_route import LateRoute
from openfingym_verifier.http.openapi import PROBLEM_RESPONSE, describe
from openfingym_verifier.http.questions import add_question_routes
from openfingym_verifier.http.rollouts import add_owner_routes
from openfingym_verifier.http.seasons import add_season_routes
from openfingym_verifier.problems import Problem, of_failure
from openfingym_verifier.rollouts.rollout import Rollout
from openfingym_verifier.telemetry import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Message, Receive, Scope, Send

    from openfingym.listener.connections import Connections
    from openfingym_verifier.participants.tokens import TokenIssuer
    from openfingym_verifier.principals import ParticipantRecord
    from openfingym_verifier.scoring.truth import HiddenTask
    from openfingym_verifier.service import Service
    from openfingym_verifier.submissions.intake import Submission

logger = logging.getLogger(__name__)

HEALTH = "/healthz"
MAX_CONTROL_BYTES = 64 * 1024
"""Longest body of a request that neither submits nor steps."""
BATCHES = frozenset({QUESTIONS, RECORDINGS, PAST_FORECASTS})
"""Paths that the operator posts many things to at once."""
MAX_BATCH_BYTES = 64 * 1024 * 1024
"""Longest body of a request to one of these."""
_BY_STATUS = {400: "bad-request", 401: "unauthorized", 403: "forbidden", 404: "not-found", 405: "method-not-allowed"}


class VerifierApp:
    """The ASGI application: submissions and steps straight to their endpoints, everything else to FastAPI.

    FastAPI's stack of middleware takes longer than checking and rationing a submission does.
    """

    def __init__(
        self,
        control: FastAPI,
        posts: Mapping[str, PostRoute],
        live: LiveEndpoint,
        service: Service,
        tokens: TokenIssuer,
        body_timeout_s: float,
    ) -> None:
        """Route requests.

        Args:
            control: the application of all routes but those of agents.
            posts: endpoints of the agents' POST routes, by path.
            live: endpoint of the agents' WebSocket.
            service: the verifier, for its participants.
            tokens: recognises callers by their tokens.
            body_timeout_s: seconds that a body may take to arrive.
        """
        self.control = control
        self._posts = posts
        self._live = live
        self._service = service
        self._tokens = tokens
        self._body_timeout_s = body_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one WebSocket."""
        # A WebSocket's endpoint asks for the token itself: its refusal is another message than a response.
        if scope["type"] == "websocket":
            await (self._live if scope["path"] == LIVE else self.control)(scope, receive, send)
            return
        try:
            await self._answer(scope, receive, send)
        except Problem as problem:
            await problem.response()(scope, receive, send)
        except Exception as error:
            logger.exception("%s failed", scope["path"])
            await of_failure(error).response()(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route one request; nothing of a body is read before its sender is authenticated."""
        path, headers = scope["path"], dict(scope["headers"])
        # A load balancer has no token. All else is closed to strangers, routes that do not exist included.
        if path != HEALTH:
            self._tokens.admit(headers.get(b"authorization"), self._service.members)
        endpoint = self._posts.get(path) if scope["method"] == "POST" else None
        if endpoint is not None:
            await endpoint(scope, receive, send)
            return
        limit = MAX_BATCH_BYTES if path in BATCHES and scope["method"] == "POST" else MAX_CONTROL_BYTES
        # Read here, within bounds, since FastAPI would read a body of any length.
        body = await read_within(receive, headers, limit, self._body_timeout_s)
        await self.control(scope, _replayed(body, receive), send)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """An ASGI ``receive`` that gives a body that was read once more, and then what comes after it."""
    replayed = False

    async def replay() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def build_app(
    service: Service, tokens: TokenIssuer, connections: Connections, *, body_timeout_s: float, version: str
) -> VerifierApp:
    """The ASGI application of one verifier.

    Args:
        service: the verifier's tasks, rollouts and ledger.
        tokens: recognises callers by their tokens.
        connections: the open connections, which count WebSockets.
        body_timeout_s: seconds that the body of a request may take to arrive.
        version: version that the OpenAPI description shows.
    """
    app = FastAPI(title="OpenFinGym verifier", version=version, docs_url=None, redoc_url=None)
    app.router.route_class = LateRoute

    async def submit(rollout: Rollout, submission: Submission) -> bytes:
        return json.dumps(await service.submit(rollout, submission)).encode()

    calls = EpisodeEndpoints(service)
    posts = {
        SUBMISSIONS: PostRoute(service, tokens, body_timeout_s, submit, status=201),
        EPISODES: PostRoute(service, tokens, body_timeout_s, calls.start, status=201),
        STEPS: PostRoute(service, tokens, body_timeout_s, calls.step, status=200),
    }
    # Known here too, so that another method than POST is told so.
    app.router.routes.extend(Route(path, endpoint, methods=["POST"]) for path, endpoint in posts.items())
    _add_problem_handlers(app)
    _add_open_routes(app, service)
    _add_monitor_routes(app, service, tokens)
    add_owner_routes(app, service, tokens)
    _add_operator_routes(app, service, tokens)
    _add_rollout_routes(app, service, tokens)
    add_question_routes(app, service, tokens)
    describe(app)
    return VerifierApp(app, posts, LiveEndpoint(service, tokens, connections), service, tokens, body_timeout_s)


def _add_problem_handlers(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(_request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return error.response()

    @app.exception_handler(HTTPException)
    async def http(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        # Of Starlette's own errors, such as a path that does not exist, nothing but the status is told.
        slug = _BY_STATUS.get(error.status_code, "bad-request")
        return Problem(slug, "See /openapi.json for what this verifier offers.").response(error.headers)

    @app.exception_handler(RequestValidationError)
    async def validation(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        # Place and message alone: pydantic's own document repeats what was sent, which may be long.
        problems = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()[:5]]
        return Problem("malformed-request", "; ".join(problems)).response()

    @app.exception_handler(Exception)
    async def internal(_request: Request, error: Exception) -> Response:
        return of_failure(error).response()


def _add_open_routes(app: FastAPI, service: Service) -> None:
    @app.get(HEALTH, tags=["open"], response_model=doc.Health, responses=PROBLEM_RESPONSE)
    async def health() -> dict[str, object]:
        """Whether a rollout could be created and written now."""
        await service.require_well()
        return {"status": "ok", "tasks": len(service.tasks)}


def _add_monitor_routes(app: FastAPI, service: Service, tokens: TokenIssuer) -> None:
    async def monitor(request: Request) -> None:
        tokens.require_monitor(authorization(request))

    bearer = HTTPBearer(scheme_name="monitor's token", auto_error=False)
    metrics_response: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}}}, **PROBLEM_RESPONSE}

    @app.get(
        "/metrics",
        tags=["monitor"],
        response_class=Response,
        responses=metrics_response,
        dependencies=[Depends(bearer), Depends(monitor)],
    )
    async def metrics() -> Response:
        """Counters for Prometheus."""
        return Response(service.telemetry.text(), headers={"Content-Type": CONTENT_TYPE})


def _add_operator_routes(app: FastAPI, service: Service, tokens: TokenIssuer) -> None:
    common = operators_only(tokens)
    members = service.members

    @app.get("/v1/participants", response_model=list[Participant], **common)
    async def participants() -> list[dict[str, object]]:
        """Everybody who was given a key."""
        return [_participant(record) for record in members.participants()]

    @app.post("/v1/participants", status_code=201, response_model=doc.NewKey, **common)
    async def add(body: doc.NewParticipant) -> dict[str, object]:
        """Give a participant a key, which is shown this once."""
        return {"name": body.name, "key": await members.add(body.name, body.organisation)}

    @app.delete("/v1/participants/{name}", status_code=204, response_class=Response, **common)
    async def revoke(name: Annotated[str, Path(max_length=64)]) -> Response:
        """Withdraw a participant's key."""
        await members.revoke(name)
        return Response(status_code=204)

    add_season_routes(app, service, tokens)


def _add_rollout_routes(app: FastAPI, service: Service, tokens: TokenIssuer) -> None:
    async def own(request: Request) -> Rollout:
        return await service.find(tokens.require_rollout(authorization(request), now_ns()))

    the_rollout = Depends(own)

    bearer = HTTPBearer(scheme_name="rollout token", auto_error=False)
    common: dict[str, Any] = {"tags": ["rollout"], "dependencies": [Depends(bearer)], "responses": PROBLEM_RESPONSE}

    @app.get(TASK, response_model=doc.TaskContract, **common)
    async def task(rollout: Rollout = the_rollout) -> dict[str, object]:
        """The contract of the task: what a submission must be."""
        return _contract(await service.tapes.form_of(rollout), rollout.row.budget)

    @app.get(ROLLOUT, response_model=doc.RolloutView, **common)
    async def rollout(rollout: Rollout = the_rollout) -> dict[str, object]:
        """What is left of the budget, the feedback so far, and how far the latest episode is."""
        return {**rollout.agent_status(), **await service.episodes.place(rollout)}


def _participant(record: ParticipantRecord) -> dict[str, object]:
    revoked = None if record.revoked_ns is None else utc(record.revoked_ns)
    known = {"name": record.name, "created_at": utc(record.created_ns), "revoked_at": revoked}
    return {**known, "organisation": record.organisation}


def _contract(task: HiddenTask, budget: int) -> dict[str, object]:
    """What a program reads in ``contract.json``, as far as it is answered here, and what only the verifier knows."""
    manifest, rules = task.manifest, task.spec.verification
    own = {
        "task": task.name,
        "task_digest": manifest.digest,
        "n_public": manifest.n_public,
        "n_private": manifest.n_private,
        # What is refused below the contract's own limit: prices of which no return can be taken.
        "low": task.low,
        # Of a walk, how often it may be practised.
        "budget": budget if task.walk is None else rules.budget,
        "limits": {
            "max_body_bytes": task.max_body_bytes,
            "requests_per_minute": rules.requests_per_minute,
            "burst": rules.burst,
            "feedback_digits": rules.feedback_digits,
            "feedback_clip": rules.feedback_clip,
        },
        "media_types": (JSON,) if task.sequential else MEDIA_TYPES,
    }
    return {name: own[name] if name in own else task.contract_document[name] for name in doc.TaskContract.model_fields}
