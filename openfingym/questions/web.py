"""Asking a service over HTTP for what decides a question: bounded in time and size, polite, strict about what comes.

Nothing is tried twice here, since who asks comes back later. No redirection is followed: a truth comes from the address
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
"""For a request and its whole answer."""
LARGEST = 4 << 20
"""Bytes of an answer."""
_MISSING = frozenset({404, 410})
_LIMITED = frozenset({418, 429, 503})
"""Statuses after which the service is left alone for a while."""
_PAUSE_S = 5.0
"""How long, where it does not say so itself."""
_LONGEST_PAUSE_S = 3600.0
"""How long at most, whatever it says: it is asked again then, and may say it again."""


class NotThereError(DataError):
    """The service answered that it has no such thing."""


@dataclass(frozen=True)
class WebReply:
    """An answer that is whole, and of the kind that was asked for."""

    url: str
    """What was asked, without keys."""
    body: bytes
    at_ns: int
    """When it was sent, by the service's own clock where it states that, to the second."""

    def json(self) -> Any:
        """Its document.

        Raises:
            DataError: it is none, or deeper than anything that is meant well.
        """
        try:
            return parse_json(self.body)
        except ValueError as error:
            raise DataError(f"{self.url}: the answer is no JSON document ({error})") from None

    def object(self) -> dict[str, Any]:
        """Its document, which must be an object."""
        found = self.json()
        if not isinstance(found, dict):
            raise DataError(f"{self.url}: the answer is a {type(found).__name__}, expected an object")
        return found


@dataclass
class Web:
    """A service at an address. Safe to share between threads."""

    url: str
    """Where it is, without a slash at the end."""
    per_second: float = 8.0
    """Most requests a second."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = TIMEOUT_S
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
            path: below the address, encoded.
            query: what is asked; part of the address that is shown. A list is a key that is repeated.
            kind: what the answer must turn out to be.
            hidden: keys that go into the query, and into nothing that is shown.
            posted: a document of JSON that is sent along, where what is asked is too long for an address.

        Raises:
            NotThereError: the service has no such thing.
            VenueError: it cannot be reached, limits us, fails, or leads elsewhere.
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
            # Without the error's own words where a key was sent: some hold the address.
            why = type(error).__name__ if hidden else str(error) or type(error).__name__
            raise VenueError(f"{shown}: no answer ({why})") from None
        try:
            check_body(kind, body[:SNIFFED_BYTES], content_type, shown)
        except TransientError as error:
            raise VenueError(f"{shown}: {error.reason}") from None
        return WebReply(shown, body, _date_ns(stated))

    def close(self) -> None:
        """Close its connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    def _open(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                # Uncompressed, as a small answer may unpack to one without end.
                own = {"User-Agent": "Mozilla/5.0 (compatible; openfingym)", "Accept-Encoding": "identity"}
                headers = {**own, **self.headers}
                timeout = httpx.Timeout(self.timeout_s / 2, connect=min(10.0, self.timeout_s))
                self._client = httpx.Client(
                    verify=tls_context(), headers=headers, timeout=timeout, follow_redirects=False
                )
            return self._client

    def _take_turn(self, shown: str) -> None:
        """Wait for the next turn; refuse where the service asked to be left alone."""
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
    """Address of a service: ``OPENFINGYM_<variable>_URL`` in the environment, or its public one."""
    return (os.environ.get(f"OPENFINGYM_{variable}_URL") or default).rstrip("/")


def require_same(found: object, asked: str, url: str) -> None:
    """Refuse an answer about something else than what was asked."""
    if str(found) != asked:
        raise DataError(f"{url}: the answer is about {str(found)[:80]!r}, asked was {asked!r}")


def one_error(error: Exception) -> OpenFinGymError:
    """An error of ours for what went wrong with a question, so that others of its batch go on."""
    if isinstance(error, OpenFinGymError):
        return error
    return DataError(f"the answer is not of the known form ({type(error).__name__}: {str(error)[:200]})")


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Turns whatever reading a stranger's document leads to into an error of ours; also a decorator."""
    try:
        yield
    except OpenFinGymError:
        raise
    except Exception as error:
        raise one_error(error) from error


def _date_ns(stated: str) -> int:
    try:
        return int(parsedate_to_datetime(stated).timestamp()) * 10**9
    except (ValueError, OverflowError, TypeError):
        return time.time_ns()
