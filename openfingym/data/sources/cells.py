"""Reading the CSV files and zip archives in which services publish tables."""

from __future__ import annotations

import csv
import io
import math
import zipfile
import zlib
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import MISSING
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_MEMBER_BYTES = 1 << 30
"""Largest member of an archive that is unpacked, bytes, where a source states no other bound."""


def read_rows(content: bytes, where: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Header and (line number, cells) of each further line of a CSV file; blank lines are skipped.

    Raises:
        DataError: not UTF-8, not CSV, no rows, or a row of another width than the header.
    """
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        rows = [
            (reader.line_num, [cell.strip() for cell in row]) for row in reader if any(cell.strip() for cell in row)
        ]
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    except csv.Error as error:
        raise DataError(f"{where}: not CSV ({error})") from None
    if not rows:
        raise DataError(f"{where}: the file is empty")
    header = rows[0][1]
    # The ECB ends every line with a comma.
    width = len(header) - (header[-1] == "")
    for line, row in rows[1:]:
        if len(row) not in {width, len(header)}:
            raise DataError(
                f"{where}, line {line}: {len(row)} cells, but the header has {width}; the file may be cut off"
            )
    return header[:width], [(line, row[:width]) for line, row in rows[1:]]


def read_dated(
    content: bytes, where: str, *, date_header: Sequence[str], parse_day: Callable[[str], date]
) -> tuple[list[str], NDArray[np.datetime64], NDArray[np.float64]]:
    """A CSV file of one row a day, in either order of time.

    Args:
        content: content of the CSV file.
        where: name of the file in error messages.
        date_header: names that the column of dates, which is the first, may have.
        parse_day: reads a cell of that column, and raises ValueError for anything else than a day.

    Returns:
        (names of the value columns, times datetime64[ns][n] increasing, values float64[n, d] with NaN for missing).

    Raises:
        DataError: a line cannot be read; the message has the number of the first such line.
    """
    header, rows = read_rows(content, where)
    if not header or header[0] not in date_header or len(header) < 2:
        raise DataError(
            f"{where}: the header is {header!r}, expected {' or '.join(date_header)} and value columns; the format has "
            "changed"
        )
    days: list[date] = []
    values = np.empty((len(rows), len(header) - 1))
    for i, (line, row) in enumerate(rows):
        try:
            days.append(parse_day(row[0]))
        except ValueError:
            raise DataError(f"{where}, line {line}: {row[0]!r} is not a date of the expected form") from None
        for j, cell in enumerate(row[1:]):
            values[i, j] = parse_number(cell, f"{where}, line {line}, column {header[j + 1]!r}")
    times = np.array(days, dtype="datetime64[D]").astype("datetime64[ns]")
    # The ECB and the Treasury put the newest day first.
    if len(times) > 1 and times[0] > times[-1]:
        times, values = times[::-1], values[::-1]
    late = np.flatnonzero(~(times[1:] > times[:-1]))
    if late.size:
        labels = np.datetime_as_string(times, unit="D").tolist()
        place = int(late[0])
        raise DataError(
            f"{where}: {labels[place + 1]} stands next to {labels[place]}; days must be in order and occur once"
        )
    return header[1:], np.ascontiguousarray(times), np.ascontiguousarray(values)


def parse_number(cell: str, where: str) -> float:
    """A number, or NaN for a cell that says there is none.

    Raises:
        DataError: the cell is neither a number nor one of the marks of a missing value.
    """
    if cell.strip().lower() in MISSING:
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    # float() reads "1_000" as a thousand, which no publisher means.
    if not math.isfinite(value) or "_" in cell:
        raise DataError(f"{where}: {cell!r} is neither a number nor a sign for missing")
    return value


def iso_day(cell: str) -> date:
    """The day that a text such as ``2024-01-31`` states."""
    return datetime.strptime(cell, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no time zone


def american_day(cell: str) -> date:
    """The day that a text such as ``01/31/2024`` states."""
    return datetime.strptime(cell, "%m/%d/%Y").date()  # noqa: DTZ007 - a day has no time zone


def zip_names(content: bytes, where: str) -> set[str]:
    """Base names of the members of a zip file.

    Raises:
        DataError: the archive is damaged, or no zip archive.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name.rsplit("/", 1)[-1] for name in archive.namelist()}
    except (zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
        raise DataError(f"{where}: the archive is damaged ({error}); pull it again with refresh") from error


def unzip(
    content: bytes, where: str, wanted: Callable[[str], bool], *, max_bytes: int = MAX_MEMBER_BYTES
) -> tuple[str, bytes]:
    """Unpack the one wanted member of a zip file, as (name, content).

    Args:
        content: content of the zip file.
        where: name of the file in error messages.
        wanted: says of a member's base name whether it is the wanted one.
        max_bytes: largest size that it may unpack to.

    Raises:
        DataError: the archive is damaged, holds no or several such members, or one beyond ``max_bytes``.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [info for info in archive.infolist() if wanted(info.filename.rsplit("/", 1)[-1])]
            if len(members) != 1:
                present = ", ".join(info.filename for info in archive.infolist()[:8])
                raise DataError(
                    f"{where}: expected one file of the wanted name, found {len(members)} among {present or 'nothing'}"
                )
            if members[0].file_size > max_bytes:
                raise DataError(
                    f"{where}: {members[0].filename} unpacks to {members[0].file_size} bytes, expected at most "
                    f"{max_bytes}"
                )
            with archive.open(members[0]) as member:
                # The size in the directory is only a claim, so the reading is bounded as well.
                body = member.read(max_bytes + 1)
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError, zlib.error) as error:
        raise DataError(f"{where}: the archive is damaged ({error}); pull it again with refresh") from error
    if len(body) > max_bytes:
        raise DataError(f"{where}: {members[0].filename} unpacks to more than {max_bytes} bytes")
    return members[0].filename, body
