"""The client that carries requests to an endpoint, and what its failures say."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from openfingym.errors import UsageError
from openfingym.models.outage import UNREACHED_S

if TYPE_CHECKING:
    from openai import AsyncOpenAI

NEEDS_CLIENT = "talking to a model needs the extra `llm`: pip install 'openfingym[llm]'"


def open_client(base_url: str | None, api_key: str, timeout_s: float, *, loopback: bool) -> AsyncOpenAI:
    """A client that sends each request once; a ``loopback`` endpoint is reached without a proxy.

    Raises:
        UsageError: the extra ``llm`` is not installed.
    """
    try:
        import openai
    except ImportError:
        raise UsageError(NEEDS_CLIENT) from None
    transport: Any = openai.DefaultAsyncHttpxClient(trust_env=False) if loopback else None
    timeout = openai.Timeout(timeout_s, connect=min(timeout_s, UNREACHED_S))
    return openai.AsyncOpenAI(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=0, http_client=transport)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what it came of."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def never_connected(error: BaseException) -> bool:
    """Whether a request failed before there was a connection to send it over."""
    return any(type(part).__name__ in {"ConnectError", "ConnectTimeout"} for part in _chain(error))


def cause_of(error: BaseException) -> str:
    """What the system says of a connection that failed: a refusal, a name that is not known, a certificate."""
    said = [part for part in _chain(error) if isinstance(part, OSError) and part.errno is not None]
    if not said:
        return str(error)
    # The event loop puts its own words in the place of the system's, whose numbers those of names are not.
    last = said[-1]
    return str(last.strerror) if isinstance(last, socket.gaierror) else os.strerror(last.errno or 0)


def transport_errors() -> tuple[type[Exception], ...]:
    """What the client lets through of its transport while it reads a stream; which package that is differs by the
    client's version.
    """
    modules: list[Any] = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    return tuple(module.TransportError for module in modules)
