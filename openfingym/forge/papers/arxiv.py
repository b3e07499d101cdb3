"""arXiv: its query interface (an Atom feed in pages) and its files, politely and only once.

Between two requests there is a pause, as arXiv asks for; a refusal that says when to come again is heeded. A file that
was had is kept by number and version, so that an interrupted harvest goes on where it stopped.
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
from openfingym.forge.papers.limits import FILE_BYTES
from openfingym.headers import retry_after_s
from openfingym.version import __version__

BASE_URL = "https://export.arxiv.org"
PAUSE_S = 3.0
"""Between the beginnings of two requests."""
PAGE = 50
TRIES = 5
LONGEST_WAIT_S = 120.0
_ATOM = "{http://www.w3.org/2005/Atom}"
_SEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_IDENTIFIER = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?")


@dataclass(frozen=True)
class ArxivEntry:
    """A paper of a feed."""

    identifier: str
    """With its version: ``2606.26350v1``."""
    title: str
    abstract: str
    address: str
    """Of its page."""
    licence: str


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
            cache: folder for the files that were had.
            base_url: address of the service.
            pause_s: seconds between the beginnings of two requests.
            page: entries that are asked for at once.
            most_wait_s: longest time that a refusal is heeded for; what asks for more fails.
        """
        self._cache, self._pause, self._page, self._most_wait = cache, pause_s, page, most_wait_s
        agent = {"User-Agent": f"openfingym/{__version__} (forge)"}
        self._client = httpx.Client(base_url=base_url, headers=agent, timeout=60.0, follow_redirects=True)
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def search(self, query: str, *, most: int = 200) -> Iterator[ArxivEntry]:
        """The papers that a query finds, newest first.

        Args:
            query: in arXiv's own language, as ``cat:q-fin.ST AND abs:forecasting``.
            most: papers at most.

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
        """Name and bytes of a paper's file: its source, or its PDF where there is no source.

        Raises:
            DataError: neither can be had, or it is larger than what is read.
        """
        name = entry.identifier.replace("/", "_")
        for suffix in (".tar.gz", ".pdf"):
            kept = self._cache / f"{name}{suffix}"
            if kept.is_file():
                return kept.name, kept.read_bytes()
        content = self._get(f"/e-print/{entry.identifier}", {}, missing=True)
        if content is None or content[:2] != b"\x1f\x8b":
            is_pdf = content is not None and content[:5] == b"%PDF-"
            content = content if is_pdf else self._get(f"/pdf/{entry.identifier}", {})
        assert content is not None
        kept = self._cache / f"{name}{'.pdf' if content[:5] == b'%PDF-' else '.tar.gz'}"
        self._cache.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name(f".{kept.name}.partial")
        partial.write_bytes(content)
        partial.replace(kept)
        return kept.name, content

    def _get(self, path: str, asked: dict[str, str], *, missing: bool = False) -> bytes | None:
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
    content = bytearray()
    for part in answer.iter_bytes():
        content += part
        if len(content) > FILE_BYTES:
            raise DataError(f"{path}: larger than {FILE_BYTES >> 20} MiB, the most that is read of a paper")
    return bytes(content)


def _feed(content: bytes | None) -> tuple[int, list[ArxivEntry]]:
    """How many papers a query finds in all, and those of one page."""
    from lxml import etree

    try:
        root = etree.fromstring(
            content or b"", etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        )
        total = int(root.findtext(f"{_SEARCH}totalResults", "0"))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DataError(f"arXiv's answer is no feed ({error}); run it again later") from None
    entries = []
    for one in root.iter(f"{_ATOM}entry"):
        address, title = one.findtext(f"{_ATOM}id", ""), " ".join(one.findtext(f"{_ATOM}title", "").split())
        if title == "Error":
            raise DataError(f"arXiv refuses the query: {' '.join(one.findtext(f'{_ATOM}summary', '').split())}")
        identifier = address.partition("/abs/")[2]
        # It becomes a path here and there, so nothing but a number of arXiv's may be one.
        if not _IDENTIFIER.fullmatch(identifier):
            raise DataError(f"arXiv's answer has the number {identifier[:60]!r}, which is none of its own")
        abstract = " ".join(one.findtext(f"{_ATOM}summary", "").split())
        entries.append(ArxivEntry(identifier, title, abstract, address, one.findtext(f"{_ARXIV}license", "")))
    return total, entries


def _error_of(content: bytes) -> str:
    try:
        _feed(content)
    except DataError as error:
        return str(error)
    return "no reason is given"
