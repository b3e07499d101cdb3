"""The client of a venue's REST interface, over aiohttp: whatever the venue does is an answer, never an exception."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import aiohttp
from yarl import URL

from openfingym.headers import retry_after_s
from openfingym.market.commands import RestAnswer
from openfingym.market.feed import Address, Request

TIMEOUT_S = 10.0
"""Seconds for a request and its answer together."""
LONGEST_BODY = 64 * 2**20
"""Bytes of an answer at most, which bounds the memory that a venue can take."""
_USED = "X-MBX-USED-WEIGHT-1M"  # Binance's
_RESET = "X-RateLimit-Reset"  # Alpaca's


class RestClient:
    """Asks the REST interface at an address. It does not limit how often: the machine that asks keeps a budget.

    Args:
        address: the beginning of all URLs, and the header fields of every request.
        timeout_s: seconds for a request and its answer together.
        path: the path of the Unix socket to which the address leads; None for the network.
    """

    def __init__(self, address: Address, *, timeout_s: float = TIMEOUT_S, path: str | None = None) -> None:
        self._path = path
        self._address = address
        self._timeout_s = timeout_s
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, request: Request) -> RestAnswer:
        """The answer to a request, whatever its status; one of status 0 if none came in time."""
        if self._session is None:  # not in __init__: aiohttp makes a session within a running event loop alone
            self._session = aiohttp.ClientSession(
                headers=dict(self._address.headers),
                connector=None if self._path is None else aiohttp.UnixConnector(self._path),
            )
        url = self._address.url + request.path
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._session.request(
                    request.method,
                    _encoded(url),
                    headers=dict(request.headers),
                    data=request.body,
                    allow_redirects=False,  # keys travel in header fields, and would go along
                ) as answer,
            ):
                body = bytearray()
                async for piece in answer.content.iter_any():
                    body += piece
                    if len(body) > LONGEST_BODY:
                        return RestAnswer(0, f"the answer is longer than {LONGEST_BODY} bytes".encode())
                return RestAnswer(
                    answer.status, bytes(body), _wait_s(answer.headers), _number(answer.headers.get(_USED))
                )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return RestAnswer(0, (str(error) or f"no answer within {self._timeout_s:g} s").encode())

    async def close(self) -> None:
        """Close its connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _encoded(url: str) -> URL:
    """The URL as it is written: its query may be signed, and must not be encoded again."""
    return URL(url, encoded=True)


def _wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the venue asks to wait: its ``Retry-After``, or else the time until its limit begins anew if nothing
    is left of it.
    """
    stated = retry_after_s({name.lower(): value for name, value in headers.items()})
    reset = _number(headers.get(_RESET))
    if stated is None and reset is not None and headers.get("X-RateLimit-Remaining") == "0":
        return min(max(0.0, reset - time.time()), 60.0)  # a limit of a minute: more comes of a clock that is wrong
    return stated


def _number(text: str | None) -> int | None:
    # int() also takes signs, underscores and digits of other scripts, and fails on very long texts.
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None
