"""Records of what forecasters said, word by word: a file for each week and forecaster, to which lines are appended."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym import store
from openfingym.errors import StoreError
from openfingym.files.whole import store_errors
from openfingym.questions.question import utc_text
from openfingym.rounds.book import Book, file_name
from openfingym.rounds.forecaster import Said

if TYPE_CHECKING:
    from openfingym.results import Isolation

FOLDER = "records"
NAMED = ("question", "state", "answer", "reason", "agent", "version", "at", "isolation")
"""Keys of a line that are written here; all others are of the forecaster's own record."""


@dataclass
class Records:
    """The file of what one forecaster said in one week; a context manager, within which it can be written to.

    Attributes:
        path: path of the file.
        agent: name of the forecaster in the ledger.
        version: version of the forecaster in the ledger.
        isolation: what of the forecaster runs in isolation; None where that is not known.
        said: what was said last of each question, by the question's id, without errors, after which it is asked again.
    """

    path: Path
    agent: str
    version: str
    isolation: Isolation | None = None
    said: dict[str, Said] = field(default_factory=dict)
    _descriptor: int = -1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, book: Book, week: str, agent: str, version: str, isolation: Isolation | None = None) -> Records:
        """The records of a forecaster in a week, with what earlier runs have written.

        Args:
            book: the folder of the series.
            week: ISO week of the round, such as ``2026-W48``.
            agent: name of the forecaster in the ledger.
            version: version of the forecaster in the ledger.
            isolation: what of the forecaster runs in isolation, which each line states; None where that is not known.

        Raises:
            StoreError: the file cannot be read.
        """
        records = cls(book.folder / week / FOLDER / f"{file_name(agent)}.jsonl", agent, version, isolation)
        for line in _lines(records.path):
            said = _read(line, records.path)
            if said.state != "error":
                records.said[said.question] = said
        return records

    def __enter__(self) -> Records:
        with store_errors(self.path, store.ELSEWHERE):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            # A killed writer may have left half a line, to which the next line would be appended. It is dropped: `keep`
            # has not returned for it.
            os.ftruncate(self._descriptor, _whole(self._descriptor))
        return self

    def __exit__(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        # Once a week and not at every line: what a power cut takes is asked for again, and a forecast that was entered
        # is in the ledger.
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
        os.close(descriptor)

    def keep(self, said: Said, now_ns: int) -> None:
        """Append what was said, which is in the file when this returns. It may be called from any thread.

        Args:
            said: what the forecaster said of a question.
            now_ns: the time by the clock of the series, in nanoseconds since the epoch.

        Raises:
            StoreError: the line cannot be written.
        """
        line: dict[str, Any] = {
            "question": said.question,
            "agent": self.agent,
            "version": self.version,
            "at": utc_text(now_ns),
        }
        line |= {"state": said.state, "reason": said.reason}
        line |= {} if self.isolation is None else {"isolation": self.isolation}
        line |= {} if said.answer is None else {"answer": dict(said.answer)}
        # The forecaster's record must not replace who said what, and when.
        own = {key: value for key, value in said.record.items() if key not in NAMED}
        text = json.dumps({**line, **own}, ensure_ascii=True)
        with self._lock, store_errors(self.path, store.ELSEWHERE):
            _write_all(self._descriptor, text.encode() + b"\n")
            if said.state != "error":
                self.said[said.question] = said


def _write_all(descriptor: int, content: bytes) -> None:
    """Append these bytes, all or none of them."""
    size = os.fstat(descriptor).st_size
    try:
        while content:
            content = content[os.write(descriptor, content) :]
    except OSError:
        # On a full disk a part may have been written, to which the next line would be appended.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def _whole(descriptor: int) -> int:
    """How many bytes of a file its finished lines have, read backwards in pieces of 64 KiB."""
    size = os.fstat(descriptor).st_size
    while size:
        begin = max(0, size - 65_536)
        place = os.pread(descriptor, size - begin, begin).rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        size = begin
    return 0


def _lines(path: Path) -> Iterator[bytes]:
    """The finished lines of a file; none if there is no file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror})") from error
    yield from content.split(b"\n")[:-1]


def _read(line: bytes, path: Path) -> Said:
    """What a line says, without the forecaster's own record."""
    try:
        row: Mapping[str, Any] = json.loads(line)
        return Said(str(row["question"]), row["state"], row.get("answer"), str(row.get("reason", "")))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}: a line of it is no record ({error}); move the file away") from error
