"""arXiv: its query interface (an Atom feed in pages) and its files, politely, and each file only once.

Between two requests there is a pause, as arXiv asks for; a refusal that says when to come again is heeded. A file that
was downloaded is kept by number and version, so that an interrupted harvest goes on where it stopped.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx

from openfingym.errors import DataError
from openfingym.headers import retry_after_s
from openfingym.version import __version__
from openfingym_forge.papers.limits import FILE_BYTES, UnreadableError

BASE_URL = "https://export.arxiv.org"
PAUSE_S = 3.0
"""Seconds between the beginnings of two requests: what arXiv's terms of use ask for."""
PAGE = 50
"""Entries that are asked for at once."""
TRIES = 5
"""How often a request is made before it fails."""
LONGEST_WAIT_S = 120.0
"""Longest time between two tries of a request."""
_ATOM = "{http://www.w3.org/2005/Atom}"
_SEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_IDENTIFIER = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?")


@dataclass(frozen=True)
class ArxivEntry:
    """A paper of a feed."""

    identifier: str
    """Number at arXiv with the version, such as ``2606.26350v1``."""
    title: str
    abstract: str
    address: str
    """Address of the paper's page."""
    licence: str
    """Address of the licence; empty where the feed states none."""


class _TooLargeError(DataError):
    """An answer is larger than what is read."""


class Arxiv:
    """The query interface and the files of arXiv."""

    def __init__(
        self,
        cache: Path,
        *,
        base_url: str = BASE_URL,
        pause_s: float = PAUSE_S,
        page: int = PAGE,
        most_wait_s: float = LONGEST_WAIT_S,
    ) -> None:
        """A client.

        Args:
            cache: folder in which downloaded files are kept.
            base_url: address of the service.
            pause_s: seconds between the beginnings of two requests.
            page: number of entries that are asked for at once.
            most_wait_s: seconds that a refusal may ask to wait; a request that would have to wait longer fails.
        """
        self._cache, self._pause, self._page, self._most_wait = cache, pause_s, page, most_wait_s
        agent = {"User-Agent": f"openfingym/{__version__} (forge)"}
        self._client = httpx.Client(base_url=base_url, headers=agent, timeout=60.0, follow_redirects=True)
        # On the clock of time.monotonic: when the next request may be made.
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def search(self, query: str, *, most: int = 200) -> Iterator[ArxivEntry]:
        """The papers that a query finds, the newest first.

        Args:
            query: query in arXiv's own language, such as ``cat:q-fin.ST AND abs:forecasting``.
            most: largest number of papers.

        Raises:
            DataError: the query is wrong, or the service cannot be reached.
        """
        start, total, empty = 0, most, 0
        while start < min(total, most):
            count = min(self._page, most - start)
            order = {"sortBy": "submittedDate", "sortOrder": "descending"}
            asked = {"search_query": query, "start": str(start), "max_results": str(count), **order}
            total, entries = _feed(self._get("/api/query", asked))
            if not entries:
                # The service now and then gives an empty page in the middle of its results.
                empty += 1
                if empty >= TRIES or start >= total:
                    break
                continue
            empty = 0
            yield from entries[: most - start]
            start += len(entries)

    def fetch(self, entry: ArxivEntry) -> tuple[str, bytes]:
        """Name and bytes of a paper's file: its source, or its PDF if there is no source.

        Raises:
            UnreadableError: arXiv has neither, as of a paper that was withdrawn, or the file is larger than what is
                read.
            DataError: arXiv cannot be reached, or refuses to give the file.
        """
        # Older numbers have a slash: q-fin/0512014.
        name = entry.identifier.replace("/", "_")
        for suffix in (".tar.gz", ".pdf"):
            kept = self._cache / f"{name}{suffix}"
            if kept.is_file():
                return kept.name, kept.read_bytes()
        try:
            content = self._get(f"/e-print/{entry.identifier}", {}, missing=True)
            # Sources come compressed. A paper that its authors sent as a PDF has that PDF in the place of its source.
            if content is None or content[:2] != b"\x1f\x8b":
                is_pdf = content is not None and content[:5] == b"%PDF-"
                content = content if is_pdf else self._get(f"/pdf/{entry.identifier}", {}, missing=True)
        except _TooLargeError as error:
            raise UnreadableError(str(error)) from None
        if content is None:
            raise UnreadableError("arXiv has neither source nor PDF of it, as of a paper that was withdrawn")
        kept = self._cache / f"{name}{'.pdf' if content[:5] == b'%PDF-' else '.tar.gz'}"
        self._cache.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed: half a file would be taken for the whole one by the next harvest.
        partial = kept.with_name(f".{kept.name}.partial")
        partial.write_bytes(content)
        partial.replace(kept)
        return kept.name, content

    def _get(self, path: str, asked: dict[str, str], *, missing: bool = False) -> bytes | None:
        """The body of an answer.

        Args:
            path: path of the request.
            asked: parameters of the request.
            missing: whether status 404 is an answer, which is None.

        Raises:
            DataError: the request is refused, or fails every time.
        """
        problem = ""
        for attempt in range(TRIES):
            time.sleep(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + self._pause
            wait = self._pause * 2**attempt
            try:
                with self._client.stream("GET", path, params=asked) as answer:
                    if answer.status_code == 200:
                        return _read(answer, path)
                    if answer.status_code == 404 and missing:
                        return None
                    problem = f"status {answer.status_code}"
                    # A query that arXiv cannot read: the reason is in the feed, and another try would not help.
                    if answer.status_code == 400:
                        detail = _error_of(_read(answer, path))
                        raise DataError(f"arXiv refuses the query {asked.get('search_query', path)!r}: {detail}")
                    if answer.status_code not in {429, 500, 502, 503, 504}:
                        break
                    wait = max(wait, retry_after_s(answer.headers) or 0.0)
            except httpx.TransportError as error:
                problem = str(error) or type(error).__name__
            if wait > self._most_wait:
                break
            self._next = max(self._next, time.monotonic() + wait)
        raise DataError(f"{self._client.base_url}{path.lstrip('/')}: cannot be had ({problem}); run it again later")


def _read(answer: httpx.Response, path: str) -> bytes:
    """The body of an answer, counted as it comes: its stated length may be missing or wrong."""
    content = bytearray()
    for part in answer.iter_bytes():
        content += part
        if len(content) > FILE_BYTES:
            raise _TooLargeError(f"{path}: larger than {FILE_BYTES >> 20} MiB, the most that is read of a paper")
    return bytes(content)


def _feed(content: bytes | None) -> tuple[int, list[ArxivEntry]]:
    """How many papers a query finds in all, and those of one page."""
    from lxml import etree

    try:
        # XML from the network: entities may expand without end, or name files of this machine.
        root = etree.fromstring(
            content or b"", etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        )
        total = int(root.findtext(f"{_SEARCH}totalResults", "0"))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DataError(f"arXiv's answer is no feed ({error}); run it again later") from None
    entries = []
    for element in root.iter(f"{_ATOM}entry"):
        address, title = element.findtext(f"{_ATOM}id", ""), " ".join(element.findtext(f"{_ATOM}title", "").split())
        # arXiv reports an error as the only entry of a feed.
        if title == "Error":
            raise DataError(f"arXiv refuses the query: {' '.join(element.findtext(f'{_ATOM}summary', '').split())}")
        identifier = address.partition("/abs/")[2]
        # It becomes a path on this machine and at the service, so nothing but a number of arXiv's is taken.
        if not _IDENTIFIER.fullmatch(identifier):
            raise DataError(f"arXiv's answer has the number {identifier[:60]!r}, which is none of its own")
        abstract = " ".join(element.findtext(f"{_ATOM}summary", "").split())
        entries.append(ArxivEntry(identifier, title, abstract, address, element.findtext(f"{_ARXIV}license", "")))
    return total, entries


def _error_of(content: bytes) -> str:
    """The reason that a feed of an error gives."""
    try:
        _feed(content)
    except DataError as error:
        return str(error)
    return "no reason is given"
