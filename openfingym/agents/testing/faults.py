"""Faults of an endpoint, made to order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from openfingym.agents.testing.broken import SORTS
from openfingym.errors import UsageError

REFUSALS = {
    "bad-request": (400, "invalid_value", "Invalid value for 'temperature'."),
    "context-too-long": (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    "content-filter": (400, "content_filter", "The prompt was filtered by the content management policy."),
    "renamed": (400, "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model."),
    "unauthorized": (401, "invalid_api_key", "Incorrect API key provided: {key}."),
    "not-found": (404, "model_not_found", "The model does not exist."),
    "no-credit": (429, "insufficient_quota", "You exceeded your current quota."),
    "rate-limit": (429, "rate_limit_exceeded", "Too many requests."),
    "rate-limit-seconds": (429, "rate_limit_exceeded", "Too many requests."),
    "rate-limit-date": (429, "rate_limit_exceeded", "Too many requests."),
    "error-500": (500, "server_error", "Something went wrong."),
    "error-503": (503, "overloaded", "The model is overloaded."),
}
"""Name to status, code and message; what follows ``rate-limit`` is the form of ``Retry-After``, and only requests with
``max_tokens`` meet ``renamed``."""
WIRE = ("hang", "cut", "garbage")
"""No answer at all; an answer cut in the middle; an answer that is no JSON."""
RETRY_AFTER_S = 1


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and how often before all is well."""

    name: str
    times: int | None = None
    """Requests that meet it; None for all."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``NAME`` or ``NAME:TIMES``.

        Raises:
            UsageError: there is no such fault.
        """
        name, colon, times = text.partition(":")
        known = (*REFUSALS, *WIRE, *SORTS)
        if name not in known:
            raise UsageError(f"no fault is named {name!r}; known: {', '.join(known)}")
        if colon and not times.isdigit():
            raise UsageError(f"a fault is NAME or NAME:TIMES, found {text!r}")
        return cls(name, int(times) if colon else None)
