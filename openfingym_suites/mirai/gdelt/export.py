"""The export files of GDELT 2.0, and which of a day's rows are kept.

Every quarter of an hour there is a zip archive with one file. Each of its rows is an event that was found in that
quarter, in 61 columns with tabs between them, without a header and without quotes. The paper keeps rows in which:

1. the event is said to happen on the day on which it was added;
2. the countries of both actors are in ISO 3166-1 (not regions, cities or withdrawn codes), and differ;
3. the relation can be brought to the second level of CAMEO, which a code such as ``--`` cannot.
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
from openfingym_suites.mirai.tables import connection, quoted
from openfingym_suites.mirai.taxonomy import actor_codes, second_level

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
"""Size of the largest file in an archive that is read, in bytes; a real one has about a megabyte."""
URL_CHARACTERS = 2000
"""Length of the longest address, in bytes, with which a row is kept."""
_MENTIONS_DIGITS = len(str(1 << 31))
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
    """Counts of the rows of a day."""

    rows: int
    """How many rows its files have."""
    malformed: int
    """How many further lines do not have 61 columns."""
    kept: int
    """How many rows are kept."""


class DayReader:
    """Reads the export files of a day, one after another, and keeps the rows that the paper keeps."""

    def __init__(self) -> None:
        self._ids: set[bytes] = set()
        self._kept: list[_Kept] = []
        self._numbers: set[int] = set()
        self._rows = 0
        self._malformed = 0

    def read(self, archive: Path) -> None:
        """Read an archive.

        Args:
            archive: path of the archive, named as GDELT names it. Archives must come in the order of their times.

        Raises:
            DataError: it is not an archive of one export file, or it is damaged or too large, or none of its lines has
                the columns of one; nothing of it was taken.
        """
        table = _Table(_content(archive))
        # A quarter of an hour without any event is an empty file; other lines alone are another format.
        if table.malformed and not table.rows:
            raise DataError(
                f"{archive.name}: none of its {table.malformed} lines has the {len(COLUMNS)} columns of an export file"
            )
        self._rows += table.rows
        self._malformed += table.malformed
        # Of all rows, kept or not: an article counts from the day on which its address was first seen in any row.
        numbers = {url: number_of(url) for url in set(table.texts(_URL, np.arange(table.rows)))}
        self._numbers.update(numbers.values())
        chosen = np.flatnonzero(table.international())
        columns = (_ID, _DATE, _ONE, _TWO, _CODE, _BASE, _MENTIONS, _ADDED, _URL)
        stamp = archive.name[:14].encode()
        for row in zip(*(table.texts(column, chosen) for column in columns), strict=True):
            event, day, one, two, code, base, count, added, url = row
            relation = _relation(base, code)
            # An event may be listed again in a later file of the day; the first one counts.
            if relation is None or event in self._ids or len(url) > URL_CHARACTERS:
                continue
            # Longer ones are beyond 32 bits, and int() raises an error for thousands of digits.
            if not count.isdigit() or len(count) > _MENTIONS_DIGITS:
                continue
            # A row is known with the file that it is in, or later if it states a later time itself.
            known = max(added, stamp)
            mentions = int(count)
            # Mentions are 32-bit in the tables. `known` may have passed midnight although the row is of the day.
            if known[:8] != day or not 0 < mentions < 1 << 31 or not _is_time(known):
                continue
            self._ids.add(event)
            self._kept.append((known, _iso(one), relation, _iso(two), mentions, url.strip(), numbers[url]))

    def write(self, records: Path, urls: Path, scratch: Path) -> DayCounts:
        """Write what was read.

        Args:
            records: path of the Parquet file of kept rows: day, head, relation, tail, mentions, url, number of the url,
                and added, the time in UTC at which it became known.
            urls: path of the Parquet file of the number of each address in any row, kept or not.
            scratch: folder that the database may spill to.
        """
        import pandas as pd

        columns = list(zip(*self._kept, strict=True)) or [()] * 7
        added, heads, relations, tails, mentions, addresses, numbers = columns
        kept = pd.DataFrame(
            {
                "added": np.array(added, object),
                "head": np.array(heads, object),
                "relation": np.array(relations, object),
                "tail": np.array(tails, object),
                "mentions": np.array(mentions, np.int32),
                "url": np.array([url.decode("utf-8", "replace") for url in addresses], object),
                "number": np.array(numbers, np.uint64),
            }
        )
        kept["added"] = pd.to_datetime([time.decode() for time in added], format="%Y%m%d%H%M%S")
        seen = pd.DataFrame({"url": np.sort(np.fromiter(self._numbers, np.uint64, len(self._numbers)))})
        # One thread, because as many days as there are cores are reduced at once.
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
"""A row that is kept: time added, head, relation, tail, mentions, address, and the number of the address."""


def number_of(url: bytes) -> int:
    """A 64-bit number that stands for an address, since a pull must remember the addresses of all rows."""
    return int.from_bytes(md5(url.strip(), usedforsecurity=False).digest()[:8], "little")


class _Table:
    """The lines of a file that have 61 columns, as places in its bytes.

    Most rows are dropped, and arrays judge them without making text of them.

    Attributes:
        rows: how many lines have 61 columns.
        malformed: how many other lines there are, empty ones left out.
    """

    def __init__(self, content: bytes) -> None:
        # A last line that was cut off is a line too.
        self._content = content if content.endswith(b"\n") or not content else content + b"\n"
        self._bytes = np.frombuffer(self._content, np.uint8)
        # Tabs and line ends by one comparison over all bytes: hardly any other byte is as low, and those go next.
        cuts = np.flatnonzero(self._bytes <= _LINE_END)
        kinds = self._bytes[cuts]
        cuts = cuts[kinds >= _TAB]
        # Places in `cuts` of the end of each line, and of its first cut.
        last = np.flatnonzero(self._bytes[cuts] == _LINE_END)
        first = np.concatenate([[0], last[:-1] + 1])[: len(last)]
        # 61 columns are 60 tabs and the line end.
        whole = last - first == len(COLUMNS) - 1
        starts = np.concatenate([[0], cuts[last[:-1]] + 1])[: len(last)]
        self.malformed = int(np.count_nonzero(~whole & (cuts[last] > starts)))
        self.rows = int(np.count_nonzero(whole))
        self._starts = starts[whole]
        self._cuts = cuts[first[whole][:, None] + np.arange(len(COLUMNS))]

    def span(self, column: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where a column begins and ends in each row, two of int[rows]."""
        return self._starts if column == 0 else self._cuts[:, column - 1] + 1, self._cuts[:, column]

    def texts(self, column: int, rows: NDArray[np.intp]) -> list[bytes]:
        """A column of some rows, as bytes."""
        begin, end = self.span(column)
        content = self._content
        return [content[start:stop] for start, stop in zip(begin[rows].tolist(), end[rows].tolist(), strict=True)]

    def international(self) -> NDArray[np.bool_]:
        """Whether a row is of the day on which it was added, between two countries, and from the web, bool[rows]."""
        date, added, url = (self.span(column) for column in (_DATE, _ADDED, _URL))
        long = (date[1] - date[0] == 8) & (added[1] - added[0] == 14) & (url[1] - url[0] >= 4)
        today = (self._head(date[0], 8) == self._head(added[0], 8)).all(axis=1)
        web = (self._head(url[0], 4) == np.frombuffer(b"http", np.uint8)).all(axis=1)
        one, two = self._country(_ONE), self._country(_TWO)
        kept: NDArray[np.bool_] = long & today & web & (one >= 0) & (two >= 0) & (one != two)
        return kept

    def _country(self, column: int) -> NDArray[np.intp]:
        """The number of the country of an actor in each row, int[rows]; -1 if it has none."""
        begin, end = self.span(column)
        keys, numbers = _actors()
        # Three letters as one number, as in _actors.
        codes = self._head(begin, 3).astype(np.int64) @ np.array([1 << 16, 1 << 8, 1])
        place = np.minimum(np.searchsorted(keys, codes), len(keys) - 1)
        return np.where((end - begin == 3) & (keys[place] == codes), numbers[place], -1)

    def _head(self, begin: NDArray[np.intp], length: int) -> NDArray[np.uint8]:
        """The bytes from some places on, uint8[rows, length]; beyond the end of the file, its last byte is repeated."""
        places = np.minimum(begin[:, None] + np.arange(length), len(self._bytes) - 1)
        head: NDArray[np.uint8] = self._bytes[places]
        return head


@cache
def _actors() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of actors' countries as numbers, ascending, and the number of each one's country."""
    countries = sorted(set(actor_codes().values()))
    keys = {int.from_bytes(code.encode(), "big"): countries.index(iso) for code, iso in actor_codes().items()}
    return np.array(sorted(keys)), np.array([keys[key] for key in sorted(keys)])


@cache
def _iso(code: bytes) -> str:
    return actor_codes()[code.decode()]


@cache
def _relation(base: bytes, code: bytes) -> str | None:
    """The second-level code of an event, from its base code or, if that has none, from its code."""
    return second_level(base.decode("utf-8", "replace")) or second_level(code.decode("utf-8", "replace"))


@cache
def _is_time(stamp: bytes) -> bool:
    """Whether a stamp such as ``20230101001500`` is a time that exists."""
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
            entries = opened.infolist()
            # The size is looked at before anything is unpacked, since a small archive may unpack to any size.
            if len(entries) != 1 or entries[0].file_size > MOST_BYTES:
                raise DataError(f"{archive.name}: expected one export file in it, of less than {MOST_BYTES >> 20} MiB")
            content = opened.read(entries[0])
    # NotImplementedError is raised for an unknown compression, RuntimeError for an encrypted file.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{archive.name}: the archive is damaged ({error})") from None
    return content.replace(b"\r", b"") if b"\r" in content else content
