"""The download cache: bytes under their digest, and which address they came from.

::

    $OPENFINGYM_HOME/downloads/
        blobs/ab/abcd...        content, named by its SHA-256
        entries/<key>.json      one a URL: digest, size, times, earlier digests
        partial/<key>           a download in progress, continued after a break
        locks/<key>             held while one process downloads that URL
        pulls/<dataset>.json    the record of the last pull of a dataset

A download is checked in ``partial/`` and moved into ``blobs/`` by one rename, then the entry is replaced by another
rename. So an entry always names whole content, and a download that fails half-way leaves the old entry and its content
as they were.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import store
from openfingym.data.sources.progress import Progress, silent
from openfingym.data.sources.table import Origin
from openfingym.digests import sha256_of_file, sha256_of_text
from openfingym.errors import DataError
from openfingym.files.locks import take
from openfingym.files.whole import store_errors, whole_file

if TYPE_CHECKING:
    from openfingym.data.sources.transport import Client
    from openfingym.data.sources.wire import Kind

MAX_BYTES = 256 << 20
"""Largest file that is accepted, bytes, where a source states no other bound."""


@dataclass(frozen=True)
class CacheEntry:
    """An entry of the cache: the content held for one URL."""

    url: str
    sha256: str
    """Hex digest of the content, which is its name in ``blobs/``."""
    size: int
    """Size in bytes."""
    fetched_at: float
    """Unix seconds at which the service sent these bytes or confirmed them."""
    etag: str | None = None
    """The service's entity tag of these bytes; None where it sent none."""
    last_modified: str | None = None
    """The service's date of the last change, as sent; None where it sent none."""
    earlier: tuple[str, ...] = ()
    """Digests of what this URL gave before, oldest first."""

    @property
    def origin(self) -> Origin:
        """The file as part of a provenance."""
        stamp = datetime.fromtimestamp(self.fetched_at, UTC).isoformat(timespec="seconds")
        return Origin(self.url, self.sha256, self.size, stamp)


class Cache:
    """Downloaded files. Any number of processes may use one folder at once."""

    def __init__(self, root: Path | None = None) -> None:
        if root is None:
            root = store.home() / "downloads"
        self.root = root

    def entry(self, url: str) -> CacheEntry | None:
        """The entry of ``url``, if its content is still there in its full length."""
        try:
            stated = json.loads(self._file("entries", f"{_key(url)}.json").read_text(encoding="utf-8"))
            entry = CacheEntry(**{**stated, "earlier": tuple(stated["earlier"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None
        with contextlib.suppress(OSError):
            # A size is compared in no time; the digest is checked when the content is read.
            if entry.url == url and self._blob(entry.sha256).stat().st_size == entry.size:
                return entry
        return None

    def read(self, entry: CacheEntry) -> bytes:
        """The content of an entry, after checking its digest.

        Raises:
            DataError: it is not what was downloaded; the damaged file is removed, so that the next fetch downloads it
                again.
        """
        return self.path(entry).read_bytes()

    def path(self, entry: CacheEntry) -> Path:
        """The file that holds an entry's content, after checking its digest. Do not write to it.

        Raises:
            DataError: the content is missing or damaged; see :meth:`read`.
        """
        path = self._blob(entry.sha256)
        try:
            actual = sha256_of_file(path)
        except OSError as error:
            raise DataError(
                f"{path}: the cached copy of {entry.url} cannot be read ({error.strerror}); pull the dataset again"
            ) from error
        if actual != entry.sha256:
            # Without its content an entry counts for nothing, so that the next fetch downloads it again.
            path.unlink(missing_ok=True)
            raise DataError(
                f"{path}: the cached copy of {entry.url} was damaged and has been removed; pull the dataset again"
            )
        return path

    def fetch(
        self,
        client: Client,
        url: str,
        *,
        kind: Kind,
        sha256: str | None = None,
        max_age_s: float | None = None,
        refresh: bool = False,
        max_bytes: int = MAX_BYTES,
        progress: Progress = silent,
    ) -> CacheEntry:
        """The entry of ``url``, whose content is downloaded unless the cache holds a good copy.

        Args:
            client: the client to download with.
            url: absolute URL of the file.
            kind: what the body must be, such as CSV or a zip archive.
            sha256: digest that the publisher states; content with another digest is never kept.
            max_age_s: age in seconds up to which a copy is good; None for any age.
            refresh: ask the service even for a young copy.
            max_bytes: largest body that is accepted, in bytes.
            progress: called with the number of bytes received so far.

        Raises:
            OfflineError, NotPublishedError, DataError: the download failed; what was held before is still held, and the
            message says so.
            StoreError: the cache cannot be written.
        """
        asked_at = time.time()
        held = self._usable(url, sha256, asked_at - max_age_s if max_age_s is not None else 0.0)
        if held and not refresh:
            return held
        with store.writing(self.root), self._locked(url):
            # Another process may have downloaded the file while this one waited for the lock.
            held = self._usable(url, sha256, asked_at)
            if held:
                return held
            try:
                return self._download(client, url, kind=kind, sha256=sha256, max_bytes=max_bytes, progress=progress)
            except DataError as error:
                old = self.entry(url)
                if old is None:
                    raise
                message = (
                    f"{error}. The copy of {old.origin.fetched_at} is kept and untouched; leave out refresh to use it"
                )
                raise type(error)(message) from error

    def put(self, url: str, content: bytes) -> CacheEntry:
        """Keep ``content`` as the content of ``url``, for a file that was downloaded by other means."""
        with store.writing(self.root), self._locked(url):
            part = self._file("partial", _key(url))
            part.write_bytes(content)
            return self._keep(url, part, None, None)

    def _usable(self, url: str, sha256: str | None, not_before: float) -> CacheEntry | None:
        entry = self.entry(url)
        if entry is None or entry.fetched_at < not_before or (sha256 is not None and entry.sha256 != sha256):
            return None
        return entry

    def _download(
        self, client: Client, url: str, *, kind: Kind, sha256: str | None, max_bytes: int, progress: Progress
    ) -> CacheEntry:
        old = self.entry(url)
        part = self._file("partial", _key(url))
        # With the entity tag of a copy that the publisher's digest rules out, "not modified" would bring it back.
        etag = old.etag if old and sha256 in {None, old.sha256} else None
        done = client.download(url, part, kind=kind, max_bytes=max_bytes, progress=progress, etag=etag)
        if done is None:
            if old is None:
                raise DataError(f"{url}: the service says that nothing changed, but nothing is held")
            return self._record(replace(old, fetched_at=time.time()))
        actual = sha256_of_file(part)
        if sha256 is not None and actual != sha256:
            part.unlink()
            raise DataError(
                f"{url}: the file has SHA-256 {actual}, but its publisher states {sha256}; it was thrown away, pull "
                "again"
            )
        return self._keep(url, part, done.etag, done.last_modified)

    def _keep(self, url: str, part: Path, etag: str | None, last_modified: str | None) -> CacheEntry:
        """Move a finished download into place: first the content, then the entry that names it."""
        old = self.entry(url)
        sha256, size = sha256_of_file(part), part.stat().st_size
        blob = self._blob(sha256)
        blob.parent.mkdir(parents=True, exist_ok=True)
        part.replace(blob)
        earlier = () if old is None else (*old.earlier, old.sha256) if old.sha256 != sha256 else old.earlier
        return self._record(CacheEntry(url, sha256, size, time.time(), etag, last_modified, earlier))

    def _record(self, entry: CacheEntry) -> CacheEntry:
        write_json(self._file("entries", f"{_key(entry.url)}.json"), asdict(entry))
        return entry

    def _blob(self, sha256: str) -> Path:
        return self.root / "blobs" / sha256[:2] / sha256

    def _file(self, folder: str, name: str) -> Path:
        return self.root / folder / name

    @contextlib.contextmanager
    def _locked(self, url: str) -> Iterator[None]:
        """Hold the lock of ``url``; the kernel drops it even after kill -9."""
        with store_errors(self.root, store.ELSEWHERE):
            for folder in ("blobs", "entries", "partial", "locks"):
                (self.root / folder).mkdir(parents=True, exist_ok=True)
        with take(self._file("locks", _key(url)), mode=0o644):
            yield


def write_json(path: Path, content: object) -> None:
    """Write a JSON file in one step, so that a reader sees the old content or the new, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        json.dump(content, file, indent=1)


def _key(url: str) -> str:
    return sha256_of_text(url)[:40]
