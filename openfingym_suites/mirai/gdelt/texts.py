"""The texts of articles for a pull: taken from a folder, fetched by their addresses, or replaced by titles alone."""

from __future__ import annotations

import ipaddress
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

from openfingym.data.sources.transport import Client, ClientPolicy
from openfingym.data.sources.wire import Kind, OfflineError, UnavailableError
from openfingym.digests import sha256_of_text
from openfingym.errors import DataError
from openfingym_suites.mirai.gdelt.cleaning import clean_text
from openfingym_suites.mirai.gdelt.pages import read_page, title_of_url
from openfingym_suites.mirai.tables import connection, quoted

MOST_BYTES = 8 << 20
"""Size of the largest page that is read, in bytes."""
MOST_ROBOTS_BYTES = 1 << 19
"""Size of the largest robots.txt that is read, in bytes."""
AGENT = "openfingym"
"""The user agent for which rules are looked up in a robots.txt."""
POLITE = ClientPolicy(
    attempts=2,
    longest_wait_s=20.0,
    connect_timeout_s=10.0,
    read_timeout_s=20.0,
    attempt_limit_s=60.0,
    pause_s=1.0,
    user_agent="Mozilla/5.0 (compatible; openfingym)",
)
"""Two attempts at most, and a second between two requests to one host."""
AWAY = "host not reached"
"""The reason for which a page has no text if its host cannot be reached."""
NO_RULES = "robots.txt not to be had"
"""The reason for which a page has no text if its host failed when it was asked for its robots.txt."""
_LOCAL_DOMAINS = frozenset({"internal", "local", "localhost"})
"""Top-level domains of names that are not of the public internet."""
_REASONS = ("not published", "refused with status", "gave up", "more than", "redirected", "certificate", "robots.txt")
"""Reasons as they stand in the messages of errors, without the address."""
_AGAIN = (AWAY, NO_RULES, "gave up")
"""Passing reasons, for which the next pull tries again."""
_CLOSED = RobotFileParser()
"""Rules that allow nothing."""
_CLOSED.parse(["User-agent: *", "Disallow: /"])
_SCHEMA = "CREATE TABLE IF NOT EXISTS pages (url TEXT PRIMARY KEY, reason TEXT NOT NULL, title TEXT, text TEXT)"


class TextStore:
    """Pages that were fetched, in a database on the disk: what is in it stays, however the process ends.

    Args:
        path: path of the database; it is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(self._open()) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(_SCHEMA)
            database.commit()

    def missing(self, urls: Iterable[str]) -> list[str]:
        """Those of some addresses that were not tried yet, or only failed for a passing reason, sorted."""
        with closing(self._open()) as database:
            query = "SELECT url FROM pages WHERE reason NOT IN (?, ?, ?)"
            known = {url for (url,) in database.execute(query, _AGAIN)}
        return sorted(set(urls) - known)

    def put(self, rows: Sequence[tuple[str, str, str | None, str | None]]) -> None:
        """Store pages.

        Args:
            rows: the url of each page, the reason why it has no text (empty if it has one), its title and its text.
        """
        with closing(self._open()) as database, database:
            database.executemany("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?)", rows)

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Url, title and text of the pages that have a text, in the order of their addresses."""
        with closing(self._open()) as database:
            yield from database.execute("SELECT url, title, text FROM pages WHERE reason = '' ORDER BY url")

    def reasons(self) -> dict[str, int]:
        """How many pages have no text, by the reason."""
        with closing(self._open()) as database:
            query = "SELECT reason, count(*) FROM pages WHERE reason <> '' GROUP BY 1 ORDER BY 2 DESC"
            return dict(database.execute(query).fetchall())

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60.0)


class Fetcher:
    """Fetches pages by their addresses, as far as the host's robots.txt allows it. Safe to share between threads.

    Args:
        client: the client to download with, whose policy says how often a host is asked.
        scratch: folder for pages while they are downloaded.
        local: whether addresses of this machine and its network may be fetched.
    """

    def __init__(self, client: Client, scratch: Path, *, local: bool = False) -> None:
        self._client = client
        self._scratch = scratch
        self._local = local
        self._rules: dict[str, RobotFileParser] = {}
        self._lock = threading.Lock()

    def fetch(self, url: str) -> tuple[str, str, str | None, str | None]:
        """Fetch a page; gives a row for :meth:`TextStore.put`, with the reason if it could not be read.

        Args:
            url: address of the page.

        Raises:
            StoreError: the disk is full.
        """
        # Addresses come from a file that anybody's news may be in: one must not make this machine ask its own network.
        if not self._local and is_local(urlsplit(url).hostname or ""):
            return url, "an address of this machine or network", None, None
        try:
            rules = self._rules_of(url)
            if not rules.can_fetch(AGENT, url):
                return url, NO_RULES if rules is _CLOSED else "robots.txt says no", None, None
            page = read_page(self._content(url, "html", MOST_BYTES))
        except OfflineError:
            return url, AWAY, None, None
        except DataError as error:
            return url, _short(error), None, None
        return url, "" if page.text else "no paragraphs", page.title or title_of_url(url), page.text

    def _rules_of(self, url: str) -> RobotFileParser:
        """The robots.txt of a page's host, which is asked for once.

        As RFC 9309 has it: a host without one allows everything, and one that fails when it is asked allows nothing.
        """
        parts = urlsplit(url)
        host = f"{parts.scheme}://{parts.netloc}"
        with self._lock:
            rules = self._rules.get(host)
        # Fetched outside the lock, so that other hosts do not wait; two threads may both ask for it, to no harm.
        if rules is None:
            rules = RobotFileParser()
            try:
                text = self._content(f"{host}/robots.txt", "csv", MOST_ROBOTS_BYTES).decode("utf-8", "replace")
                rules.parse(text.splitlines())
            except UnavailableError:
                rules = _CLOSED
            except OfflineError:
                # Not remembered: the next page of the host finds it there or away by itself.
                raise
            except DataError:
                rules.parse([])
            with self._lock:
                self._rules[host] = rules
        return rules

    def _content(self, url: str, kind: Kind, most: int) -> bytes:
        """The bytes of a page, by way of a file of this thread's own."""
        part = self._scratch / f"page-{threading.get_ident()}"
        part.unlink(missing_ok=True)
        try:
            self._client.download(url, part, kind=kind, max_bytes=most)
            return part.read_bytes()
        finally:
            part.unlink(missing_ok=True)


def fetch_texts(
    urls: Sequence[str],
    store: TextStore,
    scratch: Path,
    *,
    local: bool = False,
    policy: ClientPolicy = POLITE,
    connections: int = 8,
    most: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Fetch the pages that were not tried yet into the store.

    Args:
        urls: addresses of the articles.
        store: the store that pages are put into.
        scratch: folder for pages while they are downloaded.
        local: whether addresses of this machine and its network may be fetched.
        policy: timeouts, retries and pauses of the requests.
        connections: how many pages are fetched at once.
        most: the most pages to fetch; the rest is left to a later call. None for all.
        progress: called with the number of pages that are done, and of all that are to be fetched.
    """
    wanted = store.missing(urls)[:most]
    # In a shuffled order: neighbours in the alphabet are of one host, which must rest between two requests.
    wanted.sort(key=sha256_of_text)
    batch: list[tuple[str, str, str | None, str | None]] = []
    # The client looks at each host again, because a page may redirect to an address that no row may name.
    allows = None if local else lambda host: not is_local(host)
    with Client(policy, allows=allows) as client, ThreadPoolExecutor(connections) as pool:
        fetcher = Fetcher(client, scratch, local=local)
        for done, row in enumerate(pool.map(fetcher.fetch, wanted), 1):
            batch.append(row)
            # In batches, since each commit waits for the disk; what a killed process loses is a batch at most.
            if len(batch) >= 4 * connections or done == len(wanted):
                store.put(batch)
                batch.clear()
                if progress is not None:
                    progress(done, len(wanted))


def is_local(host: str) -> bool:
    """Whether a host is this machine or one of a private network, by how it is written; no name is looked up."""
    name = host.rstrip(".").lower()
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        last = name.rpartition(".")[2]
        # Resolvers also read 2130706433, 127.1 and 0x7f.1 as addresses. A name without a dot is of the own network.
        return "." not in name or last.isdecimal() or last.startswith("0x") or last in _LOCAL_DOMAINS


def texts_of_folder(folder: Path, scratch: Path) -> Iterator[tuple[str, str, str]]:
    """Url, title and text of the articles in a folder's files.

    Args:
        folder: folder with files ``*.parquet``, ``*.jsonl`` or ``*.jsonl.gz``, in subfolders too.
        scratch: folder that the database may spill to.

    Raises:
        DataError: there is no such file, or one lacks the columns url, title and text.
    """
    files = sorted(path for path in folder.rglob("*") if path.name.endswith((".parquet", ".jsonl", ".jsonl.gz")))
    if not files:
        raise DataError(f"{folder}: no .parquet, .jsonl or .jsonl.gz in it; each has url, title and text")
    import duckdb

    with connection(scratch) as database:
        for file in files:
            reader = "read_parquet" if file.name.endswith(".parquet") else "read_json"
            more = "" if reader == "read_parquet" else ", format = 'newline_delimited', columns = "
            shape = "" if not more else json.dumps(dict.fromkeys(("url", "title", "text"), "VARCHAR")).replace('"', "'")
            try:
                rows_of = database.execute(
                    f"SELECT url, coalesce(title, ''), text FROM {reader}({quoted(file)}{more}{shape}) "
                    "WHERE url IS NOT NULL AND text IS NOT NULL"
                )
                while rows := rows_of.fetchmany(2048):
                    yield from rows
            except duckdb.Error as error:
                raise DataError(f"{file}: {str(error).splitlines()[0]}; each file has url, title and text") from None


def write_texts(
    wanted: Path, texts: Iterable[tuple[str, str, str]] | None, target: Path, scratch: Path
) -> tuple[int, int]:
    """Write the cleaned texts of the wanted articles as a Parquet file of url, title and text.

    Args:
        wanted: path of the Parquet file of their addresses, in the column ``url``.
        texts: url, title and text of the articles that there are; None for titles alone, made of the addresses.
        target: path of the Parquet file to write.
        scratch: folder that the database may spill to.

    Returns:
        How many articles are written, and how many the cleaning dropped.
    """
    dropped = 0
    with connection(scratch) as database:
        urls = {url for (url,) in database.execute(f"SELECT url FROM read_parquet({quoted(wanted)})").fetchall()}
        lines = scratch / "texts.jsonl"
        kept = set()
        with lines.open("w", encoding="utf-8") as stream:
            untitled = ((url, title_of_url(url), "") for url in sorted(urls))
            for url, title, text in untitled if texts is None else texts:
                if url not in urls or url in kept:
                    continue
                cleaned = clean_text(text) if texts is not None else ""
                if cleaned is None:
                    dropped += 1
                    continue
                kept.add(url)
                row = {"url": url, "title": " ".join(title.split()) or title_of_url(url), "text": cleaned}
                stream.write(json.dumps(row) + "\n")
        columns = "{'url': 'VARCHAR', 'title': 'VARCHAR', 'text': 'VARCHAR'}"
        source = (
            f"read_json({quoted(lines)}, format = 'newline_delimited', columns = {columns})"
            if kept
            else "(SELECT '' AS url, '' AS title, '' AS text) WHERE false"
        )
        database.execute(f"COPY (FROM {source} ORDER BY url) TO {quoted(target)} (FORMAT parquet)")
    return len(kept), dropped


def _short(error: DataError) -> str:
    """The reason of an error without the address, so that the same ones can be counted."""
    text = str(error)
    return next((reason for reason in _REASONS if reason in text), "no web page")
