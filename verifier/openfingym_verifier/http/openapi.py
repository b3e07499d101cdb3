"""The OpenAPI description, with the routes that FastAPI cannot describe by itself."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from openfingym.headers import KEY_PATTERN, LONGEST_KEY
from openfingym.verifiers.routes import EPISODES, JSON, LIVE, MEDIA_TYPES, STEPS, SUBMISSIONS
from openfingym_verifier.http import documents as doc
from openfingym_verifier.problems import KINDS, MEDIA_TYPE

if TYPE_CHECKING:
    from fastapi import FastAPI

_REF = "#/components/schemas/"
_PROBLEM = {
    "description": "A problem document (RFC 9457)",
    "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}ProblemDocument"}}},
}
PROBLEM_RESPONSE: dict[int | str, dict[str, Any]] = {"default": _PROBLEM, 422: _PROBLEM}
"""How every route may fail; Any is FastAPI's own type for this argument."""

_ANSWERS = ("SubmissionAnswer", "NewEpisode", "NewStep", "StepAnswer", "ProblemDocument")
"""Documents of the agents' routes, which no route of FastAPI names."""
_COMMON: dict[str, Any] = {"tags": ["rollout"], "security": [{"rollout token": []}]}

STEP_ONLY = frozenset({"episodes-exhausted", "episode-over", "out-of-step", "malformed-request", "malformed-action"})
"""Problems of sequential tasks."""
BATCH_ONLY = frozenset(
    {"malformed-submission", "wrong-shape", "wrong-dtype", "not-finite", "out-of-range", "memorised", "unscorable"}
)
"""Problems of batch tasks."""
QUESTIONS_ONLY = frozenset({"deadline-passed", "truth-known", "not-due", "clock-backwards", "wrong-unit"})
"""Problems of the routes of questions."""
COMMON = KINDS.keys() - STEP_ONLY - BATCH_ONLY - QUESTIONS_ONLY - {"method-not-allowed"}
"""Problems that every route of the agents may answer."""


def describe(app: FastAPI) -> None:
    """Complete ``app.openapi()`` with the agents' routes and the schema of problems."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = generate()
            _, definitions = models_json_schema(
                [(getattr(doc, name), "serialization") for name in _ANSWERS], ref_template=f"{_REF}{{model}}"
            )
            schema["components"]["schemas"] |= definitions["$defs"]
            schema["paths"] |= {
                SUBMISSIONS: {"post": _submission_route()},
                EPISODES: {"post": _episode_route()},
                STEPS: {"post": _step_route()},
                LIVE: {"get": _live_route()},
            }
            app.openapi_schema = schema
        return app.openapi_schema

    # FastAPI documents replacing this method as the way to extend the description.
    app.openapi = openapi  # type: ignore[method-assign]


def _submission_route() -> dict[str, Any]:
    binary = {"schema": {"type": "string", "format": "binary"}}
    nested = {
        "schema": {"type": "object", "required": ["predictions"], "properties": {"predictions": {"type": "array"}}}
    }
    return {
        **_COMMON,
        "summary": "Submit predictions",
        "description": "float64[windows, horizon, channels] in one of the media types. "
        "Costs one unit of budget if accepted, none if refused. "
        "A table (Arrow, Parquet) has the channels as columns and windows times horizon rows, window by window; or in "
        "any order with keys beside them that say which row is which: the axes (window, step), time, or the row's id.",
        "operationId": "submit",
        "parameters": [
            _key("Repeating an accepted submission with the same key and body gives the same answer at no cost.")
        ],
        "requestBody": {
            "required": True,
            "content": {kind: nested if kind == JSON else binary for kind in MEDIA_TYPES},
        },
        "responses": {"201": _answer("Accepted", "SubmissionAnswer"), **_problems(BATCH_ONLY | COMMON)},
    }


def _episode_route() -> dict[str, Any]:
    return {
        **_COMMON,
        "summary": "Start the next episode of a sequential task",
        "description": "Private episodes are played in order of time, each once; public ones, for practice, come round "
        "again, as often as the task's budget says. Starting one ends the one at hand.",
        "operationId": "start_episode",
        "parameters": [_key("The key of the latest episode gives its start again, and starts none.")],
        "requestBody": {"required": True, "content": {JSON: {"schema": {"$ref": f"{_REF}NewEpisode"}}}},
        "responses": {"201": _answer("Started", "StepAnswer"), **_problems(STEP_ONLY | COMMON)},
    }


def _step_route() -> dict[str, Any]:
    return {
        **_COMMON,
        "summary": "Take an action in the latest episode",
        "description": "Answered when it is on the disk. The latest step again, with the same action, gives the same "
        "answer.",
        "operationId": "step",
        "requestBody": {"required": True, "content": {JSON: {"schema": {"$ref": f"{_REF}NewStep"}}}},
        "responses": {"200": _answer("Taken", "StepAnswer"), **_problems(STEP_ONLY | COMMON)},
    }


def _live_route() -> dict[str, Any]:
    return {
        **_COMMON,
        "summary": "Episodes over a WebSocket",
        "description": "One JSON text message a call: NewEpisode with `type: start` and an optional `key`, or NewStep "
        "with `type: step`. The answer is a StepAnswer with `type: step`, or `type: problem` with `problem`, a problem "
        "document, and `retry_after_s`.",
        "operationId": "live",
        "responses": {
            "101": {"description": "Upgraded"},
            **_problems({"unauthorized", "forbidden", "not-found", "rollout-finished"}),
        },
    }


def _key(description: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": f"^{KEY_PATTERN}$"}
    return {"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema, "description": description}


def _answer(description: str, schema: str) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": {"$ref": f"{_REF}{schema}"}}}}


def _problems(slugs: AbstractSet[str]) -> dict[str, Any]:
    """Responses with problems, one for each status."""
    by_status: dict[int, list[str]] = {}
    for slug in (slug for slug in KINDS if slug in slugs):
        by_status.setdefault(KINDS[slug].status, []).append(slug)
    problems = {
        str(status): {**_PROBLEM, "description": "; ".join(f"{slug}: {KINDS[slug].title}" for slug in same_status)}
        for status, same_status in sorted(by_status.items())
    }
    if "429" in problems:
        problems["429"]["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait"}}
    return problems
