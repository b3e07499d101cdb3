"""The OpenAPI description, with the one route that FastAPI cannot describe by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from openfingym_verifier import documents as doc
from openfingym_verifier.problems import KINDS, MEDIA_TYPE
from openfingym_verifier.submission import JSON, MEDIA_TYPES

if TYPE_CHECKING:
    from fastapi import FastAPI

_REF = "#/components/schemas/"
_PROBLEM = {"description": "A problem document (RFC 9457)", "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}ProblemDocument"}}}}
PROBLEM_RESPONSE: dict[int | str, dict[str, Any]] = {"default": _PROBLEM, 422: _PROBLEM}
"""How every route may fail; Any is FastAPI's own type for this argument."""

_SUBMISSION_STATUSES = sorted({kind.status for slug, kind in KINDS.items() if slug not in {"method-not-allowed", "malformed-request"}})


def describe(app: FastAPI) -> None:
    """Make ``app.openapi()`` complete: the submission route, and the schema of problems."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = generate()
            _, definitions = models_json_schema(
                [(doc.SubmissionAnswer, "serialization"), (doc.ProblemDocument, "serialization")], ref_template=f"{_REF}{{model}}"
            )
            schema["components"]["schemas"] |= definitions["$defs"]
            schema["paths"]["/v1/submissions"] = {"post": _submission_route()}
            app.openapi_schema = schema
        return app.openapi_schema

    # FastAPI documents replacing this method as the way to extend the description.
    app.openapi = openapi  # type: ignore[method-assign]


def _submission_route() -> dict[str, Any]:
    binary = {"schema": {"type": "string", "format": "binary"}}
    nested = {"schema": {"type": "object", "required": ["predictions"], "properties": {"predictions": {"type": "array"}}}}
    by_status: dict[int, list[str]] = {}
    for slug, kind in KINDS.items():
        by_status.setdefault(kind.status, []).append(slug)
    problems = {
        str(status): {**_PROBLEM, "description": "; ".join(f"{slug}: {KINDS[slug].title}" for slug in by_status[status])}
        for status in _SUBMISSION_STATUSES
    }
    problems["429"]["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait"}}
    return {
        "tags": ["rollout"],
        "summary": "Submit predictions",
        "description": "float64[windows, horizon, channels] in one of the media types. "
        "Costs one unit of budget if accepted, none if refused. "
        "A table (Arrow, Parquet) has the channels as columns and windows times horizon rows, window by window.",
        "operationId": "submit",
        "security": [{"rollout token": []}],
        "parameters": [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "schema": {"type": "string", "minLength": 1, "maxLength": 200},
                "description": "Repeating an accepted submission with the same key and body gives the same answer at no cost.",
            }
        ],
        "requestBody": {"required": True, "content": {kind: nested if kind == JSON else binary for kind in MEDIA_TYPES}},
        "responses": {
            "201": {"description": "Accepted", "content": {JSON: {"schema": {"$ref": f"{_REF}SubmissionAnswer"}}}},
            **problems,
        },
    }
