"""Downloading over HTTP: patient, polite, bounded, and resumed where it broke off.

One download is a loop of attempts (tenacity). An attempt that breaks off leaves a part file and,
where the service gave a strong validator, a note of it; the next attempt asks for the rest with
``Range`` and ``If-Range``, so that a file which changed meanwhile is sent whole instead of being
glued to the old half.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

from openfingym.data.sources.progress import Progress, silent
from openfingym.data.sources.wire import (
    MISSING,
    SNIFFED_BYTES,
    TRANSIENT,
    Kind,
    NotPublishedError,
    OfflineError,
    TransientError,
    UnavailableError,
    check_body,
    content_range,
)
from openfingym.errors import DataError
from openfingym.headers import retry_after_s

if TYPE_CHECKING:
    import ssl

    import httpx
    from tenacity import RetryCallState

CHUNK_BYTES = 1 << 16
"""Size of the pieces in which a body is read and written."""
HTTPS_ONLY = "openfingym_https_only"
"""Extension of a request that says that redirects must not lead to plain http."""


@dataclass(frozen=True)
class ClientPolicy:
    """The timeouts, retries and pauses of a client."""

    attempts: int = 5
    """How often a download is tried."""
    first_wait_s: float = 0.5
    """Pause before the second attempt; doubled before each further one, with jitter."""
    longest_wait_s: float = 90.0
    """Longest pause between two attempts; a service that asks for a longer one is given up."""
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 30.0
    """Longest silence within an answer."""
    attempt_limit_s: float = 3600.0
    """Longest duration of one attempt: an answer that trickles in for ever never falls silent."""
    pause_s: float = 0.25
    """Shortest time between two requests to one host."""
    user_agent: str = "Mozilla/5.0 (compatible; openfingym)"


@dataclass(frozen=True)
class Downloaded:
    """A finished download."""

    size: int
    """Size in bytes."""
    etag: str | None
    """The service's entity tag of these bytes; None where it sent none."""
    last_modified: str | None
    """The service's date of the last change, as sent; None where it sent none."""


@dataclass
class Client:
    """Downloads files. Safe to share between threads; close it, or use it as a context manager."""

    policy: ClientPolicy = field(default_factory=ClientPolicy)
    sleep: Callable[[float], None] = time.sleep
    allows: Callable[[str], bool] | None = None
    """Whether a host may be asked, by its name; looked at for redirects too. None allows all."""
    _http: httpx.Client | None = field(default=None, init=False)
    _next: dict[str, float] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections; the client opens new ones if it is used again."""
        with self._lock:
            if self._http is not None:
                self._http.close()
            self._http = None

    def download(
        self,
        url: str,
        part: Path,
        *,
        kind: Kind,
        max_bytes: int,
        progress: Progress = silent,
        etag: str | None = None,
    ) -> Downloaded | None:
        """Download ``url`` into the file ``part``, continuing what is there already.

        Args:
            url: absolute URL of the file, http or https.
            part: path of the file to write; ``<part>.json`` beside it remembers which download it is part of.
            kind: what the body must turn out to be, such as CSV or a zip archive.
            max_bytes: largest body that is accepted, in bytes.
            progress: called with the number of bytes received so far.
            etag: entity tag of a copy that the caller holds; None is returned if the service says that it is still
                current.

        Raises:
            OfflineError: no attempt reached the service.
            NotPublishedError: the service has no such file.
            UnavailableError: the service answered only with failures.
            DataError: the service answered with something else, or with too much.
        """
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        attempts = Retrying(
            stop=stop_after_attempt(self.policy.attempts),
            wait=self._wait,
            retry=retry_if_exception_type(TransientError),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            return attempts(self._attempt, url, part, kind=kind, max_bytes=max_bytes, progress=progress, etag=etag)
        except TransientError as error:
            host = urlsplit(url).netloc
            if error.unreachable:
                raise OfflineError(
                    f"cannot reach {host} ({error.reason}; {self.policy.attempts} attempts), which was asked for "
                    f"{url}. Check the network and any proxy (HTTPS_PROXY), then run the same command again; what is "
                    "downloaded already stays usable, and the bundled datasets need no network"
                ) from None
            raise UnavailableError(
                f"{url}: {error.reason}; gave up after {self.policy.attempts} attempts. Run the same command again "
                "later: it continues where this one stopped"
            ) from None

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        # Random by a quarter, so that many clients do not come back at the same moment.
        backoff = self.policy.first_wait_s * 2.0 ** (state.attempt_number - 1) * random.uniform(0.75, 1.25)
        asked = error.wait_s if isinstance(error, TransientError) and error.wait_s is not None else 0.0
        # What the service asked for is never cut short; `_check_status` has refused too long a wait already.
        return max(asked, min(backoff, self.policy.longest_wait_s))

    def _attempt(
        self, url: str, part: Path, *, kind: Kind, max_bytes: int, progress: Progress, etag: str | None
    ) -> Downloaded | None:
        import httpx

        self._be_polite(url)
        note = _read_note(part, url)
        offset = part.stat().st_size if note else 0
        # Byte counts and ranges are of what is sent, so nothing may be compressed on the way.
        headers = {"Accept-Encoding": "identity"}
        # A part that is there already comes first: an entity tag is asked about only at the start of a download.
        if note and offset:
            headers |= {"Range": f"bytes={offset}-", "If-Range": note["validator"]}
        elif etag:
            headers["If-None-Match"] = etag
        extensions = {HTTPS_ONLY: url.startswith("https:")}
        try:
            with self._client().stream("GET", url, headers=headers, extensions=extensions) as response:
                if response.status_code == 304 and etag:
                    return None
                self._check_status(response, url, part)
                return self._receive(
                    response, url, part, kind=kind, max_bytes=max_bytes, progress=progress, offset=offset
                )
        except (httpx.UnsupportedProtocol, httpx.TooManyRedirects, httpx.InvalidURL) as error:
            raise DataError(f"{url}: {error}") from None
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            # httpx has no error of its own for a bad certificate, and trying again would not mend one.
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise DataError(f"{url}: the certificate of the service cannot be verified ({error})") from None
            raise TransientError(str(error) or type(error).__name__, unreachable=True) from None
        except httpx.TimeoutException as error:
            raise TransientError(f"timed out ({type(error).__name__})") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise TransientError(f"the connection broke off ({error})") from None

    def _check_status(self, response: httpx.Response, url: str, part: Path) -> None:
        """Raise for every status but 200 and 206."""
        status = response.status_code
        if status in {200, 206}:
            return
        # The file has become shorter than what is here.
        if status == 416:
            _discard(part)
            raise TransientError("the part already here no longer fits the file", wait_s=0.0)
        # The beginning of an error page says enough; its whole length may be anything.
        body = b""
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) >= SNIFFED_BYTES:
                break
        said = " ".join(body[:200].decode("utf-8", "replace").split())
        if status in MISSING:
            raise NotPublishedError(
                f"{url}: not published (status {status}{f': {said}' if said and not said.startswith('<') else ''})"
            )
        if status in TRANSIENT:
            wait_s = retry_after_s(response.headers)
            if wait_s is not None and wait_s > self.policy.longest_wait_s:
                raise DataError(
                    f"{url}: the service asks to wait {wait_s:.0f} s (status {status}); run the same command again "
                    "after that"
                )
            raise TransientError(f"status {status}", wait_s=wait_s)
        raise DataError(f"{url}: refused with status {status}{f': {said}' if said else ''}")

    def _receive(
        self,
        response: httpx.Response,
        url: str,
        part: Path,
        *,
        kind: Kind,
        max_bytes: int,
        progress: Progress,
        offset: int,
    ) -> Downloaded:
        headers = response.headers
        # A service may compress although it was asked not to; then lengths are not those of the bytes that are written.
        encoded = headers.get("content-encoding", "identity").lower() != "identity"
        length = None if encoded or "content-length" not in headers else int(headers["content-length"])
        start, total = 0, length
        if response.status_code == 206:
            span = content_range(headers)
            # Appending another range would damage the file without an error.
            if span is None or span[0] != offset or encoded:
                _discard(part)
                raise TransientError("the service sent another range than asked for", wait_s=0.0)
            start, total = offset, span[1]
        if total is not None and total > max_bytes:
            raise DataError(f"{url}: {total} bytes are more than the {max_bytes} expected at most")
        # The note is written before any byte, so that a download which breaks off can be continued.
        if not start:
            _discard(part)
            _write_note(part, url, None if encoded else _validator(response))
        try:
            with part.open("ab") as file:
                done = self._copy(
                    response, file, url=url, done=start, total=total, max_bytes=max_bytes, progress=progress
                )
                # Durable before the note goes and the caller renames the file: the length is checked only once.
                file.flush()
                os.fsync(file.fileno())
        except DataError:
            _discard(part)
            raise
        if total is not None and done != total:
            if done > total:
                _discard(part)
            raise TransientError(f"received {done} of {total} bytes")
        with part.open("rb") as file:
            head = file.read(SNIFFED_BYTES)
        try:
            check_body(kind, head, headers.get("content-type", ""), url)
        except (DataError, TransientError):
            _discard(part)
            raise
        _note_path(part).unlink(missing_ok=True)
        return Downloaded(done, headers.get("etag"), headers.get("last-modified"))

    def _copy(
        self,
        response: httpx.Response,
        file: BinaryIO,
        *,
        url: str,
        done: int,
        total: int | None,
        max_bytes: int,
        progress: Progress,
    ) -> int:
        """Append the body to ``file``, and return the size that the file has then."""
        label = urlsplit(url).path.rsplit("/", 1)[-1] or urlsplit(url).netloc
        deadline = time.monotonic() + self.policy.attempt_limit_s
        for chunk in response.iter_bytes(CHUNK_BYTES):
            done += len(chunk)
            if done > max_bytes:
                raise DataError(f"{url}: more than the {max_bytes} bytes expected at most")
            file.write(chunk)
            progress(label, done, total)
            if time.monotonic() > deadline:
                raise TransientError(f"only {done} bytes in {self.policy.attempt_limit_s:.0f} s")
        return done

    def _be_polite(self, url: str) -> None:
        """Wait until this host's next turn."""
        host = urlsplit(url).netloc
        with self._lock:
            now = time.monotonic()
            # Turns are given out under the lock and waited for outside it, so that requests to other hosts go on.
            turn = max(now, self._next.get(host, now))
            self._next[host] = turn + self.policy.pause_s
        if turn > now:
            self.sleep(turn - now)

    def _client(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._http is None:
                self._http = httpx.Client(
                    verify=tls_context(),
                    timeout=httpx.Timeout(self.policy.read_timeout_s, connect=self.policy.connect_timeout_s),
                    headers={"User-Agent": self.policy.user_agent},
                    follow_redirects=True,
                    max_redirects=5,
                    event_hooks={"request": [_refuse_downgrade, self._refuse_host]},
                )
            return self._http

    def _refuse_host(self, request: httpx.Request) -> None:
        if self.allows is not None and not self.allows(request.url.host):
            raise DataError(f"{request.url}: this host may not be asked, whether named or redirected to")


@cache
def tls_context() -> ssl.SSLContext:
    """The TLS context that all clients share: reading the certificate bundle takes longer than most requests."""
    import httpx

    return httpx.create_ssl_context()


def _refuse_downgrade(request: httpx.Request) -> None:
    if request.extensions.get(HTTPS_ONLY) and request.url.scheme != "https":
        raise DataError(f"{request.url}: redirected from https to http, which is not followed")


def _validator(response: httpx.Response) -> str | None:
    """The value for ``If-Range``: a strong entity tag, or the date (RFC 9110, 13.1.5); None where there is neither."""
    etag: str | None = response.headers.get("etag")
    date: str | None = response.headers.get("last-modified")
    # A weak validator says that the meaning is the same, not the bytes (RFC 9110), so nothing can be continued by it.
    return date if not etag else None if etag.startswith("W/") else etag


def _note_path(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_note(part: Path, url: str) -> dict[str, str] | None:
    """The note beside a part that can be continued; None where the download must start anew."""
    with contextlib.suppress(OSError, ValueError):
        note = json.loads(_note_path(part).read_text(encoding="utf-8"))
        if note["url"] == url and isinstance(note["validator"], str) and part.stat().st_size:
            return {"validator": note["validator"]}
    return None


def _write_note(part: Path, url: str, validator: str | None) -> None:
    if validator:
        _note_path(part).write_text(json.dumps({"url": url, "validator": validator}), encoding="utf-8")


def _discard(part: Path) -> None:
    # The note goes first: without it a part is never continued.
    _note_path(part).unlink(missing_ok=True)
    part.unlink(missing_ok=True)


@contextlib.contextmanager
def borrowed(client: Client | None) -> Iterator[Client]:
    """The caller's client, which is left open, or a new one, which is closed at the end."""
    if client is not None:
        yield client
        return
    with Client() as own:
        yield own
