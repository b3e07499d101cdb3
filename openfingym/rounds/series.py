"""The definition of a series of rounds: a TOML file that says when it asks, what it asks, and by which clock."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from openfingym.errors import UsageError
from openfingym.questions.question import REAL_CLOCK, REPLAYED, moment_ns
from openfingym.rounds.generator import Generator, Options, find_generator
from openfingym.rounds.schedule import RoundTimes, Schedule
from openfingym.task.contracts import Section, as_tuple
from openfingym.task.toml import checked, read_toml

Clock = Literal["real", "simulated", "replayed"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class SourceTable(BaseModel):
    """A table of ``[[sources]]``: a generator, and the options for it."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    generator: str
    """Name of a generator, or path of a Python file that holds one, relative to the definition."""

    @property
    def options(self) -> dict[str, Any]:
        """All values of the table except the generator."""
        return dict(self.model_extra or {})


@dataclass(frozen=True)
class LoadedSource:
    """A source whose generator is loaded and whose options are checked."""

    generator: Generator[Any]
    """The generator that makes the questions of the source."""
    options: Options
    """The options of the source, of the class that the generator asks for."""


class Series(Section):
    """A series of rounds; see docs/rounds.md for the file."""

    name: str
    """Name of the series, of lower-case letters, digits and dashes; names of its rounds and questions begin with it."""
    title: str
    """Title of the series, as people read it."""
    clock: Clock
    """The clock that counts: ``real`` for the verifier's own, ``simulated`` for one that moves only as ``tick --now``
    says, ``replayed`` for one that moves in the same way through a recorded past, whose truths are real."""
    timezone: str
    """Time zone of the schedule, by its IANA name."""
    start: datetime | None = None
    """The moment before which no round is generated, and at which a simulated or replayed clock begins; None for the
    moment at which ``rounds init`` begins the series."""
    weeks: Annotated[int, Field(gt=0, le=1000)] | None = None
    """How many rounds there are; None if they go on without end."""
    schedule: Schedule
    """When each round is generated, is due, is resolved and published."""
    sources: tuple[SourceTable, ...]
    """The sources that ask the questions of every round."""

    _lists = field_validator("sources", mode="before")(as_tuple)
    # Filled by `make`, since generators are no plain values that pydantic could check.
    _asked: dict[str, LoadedSource] = PrivateAttr(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _plain(cls, value: str) -> str:
        # A series names its simulated clock in the ledger, where the verifier's own is called "real".
        if not NAME.fullmatch(value) or value == REAL_CLOCK:
            raise ValueError(f"expected 1 to 40 lower-case letters, digits and dashes, not 'real'; found {value!r}")
        return value

    @field_validator("timezone")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"there is no time zone {value!r}; expected one such as Asia/Singapore or UTC") from None
        return value

    @field_validator("start")
    @classmethod
    def _aware(cls, value: datetime | None) -> datetime | None:
        # Without a zone it would be another moment on each machine.
        if value is not None and value.utcoffset() is None:
            raise ValueError(f"{value.isoformat()} has no time zone; write it with one, such as {value.isoformat()}Z")
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if not self.sources:
            raise ValueError("sources: needs at least one")
        if self.moved and self.start is None:
            raise ValueError(f"start: a {self.clock} clock begins somewhere; say where, such as 2026-10-26T00:00:00Z")
        return self

    @classmethod
    def read(cls, path: Path, folder: Path | None = None, changes: Mapping[str, object] | None = None) -> Self:
        """Read the file of a definition, load its generators, and check the options for them.

        Args:
            path: path of the TOML file.
            folder: folder to which paths in the file are relative; None for the file's own folder.
            changes: values that replace those of the file, by their keys, such as ``clock`` and ``weeks``.

        Raises:
            UsageError: the file cannot be read, or one of its values is not allowed; the message names the key.
        """
        data = read_toml(path, "the definition of the rounds")
        return cls.make(_placed(data, folder or path.parent) | dict(changes or {}), str(path))

    @classmethod
    def make(cls, data: Mapping[str, object], source: str) -> Self:
        """Make a series of the values of a definition, load its generators, and check the options for them.

        Args:
            data: the values, by their keys.
            source: name of the definition for error messages, such as its path.

        Raises:
            UsageError: some values are not allowed; the message has a clause for each, which names its key.
        """
        series = checked(cls, data, source)
        loaded: dict[str, LoadedSource] = {}
        for number, table in enumerate(series.sources):
            where = f"{source}: sources[{number}]"
            generator = find_generator(table.generator, where)
            options = checked(generator.options, table.options, where)
            name = options.name or Path(table.generator).stem
            # The name is part of the ids of the questions, by which they are assigned to the source again.
            if not NAME.fullmatch(name):
                raise UsageError(f"{where}: name: expected lower-case letters, digits and dashes, found {name!r}")
            if name in loaded:
                raise UsageError(f"{where}: name: there is another source {name!r}; give each a name of its own")
            if series.clock not in options.clocks:
                raise UsageError(f"{where}: {_unfit(table.generator, series.clock, options)}")
            loaded[name] = LoadedSource(generator, options)
        series._asked.update(loaded)
        return series

    @property
    def asked(self) -> Mapping[str, LoadedSource]:
        """The sources with their generators, by the names of the sources."""
        return self._asked

    @property
    def simulated(self) -> bool:
        """Whether its truths are made up, or its time is not the real one."""
        return self.clock == "simulated"

    @property
    def replayed(self) -> bool:
        """Whether it asks about a recorded past as if that were still to come."""
        return self.clock == "replayed"

    @property
    def moved(self) -> bool:
        """Whether its clock is simulated or replayed, and so moves only when the operator moves it."""
        return self.clock != REAL_CLOCK

    @property
    def clock_name(self) -> str:
        """Name of its clock in the ledger: ``real``, or one that belongs to this series alone."""
        return {REAL_CLOCK: REAL_CLOCK, "replayed": f"{REPLAYED}{self.name}"}.get(self.clock, self.name)

    @property
    def mark(self) -> str:
        """The word that stands wherever something of the series is shown: SIMULATED or REPLAYED; empty for the real
        clock.
        """
        return self.clock.upper() if self.moved else ""

    def rounds(self, since_ns: int, until_ns: int) -> Iterator[RoundTimes]:
        """The rounds that are generated between two moments, both included, in order.

        Args:
            since_ns: the moment at which the series was begun, from which :attr:`weeks` are counted, in nanoseconds
                since the epoch.
            until_ns: the later moment, in nanoseconds since the epoch.
        """
        return itertools.islice(self.schedule.rounds(self.zone, since_ns, until_ns), self.weeks)

    @cached_property
    def zone(self) -> ZoneInfo:
        """Time zone of the schedule."""
        return ZoneInfo(self.timezone)

    @property
    def start_ns(self) -> int | None:
        """:attr:`start` in nanoseconds since the epoch; None if the definition does not state it."""
        return None if self.start is None else moment_ns(self.start)


def _unfit(generator: str, clock: str, options: Options) -> str:
    """Why a source cannot be asked by this clock."""
    why = {
        True: "makes up its truths",
        False: "asks of a recorded past" if options.clocks == {"replayed"} else "asks of no recorded past",
    }[options.is_simulated]
    allowed = " or ".join(repr(name) for name in CLOCKS if name in options.clocks)
    return f"the generator {generator!r} {why}, which needs clock = {allowed}; found {clock!r}"


def find_definition(name: str) -> Path:
    """The file of a definition.

    Args:
        name: path of the file, or name of a definition that comes with the library, such as ``weekly``.

    Raises:
        UsageError: there is neither such a file nor such a definition.
    """
    path = Path(name)
    # A path that does not exist is a file too, so that the message names it and not the library's definitions.
    if path.suffix == ".toml" or path.is_file():
        return path
    included = {file.stem: file for file in sorted(_included().glob("*.toml"))}
    if name not in included:
        raise UsageError(
            f"{name}: no file, and the library brings no rounds of that name; it has {', '.join(sorted(included))}"
        )
    return included[name]


def _included() -> Path:
    """Folder of the definitions that come with the library: inside it in a wheel, beside it in a checkout."""
    package = Path(str(resources.files("openfingym")))
    installed = package / "_rounds"
    return installed if installed.is_dir() else package.parent / "rounds"


def _placed(data: dict[str, object], folder: Path) -> dict[str, object]:
    """The values of a definition, with absolute paths of generators."""
    sources = data.get("sources")
    # What is no list is reported when the values are checked.
    if not isinstance(sources, list):
        return data
    return data | {
        "sources": [
            table | {"generator": str((folder / table["generator"]).absolute())}
            if isinstance(table, dict) and str(table.get("generator", "")).endswith(".py")
            else table
            for table in sources
        ]
    }
