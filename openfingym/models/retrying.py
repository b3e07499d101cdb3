"""Asking an endpoint again: what follows from each failure, and how long to wait.

What a refusal means is the table's business (:mod:`openfingym.models.refusals`); what follows from it is this one's.

| what happened | what follows |
|---|---|
| no connection, and there never was one | asked again for some seconds, then ModelUnavailableError |
| no connection, timeout, connection cut, garbage or a broken answer | asked again |
| refused for rate, load or outage | asked again, after as long as the endpoint says |
| refused for want of credit, for the key or the model's name | ModelUnavailableError: asking again cannot help |
| refused for what the run asks, for the conversation or its content, for tools | ModelRefusedError, with a reason |
| refused in words that nobody knows | ModelRefusedError, ``bad-request``; inside an answer of status 200, asked again |
| the patience is over | ModelUnavailableError |
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from openfingym.errors import ModelRefusedError, ModelUnavailableError, OpenFinGymError
from openfingym.headers import retry_after_s
from openfingym.models.refusals import Refusal, RefusalKind, names_a_stream, takes_no_tools

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, RetryCallState

LEAST_S = 0.1
"""Least time of an attempt, in seconds: one with less would fail for want of time, and hide what is really wrong."""
FIRST_WAIT_S = 0.5
"""Bound of the first wait, in seconds; it doubles with each attempt."""
LONGEST_WAIT_S = 60.0
"""Longest wait before an attempt, in seconds, where the endpoint asks for none."""
_STATED_WAIT = re.compile(
    r"(?:again|retry|wait)\D{0,12}?((?:\d+(?:\.\d+)? ?(?:ms|h|m|s)[a-z]*(?:[ ,]+(?:and )?)?){1,4})"
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?(ms|h|m|s)")
_SECONDS: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_STOPS: Mapping[RefusalKind, str] = {
    "billing": "the account at the endpoint has no credit left ({said})",
    "access": "the endpoint does not let us in ({said}); check the key in the environment",
    "model": "the endpoint does not know what was asked for ({said}); check the model's name and the base URL",
}
_SETTINGS = (
    "no conversation fits: the reply tokens that each request asks for are more than the model or the account's limit "
    "has room for ({said}); lower --reply-tokens (reply_tokens in a plan), or have the limit raised"
)

_log = logging.getLogger(__name__)


class Transient(Exception):  # noqa: N818  # internal: it never leaves this package
    """An attempt failed in a way in which another one may not fail."""

    def __init__(self, message: str, *, retry_after_s: float | None = None, connected: bool = True) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """Seconds that the endpoint asked to be left alone; None where it did not say."""
        self.connected = connected
        """Whether the endpoint was reached."""


class Blocked(Transient):
    """The endpoint took the conversation and answered nothing, which may be its way to refuse it."""


class Adapted(Transient):
    """The endpoint works, and is asked again for the same in another form."""


def judge(
    refusal: Refusal, headers: Mapping[str, str] | None = None, *, tools: bool = False, streamed: bool = False
) -> Transient | OpenFinGymError:
    """The error that a refusal means.

    Args:
        refusal: what the endpoint said.
        headers: headers of its answer, which may say how long to wait; None for an answer of status 200.
        tools: whether tools were offered in the request.
        streamed: whether the answer was to come piece by piece.
    """
    kind, said = refusal.kind, refusal.said
    if tools and takes_no_tools(refusal):
        return ModelRefusedError(f"the endpoint takes no tools for this model ({said})", reason="no-tools")
    if kind == "wait":
        stated = retry_after_s(headers) if headers is not None else None
        return Transient(said, retry_after_s=stated_wait_s(refusal.text) if stated is None else stated)
    if kind in _STOPS:
        return ModelUnavailableError(_STOPS[kind].format(said=said))
    if kind == "settings":
        return ModelRefusedError(_SETTINGS.format(said=said), reason="settings")
    if kind == "context":
        return ModelRefusedError(f"the conversation is too long for the model ({said})", reason="context-too-long")
    if kind == "filter":
        return ModelRefusedError(
            f"the endpoint's content filter refused the conversation ({said})", reason="content-filter"
        )
    if kind == "call":
        return ModelRefusedError(f"the endpoint could not read the model's call ({said})", reason="bad-call")
    # What nobody knows, inside an answer: the next one may be whole. A status that says the same is final.
    if refusal.meant_status is None:
        return Transient(said)
    # Endpoints that answer in streams alone say so in words of their own, but all of them name a stream.
    hinted = not streamed and names_a_stream(refusal)
    hint = "; where it answers in streams alone, --stream asks for them" if hinted else ""
    return ModelRefusedError(f"the endpoint refused the request ({said}){hint}", reason="bad-request")


def stated_wait_s(text: str) -> float | None:
    """Seconds that a refusal asks in words to be left alone, such as "try again in 1m3.2s"; None where it does not.

    Args:
        text: the refusal, in lower case.
    """
    stated = _STATED_WAIT.search(text)
    if stated is None:
        return None
    return sum(float(amount) * _SECONDS[unit] for amount, unit in _AMOUNT.findall(stated[1]))


def retrying(left_s: Callable[[], float]) -> AsyncRetrying:
    """Attempts until one succeeds or the patience is over; then the last :class:`Transient` is raised.

    Args:
        left_s: returns the seconds of patience that are left; an attempt is made where at least :data:`LEAST_S` of them
            would be left to it after its wait.
    """
    from tenacity import AsyncRetrying, retry_if_exception_type, wait_random, wait_random_exponential

    backoff = wait_random_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S)
    spread = wait_random(max=1.0)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        stated = error.retry_after_s if isinstance(error, Transient) else None
        # A random part on top of what the endpoint asked for: all who were sent away must not return at once.
        return backoff(state) if stated is None else stated + spread(state)

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
