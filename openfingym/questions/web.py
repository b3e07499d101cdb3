"""Requests over HTTP to services that decide questions: bounded in time and size, polite, strict about the answer.

Nothing is tried twice here, since the caller comes back later. No redirect is followed: a truth comes from the address
that was asked, or from nowhere.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from openfingym.data.sources.transport import tls_context
from openfingym.data.sources.wire import SNIFFED_BYTES, Kind, TransientError, check_body
from openfingym.errors import DataError, OpenFinGymError, VenueError
from openfingym.files.strange import parse_json
from openfingym.headers import retry_after_s

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 20.0
"""Longest duration of a request with its whole answer."""
LARGEST = 4 << 20
"""Largest answer that is read, bytes."""
_MISSING = frozenset({404, 410})
_LIMITED = frozenset({418, 429, 503})
"""Statuses after which the service is left alone for a while; 418 is Binance's word for a ban."""
_PAUSE_S = 5.0
"""How long it is left alone where it does not say for how long."""
_LONGEST_PAUSE_S = 3600.0
"""How long it is left alone at most, whatever it says; it may say so again."""


class NotThereError(DataError):
    """The service answered that it has no such thing."""


@dataclass(frozen=True)
class WebReply:
    """A whole answer of the kind that was asked for."""

    url: str
    """Address that was asked, without keys."""
    body: bytes
    at_ns: int
    """When the answer was sent, nanoseconds since the epoch: by the service's clock, to the second, where it states the
    time, else by ours."""

    def json(self) -> Any:
        """The body as a JSON document.

        Raises:
            DataError: it is no JSON, or nested deeper than any honest document.
        """
        try:
            return parse_json(self.body)
        except ValueError as error:
            raise DataError(f"{self.url}: the answer is no JSON document ({error})") from None

    def object(self) -> dict[str, Any]:
        """The body as a JSON object.

        Raises:
            DataError: it is no JSON, or no object.
        """
        document = self.json()
        if not isinstance(document, dict):
            raise DataError(f"{self.url}: the answer is a {type(document).__name__}, expected an object")
        return document


@dataclass
class Web:
    """A service at an address. Safe to share between threads."""

    url: str
    """Address of the service, without a slash at the end."""
    per_second: float = 8.0
    """The most requests that are made in a second."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Header fields of every request, such as keys; never shown."""
    timeout_s: float = TIMEOUT_S
    """Longest duration of a request with its whole answer."""
    _client: httpx.Client | None = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _next: float = field(default=0.0, init=False, repr=False)
    _alone_until: float = field(default=0.0, init=False, repr=False)

    def get(
        self,
        path: str,
        query: Mapping[str, str | int | Sequence[str]] | None = None,
        *,
        kind: Kind = "json",
        hidden: Mapping[str, str] | None = None,
        posted: object = None,
    ) -> WebReply:
        """Ask once.

        Args:
            path: path below the address, percent-encoded.
            query: query of the address, which is shown in messages and records. A list repeats its key.
            kind: what the answer must turn out to be.
            hidden: more of the query, such as keys, which is shown nowhere.
            posted: JSON document to send, for a request that is too long for an address; None for a plain GET.

        Raises:
            NotThereError: the service has no such thing.
            VenueError: it cannot be reached, limits us, fails, or redirects.
            DataError: it answers something else than ``kind``, or too much.
        """
        import httpx

        shown = f"{self.url}{path}" + (f"?{urlencode(query, doseq=True, safe=',:')}" if query else "")
        asked = shown + (f"{'&' if query else '?'}{urlencode(hidden)}" if hidden else "")
        self._take_turn(shown)
        try:
            method = "GET" if posted is None else "POST"
            with self._open().stream(method, asked, json=posted) as response:
                self._require_success(response, shown)
                body = self._body(response, shown)
                stated, content_type = response.headers.get("date", ""), response.headers.get("content-type", "")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Not in the error's own words where a key was sent: some errors quote the address with it.
            why = type(error).__name__ if hidden else str(error) or type(error).__name__
            raise VenueError(f"{shown}: no answer ({why})") from None
        try:
            check_body(kind, body[:SNIFFED_BYTES], content_type, shown)
        except TransientError as error:
            raise VenueError(f"{shown}: {error.reason}") from None
        return WebReply(shown, body, _date_ns(stated))

    def close(self) -> None:
        """Close the connections; the client opens new ones if it is used again."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    def _open(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                # Uncompressed, since a small answer may unpack to one without end.
                own = {"User-Agent": "Mozilla/5.0 (compatible; openfingym)", "Accept-Encoding": "identity"}
                headers = {**own, **self.headers}
                timeout = httpx.Timeout(self.timeout_s / 2, connect=min(10.0, self.timeout_s))
                self._client = httpx.Client(
                    verify=tls_context(), headers=headers, timeout=timeout, follow_redirects=False
                )
            return self._client

    def _take_turn(self, shown: str) -> None:
        """Wait for the next turn; refuse where the service asked to be left alone."""
        # Turns are given out under the lock and waited for outside it, so that threads queue without blocking others.
        with self._lock:
            now = time.monotonic()
            if now < self._alone_until:
                raise VenueError(f"{shown}: not asked, as the service wants {self._alone_until - now:.0f} s of rest")
            turn = max(now, self._next)
            self._next = turn + 1.0 / self.per_second
        if turn > now:
            time.sleep(turn - now)

    def _require_success(self, response: httpx.Response, shown: str) -> None:
        status = response.status_code
        if status == 200:
            return
        if status in _MISSING:
            raise NotThereError(f"{shown}: there is no such thing (status {status})")
        if response.is_redirect:
            place = response.headers.get("location", "nowhere")[:200]
            raise VenueError(f"{shown}: leads to {place!r}, which is not followed; expected an answer from itself")
        if status in _LIMITED:
            wait_s = retry_after_s(response.headers)
            wait_s = _PAUSE_S if wait_s is None else min(wait_s, _LONGEST_PAUSE_S)
            with self._lock:
                self._alone_until = time.monotonic() + wait_s
            raise VenueError(
                f"{shown}: the service is busy or limits us (status {status}); it waits for {wait_s:.0f} s"
            )
        raise VenueError(f"{shown}: failed with status {status}")

    def _body(self, response: httpx.Response, shown: str) -> bytes:
        # Read in pieces and bounded as they come: a stated length is only a claim, and a slow drip never falls silent.
        parts, size, until = [], 0, time.monotonic() + self.timeout_s
        for part in response.iter_bytes():
            size += len(part)
            if size > LARGEST:
                raise DataError(f"{shown}: the answer is longer than the {LARGEST} bytes that are read of it")
            if time.monotonic() > until:
                raise VenueError(f"{shown}: the answer is not whole after {self.timeout_s:g} s")
            parts.append(part)
        return b"".join(parts)


def base_url(variable: str, default: str) -> str:
    """Address of a service: ``OPENFINGYM_<variable>_URL`` of the environment, else its public address."""
    return (os.environ.get(f"OPENFINGYM_{variable}_URL") or default).rstrip("/")


def require_same(found: object, asked: str, url: str) -> None:
    """Refuse an answer about something else than what was asked."""
    if str(found) != asked:
        raise DataError(f"{url}: the answer is about {str(found)[:80]!r}, asked was {asked!r}")


def our_error(error: Exception) -> OpenFinGymError:
    """The error as one of ours, to be kept for one question while the others of its batch go on."""
    if isinstance(error, OpenFinGymError):
        return error
    return DataError(f"the answer is not of the known form ({type(error).__name__}: {str(error)[:200]})")


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Turn any error that a stranger's document leads to into one of ours; a context manager and a decorator."""
    try:
        yield
    except OpenFinGymError:
        raise
    except Exception as error:
        raise our_error(error) from error


def _date_ns(stated: str) -> int:
    try:
        return int(parsedate_to_datetime(stated).timestamp()) * 10**9
    except (ValueError, OverflowError, TypeError):
        return time.time_ns()
