"""The days of a pull on the disk: each is complete or not there, however the pull ends.

work/
masterfilelist.txt        the list of files
files/20230101/*.zip      archives of a day that is not complete yet; deleted once it is
days/20230101.records.parquet, 20230101.urls.parquet
days/20230101.json        what the day was made of: written last, so that a day with this file is done
texts.sqlite              texts of articles that were fetched
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.data.sources.wire import OfflineError
from openfingym.errors import DataError
from openfingym.files.whole import owned_folder, whole_file
from openfingym_suites.mirai.gdelt.listing import ExportFile, unlisted
from openfingym_suites.mirai.gdelt.reducing import Reduce, reduced

if TYPE_CHECKING:
    from openfingym.data.sources.transport import Client

FORMAT = 1
"""Version of the files of a day; days of another version are made anew."""
NOT_LISTED = "not in the list"
"""The reason of a gap in GDELT itself, which no later pull can fill."""
MOST_BYTES = 256 << 20
"""Size of the largest archive that is accepted, in bytes."""


@dataclass(frozen=True)
class PulledDay:
    """What a pulled day was made of."""

    day: str
    """The day, as ``2023-01-31``."""
    rows: int
    """How many rows its files have."""
    malformed: int
    """How many lines do not have 61 columns."""
    kept: int
    """How many rows are kept."""
    files: int
    """How many files it was made of."""
    gaps: dict[str, str]
    """Files that are missing, by name, with the reason; the next pull tries those again that GDELT lists."""
    listed: str
    """Hex SHA-256 of the names and MD5 digests that the list had of the day."""
    format: int = FORMAT


class PulledDays:
    """The pulled days in a working folder.

    Args:
        work: the working folder of the pull.
        client: the client to download with.
        base_url: the address below which the files are published.
        connections: how many files of a day are downloaded at once.
    """

    def __init__(self, work: Path, client: Client, base_url: str, *, connections: int) -> None:
        self._work = work
        self._client = client
        self._base = base_url.rstrip("/")
        self._connections = connections
        (work / "days").mkdir(parents=True, exist_ok=True)

    def records(self, day: date) -> Path:
        """Path of the Parquet file of the rows that were kept of a day."""
        return self._work / "days" / f"{day:%Y%m%d}.records.parquet"

    def urls(self, day: date) -> Path:
        """Path of the Parquet file of the addresses in all rows of a day, kept or not."""
        return self._work / "days" / f"{day:%Y%m%d}.urls.parquet"

    def done(self, day: date, listed: Sequence[ExportFile]) -> PulledDay | None:
        """A day that was pulled already from these files; None if it was not, or has gaps that may be filled."""
        # A note that cannot be read, or that another version wrote, is as none: the day is pulled again.
        try:
            stated = json.loads(self._note(day).read_text(encoding="utf-8"))
            pulled = PulledDay(**stated)
        except (OSError, ValueError, TypeError):
            return None
        same = pulled.format == FORMAT and pulled.listed == _digest(listed)
        whole = same and self.records(day).is_file() and self.urls(day).is_file()
        return pulled if whole and not self._fillable(pulled) else None

    def pull(self, day: date, listed: Sequence[ExportFile], reduce: Reduce = reduced) -> PulledDay:
        """Pull a day: download what is not here yet, and reduce it to the rows that are kept.

        Args:
            day: the day to pull.
            listed: the export files that the list has of the day.
            reduce: what reads the archives and writes the rows that are kept.

        Raises:
            OfflineError: the service cannot be reached; what is downloaded stays.
            StoreError: the disk is full.
        """
        gaps = dict.fromkeys(unlisted(day, listed), NOT_LISTED)
        if not listed:
            return PulledDay(f"{day}", 0, 0, 0, 0, gaps, _digest(listed))
        folder = self._work / "files" / f"{day:%Y%m%d}"
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(self._connections) as pool:
            reasons = list(pool.map(lambda file: self._download(folder, file), listed))
        gaps |= {file.name: reason for file, reason in zip(listed, reasons, strict=True) if reason}
        with owned_folder(self._work / f".reduced-{day:%Y%m%d}") as scratch:
            archives = [folder / file.name for file in listed if file.name not in gaps]
            result = reduce(archives, scratch)
            _settle(scratch / "records.parquet", self.records(day))
            _settle(scratch / "urls.parquet", self.urls(day))
        counts = result.counts
        # A damaged archive whose MD5 digest is right was published so; the next pull asks whether it was replaced.
        for name in result.damaged:
            (folder / name).unlink()
        files, gaps = len(archives) - len(result.damaged), dict(sorted({**gaps, **result.damaged}.items()))
        pulled = PulledDay(f"{day}", counts.rows, counts.malformed, counts.kept, files, gaps, _digest(listed))
        # Last, since a day with a note is taken to be done.
        with whole_file(self._note(day)) as stream:
            json.dump(asdict(pulled), stream, indent=1)
        # Archives of a day with gaps stay for the next pull, which makes the day anew from all of them.
        if not self._fillable(pulled):
            shutil.rmtree(folder)
        return pulled

    def _fillable(self, day: PulledDay) -> bool:
        """Whether a later pull may have files that this day lacks."""
        return any(reason != NOT_LISTED for reason in day.gaps.values())

    def _download(self, folder: Path, file: ExportFile) -> str:
        """Download an archive into ``folder``, unless it is there; the reason why that failed, or an empty text."""
        path = folder / file.name
        if path.is_file() and _md5(path) == file.md5:
            return ""
        reason = ""
        # What a proxy has damaged once may be intact the second time.
        for _ in range(2):
            part = folder / f"{file.name}.part"
            try:
                self._client.download(f"{self._base}/{file.name}", part, kind="zip", max_bytes=MOST_BYTES)
            # Without the service the whole pull ends; a file that it refuses or lacks is a gap.
            except OfflineError:
                raise
            except DataError as error:
                return str(error)
            if _md5(part) == file.md5:
                part.replace(path)
                return ""
            part.unlink()
            reason = f"{self._base}/{file.name}: its MD5 digest is not the one in the list ({file.md5})"
        return reason

    def _note(self, day: date) -> Path:
        return self._work / "days" / f"{day:%Y%m%d}.json"


def _settle(part: Path, target: Path) -> None:
    """Put a finished file into its place, durably."""
    # Synced before it is renamed, or after a power cut the note might say that a day is done whose file is empty.
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    part.replace(target)


def _digest(listed: Sequence[ExportFile]) -> str:
    """Hex SHA-256 of what the list has of a day: the names and MD5 digests of its files."""
    text = "\n".join(f"{file.name} {file.md5}" for file in listed)
    return hashlib.sha256(text.encode()).hexdigest()


def _md5(path: Path) -> str:
    """The digest of a file as GDELT's list states it. It tells damage, and is no protection against an attacker."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
