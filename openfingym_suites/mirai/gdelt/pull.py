"""Pulling months of GDELT into a vault, from the list of files to the final tables; a later pull goes on from there."""

from __future__ import annotations

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
from openfingym.vault import Source
from openfingym.vault.engine import engine_errors
from openfingym_suites.mirai.gdelt.days import PulledDay, PulledDays
from openfingym_suites.mirai.gdelt.listing import MASTER_LIST, read_listing
from openfingym_suites.mirai.gdelt.reducing import Reduce, Reducers, reduced
from openfingym_suites.mirai.gdelt.texts import POLITE, TextStore, fetch_texts, is_local, texts_of_folder, write_texts
from openfingym_suites.mirai.months import days_of
from openfingym_suites.mirai.tables import THRESHOLD, connection, quoted, write_vault

if TYPE_CHECKING:
    from openfingym.vault import Vault

BASE_URL = "http://data.gdeltproject.org/gdeltv2"
"""Where GDELT publishes the list and the files."""
NAME = "mirai-gdelt"
"""Name of the vault."""
LIST_BYTES = 1 << 30
"""Size of the largest list that is accepted, in bytes."""
FEW = 4
"""Up to so many days are reduced in this process: starting others would take as long."""
FIRST_MONTH = date(2015, 2, 1)
"""The first month of GDELT 2.0."""
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
    """The first month, such as ``2023-01``."""
    last: str
    """The last month, such as ``2024-02``, included."""
    base_url: str = BASE_URL
    """Address below which the list and the files are."""
    work: Path | None = None
    """Working folder, from which a later pull goes on; None for one below the store."""
    folder: Path | None = None
    """Folder that the vault is written to; None for the store."""
    texts: Path | None = None
    """Folder with texts of articles; None if there is none."""
    fetch: bool = False
    """Whether the articles' pages are fetched by their addresses."""
    most_pages: int | None = None
    """The most pages to fetch in this pull; None for all."""
    threshold: int = THRESHOLD
    """Mentions on its day that an event must have more than."""
    connections: int = 4
    """How many files of a day are downloaded at once."""
    pause_s: float = 0.02
    """Shortest time between two requests for files of GDELT, in seconds."""
    page_policy: ClientPolicy = POLITE
    """Timeouts, retries and pauses of the fetching of pages."""

    def __post_init__(self) -> None:
        if self.fetch and self.texts:
            raise UsageError("texts come from a folder or are fetched, not both")
        if _days_of(self.first) > _days_of(self.last):
            raise UsageError(f"from {self.first} to {self.last} is backwards")


@dataclass(frozen=True)
class PullReport:
    """The result of a pull."""

    vault: Vault
    """The vault that was written."""
    days: tuple[PulledDay, ...]
    """The days that it was made of, in their order."""
    articles: int
    """How many articles are in it."""
    dropped: int
    """How many articles the cleaning of texts dropped."""
    without_text: dict[str, int]
    """How many articles have a page that could not be read, by the reason."""

    @property
    def rows(self) -> int:
        """How many rows all files have."""
        return sum(day.rows for day in self.days)

    @property
    def gaps(self) -> dict[str, str]:
        """Files that are missing, by name, with the reason."""
        return {name: reason for day in self.days for name, reason in day.gaps.items()}


def _silent(line: str) -> None:
    """Show a line of progress to nobody."""
    del line


def pull(options: PullOptions, tell: Callable[[str], None] = _silent) -> PullReport:
    """Pull months into a vault. What an earlier pull has done is not done again, however that one ended.

    Args:
        options: what to pull, and how.
        tell: called with a line for people about each day and step.

    Raises:
        UsageError: the folder of the vault exists.
        OfflineError: the service cannot be reached.
        DataError: the list cannot be read, or no event is left.
        StoreError: the disk is full, or a folder cannot be written.
    """
    first, last = _days_of(options.first)[0], _days_of(options.last)[1]
    if options.folder is not None and options.folder.exists():
        raise UsageError(f"{options.folder} exists already; a snapshot never changes, so choose another folder")
    work = options.work or store.home() / "pulls" / NAME
    with store_errors(work, "choose another folder with --work"), engine_errors(f"{work}"):
        work.mkdir(parents=True, exist_ok=True)
        # Two pulls in one folder would take each other's files.
        with take(work / ".lock"), Client(ClientPolicy(pause_s=options.pause_s)) as client:
            days, pulled = _pull_days(options, work, client, first, last, tell)
            with owned_folder(work / ".final") as scratch:
                return _finish(options, work, days, pulled, scratch, tell)


def _pull_days(
    options: PullOptions, work: Path, client: Client, first: date, last: date, tell: Callable[[str], None]
) -> tuple[PulledDays, list[PulledDay]]:
    """Download and reduce all days that an earlier pull has not done."""
    tell(f"reading the list of files at {options.base_url}")
    part = work / f"{MASTER_LIST}.part"
    client.download(f"{options.base_url.rstrip('/')}/{MASTER_LIST}", part, kind="csv", max_bytes=LIST_BYTES)
    # The list is always read anew, since files are added to it and replaced.
    part.replace(work / MASTER_LIST)
    listing = read_listing(work / MASTER_LIST, first, last)
    if not listing:
        raise DataError(f"the list at {options.base_url} has no export file from {first} to {last}")
    days = PulledDays(work, client, options.base_url, connections=options.connections)

    span = list(_days(first, last))
    missing = sum(day in listing and days.done(day, listing[day]) is None for day in span)
    cores = machine.cores()

    def pulled_day(day: date) -> PulledDay:
        listed = listing.get(day, [])
        pulled = days.done(day, listed)
        if pulled is None:
            pulled = days.pull(day, listed, reduce)
            without = f", {len(pulled.gaps)} files missing" if pulled.gaps else ""
            tell(f"{day}: {pulled.rows} rows in {pulled.files} files, {pulled.kept} kept{without}")
        return pulled

    with contextlib.ExitStack() as resources:
        reduce: Reduce = reduced
        if missing > FEW and cores > 1:
            reduce = resources.enter_context(Reducers(cores))
        # One day more than are reduced at once: its files are downloaded meanwhile.
        pool = ThreadPoolExecutor(cores + 1)
        # After an error, days that have not begun are cancelled.
        resources.callback(pool.shutdown, cancel_futures=True)
        return days, list(pool.map(pulled_day, span))


def _finish(
    options: PullOptions,
    work: Path,
    days: PulledDays,
    pulled: list[PulledDay],
    scratch: Path,
    tell: Callable[[str], None],
) -> PullReport:
    """Make the final tables of all days, and the vault."""
    records, wanted, texts = (scratch / f"{name}.parquet" for name in ("records", "wanted", "texts"))
    _first_dates(days, pulled, records, wanted, options.threshold, scratch)
    without: dict[str, int] = {}
    if options.texts:
        tell(f"taking texts from {options.texts}")
        kept, dropped = write_texts(wanted, texts_of_folder(options.texts, scratch), texts, scratch)
    elif options.fetch:
        pages = TextStore(work / "texts.sqlite")
        _fetch(options, wanted, pages, scratch, tell)
        kept, dropped = write_texts(wanted, pages.texts(), texts, scratch)
        without = pages.reasons()
    else:
        tell("no texts: titles are made of the addresses")
        kept, dropped = write_texts(wanted, None, texts, scratch)
    tell(f"{kept} articles, {dropped} dropped by the cleaning")
    vault = write_vault(
        records,
        texts,
        options.folder,
        name=NAME,
        title=f"International events and news from GDELT 2.0, {options.first} to {options.last}",
        sources=[SOURCE, TEXTS if options.texts or options.fetch else TITLES],
        simulated=False,
        notes=_notes(options, pulled),
        threshold=options.threshold,
    )
    return PullReport(vault, tuple(pulled), kept, dropped, without)


def _first_dates(
    days: PulledDays, pulled: list[PulledDay], records: Path, wanted: Path, threshold: int, scratch: Path
) -> None:
    """Write the rows whose article was seen first on the day of the event, and the articles of events with enough
    mentions.

    Args:
        days: the pulled days in the working folder.
        pulled: what each day was made of.
        records: path of the Parquet file of rows to write.
        wanted: path of the Parquet file of the articles' addresses to write.
        threshold: mentions on its day that an event must have more than.
        scratch: folder that the database may spill to.
    """
    dates = [date.fromisoformat(day.day) for day in pulled if day.files]
    rows = ", ".join(quoted(days.records(day)) for day in dates)
    with connection(scratch) as database:
        database.execute("CREATE TABLE seen (url UBIGINT, day DATE)")
        database.execute(f"CREATE TABLE candidates AS FROM read_parquet([{rows}])")
        for day in dates:
            # A day at a time, so that no more is held than the addresses of rows that are kept.
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


def _fetch(options: PullOptions, wanted: Path, pages: TextStore, scratch: Path, tell: Callable[[str], None]) -> None:
    """Fetch the pages of the wanted articles into the store of texts."""
    with connection(scratch) as database:
        urls = [url for (url,) in database.execute(f"SELECT url FROM read_parquet({quoted(wanted)})").fetchall()]
    tell(f"fetching the pages of {len(pages.missing(urls))} articles")
    fetch_texts(
        urls,
        pages,
        scratch,
        # Only a copy of GDELT that is served on this machine may name pages that are.
        local=is_local(urlsplit(options.base_url).hostname or ""),
        policy=options.page_policy,
        most=options.most_pages,
        progress=lambda done, total: tell(f"{done} of {total} pages"),
    )


def _notes(options: PullOptions, pulled: list[PulledDay]) -> dict[str, str]:
    """What the manifest says of a pull: nothing that differs between two pulls of the same files, whose vaults have the
    same digest.
    """
    return {
        "months": f"{options.first} to {options.last}",
        "rows": str(sum(day.rows for day in pulled)),
        "malformed_rows": str(sum(day.malformed for day in pulled)),
        "kept_rows": str(sum(day.kept for day in pulled)),
        "files": str(sum(day.files for day in pulled)),
        "files_missing": str(sum(len(day.gaps) for day in pulled)),
        "texts": "from a folder" if options.texts else "fetched" if options.fetch else "none, titles from addresses",
        "listed": sha256_of_json([day.listed for day in pulled]),
    }


def _days_of(month: str) -> tuple[date, date]:
    """The first and the last day of a month of which there are files."""
    first, last = days_of(month)
    if first < FIRST_MONTH:
        raise UsageError(f"{month}: the 15-minute files begin in {FIRST_MONTH:%Y-%m}")
    return first, last


def _days(first: date, last: date) -> list[date]:
    """All days from one to another, both included."""
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]
