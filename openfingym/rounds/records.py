"""What forecasters said, kept word by word: a file a week and forecaster, to which lines are appended."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openfingym import store
from openfingym.errors import StoreError
from openfingym.files.whole import store_errors
from openfingym.questions.question import utc_text
from openfingym.rounds.book import Book, file_name
from openfingym.rounds.forecaster import Said

FOLDER = "records"
NAMED = ("question", "state", "answer", "reason", "agent", "version", "at")
"""What every line says; the rest is the forecaster's record."""


@dataclass
class Records:
    """What one forecaster said in one week. A context manager, while it is written to.

    Attributes:
        said: the latest of each question that is final, by the question's id.
    """

    path: Path
    agent: str
    version: str
    said: dict[str, Said] = field(default_factory=dict)
    _descriptor: int = -1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, book: Book, week: str, agent: str, version: str) -> Records:
        """The records of a forecaster in a week, as far as they go.

        Raises:
            StoreError: the file cannot be read.
        """
        found = cls(book.folder / week / FOLDER / f"{file_name(agent)}.jsonl", agent, version)
        for line in _lines(found.path):
            said = _read(line, found.path)
            if said.state != "error":
                found.said[said.question] = said
        return found

    def __enter__(self) -> Records:
        with store_errors(self.path, store.ELSEWHERE):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            # A line that its writer did not finish was never kept.
            os.ftruncate(self._descriptor, _whole(self._descriptor))
        return self

    def __exit__(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
        os.close(descriptor)

    def keep(self, said: Said, now_ns: int) -> None:
        """Append what was said; it is in the file when this returns. From any thread.

        Args:
            said: what was said of a question.
            now_ns: when, by the clock of the series.

        Raises:
            StoreError: it cannot be written.
        """
        line: dict[str, Any] = {
            "question": said.question,
            "agent": self.agent,
            "version": self.version,
            "at": utc_text(now_ns),
        }
        line |= {"state": said.state, "reason": said.reason}
        line |= {} if said.answer is None else {"answer": dict(said.answer)}
        text = json.dumps({**line, **{k: v for k, v in said.record.items() if k not in NAMED}}, ensure_ascii=True)
        with self._lock, store_errors(self.path, store.ELSEWHERE):
            _write_all(self._descriptor, text.encode() + b"\n")
            if said.state != "error":
                self.said[said.question] = said


def _write_all(descriptor: int, content: bytes) -> None:
    size = os.fstat(descriptor).st_size
    try:
        while content:
            content = content[os.write(descriptor, content) :]
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)  # half a line would end the next one
        raise


def _whole(descriptor: int) -> int:
    """Bytes of a file up to its last line that was finished."""
    size = os.fstat(descriptor).st_size
    while size:
        begin = max(0, size - 65_536)
        place = os.pread(descriptor, size - begin, begin).rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        size = begin
    return 0


def _lines(path: Path) -> Iterator[bytes]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror})") from error
    yield from content.split(b"\n")[:-1]


def _read(line: bytes, path: Path) -> Said:
    try:
        found: Mapping[str, Any] = json.loads(line)
        return Said(str(found["question"]), found["state"], found.get("answer"), str(found.get("reason", "")))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}: a line of it is no record ({error}); move the file away") from error
