"""The client of arXiv against a server that speaks its wire format: pages, refusals, empty pages, missing sources."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

import pytest

from openfingym.errors import DataError
from openfingym_forge.papers import arxiv as arxiv_client
from openfingym_forge.papers.arxiv import Arxiv
from openfingym_forge.papers.harvest import harvest
from openfingym_forge.papers.limits import FILE_BYTES

CORPUS = Path(__file__).parents[1] / "corpus"
FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">ArXiv Query: {query}</title>
<opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{total}</opensearch:totalResults>
{entries}</feed>"""
ENTRY = """<entry><id>http://arxiv.org/abs/{number}</id><title>A paper
  on {number}</title><summary>  It forecasts. </summary><link href="x" rel="alternate"/></entry>"""


class Service(http.server.ThreadingHTTPServer):
    """Five papers; what it was asked is kept, and refusals may be put before an answer."""

    asked: list[str]
    refusals: list[tuple[int, str]]
    empty_pages: int
    number_of_last: str
    huge: str = ""


class Handler(http.server.BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        assert self.headers["User-Agent"].startswith("openfingym/")
        address = urlsplit(self.path)
        if self.server.refusals:
            status, after = self.server.refusals.pop(0)
            return self.answer(status, b"Rate exceeded.", {"Retry-After": after})
        if address.path == "/api/query":
            return self.query(parse_qs(address.query))
        if address.path == "/e-print/2601.00001v2":
            return self.answer(200, (CORPUS / "dry-bulk.tar.gz").read_bytes())
        if self.server.huge and address.path == f"/e-print/{self.server.huge}":
            return self.answer(200, b"\x1f\x8b" + bytes(FILE_BYTES))
        if address.path == "/pdf/2601.00002v2":
            return self.answer(200, (CORPUS / "treasury-curve.pdf").read_bytes())
        return self.answer(404, b"no")

    def query(self, asked: dict[str, list[str]]) -> None:
        query, start, count = asked["search_query"][0], int(asked["start"][0]), int(asked["max_results"][0])
        if query == "wrong(":
            entry = (
                "<entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>bad query</summary></entry>"
            )
            return self.answer(400, FEED.format(query=escape(query), total=1, entries=entry).encode())
        numbers = [f"2601.0000{i}v2" for i in range(1, 5)] + [self.server.number_of_last]
        if start and self.server.empty_pages:
            self.server.empty_pages -= 1
            numbers = []
        entries = "".join(ENTRY.format(number=number) for number in numbers[start : start + count])
        return self.answer(200, FEED.format(query=escape(query), total=5, entries=entries).encode())

    def answer(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(("127.0.0.1", 0), Handler) as server:
        server.asked, server.refusals, server.empty_pages, server.number_of_last = [], [], 0, "q-fin/0601005v1"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def client(service: Service, cache: Path, most_wait_s: float = 5.0) -> Arxiv:
    return Arxiv(
        cache, base_url=f"http://127.0.0.1:{service.server_port}", pause_s=0.01, page=2, most_wait_s=most_wait_s
    )


def test_pages_are_put_together_over_refusals_and_empty_pages(service: Service, tmp_path: Path) -> None:
    service.refusals, service.empty_pages = [(503, "0"), (429, "0")], 1
    with client(service, tmp_path) as arxiv:
        found = list(arxiv.search("cat:q-fin.ST"))
    assert [one.identifier for one in found] == [f"2601.0000{i}v2" for i in range(1, 5)] + ["q-fin/0601005v1"]
    assert found[0].title == "A paper on 2601.00001v2"
    assert len(service.asked) == 2 + 1 + 3


def test_source_comes_before_pdf_and_each_is_had_once(service: Service, tmp_path: Path) -> None:
    with client(service, tmp_path) as arxiv:
        first, second, *_ = arxiv.search("cat:q-fin.ST", most=2)
        assert arxiv.fetch(first) == ("2601.00001v2.tar.gz", (CORPUS / "dry-bulk.tar.gz").read_bytes())
        assert arxiv.fetch(second)[0] == "2601.00002v2.pdf"
    asked = len(service.asked)
    with client(service, tmp_path) as again:
        assert again.fetch(first)[0] == "2601.00001v2.tar.gz"
        assert again.fetch(second)[0] == "2601.00002v2.pdf"
    assert len(service.asked) == asked


def test_a_paper_that_cannot_be_had_is_refused_and_the_others_go_on(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arxiv_client, "Arxiv", lambda cache: client(service, cache))
    service.huge = "2601.00004v2"
    found = {one.origin.rpartition("/abs/")[2]: one for one in harvest("arxiv:cat:q-fin.ST", cache=tmp_path)}
    assert [number for number, one in found.items() if one.paper is not None] == ["2601.00001v2", "2601.00002v2"]
    told = {number: one.reason.text for number, one in found.items() if one.reason is not None and one.paper is None}
    assert told.keys() == {"2601.00003v2", "2601.00004v2", "q-fin/0601005v1"}
    assert "withdrawn" in told["2601.00003v2"]
    assert "larger than 32 MiB" in told["2601.00004v2"]
    assert all(found[number].reason.code == "no-text" for number in told)  # type: ignore[union-attr]


def test_a_service_that_is_down_refuses_no_paper(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arxiv_client, "Arxiv", lambda cache: client(service, cache))
    harvested = harvest("arxiv:cat:q-fin.ST", cache=tmp_path)
    next(harvested)
    service.refusals = [(503, "3600")]
    with pytest.raises(DataError, match="503"):
        next(harvested)


def test_what_goes_wrong_is_said(service: Service, tmp_path: Path) -> None:
    with client(service, tmp_path) as arxiv:
        with pytest.raises(DataError, match="bad query"):
            list(arxiv.search("wrong("))
        service.refusals = [(503, "3600")]
        with pytest.raises(DataError, match="503"):
            list(arxiv.search("all"))
        service.number_of_last = "../../../etc/passwd"
        with pytest.raises(DataError, match="none of its own"):
            list(arxiv.search("all"))
