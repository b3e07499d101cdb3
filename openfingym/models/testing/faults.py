"""Faults of endpoints that the stand-in can be made to show, in the words of real ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from openfingym.errors import UsageError
from openfingym.models.testing.broken import SORTS

REFUSALS = {
    "bad-request": (400, "invalid_value", "Invalid value for 'temperature'."),
    "context-too-long": (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    "content-filter": (400, "content_filter", "The prompt was filtered by the content management policy."),
    "no-tools": (400, None, "registry.ollama.ai/library/stand-in does not support tools"),
    "no-tools-vllm": (
        400,
        400,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ),
    "no-tools-llama.cpp": (500, 500, "tools param requires --jinja flag"),
    "no-tools-openrouter": (
        404,
        404,
        "No endpoints found that support tool use. To learn more about provider routing, visit the docs",
    ),
    "bad-call": (
        400,
        "tool_use_failed",
        "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
    ),
    "stream-only": (400, "invalid_parameter", "This model only supports stream mode; set stream to true."),
    "no-stream-options": (400, None, "body.stream_options: Extra inputs are not permitted"),
    "no-system": (400, None, "System role not supported"),
    "no-late-system": (400, None, "Chat template error: System message must be at the beginning."),
    "seedless": (422, None, "body.seed: Extra inputs are not permitted"),
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
"""Status, code and message of each refusal, by its name. What follows ``rate-limit`` is the form of ``Retry-After``,
and what follows ``no-tools`` is whose words they are; only requests with a system message meet ``no-system``, only
those where one is not the first meet ``no-late-system``, and only those for a whole answer meet ``stream-only``."""
OF_A_FIELD = {
    "renamed": "max_tokens",
    "seedless": "seed",
    "bad-call": "tools",
    "no-stream-options": "stream_options",
}
OF_A_FIELD |= dict.fromkeys((name for name in REFUSALS if name.startswith("no-tools")), "tools")
"""Field of the body that a request must have to meet a fault, by the fault's name."""
ONLY_BLOCKS = "only-blocks"
"""Tools are taken, and never called: the model writes fenced code instead."""
WIRE = ("hang", "cut", "garbage")
"""No answer at all; an answer that is cut in the middle; an answer that is no JSON."""
RETRY_AFTER_S = 1
"""Seconds that a rate limit asks to wait."""
WRITTEN: Mapping[str, Callable[[str, str], str]] = {
    "written-hermes": lambda name, arguments: (
        f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'
    ),
    "written-mistral": lambda name, arguments: f'[TOOL_CALLS][{{"name": "{name}", "arguments": {arguments}}}]',
    "written-llama": lambda name, arguments: f'<|python_tag|>{{"name": "{name}", "parameters": {arguments}}}',
    "written-json": lambda name, arguments: f'```json\n{{"name": "{name}", "arguments": {arguments}}}\n```',
    "written-unreadably": lambda name, arguments: f"Action: {name}\nAction Input: {arguments}",
}
"""Forms of calls that stay in the text of the answer, as they do where an endpoint does not know its model's form."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and how often before all is well."""

    name: str
    times: int | None = None
    """How many requests meet the fault; None for all."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``NAME`` or ``NAME:TIMES``.

        Raises:
            UsageError: there is no such fault.
        """
        name, colon, times = text.partition(":")
        known = (*REFUSALS, *WIRE, ONLY_BLOCKS, *WRITTEN, *SORTS)
        if name not in known:
            raise UsageError(f"no fault is named {name!r}; known: {', '.join(known)}")
        if colon and not times.isdigit():
            raise UsageError(f"a fault is NAME or NAME:TIMES, found {text!r}")
        return cls(name, int(times) if colon else None)
