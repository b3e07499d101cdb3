"""The folder of a series: its definition, and what was written of each round.

Of what was asked, forecast and resolved the verifier's ledger is the only record. Here is what it does not know, in
``<store>/rounds/<name>/``::

    definition.toml                     what `rounds init` was given
    begun.json                          since when there are rounds, and where the definition was
    log.json                            name of the log that the rounds are in
    tick.lock                           held by the tick at work
    2026-W48/entered-SOURCE.json        how many forecasts the reference forecasters made
    2026-W48/checkpoint                 the log's signed checkpoint at the deadline: a log changed later is another one
    2026-W48/closed.json                how many questions and forecasts there were at the deadline
    2026-W48/missed.json                that nothing was asked before the deadline
    2026-W48/report.html, report.json   as published

Were all of it lost but the definition, the next tick would write it anew from the ledger.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from openfingym import store
from openfingym.errors import StoreError, UsageError
from openfingym.files.locks import Lock, take
from openfingym.files.whole import store_errors, write_json, write_text
from openfingym.questions.question import moment_ns, utc_text
from openfingym.rounds.series import Series

DEFINITION, BEGUN, LOG, LOCK = "definition.toml", "begun.json", "log.json", "tick.lock"


@dataclass(frozen=True)
class Book:
    """The folder of a series."""

    folder: Path

    @classmethod
    def begin(cls, definition: Path, now_ns: int) -> Self:
        """Begin a series, or go on with one by a changed definition.

        Args:
            definition: path of its file.
            now_ns: the real time; a series without a start begins now.

        Raises:
            UsageError: the definition says what it may not, or changes the clock of a series that has begun.
            StoreError: the folder cannot be written.
        """
        series = Series.read(definition)
        book = cls(_root() / series.name)
        with store_errors(book.folder, store.ELSEWHERE):
            book.folder.mkdir(parents=True, exist_ok=True)
            with book.lock():
                if (book.folder / BEGUN).exists():
                    before = book.series
                    if before.clock != series.clock:
                        raise UsageError(
                            f"{series.name} has begun by a {before.clock} clock; give a series by a {series.clock} one "
                            "another name"
                        )
                    since = book.since_ns
                else:
                    since = now_ns if series.start_ns is None else series.start_ns
                # The order lets a killed `init` be repeated: there is no series before there is the second file.
                write_text(book.folder / DEFINITION, definition.read_text(encoding="utf-8-sig"))
                begun = {"since": utc_text(since), "folder": str(definition.parent.absolute())}
                write_json(book.folder / BEGUN, begun)
        return cls(book.folder)

    @classmethod
    def find(cls, name: str | None) -> Self:
        """The series of a name, or the only one there is.

        Raises:
            UsageError: there is none, or several and no name.
        """
        known = series_names()
        if name is None and len(known) == 1:
            name = known[0]
        if name in known:
            return cls(_root() / str(name))
        begin = "begin one with `openfingym rounds init FILE`"
        if name is None:
            raise UsageError(f"which series? There are {', '.join(known)}" if known else f"there is no series; {begin}")
        raise UsageError(f"there is no series {name!r}; known: {', '.join(known) or 'none'}; {begin}")

    @cached_property
    def series(self) -> Series:
        """Its definition."""
        return Series.read(self.folder / DEFINITION, self._begun["folder"])

    @property
    def since_ns(self) -> int:
        """No round is generated before."""
        return moment_ns(self._begun["since"])

    def lock(self) -> Lock:
        """Wait until nobody else is at work on the series."""
        return take(self.folder / LOCK)

    def require_log(self, checkpoint: str) -> None:
        """Return if this is a checkpoint of the log that the series is in; the first one says which that is.

        Raises:
            UsageError: it is of another log, which knows none of the rounds that were begun.
        """
        origin, path = checkpoint.partition("\n")[0], self.folder / LOG
        if not path.exists():
            with store_errors(path, store.ELSEWHERE):
                write_json(path, {"origin": origin})
            return
        try:
            known = str(json.loads(path.read_text(encoding="utf-8"))["origin"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{path}: cannot be read ({error}); remove it if the ledger is the right one") from error
        if known != origin:
            raise UsageError(
                f"the rounds of {self.series.name} are in the log {known}, and this ledger's is {origin}: name the "
                f"ledger that they are in, by --verifier or --state-folder, or remove {self.folder} to begin anew"
            )

    def has(self, week: str, name: str) -> bool:
        """Whether a file of a round was written."""
        return (self.folder / week / name).exists()

    def write(self, week: str, name: str, content: object) -> None:
        """Write a file of a round whole or not at all: a text as it is, anything else as JSON."""
        path = self.folder / week / name
        with store_errors(path, store.ELSEWHERE):
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                write_text(path, content, errors="backslashreplace")
            else:
                write_json(path, content)

    @cached_property
    def _begun(self) -> dict[str, Any]:
        path = self.folder / BEGUN
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return {"since": str(found["since"]), "folder": Path(found["folder"])}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{path}: cannot be read ({error}); run `openfingym rounds init FILE` again") from error


def series_names() -> list[str]:
    """Names of the series that were begun in this store."""
    return sorted(path.parent.name for path in _root().glob(f"*/{BEGUN}"))


def _root() -> Path:
    return store.home() / "rounds"
