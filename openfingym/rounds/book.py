"""The folder of a series: its definition, and what was written of each round.

What was asked, forecast and resolved is recorded in the verifier's ledger alone. The folder has what the ledger does
not know, in ``<store>/rounds/<name>/``::

    definition.toml                     the file that `rounds init` was given
    begun.json                          since when there are rounds, where the definition was, what was changed of it
    log.json                            name of the log that the rounds are in
    tick.lock                           held by the tick at work
    run.lock                            held by the `rounds run` at work
    2026-W48/generated-SOURCE.json      what the generator said of how its questions came about
    2026-W48/entered-SOURCE.json        how many forecasts the reference forecasters made
    2026-W48/checkpoint                 the log's signed checkpoint at the deadline, which proves any later change of it
    2026-W48/closed.json                how many questions and forecasts there were at the deadline
    2026-W48/missed.json                that nothing was asked before the deadline
    2026-W48/report.html, report.json   the report as it was published
    2026-W48/records/AGENT.jsonl        what an agent said in `rounds run`, word by word, one question on each line
    2026-W48/receipts/AGENT/*.json      the receipt of each forecast that was entered here
    passes/2/                           the same again for a later pass (openfingym.rounds.passes)

If all of it but the definition is lost, the next tick writes it anew from the ledger.
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
"""Most characters that a text contributes to the name of a file; file systems allow 255 bytes."""
PASSES = "passes"
RECEIPTS, RUNNING = "receipts", "run.lock"
CHANGEABLE = frozenset({"clock", "weeks"})
"""Keys of the definition that `rounds init` and `rounds run` may set to other values."""


@dataclass(frozen=True)
class Book:
    """The folder of a series, with all that is written and read there."""

    folder: Path
    """Path of the folder."""

    @classmethod
    def begin(cls, definition: Path, now_ns: int, *, clock: str | None = None) -> Self:
        """Begin a series, or go on with one by a changed definition.

        Args:
            definition: path of the definition's file.
            now_ns: the real time in nanoseconds since the epoch, at which a series without a start begins.
            clock: the clock of the series if it is not to be that of the definition: ``real``, ``simulated`` or
                ``replayed``.

        Raises:
            UsageError: the definition has values that are not allowed, or changes the clock of a series that has begun.
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
                    # The number of weeks that `rounds run` gave the series, see `lasting`.
                    if series.weeks is None and "weeks" in book._begun["changes"]:
                        changes["weeks"] = book._begun["changes"]["weeks"]
                else:
                    since = now_ns if series.start_ns is None else series.start_ns
                # In this order a killed `init` can be repeated: there is no series before the second file is there.
                write_text(book.folder / DEFINITION, definition.read_text(encoding="utf-8-sig"))
                begun = {"since": utc_text(since), "folder": str(definition.parent.absolute())}
                begun |= {"begun_at": utc_text(now_ns)}
                write_json(book.folder / BEGUN, begun | {"changes": changes})
        # A new object, whose cached properties are read from these files.
        return cls(book.folder)

    @classmethod
    def find(cls, name: str | None) -> Self:
        """Find the series of this name, or the one that was begun last if the name is None.

        Raises:
            UsageError: no such series was begun in this store.
        """
        known = series_names()
        if name is None and known:
            name = max(known, key=lambda series: (cls(_root() / series)._begun["begun_at"], series))
        if name in known:
            return cls(_root() / str(name))
        begin = "begin one with `openfingym rounds init FILE`"
        if name is None:
            raise UsageError(f"there is no series; {begin}")
        raise UsageError(f"there is no series {name!r}; known: {', '.join(known) or 'none'}; {begin}")

    @cached_property
    def series(self) -> Series:
        """The definition of the series, with what was changed of it; a later pass has a name of its own."""
        series = Series.read(self.folder / DEFINITION, self._begun["folder"], self._begun["changes"])
        return series if self.number == 1 else series.model_copy(update={"name": f"{series.name}+{self.number}"})

    @property
    def number(self) -> int:
        """Number of the pass, counted from 1 (openfingym.rounds.passes)."""
        number: int = self._begun["pass"]
        return number

    def lasting(self, weeks: int) -> Self:
        """Set how many rounds the series has, if its definition does not say so; returns the book of that series.

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
        """The moment before which no round is generated, in nanoseconds since the epoch."""
        return moment_ns(self._begun["since"])

    def lock(self) -> Lock:
        """Wait until no other process ticks the series or begins it, and keep others from doing so."""
        return take(self.folder / LOCK)

    def require_log(self, checkpoint: str) -> None:
        """Return if a checkpoint is of the log that the series is in, which is that of the first checkpoint.

        Args:
            checkpoint: a signed checkpoint of the verifier's log.

        Raises:
            UsageError: the checkpoint is of another log, which does not have the rounds of the series.
            StoreError: the name of the log cannot be read or written.
        """
        # The first line of a checkpoint is the name of its log.
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
        """Whether the file of this name was written for the round of this ISO week."""
        return (self.folder / week / name).exists()

    def write(self, week: str, name: str, content: object) -> None:
        """Write a file of a round, whole or not at all.

        Args:
            week: ISO week of the round.
            name: name of the file.
            content: what to write: a text as it is, anything else as JSON.

        Raises:
            StoreError: the file cannot be written.
        """
        path = self.folder / week / name
        with store_errors(path, store.ELSEWHERE):
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                write_text(path, content, errors="backslashreplace")
            else:
                write_json(path, content)

    def receipt(self, week: str, agent: str, question: str) -> Path:
        """Path of the receipt of an agent's forecast of the question of this id."""
        # An id is series/week/source/key; the first two are the folder's.
        name = ".".join(question.split("/")[2:])
        return self.folder / week / RECEIPTS / file_name(agent) / f"{file_name(name)}.json"

    def write_receipt(self, week: str, agent: str, question: str, receipt: Mapping[str, Any]) -> None:
        """Keep the receipt of an agent's forecast of the question of this id."""
        path = self.receipt(week, agent, question)
        with store_errors(path, store.ELSEWHERE):
            path.parent.mkdir(parents=True, exist_ok=True)
            # Without a sync to the disk: if a power cut takes the file, the verifier gives the receipt again.
            write_json(path, receipt, sync=False)

    def running(self) -> Lock:
        """Take the lock of the series that one `rounds run` holds at a time.

        Raises:
            UsageError: another process holds it.
            StoreError: the lock's file cannot be opened.
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
        """The values of ``begun.json``, checked: ``since`` as text, ``begun_at`` in nanoseconds, ``folder``,
        ``changes``, and the number of the ``pass``.
        """
        path = self.folder / BEGUN
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            changes = {name: value for name, value in document.get("changes", {}).items() if name in CHANGEABLE}
            begun_at = moment_ns(str(document.get("begun_at", document["since"])))
            return {"since": str(document["since"]), "folder": Path(document["folder"]), "changes": changes} | {
                "begun_at": begun_at,
                "pass": int(document.get("pass", 1)),
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError, UsageError) as error:
            raise StoreError(f"{path}: cannot be read ({error}); run `openfingym rounds init FILE` again") from error


def series_names() -> list[str]:
    """The names of the series that were begun in this store, sorted."""
    return sorted(path.parent.name for path in _root().glob(f"*/{BEGUN}"))


def series_folders() -> list[Path]:
    """The folders of the series that were begun in this store, sorted by the names of the series."""
    return [_root() / name for name in series_names()]


def file_name(text: str) -> str:
    """The name of a file for a text, which may be a name that a stranger chose.

    Signs that a file's name must not have are replaced; then a digest tells texts apart that would have the same name.
    """
    # Without leading dots, the name can be neither hidden nor a parent folder.
    plain = re.sub(r"[^A-Za-z0-9.+_=-]+", "-", text).lstrip(".")[:LONGEST_NAME]
    return plain if plain == text else f"{plain}-{sha256_of_text(text)[:8]}"


def _root() -> Path:
    return store.home() / "rounds"
