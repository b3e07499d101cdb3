"""The days of a pull on the disk: each is whole or not there, however the pull ends.

work/
masterfilelist.txt        the list of files
files/20230101/*.zip      archives of a day that is not whole yet; gone once it is
days/20230101.records.parquet, 20230101.urls.parquet
days/20230101.json        what the day was made of: written last, so where it is the day is done
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
from openfingym.suites.mirai.gdelt.listing import ExportFile, unlisted
from openfingym.suites.mirai.gdelt.reducing import Reduce, reduced

if TYPE_CHECKING:
    from openfingym.data.sources.transport import Client

FORMAT = 1
NOT_LISTED = "not in the list"
"""The reason of a gap that GDELT itself has."""
MOST_BYTES = 256 << 20
"""Largest archive that is taken."""


@dataclass(frozen=True)
class Day:
    """A day that was pulled."""

    day: str
    rows: int
    malformed: int
    """Lines that do not have 61 columns."""
    kept: int
    files: int
    gaps: dict[str, str]
    """Files that are not in it, by their names, with the reason. They are tried again by the next pull."""
    listed: str
    """Digest of what the list had of the day."""
    format: int = FORMAT


class Days:
    """The days in a folder of work."""

    def __init__(self, work: Path, client: Client, base_url: str, *, connections: int) -> None:
        self._work = work
        self._client = client
        self._base = base_url.rstrip("/")
        self._connections = connections
        (work / "days").mkdir(parents=True, exist_ok=True)

    def records(self, day: date) -> Path:
        """Rows of a day that were kept."""
        return self._work / "days" / f"{day:%Y%m%d}.records.parquet"

    def urls(self, day: date) -> Path:
        """Addresses in all rows of a day."""
        return self._work / "days" / f"{day:%Y%m%d}.urls.parquet"

    def done(self, day: date, listed: Sequence[ExportFile]) -> Day | None:
        """A day that was pulled already from these files; None if it was not, or has gaps that may be filled."""
        try:
            stated = json.loads(self._note(day).read_text(encoding="utf-8"))
            found = Day(**stated)
        except (OSError, ValueError, TypeError):
            return None
        same = found.format == FORMAT and found.listed == _digest(listed)
        whole = same and self.records(day).is_file() and self.urls(day).is_file()
        return found if whole and not self._fillable(found) else None

    def pull(self, day: date, listed: Sequence[ExportFile], reduce: Reduce = reduced) -> Day:
        """Pull a day: download what is not here yet, and reduce it.

        Args:
            day: the day.
            listed: its files.
            reduce: reduces them.

        Raises:
            OfflineError: the service cannot be reached; what is downloaded stays.
            StoreError: the disk is full.
        """
        gaps = dict.fromkeys(unlisted(day, listed), NOT_LISTED)
        if not listed:
            return Day(f"{day}", 0, 0, 0, 0, gaps, _digest(listed))
        folder = self._work / "files" / f"{day:%Y%m%d}"
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(self._connections) as pool:
            reasons = list(pool.map(lambda file: self._download(folder, file), listed))
        gaps |= {file.name: reason for file, reason in zip(listed, reasons, strict=True) if reason}
        with owned_folder(self._work / f".reduced-{day:%Y%m%d}") as scratch:
            archives = [folder / file.name for file in listed if file.name not in gaps]
            made = reduce(archives, scratch)
            _settle(scratch / "records.parquet", self.records(day))
            _settle(scratch / "urls.parquet", self.urls(day))
        counts = made.counts
        for name in made.damaged:
            (folder / name).unlink()
        files, gaps = len(archives) - len(made.damaged), dict(sorted({**gaps, **made.damaged}.items()))
        found = Day(f"{day}", counts.rows, counts.malformed, counts.kept, files, gaps, _digest(listed))
        with whole_file(self._note(day)) as stream:
            json.dump(asdict(found), stream, indent=1)
        # Archives of a day with gaps are kept, for when the rest can be had.
        if not self._fillable(found):
            shutil.rmtree(folder)
        return found

    def _fillable(self, day: Day) -> bool:
        return any(reason != NOT_LISTED for reason in day.gaps.values())

    def _download(self, folder: Path, file: ExportFile) -> str:
        """Have an archive in ``folder``; the reason why not, or an empty text."""
        path = folder / file.name
        if path.is_file() and _md5(path) == file.md5:
            return ""
        reason = ""
        # What a proxy damaged once may be whole the second time.
        for _ in range(2):
            part = folder / f"{file.name}.part"
            try:
                self._client.download(f"{self._base}/{file.name}", part, kind="zip", max_bytes=MOST_BYTES)
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
    """Put a finished file into its place, on the disk."""
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    part.replace(target)


def _digest(listed: Sequence[ExportFile]) -> str:
    text = "\n".join(f"{file.name} {file.md5}" for file in listed)
    return hashlib.sha256(text.encode()).hexdigest()


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
