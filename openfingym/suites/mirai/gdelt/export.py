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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openfingym.errors import DataError
from openfingym.suites.mirai.tables import connection, quoted
from openfingym.suites.mirai.taxonomy import actor_codes, relations

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

_RAW = """
CREATE TABLE raw AS
SELECT GLOBALEVENTID AS id, SQLDATE, EventCode, EventBaseCode, NumMentions, DATEADDED, SOURCEURL AS url,
       Actor1CountryCode AS one, Actor2CountryCode AS two, filename
FROM read_csv($files, delim = '\t', header = false, quote = '', escape = '', auto_detect = false, columns = $columns,
              ignore_errors = true, store_rejects = true, rejects_limit = 0, filename = true, parallel = true)
"""
# The same event in a file again is the same row; the first file counts.
_KEPT = f"""
CREATE TABLE kept AS
SELECT DISTINCT ON (id) day, head, relation, tail, mentions, url, added
FROM (
    SELECT id, try_strptime(SQLDATE, '%Y%m%d')::DATE AS day, a.iso AS head, b.iso AS tail,
           coalesce(base.code, longer.code) AS relation, try_cast(NumMentions AS INTEGER) AS mentions, trim(url) AS url,
           greatest(try_strptime(DATEADDED, '%Y%m%d%H%M%S'),
                    strptime(regexp_extract(filename, '(\\d{{14}})[^/]*$', 1), '%Y%m%d%H%M%S')) AS added,
           try_strptime(DATEADDED, '%Y%m%d%H%M%S') AS stated
    FROM raw JOIN actors AS a ON a.code = one JOIN actors AS b ON b.code = two
    LEFT JOIN relations AS base ON base.code = EventBaseCode
    LEFT JOIN relations AS longer ON longer.code = left(EventCode, 3)
)
WHERE day = stated::DATE AND day = added::DATE AND head <> tail AND relation IS NOT NULL AND mentions > 0
      AND starts_with(url, 'http') AND length(url) <= {URL_CHARACTERS}
ORDER BY id, added
"""


@dataclass(frozen=True)
class DayCounts:
    """What became of the rows of a day."""

    rows: int
    """Rows in its files."""
    malformed: int
    """Lines that do not have 61 columns, beside them."""
    kept: int


def unpack(archive: Path, folder: Path) -> Path:
    """The file in an archive, unpacked into ``folder`` as valid UTF-8.

    Raises:
        DataError: it is no archive with one export file, is damaged, or is too large.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            inside = opened.infolist()
            if len(inside) != 1 or inside[0].file_size > MOST_BYTES:
                raise DataError(f"{archive}: expected one export file in it, of less than {MOST_BYTES >> 20} MiB")
            content = opened.read(inside[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{archive}: the archive is damaged ({error})") from None
    try:
        content.decode()
    except UnicodeDecodeError:
        content = content.decode("utf-8", "replace").encode()
    # A name of our own: what an archive says of itself decides no path.
    path = folder / archive.name.removesuffix(".zip")
    path.write_bytes(content.replace(b"\0", b"").replace(b"\r", b""))
    return path


def reduce_day(files: Sequence[Path], records: Path, urls: Path, scratch: Path) -> DayCounts:
    """Write what is kept of unpacked export files.

    Args:
        files: unpacked files; their names begin with their times, as ``20230101001500.export.CSV``.
        records: Parquet file to write: day, head, relation, tail, mentions, url, added (UTC).
        urls: Parquet file to write: a 64-bit number for each address in any row, kept or not.
        scratch: folder to spill to.
    """
    with connection(scratch) as database:
        database.execute("CREATE TABLE actors (code VARCHAR, iso VARCHAR)")
        database.executemany("INSERT INTO actors VALUES (?, ?)", [list(pair) for pair in actor_codes().items()])
        database.execute("CREATE TABLE relations (code VARCHAR)")
        database.executemany("INSERT INTO relations VALUES (?)", [[found.code] for found in relations(2)])
        filled = [str(path) for path in files if path.stat().st_size]
        if filled:
            database.execute(_RAW, {"files": filled, "columns": dict.fromkeys(COLUMNS, "VARCHAR")})
            malformed = _count(database.execute("SELECT count(DISTINCT (file_id, line)) FROM reject_errors"))
        else:
            names = ("id", "SQLDATE", "EventCode", "EventBaseCode", "NumMentions", "DATEADDED", "url", "one", "two")
            database.execute(f"CREATE TABLE raw ({', '.join(f'{name} VARCHAR' for name in (*names, 'filename'))})")
            malformed = 0
        database.execute(_KEPT)
        database.execute(
            f"COPY (FROM kept ORDER BY added, day, head, tail, relation, url, mentions) TO {quoted(records)} "
            "(FORMAT parquet, COMPRESSION zstd)"
        )
        database.execute(
            f"COPY (SELECT DISTINCT md5_number_lower(trim(url)) AS url FROM raw ORDER BY ALL) TO {quoted(urls)} "
            "(FORMAT parquet, COMPRESSION zstd)"
        )
        rows = _count(database.execute("SELECT count(*) FROM raw"))
        kept = _count(database.execute("SELECT count(*) FROM kept"))
    return DayCounts(rows, malformed, kept)


def _count(relation: object) -> int:
    return int(relation.fetchall()[0][0])  # type: ignore[attr-defined]
