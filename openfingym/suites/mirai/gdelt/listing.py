"""The list of all files that GDELT publishes: a line a file, with its size, its MD5 digest and its address."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

MASTER_LIST = "masterfilelist.txt"
_LINE = re.compile(r"(\d+) ([0-9a-f]{32}) \S*?/?((\d{14})\.export\.CSV\.zip)", re.ASCII | re.IGNORECASE)
QUARTER = timedelta(minutes=15)


@dataclass(frozen=True)
class ExportFile:
    """An export file, as the list has it."""

    name: str
    """Such as ``20230101001500.export.CSV.zip``."""
    time: datetime
    """UTC, without a zone."""
    size: int
    md5: str


def read_listing(path: Path, first: date, last: date) -> dict[date, list[ExportFile]]:
    """The export files of each day from ``first`` to ``last``, by time; a line that is none of one is passed over.

    A file that is listed twice counts as its last line has it.
    """
    found: dict[date, dict[str, ExportFile]] = {}
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
                found.setdefault(time.date(), {})[file.name] = file
    return {day: sorted(files.values(), key=lambda file: file.time) for day, files in found.items()}


def unlisted(day: date, files: Iterable[ExportFile]) -> list[str]:
    """Names of the quarters of a day of which the list has no file."""
    listed = {file.time for file in files}
    start = datetime.combine(day, datetime.min.time())
    times = (start + number * QUARTER for number in range(96))
    return [f"{time:%Y%m%d%H%M%S}.export.CSV.zip" for time in times if time not in listed]
