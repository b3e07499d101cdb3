"""A server of GDELT's files in their real format, with what goes wrong with them, and a plain reading of the rules."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.gdelt.export import COLUMNS

OK_TEXT = (
    "<html><head><title>Ministers meet</title></head><body><nav><p>Home and other things to click on</p></nav>"
    "<p>The ministers of both countries met on Monday to discuss the border and agreed to talk again.</p>"
    "<p>Too short.</p><p>Officials said that the meeting had been a success for all of those who took part.</p>"
    "</body></html>"
)


@dataclass(frozen=True)
class Row:
    """One row of an export file, in the columns that matter."""

    id: int
    day: str
    one: str
    two: str
    code: str
    base: str
    mentions: int
    added: str
    url: str

    def line(self) -> str:
        values = dict.fromkeys(COLUMNS, "")
        values |= {
            "GLOBALEVENTID": str(self.id), "SQLDATE": self.day, "Actor1CountryCode": self.one,
            "Actor2CountryCode": self.two, "EventCode": self.code, "EventBaseCode": self.base,
            "EventRootCode": self.base[:2], "NumMentions": str(self.mentions), "DATEADDED": self.added,
            "SOURCEURL": self.url, "Actor1Name": 'THE "QUOTED', "ActionGeo_FullName": "São Paulo, Brazil",
            "QuadClass": "1", "GoldsteinScale": "-2.0", "Actor1Geo_Lat": "38.8951",
        }  # fmt: skip
        return "\t".join(values.values())


def made_rows(first: datetime, quarters: int, rng: Random, each: int = 12) -> dict[str, list[Row]]:
    """Rows by the stamp of their file: mostly sound, and some of every kind that is dropped."""
    found: dict[str, list[Row]] = {}
    number = 0
    recent: list[str] = []
    for quarter in range(quarters):
        time = first + timedelta(minutes=15 * quarter)
        stamp, rows = f"{time:%Y%m%d%H%M%S}", []
        for _ in range(each):
            number += 1
            one, two = rng.sample(["USA", "ROM", "CHN", "FRA"], 2)
            code = rng.choice(["042", "0211", "190", "1121"])
            url = (
                rng.choice(recent[-40:]) if recent and rng.random() < 0.3 else f"https://news.example/{stamp}/{number}"
            )
            recent.append(url)
            row = [number, f"{time:%Y%m%d}", one, two, code, code[:3], rng.randint(1, 30), stamp, url]
            odd = rng.random()
            if odd < 0.04:
                row[1] = f"{time - timedelta(days=rng.randint(1, 40)):%Y%m%d}"
            elif odd < 0.08:
                row[3] = one
            elif odd < 0.12:
                row[2] = rng.choice(["EUR", "ANT", "", "BAG", "ZZZ"])
            elif odd < 0.15:
                row[4], row[5] = rng.choice([("--", "--"), ("14", "14"), ("", ""), ("X", "X")])
            elif odd < 0.17:
                row[1] = "20230231"
            elif odd < 0.19:
                row[8] = rng.choice(["BBC Monitoring", ""])
            elif odd < 0.21:
                row[2] = "GZS"
            rows.append(Row(*row))
        found[stamp] = rows
    return found


def expected_events(
    files: dict[str, list[Row]], threshold: int
) -> dict[tuple[str, str, str, str], tuple[int, int, str]]:
    """(mentions, articles, time known) of each event by day, head, relation and tail: the rules, a row at a time."""
    first_day: dict[str, str] = {}
    for stamp, rows in sorted(files.items()):
        for row in rows:
            first_day.setdefault(row.url, stamp[:8])
    seen: set[int] = set()
    sums: Counter[tuple[str, str, str, str]] = Counter()
    urls: dict[tuple[str, str, str, str], set[str]] = defaultdict(set)
    known: dict[tuple[str, str, str, str], tuple[int, int, str]] = {}
    for stamp, rows in sorted(files.items()):
        touched = set()
        for row in rows:
            head, tail = taxonomy.country_of_actor(row.one), taxonomy.country_of_actor(row.two)
            relation = taxonomy.second_level(row.base) or taxonomy.second_level(row.code)
            sound = row.day == stamp[:8] and head and tail and head != tail and relation and row.url.startswith("http")
            if row.id in seen or not sound or first_day[row.url] != row.day:
                continue
            seen.add(row.id)
            event = (row.day, str(head), str(relation), str(tail))
            sums[event] += row.mentions
            urls[event].add(row.url)
            touched.add(event)
        for event in touched:
            if sums[event] > threshold and event not in known:
                known[event] = (sums[event], len(urls[event]), stamp)
    return known


@dataclass
class Gdelt:
    """What the server has: bytes by name, and how many times each was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    faults: dict[str, Callable[[int], bytes | int | None]] = field(default_factory=dict)
    """By name: given how often it was asked for, other bytes, a status, or None for what there is."""
    cut: set[str] = field(default_factory=set)
    """Names of which the first answer ends half-way."""
    on_request: Callable[[str], None] | None = None
    url: str = ""

    def publish(self, rows: dict[str, list[Row]], *, bad: dict[str, bytes] | None = None) -> None:
        lines = []
        for stamp, found in rows.items():
            content = "".join(f"{row.line()}\n" for row in found).encode() + (bad or {}).get(stamp, b"")
            name = f"{stamp}.export.CSV.zip"
            self.files[name] = zipped(f"{stamp}.export.CSV", content)
            lines += listed(name, self.files[name])
        self.files["masterfilelist.txt"] = "".join(lines).encode()


def zipped(name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


def listed(name: str, content: bytes) -> list[str]:
    """The lines of the list for an export file: beside it there are two of other kinds."""
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    there = "http://data.gdeltproject.org/gdeltv2/"
    return [
        f"{len(content)} {digest} {there}{name}\n",
        f"12 {digest} {there}{name.replace('export', 'mentions')}\n",
        f"13 {digest} {there}{name.replace('export.CSV', 'gkg.csv')}\n",
    ]


@contextmanager
def serving(gdelt: Gdelt) -> Iterator[Gdelt]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.path.lstrip("/")
            gdelt.asked[name] += 1
            if gdelt.on_request is not None:
                gdelt.on_request(name)
            fault = gdelt.faults.get(name)
            answer = fault(gdelt.asked[name]) if fault else None
            content = gdelt.files.get(name) if answer is None else answer
            if content is None or isinstance(content, int):
                self.send_response(content or 404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            html = content.startswith(b"<")
            self.send_header("Content-Type", "text/html; charset=utf-8" if html else "application/octet-stream")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            half = name in gdelt.cut and gdelt.asked[name] == 1
            self.wfile.write(content[: len(content) // 2] if half else content)
            if half:
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    gdelt.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield gdelt
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
