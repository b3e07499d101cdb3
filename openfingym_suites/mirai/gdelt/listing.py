"""The list of all files that GDELT publishes: one line for each, with its size, its MD5 digest and its address."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

MASTER_LIST = "masterfilelist.txt"
"""Name of the list."""
_LINE = re.compile(r"(\d+) ([0-9a-f]{32}) \S*?/?((\d{14})\.export\.CSV\.zip)", re.ASCII | re.IGNORECASE)
QUARTER = timedelta(minutes=15)
"""Time between two export files."""


@dataclass(frozen=True)
class ExportFile:
    """An export file, as the list states it."""

    name: str
    """Its name, such as ``20230101001500.export.CSV.zip``."""
    time: datetime
    """The time in its name, in UTC without a time zone."""
    size: int
    """Its size in bytes."""
    md5: str
    """Hex MD5 digest of its bytes, in lower case."""


def read_listing(path: Path, first: date, last: date) -> dict[date, list[ExportFile]]:
    """The export files of each day, by time; lines about other files, or that cannot be read, are passed over.

    Args:
        path: path of the list.
        first: the first day of which files are wanted.
        last: the last day of which files are wanted.
    """
    listed: dict[date, dict[str, ExportFile]] = {}
    with path.open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            match = _LINE.fullmatch(line.strip())
            if match is None:
                continue
            try:
                time = datetime.strptime(match[4], "%Y%m%d%H%M%S")  # noqa: DTZ007 (the list is in UTC)
            except ValueError:
                continue
            if first <= time.date() <= last:
                file = ExportFile(match[3], time, int(match[1]), match[2].lower())
                # Of several lines about one file the last one counts.
                listed.setdefault(time.date(), {})[file.name] = file
    return {day: sorted(files.values(), key=lambda file: file.time) for day, files in listed.items()}


def unlisted(day: date, files: Iterable[ExportFile]) -> list[str]:
    """Names that the files would have of the quarter-hours of a day that are not in the list."""
    listed = {file.time for file in files}
    start = datetime.combine(day, datetime.min.time())
    # A day has 96 quarters of an hour.
    times = (start + number * QUARTER for number in range(96))
    return [f"{time:%Y%m%d%H%M%S}.export.CSV.zip" for time in times if time not in listed]
