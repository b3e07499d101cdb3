"""The export files of GDELT 2.0, and what is kept of a day of them.

Every quarter of an hour there is a zip archive with one file: a row an event that was found in that quarter, 61 columns
with tabs between them, no header, no quotes. What the paper keeps of it:

1. the event is said to happen on the day on which it was added;
2. both actors' countries are of ISO 3166-1, in which regions, cities and withdrawn codes are none, and they differ;
3. the relation is brought to the second level of CAMEO; a row whose code has none (such as ``--``) goes.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError
from openfingym.suites.mirai.tables import connection, quoted
from openfingym.suites.mirai.taxonomy import actor_codes, second_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PLACE = ("Type", "FullName", "CountryCode", "ADM1Code", "ADM2Code", "Lat", "Long", "FeatureID")
_ACTOR = (
    "Code", "Name", "CountryCode", "KnownGroupCode", "EthnicCode", "Religion1Code", "Religion2Code", "Type1Code",
    "Type2Code", "Type3Code",
)  # fmt: skip
COLUMNS = (
    "GLOBALEVENTID", "SQLDATE", "MonthYear", "Year", "FractionDate",
    *(f"Actor1{part}" for part in _ACTOR), *(f"Actor2{part}" for part in _ACTOR),
    "IsRootEvent", "EventCode", "EventBaseCode", "EventRootCode", "QuadClass", "GoldsteinScale",
    "NumMentions", "NumSources", "NumArticles", "AvgTone",
    *(f"Actor1Geo_{part}" for part in _PLACE), *(f"Actor2Geo_{part}" for part in _PLACE),
    *(f"ActionGeo_{part}" for part in _PLACE),
    "DATEADDED", "SOURCEURL",
)  # fmt: skip
"""The 61 columns of an export file."""
MOST_BYTES = 1 << 30
"""Largest file in an archive; a real one has about a megabyte."""
URL_CHARACTERS = 2000
_TAB, _LINE_END = 9, 10
_ID, _DATE, _ONE, _TWO, _CODE, _BASE, _MENTIONS, _ADDED, _URL = (
    COLUMNS.index(name)
    for name in (
        "GLOBALEVENTID", "SQLDATE", "Actor1CountryCode", "Actor2CountryCode", "EventCode", "EventBaseCode",
        "NumMentions", "DATEADDED", "SOURCEURL",
    )
)  # fmt: skip


@dataclass(frozen=True)
class DayCounts:
    """What became of the rows of a day."""

    rows: int
    """Rows in its files."""
    malformed: int
    """Lines that do not have 61 columns, beside them."""
    kept: int


class DayReader:
    """Reads the export files of a day, one after another, and keeps what the paper keeps."""

    def __init__(self) -> None:
        self._ids: set[bytes] = set()
        self._kept: list[_Kept] = []
        self._numbers: set[int] = set()
        self._rows = 0
        self._malformed = 0

    def read(self, archive: Path) -> None:
        """Read an archive, named as GDELT names it; archives come in the order of their times.

        Raises:
            DataError: it is no archive with one export file, is damaged, or is too large; nothing of it was taken.
        """
        table = _Table(_content(archive))
        self._rows += table.rows
        self._malformed += table.malformed
        numbers = {url: number_of(url) for url in set(table.texts(_URL, np.arange(table.rows)))}
        self._numbers.update(numbers.values())
        chosen = np.flatnonzero(table.international())
        columns = (_ID, _DATE, _ONE, _TWO, _CODE, _BASE, _MENTIONS, _ADDED, _URL)
        stamp = archive.name[:14].encode()
        for row in zip(*(table.texts(column, chosen) for column in columns), strict=True):
            event, day, one, two, code, base, count, added, url = row
            relation = _relation(base, code)
            # The same event in a file again is the same row; the first file counts.
            if relation is None or event in self._ids or not count.isdigit() or len(url) > URL_CHARACTERS:
                continue
            known = stamp if added == stamp else max(added, stamp)
            mentions = int(count)
            if known[:8] != day or not 0 < mentions < 1 << 31 or not _is_time(known):
                continue
            self._ids.add(event)
            self._kept.append((known, _iso(one), relation, _iso(two), mentions, url.strip(), numbers[url]))

    def write(self, records: Path, urls: Path, scratch: Path) -> DayCounts:
        """Write what was read.

        Args:
            records: Parquet file to write: day, head, relation, tail, mentions, url, number, added (UTC).
            urls: Parquet file to write: the number of each address in any row, kept or not.
            scratch: folder to spill to.
        """
        import pandas as pd

        columns = list(zip(*self._kept, strict=True)) or [()] * 7
        added, heads, found, tails, mentions, addresses, numbers = columns
        kept = pd.DataFrame(
            {
                "added": np.array(added, object),
                "head": np.array(heads, object),
                "relation": np.array(found, object),
                "tail": np.array(tails, object),
                "mentions": np.array(mentions, np.int32),
                "url": np.array([url.decode("utf-8", "replace") for url in addresses], object),
                "number": np.array(numbers, np.uint64),
            }
        )
        kept["added"] = pd.to_datetime([time.decode() for time in added], format="%Y%m%d%H%M%S")
        seen = pd.DataFrame({"url": np.sort(np.fromiter(self._numbers, np.uint64, len(self._numbers)))})
        with connection(scratch, threads=1) as database:
            database.register("kept", kept)
            database.register("seen", seen)
            database.execute(
                "COPY (SELECT added::DATE AS day, head::VARCHAR AS head, relation::VARCHAR AS relation, "
                "tail::VARCHAR AS tail, mentions, url::VARCHAR AS url, number, added::TIMESTAMP AS added FROM kept) "
                f"TO {quoted(records)} (FORMAT parquet)"
            )
            database.execute(f"COPY (FROM seen) TO {quoted(urls)} (FORMAT parquet)")
        return DayCounts(self._rows, self._malformed, len(self._kept))


_Kept = tuple[bytes, str, str, str, int, bytes, int]
"""A row that is kept: time added, head, relation, tail, mentions, address and its number."""


def number_of(url: bytes) -> int:
    """A 64-bit number that stands for an address."""
    return int.from_bytes(md5(url.strip(), usedforsecurity=False).digest()[:8], "little")


class _Table:
    """The lines of a file that have 61 columns, as places in its bytes: no text is made before it is asked for."""

    def __init__(self, content: bytes) -> None:
        # A line that was cut off ends where the file does.
        self._content = content if content.endswith(b"\n") or not content else content + b"\n"
        self._bytes = np.frombuffer(self._content, np.uint8)
        # One pass for both: hardly any other byte is as low.
        cuts = np.flatnonzero(self._bytes <= _LINE_END)
        kinds = self._bytes[cuts]
        cuts = cuts[kinds >= _TAB]
        last = np.flatnonzero(self._bytes[cuts] == _LINE_END)
        first = np.concatenate([[0], last[:-1] + 1])[: len(last)]
        whole = last - first == len(COLUMNS) - 1
        starts = np.concatenate([[0], cuts[last[:-1]] + 1])[: len(last)]
        self.malformed = int(np.count_nonzero(~whole & (cuts[last] > starts)))
        self.rows = int(np.count_nonzero(whole))
        self._starts = starts[whole]
        self._cuts = cuts[first[whole][:, None] + np.arange(len(COLUMNS))]

    def span(self, column: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where a column begins and ends in each row."""
        return self._starts if column == 0 else self._cuts[:, column - 1] + 1, self._cuts[:, column]

    def texts(self, column: int, rows: NDArray[np.intp]) -> list[bytes]:
        """A column of some rows."""
        begin, end = self.span(column)
        content = self._content
        return [content[one:two] for one, two in zip(begin[rows].tolist(), end[rows].tolist(), strict=True)]

    def international(self) -> NDArray[np.bool_]:
        """bool[rows], whether a row is of the day on which it was added, between two countries, and from the web."""
        date, added, url = (self.span(column) for column in (_DATE, _ADDED, _URL))
        long = (date[1] - date[0] == 8) & (added[1] - added[0] == 14) & (url[1] - url[0] >= 4)
        today = (self._head(date[0], 8) == self._head(added[0], 8)).all(axis=1)
        web = (self._head(url[0], 4) == np.frombuffer(b"http", np.uint8)).all(axis=1)
        one, two = self._country(_ONE), self._country(_TWO)
        kept: NDArray[np.bool_] = long & today & web & (one >= 0) & (two >= 0) & (one != two)
        return kept

    def _country(self, column: int) -> NDArray[np.intp]:
        """int[rows], the number of the country of an actor; -1 where it has none."""
        begin, end = self.span(column)
        keys, numbers = _actors()
        found = self._head(begin, 3).astype(np.int64) @ np.array([1 << 16, 1 << 8, 1])
        place = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
        return np.where((end - begin == 3) & (keys[place] == found), numbers[place], -1)

    def _head(self, begin: NDArray[np.intp], length: int) -> NDArray[np.uint8]:
        """uint8[rows, length], the bytes from some places on; what is behind the end is its last byte."""
        places = np.minimum(begin[:, None] + np.arange(length), len(self._bytes) - 1)
        found: NDArray[np.uint8] = self._bytes[places]
        return found


@cache
def _actors() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of actors' countries as numbers, sorted, and the number of the country of each."""
    countries = sorted(set(actor_codes().values()))
    keys = {int.from_bytes(code.encode(), "big"): countries.index(iso) for code, iso in actor_codes().items()}
    return np.array(sorted(keys)), np.array([keys[key] for key in sorted(keys)])


@cache
def _iso(code: bytes) -> str:
    return actor_codes()[code.decode()]


@cache
def _relation(base: bytes, code: bytes) -> str | None:
    return second_level(base.decode("utf-8", "replace")) or second_level(code.decode("utf-8", "replace"))


@cache
def _is_time(stamp: bytes) -> bool:
    try:
        datetime.strptime(stamp.decode("ascii"), "%Y%m%d%H%M%S")  # noqa: DTZ007 (GDELT's times are in UTC)
    except ValueError:
        return False
    return True


def _content(archive: Path) -> bytes:
    """The one file in an archive.

    Raises:
        DataError: it is no archive with one export file, is damaged, or is too large.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            inside = opened.infolist()
            if len(inside) != 1 or inside[0].file_size > MOST_BYTES:
                raise DataError(f"{archive.name}: expected one export file in it, of less than {MOST_BYTES >> 20} MiB")
            content = opened.read(inside[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{archive.name}: the archive is damaged ({error})") from None
    return content.replace(b"\r", b"") if b"\r" in content else content
