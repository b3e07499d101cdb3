"""Rules for asking an endpoint again: what each failure means, and how long to wait.

| what happened | what follows |
|---|---|
| no connection, and there never was one | asked again for some seconds, then ModelUnavailableError |
| no connection, timeout, connection cut, garbage instead of an answer | asked again |
| 408, 409, 425, 429, 5xx | asked again, after ``Retry-After`` where it is given |
| 402 or 429 for want of credit, 401, 403, 404 | ModelUnavailableError: asking again cannot help |
| 400, 413, 422 | ModelRefusedError: this request will never be taken |
| any of them or 404, 500, 501, for the tools in the request | ModelRefusedError, with ``no-tools`` |
| the patience is over | ModelUnavailableError |
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from openfingym.errors import ModelRefusedError, ModelUnavailableError, OpenFinGymError
from openfingym.headers import retry_after_s

if TYPE_CHECKING:
    from openai import APIStatusError
    from tenacity import AsyncRetrying, RetryCallState

LEAST_S = 0.1
"""Least time of an attempt, in seconds: one with less would fail for want of time, and hide what is really wrong."""
FIRST_WAIT_S = 0.5
"""Bound of the first wait, in seconds; it doubles with each attempt."""
LONGEST_WAIT_S = 60.0
"""Longest wait before an attempt, in seconds, where the endpoint asks for none."""
LONGEST_MESSAGE = 1000
"""Most characters of an endpoint's message that are read and shown."""
_AGAIN = frozenset({408, 409, 425, 429})
_REFUSED = frozenset({400, 413, 422})
# Codes and phrases of endpoints, in lower case.
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_TOO_LONG = ("context_length", "context length", "context window", "maximum context", "prompt is too long")
_FILTERED = ("content_filter", "content filter", "content_policy", "content policy", "content management policy")
_BAD_CALL = frozenset({"tool_use_failed"})
"""Groq's code for a call that its own parser could not read."""
_TOOLLESS = frozenset({400, 404, 422, 500, 501})
"""Statuses with which some endpoint says that a model takes no tools."""
_TOOLS = re.compile(r"\btools?\b|\btool[ _-](?:use|calls?|choice)|\bfunction[ _-]?call")
_STREAM = re.compile(r"\bstream(?:s|ed|ing)?\b")
_NONE = re.compile(
    r"not? support|n['’]t support|unsupported|(?:not|isn't) (?:enabled|available|allowed|permitted)|requires?\b.*--|"
    r"no endpoints found|"
    r"unknown (?:name|field|parameter)|unrecognized|extra inputs|only supports single"
)
"""With a word for what is meant in the same message, how vLLM, llama.cpp, Ollama, OpenRouter, OpenAI, Mistral, Groq and
others say that they do not take it."""

_log = logging.getLogger(__name__)


class Transient(Exception):  # noqa: N818  # internal: it never leaves this package
    """An attempt failed in a way in which another one may not fail."""

    def __init__(self, message: str, *, retry_after_s: float | None = None, connected: bool = True) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """Seconds that the endpoint asked to be left alone; None where it did not say."""
        self.connected = connected
        """Whether the endpoint was reached."""


class Adapted(Transient):
    """The endpoint works, and is asked again for the same in another form."""


def refuses(error: APIStatusError, word: str) -> bool:
    """Whether a request was refused because of something in it that the model does not take.

    Args:
        error: what the endpoint said.
        word: a word of :data:`~openfingym.models.wire.ADAPTATIONS`.
    """
    if error.status_code not in _REFUSED:
        return False
    text = str(error.body or error.message)[:LONGEST_MESSAGE].lower()
    return error.param == word or bool(re.search(rf"\b{word}\b", text) and _NONE.search(text))


def judge(error: APIStatusError, *, tools: bool = False, streamed: bool = False) -> Transient | OpenFinGymError:
    """The error that a status other than success means.

    Args:
        error: what the endpoint said.
        tools: whether tools were offered in the request.
        streamed: whether the answer was to come piece by piece.
    """
    status, code = error.status_code, str(error.code or "")
    body = error.body
    message = str(body["message"] if isinstance(body, Mapping) and "message" in body else body or error.message)
    said = f"status {status}: {message[:LONGEST_MESSAGE]}"
    # Phrases are looked for in the whole body: gateways put what their provider said beside the message.
    text = f"{code} {str(body or message)[:LONGEST_MESSAGE]}".lower()
    if tools and status in _TOOLLESS and code not in _BAD_CALL and _TOOLS.search(text) and _NONE.search(text):
        return ModelRefusedError(f"the endpoint takes no tools for this model ({said})", reason="no-tools")
    if status in _REFUSED:
        if status == 413 or any(sign in text for sign in _TOO_LONG):
            return ModelRefusedError(f"the conversation is too long for the model ({said})", reason="context-too-long")
        if any(sign in text for sign in _FILTERED):
            return ModelRefusedError(
                f"the endpoint's content filter refused the conversation ({said})", reason="content-filter"
            )
        if code in _BAD_CALL:
            return ModelRefusedError(f"the endpoint could not read the model's call ({said})", reason="bad-call")
        # Endpoints that answer in streams alone say so in words of their own, but all of them name a stream.
        hint = (
            ""
            if streamed or not _STREAM.search(text)
            else "; where it answers in streams alone, --stream asks for them"
        )
        return ModelRefusedError(f"the endpoint refused the request ({said}){hint}", reason="bad-request")
    if status == 402 or (status == 429 and code in _NO_CREDIT):
        return ModelUnavailableError(f"the account at the endpoint has no credit left ({said})")
    if status in _AGAIN or status >= 500:
        return Transient(said, retry_after_s=retry_after_s(error.response.headers))
    if status in {401, 403}:
        return ModelUnavailableError(f"the endpoint does not let us in ({said}); check the key in the environment")
    return ModelUnavailableError(
        f"the endpoint does not know what was asked for ({said}); check the model's name and the base URL"
    )


def retrying(left_s: Callable[[], float]) -> AsyncRetrying:
    """Attempts until one succeeds or the patience is over; then the last :class:`Transient` is raised.

    Args:
        left_s: returns the seconds of patience that are left; an attempt is made where at least :data:`LEAST_S` of them
            would be left to it after its wait.
    """
    from tenacity import AsyncRetrying, retry_if_exception_type, wait_random_exponential

    backoff = wait_random_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        stated = error.retry_after_s if isinstance(error, Transient) else None
        # A random part on top of what the endpoint asked for: all who were sent away must not return at once.
        return backoff(state) if stated is None else stated + min(1.0, backoff(state))

    return AsyncRetrying(
        retry=retry_if_exception_type(Transient),
        wait=wait,
        stop=lambda state: state.upcoming_sleep + LEAST_S >= left_s(),
        before_sleep=_tell,
        reraise=True,
    )


def _tell(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    _log.info("attempt %d failed (%s); the next in %.1f s", state.attempt_number, error, state.upcoming_sleep)
