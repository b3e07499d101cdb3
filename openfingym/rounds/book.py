"""The folder of a series: its definition, and what was written of each round.

Of what was asked, forecast and resolved the verifier's ledger is the only record. Here is what it does not know, in
``<store>/rounds/<name>/``::

    definition.toml                     what `rounds init` was given
    begun.json                          since when there are rounds, where the definition was, what was changed of it
    log.json                            name of the log that the rounds are in
    tick.lock                           held by the tick at work
    2026-W48/entered-SOURCE.json        how many forecasts the reference forecasters made
    2026-W48/checkpoint                 the log's signed checkpoint at the deadline: a log changed later is another one
    2026-W48/closed.json                how many questions and forecasts there were at the deadline
    2026-W48/missed.json                that nothing was asked before the deadline
    2026-W48/report.html, report.json   as published
    2026-W48/records/AGENT.jsonl        what `rounds run` had an agent say, word by word, a question a line
    2026-W48/receipts/AGENT/*.json      the receipt of each forecast that was entered here
    run.lock                            held by the `rounds run` at work

Were all of it lost but the definition, the next tick would write it anew from the ledger.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from openfingym import store
from openfingym.digests import sha256_of_text
from openfingym.errors import StoreError, UsageError
from openfingym.files.locks import Lock, take
from openfingym.files.whole import store_errors, write_json, write_text
from openfingym.questions.question import moment_ns, utc_text
from openfingym.rounds.series import Series

DEFINITION, BEGUN, LOG, LOCK = "definition.toml", "begun.json", "log.json", "tick.lock"
LONGEST_NAME = 120
"""Characters of a file's name."""
RECEIPTS, RUNNING = "receipts", "run.lock"
CHANGEABLE = frozenset({"clock", "weeks"})
"""What `rounds init` and `rounds run` may set in the place of the definition."""


@dataclass(frozen=True)
class Book:
    """The folder of a series."""

    folder: Path

    @classmethod
    def begin(cls, definition: Path, now_ns: int, *, clock: str | None = None) -> Self:
        """Begin a series, or go on with one by a changed definition.

        Args:
            definition: path of its file.
            now_ns: the real time; a series without a start begins now.
            clock: whose time counts, in the place of what the definition says.

        Raises:
            UsageError: the definition says what it may not, or changes the clock of a series that has begun.
            StoreError: the folder cannot be written.
        """
        changes: dict[str, object] = {} if clock is None else {"clock": clock}
        series = Series.read(definition, changes=changes)
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
                    if series.weeks is None and "weeks" in book._begun["changes"]:
                        changes["weeks"] = book._begun["changes"]["weeks"]
                else:
                    since = now_ns if series.start_ns is None else series.start_ns
                # The order lets a killed `init` be repeated: there is no series before there is the second file.
                write_text(book.folder / DEFINITION, definition.read_text(encoding="utf-8-sig"))
                begun = {"since": utc_text(since), "folder": str(definition.parent.absolute())}
                begun |= {"begun_at": utc_text(now_ns)}
                write_json(book.folder / BEGUN, begun | {"changes": changes})
        return cls(book.folder)

    @classmethod
    def find(cls, name: str | None) -> Self:
        """The series of a name, or the one that was begun last.

        Raises:
            UsageError: there is none.
        """
        known = series_names()
        if name is None and known:
            name = max(known, key=lambda one: (cls(_root() / one)._begun["begun_at"], one))
        if name in known:
            return cls(_root() / str(name))
        begin = "begin one with `openfingym rounds init FILE`"
        if name is None:
            raise UsageError(f"there is no series; {begin}")
        raise UsageError(f"there is no series {name!r}; known: {', '.join(known) or 'none'}; {begin}")

    @cached_property
    def series(self) -> Series:
        """Its definition."""
        return Series.read(self.folder / DEFINITION, self._begun["folder"], self._begun["changes"])

    def lasting(self, weeks: int) -> Self:
        """The series with so many rounds, from now on; for one whose definition does not say how many.

        Raises:
            StoreError: the folder cannot be written.
        """
        path = self.folder / BEGUN
        with store_errors(path, store.ELSEWHERE):
            begun = json.loads(path.read_text(encoding="utf-8"))
            write_json(path, begun | {"changes": {**begun.get("changes", {}), "weeks": weeks}})
        return type(self)(self.folder)

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

    def receipt(self, week: str, agent: str, question: str) -> Path:
        """Path of the receipt of a forecast."""
        name = ".".join(question.split("/")[2:])  # its source and its key
        return self.folder / week / RECEIPTS / file_name(agent) / f"{file_name(name)}.json"

    def write_receipt(self, week: str, agent: str, question: str, receipt: Mapping[str, Any]) -> None:
        """Keep the receipt of a forecast. The verifier gives it again, so that it need not outlive a power cut."""
        path = self.receipt(week, agent, question)
        with store_errors(path, store.ELSEWHERE):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, receipt, sync=False)

    def running(self) -> Lock:
        """The right to play the series; one process has it at a time.

        Raises:
            UsageError: another one has it.
        """
        with store_errors(self.folder / RUNNING, store.ELSEWHERE):
            try:
                return take(self.folder / RUNNING, wait=False)
            except BlockingIOError:
                raise UsageError(
                    f"{self.series.name} is being played by another `openfingym rounds run`; wait for its end, or name "
                    "all agents in one"
                ) from None

    @cached_property
    def _begun(self) -> dict[str, Any]:
        path = self.folder / BEGUN
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            changes = {name: value for name, value in found.get("changes", {}).items() if name in CHANGEABLE}
            begun_at = moment_ns(str(found.get("begun_at", found["since"])))
            return {"since": str(found["since"]), "folder": Path(found["folder"]), "changes": changes} | {
                "begun_at": begun_at
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError, UsageError) as error:
            raise StoreError(f"{path}: cannot be read ({error}); run `openfingym rounds init FILE` again") from error


def series_names() -> list[str]:
    """Names of the series that were begun in this store."""
    return sorted(path.parent.name for path in _root().glob(f"*/{BEGUN}"))


def file_name(text: str) -> str:
    """A text as the name of a file: what no file may be named with is replaced, and a digest tells such texts apart."""
    plain = re.sub(r"[^A-Za-z0-9.+_=-]+", "-", text).lstrip(".")[:LONGEST_NAME]
    return plain if plain == text else f"{plain}-{sha256_of_text(text)[:8]}"


def _root() -> Path:
    return store.home() / "rounds"
