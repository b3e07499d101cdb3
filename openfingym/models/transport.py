"""The HTTP client that carries requests to an endpoint, and what its failures say."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from openfingym.errors import UsageError
from openfingym.models.bounded_answers import ACCEPTED, UnreadableBodyError, bound
from openfingym.models.outage import UNREACHED_S

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

NEEDS_CLIENT = "talking to a model needs the extra `llm`: pip install 'openfingym[llm]'"


def open_client(base_url: str | None, api_key: str, timeout_s: float, *, loopback: bool) -> AsyncOpenAI:
    """A client that sends each request once.

    Args:
        base_url: base URL of the endpoint; None for the client's default.
        api_key: the key that the endpoint asks for.
        timeout_s: longest silence on a connection, in seconds.
        loopback: whether the endpoint is on this machine, so that no proxy is used.

    Raises:
        UsageError: the extra ``llm`` is not installed.
    """
    try:
        import openai
    except ImportError:
        raise UsageError(NEEDS_CLIENT) from None
    transport: Any = openai.DefaultAsyncHttpxClient(
        # Proxies come from the environment, and one that is set for the internet would not find this machine.
        trust_env=not loopback,
        headers={"Accept-Encoding": ACCEPTED},
        event_hooks={"response": [bound]},
    )
    # Retries are those of retrying.py alone: the client's own would multiply them, and hide failures from the count.
    timeout = openai.Timeout(timeout_s, connect=min(timeout_s, UNREACHED_S))
    return openai.AsyncOpenAI(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=0, http_client=transport)


def body_of(error: APIStatusError) -> object:
    """The body with which an endpoint refused a request: as JSON, where it is; else its text."""
    # The client keeps a part of it alone, and drops what stands beside that.
    try:
        text = error.response.text
    except Exception:  # it was not read, and the error is of a package that is not imported here
        return error.body
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return document


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, and the errors that led to it, the latest first."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def unreadable(error: BaseException) -> str | None:
    """Why an answer was not read to its end, if that is what led to an error; None for other errors."""
    return next((str(part) for part in _chain(error) if isinstance(part, UnreadableBodyError)), None)


def never_connected(error: BaseException) -> bool:
    """Whether a request failed before there was a connection to send it over."""
    # By name, since the client brings its own HTTP package, which differs by version and may not be there to import.
    return any(type(part).__name__ in {"ConnectError", "ConnectTimeout"} for part in _chain(error))


def cause_of(error: BaseException) -> str:
    """What the system says of a connection that failed: a refusal, a name that is not known, a certificate."""
    system_errors = [part for part in _chain(error) if isinstance(part, OSError) and part.errno is not None]
    if not system_errors:
        return str(error)
    last = system_errors[-1]
    # asyncio words these errors itself ("Connect call failed"), so the system's words are looked up by the number. The
    # numbers of errors of names are others than the system's, and their words are the resolver's.
    return str(last.strerror) if isinstance(last, socket.gaierror) else os.strerror(last.errno or 0)


def transport_errors() -> tuple[type[Exception], ...]:
    """Errors of the HTTP package that the client lets through while it reads a stream; which package it is differs by
    the client's version.
    """
    modules: list[Any] = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    return tuple(module.TransportError for module in modules)
