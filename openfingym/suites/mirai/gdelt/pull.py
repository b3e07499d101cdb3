"""Pulling months of GDELT into a vault: from the list of files to the final tables, going on where it was."""

from __future__ import annotations

import calendar
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from openfingym import machine, store
from openfingym.data.sources.transport import Client, ClientPolicy
from openfingym.digests import sha256_of_json
from openfingym.errors import DataError, UsageError
from openfingym.files.locks import take
from openfingym.files.whole import owned_folder, store_errors
from openfingym.suites.mirai.gdelt.days import Day, Days
from openfingym.suites.mirai.gdelt.listing import MASTER_LIST, read_listing
from openfingym.suites.mirai.gdelt.reducing import Reduce, Reducers, reduced
from openfingym.suites.mirai.gdelt.texts import POLITE, TextStore, fetch_texts, is_local, texts_of_folder, write_texts
from openfingym.suites.mirai.tables import THRESHOLD, connection, quoted, write_vault
from openfingym.vault import Source
from openfingym.vault.engine import engine_errors

if TYPE_CHECKING:
    from openfingym.vault import Vault

BASE_URL = "http://data.gdeltproject.org/gdeltv2"
"""Where GDELT publishes the list and the files."""
NAME = "mirai-gdelt"
LIST_BYTES = 1 << 30
FEW = 4
"""Days that are reduced in this process: to start others takes as long."""
FIRST_MONTH = date(2015, 2, 1)
"""GDELT 2.0 begins in February 2015."""
SOURCE = Source(
    name="The GDELT Project, GDELT 2.0 event database, 15-minute export files",
    licence="unlimited and unrestricted use with citation of the GDELT Project (www.gdeltproject.org/about.html)",
    url=BASE_URL,
    note="Coded by a program from news: in a sample of the paper's, 0.82 of the events were right.",
)
TEXTS = Source(
    name="Articles that the events were coded from",
    licence="their publishers'; for research of your own, not to be passed on",
    note="Fetched after the event: a publisher may have edited a text since it was first seen.",
)
TITLES = Source(
    name="Titles made of the articles' addresses",
    licence="unlimited, as the event database",
    note="No text of an article is here, and the title is the words of its address.",
)


@dataclass(frozen=True)
class PullOptions:
    """What to pull, and how."""

    first: str
    last: str
    """Months, such as ``2023-01`` and ``2024-02``, both included."""
    base_url: str = BASE_URL
    work: Path | None = None
    """Folder for what is needed to go on; below the store if None."""
    folder: Path | None = None
    """Where the vault is written; the store if None."""
    texts: Path | None = None
    """Folder with texts of articles."""
    fetch: bool = False
    """Whether the articles' pages are fetched by their addresses."""
    most_pages: int | None = None
    """Pages to fetch at most in this pull."""
    threshold: int = THRESHOLD
    connections: int = 4
    pause_s: float = 0.02
    """Shortest time between two requests for files of GDELT's."""
    page_policy: ClientPolicy = POLITE
    """How patient and polite the fetching of pages is."""

    def __post_init__(self) -> None:
        if self.fetch and self.texts:
            raise UsageError("texts come from a folder or are fetched, not both")
        if _span(self.first)[0] > _span(self.last)[0]:
            raise UsageError(f"from {self.first} to {self.last} is backwards")


@dataclass(frozen=True)
class PullReport:
    """What a pull came to."""

    vault: Vault
    days: tuple[Day, ...]
    articles: int
    dropped: int
    """Articles that the cleaning of texts dropped."""
    without_text: dict[str, int]
    """Articles whose page could not be read, by the reason."""

    @property
    def rows(self) -> int:
        """Rows in all files."""
        return sum(day.rows for day in self.days)

    @property
    def gaps(self) -> dict[str, str]:
        """Files that are not in it, with the reason."""
        return {name: reason for day in self.days for name, reason in day.gaps.items()}


def _untold(line: str) -> None:
    """Tell nobody."""
    del line


def pull(options: PullOptions, told: Callable[[str], None] = _untold) -> PullReport:
    """Pull months into a vault. What an earlier pull has done is not done again, however that one ended.

    Args:
        options: what to pull, and how.
        told: called with a line for people about each day and step.

    Raises:
        UsageError: the folder of the vault exists.
        OfflineError: the service cannot be reached.
        DataError: the list cannot be read, or no event is left.
        StoreError: the disk is full, or a folder cannot be written.
    """
    first, last = _span(options.first)[0], _span(options.last)[1]
    if options.folder is not None and options.folder.exists():
        raise UsageError(f"{options.folder} exists already; a snapshot never changes, so choose another folder")
    work = options.work or store.home() / "pulls" / NAME
    with store_errors(work, "choose another folder with --work"), engine_errors(f"{work}"):
        work.mkdir(parents=True, exist_ok=True)
        # Two pulls in one folder would take each other's files.
        with take(work / ".lock"), Client(ClientPolicy(pause_s=options.pause_s)) as client:
            days, made = _pull_days(options, work, client, first, last, told)
            with owned_folder(work / ".final") as scratch:
                return _finish(options, work, days, made, scratch, told)


def _pull_days(
    options: PullOptions, work: Path, client: Client, first: date, last: date, told: Callable[[str], None]
) -> tuple[Days, list[Day]]:
    told(f"reading the list of files at {options.base_url}")
    part = work / f"{MASTER_LIST}.part"
    client.download(f"{options.base_url.rstrip('/')}/{MASTER_LIST}", part, kind="csv", max_bytes=LIST_BYTES)
    part.replace(work / MASTER_LIST)
    listing = read_listing(work / MASTER_LIST, first, last)
    if not listing:
        raise DataError(f"the list at {options.base_url} has no export file from {first} to {last}")
    days = Days(work, client, options.base_url, connections=options.connections)

    span = list(_days(first, last))
    missing = sum(day in listing and days.done(day, listing[day]) is None for day in span)
    cores = machine.cores()

    def have(day: date) -> Day:
        listed = listing.get(day, [])
        found = days.done(day, listed)
        if found is None:
            found = days.pull(day, listed, reduce)
            without = f", {len(found.gaps)} files missing" if found.gaps else ""
            told(f"{day}: {found.rows} rows in {found.files} files, {found.kept} kept{without}")
        return found

    with contextlib.ExitStack() as resources:
        reduce: Reduce = reduced
        if missing > FEW and cores > 1:
            reduce = resources.enter_context(Reducers(cores))
        # One day more than are reduced at once: its files are downloaded meanwhile.
        pool = ThreadPoolExecutor(cores + 1)
        # After an error, days that have not begun need not.
        resources.callback(pool.shutdown, cancel_futures=True)
        return days, list(pool.map(have, span))


def _finish(
    options: PullOptions, work: Path, days: Days, made: list[Day], scratch: Path, told: Callable[[str], None]
) -> PullReport:
    """Make the final tables of all days, and the vault."""
    records, wanted, texts = (scratch / f"{name}.parquet" for name in ("records", "wanted", "texts"))
    _first_dates(days, made, records, wanted, options.threshold, scratch)
    without: dict[str, int] = {}
    if options.texts:
        told(f"taking texts from {options.texts}")
        kept, dropped = write_texts(wanted, texts_of_folder(options.texts, scratch), texts, scratch)
    elif options.fetch:
        pages = TextStore(work / "texts.sqlite")
        _fetch(options, wanted, pages, scratch, told)
        kept, dropped = write_texts(wanted, pages.texts(), texts, scratch)
        without = pages.reasons()
    else:
        told("no texts: titles are made of the addresses")
        kept, dropped = write_texts(wanted, None, texts, scratch)
    told(f"{kept} articles, {dropped} dropped by the cleaning")
    vault = write_vault(
        records,
        texts,
        options.folder,
        name=NAME,
        title=f"International events and news from GDELT 2.0, {options.first} to {options.last}",
        sources=[SOURCE, TEXTS if options.texts or options.fetch else TITLES],
        simulated=False,
        notes=_notes(options, made),
        threshold=options.threshold,
    )
    return PullReport(vault, tuple(made), kept, dropped, without)


def _first_dates(days: Days, made: list[Day], records: Path, wanted: Path, threshold: int, scratch: Path) -> None:
    """Write the rows whose article was added on the event's day for the first time, and the articles of events that
    have enough mentions.
    """
    dates = [date.fromisoformat(day.day) for day in made if day.files]
    rows = ", ".join(quoted(days.records(day)) for day in dates)
    with connection(scratch) as database:
        database.execute("CREATE TABLE seen (url UBIGINT, day DATE)")
        database.execute(f"CREATE TABLE candidates AS FROM read_parquet([{rows}])")
        for day in dates:
            # A day at a time, so that what is held is no more than the addresses that are asked for.
            database.execute(
                f"INSERT INTO seen SELECT url, ?::DATE FROM read_parquet({quoted(days.urls(day))}) "
                "WHERE url IN (SELECT number FROM candidates)",
                [day],
            )
        database.execute(
            f"""COPY (
                SELECT c.day, head, relation, tail, mentions, c.url, added
                FROM candidates AS c
                JOIN (SELECT url, min(day) AS first FROM seen GROUP BY url) AS s
                     ON s.url = number AND s.first = c.day
                ORDER BY added, c.day, head, tail, relation, c.url, mentions
            ) TO {quoted(records)} (FORMAT parquet, COMPRESSION zstd)"""
        )
        database.execute(
            f"""COPY (
                SELECT DISTINCT url FROM read_parquet({quoted(records)}) SEMI JOIN (
                    SELECT day, head, relation, tail FROM read_parquet({quoted(records)})
                    GROUP BY ALL HAVING sum(mentions) > {int(threshold)}
                ) USING (day, head, relation, tail) ORDER BY url
            ) TO {quoted(wanted)} (FORMAT parquet)"""
        )


def _fetch(options: PullOptions, wanted: Path, pages: TextStore, scratch: Path, told: Callable[[str], None]) -> None:
    with connection(scratch) as database:
        urls = [url for (url,) in database.execute(f"SELECT url FROM read_parquet({quoted(wanted)})").fetchall()]
    told(f"fetching the pages of {len(pages.missing(urls))} articles")
    fetch_texts(
        urls,
        pages,
        scratch,
        local=is_local(urlsplit(options.base_url).hostname or ""),
        policy=options.page_policy,
        most=options.most_pages,
        told=lambda done, of: told(f"{done} of {of} pages"),
    )


def _notes(options: PullOptions, made: list[Day]) -> dict[str, str]:
    """What the manifest says of a pull; nothing that differs between two of the same."""
    return {
        "months": f"{options.first} to {options.last}",
        "rows": str(sum(day.rows for day in made)),
        "malformed_rows": str(sum(day.malformed for day in made)),
        "kept_rows": str(sum(day.kept for day in made)),
        "files": str(sum(day.files for day in made)),
        "files_missing": str(sum(len(day.gaps) for day in made)),
        "texts": "from a folder" if options.texts else "fetched" if options.fetch else "none, titles from addresses",
        "listed": sha256_of_json([day.listed for day in made]),
    }


def _span(month: str) -> tuple[date, date]:
    """The first and last day of a month."""
    try:
        first = date.fromisoformat(f"{month}-01")
    except ValueError:
        raise UsageError(f"{month!r} is no month; write it as 2023-01") from None
    if first < FIRST_MONTH:
        raise UsageError(f"{month}: the 15-minute files begin in {FIRST_MONTH:%Y-%m}")
    return first, first.replace(day=calendar.monthrange(first.year, first.month)[1])


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]
