"""The definition of a series of rounds: a TOML file that says when it asks, what, and by whose clock."""

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
    """One of ``[[sources]]``: a generator, and its own options."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    generator: str
    """Name of a generator, or path of a Python file that holds one, relative to the definition."""

    @property
    def options(self) -> dict[str, Any]:
        """Everything but the generator's name."""
        return dict(self.model_extra or {})


@dataclass(frozen=True)
class LoadedSource:
    """A source with its generator."""

    generator: Generator[Any]
    options: Options


class Series(Section):
    """A series of rounds; see docs/rounds.md for the file."""

    name: str
    """Lower-case letters, digits and dashes; its rounds and questions begin with it."""
    title: str
    clock: Clock
    """Whose time counts: the verifier's own; one that moves only as ``tick --now`` says; or one that moves so through a
    recorded past, whose truths are real."""
    timezone: str
    """Zone of the schedule, by its IANA name."""
    start: datetime | None = None
    """No round is generated before; a clock that is moved begins there. None for when the series is begun."""
    weeks: Annotated[int, Field(gt=0, le=1000)] | None = None
    """How many rounds there are; None where they go on."""
    schedule: Schedule
    sources: tuple[SourceTable, ...]

    _lists = field_validator("sources", mode="before")(as_tuple)
    _asked: dict[str, LoadedSource] = PrivateAttr(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _plain(cls, value: str) -> str:
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
        """Read a definition's file, with what its generators say of their options.

        Args:
            path: path of the TOML file.
            folder: what paths in it are relative to; None for the file's own folder.
            changes: what holds in the place of what the file says, such as ``clock`` and ``weeks``.

        Raises:
            UsageError: it cannot be read, or says what it may not; the message names the key.
        """
        data = read_toml(path, "the definition of the rounds")
        return cls.make(_placed(data, folder or path.parent) | dict(changes or {}), str(path))

    @classmethod
    def make(cls, data: Mapping[str, object], source: str) -> Self:
        """Check plain values.

        Raises:
            UsageError: with one clause a problem, each naming the key.
        """
        series = checked(cls, data, source)
        found: dict[str, LoadedSource] = {}
        for number, one in enumerate(series.sources):
            where = f"{source}: sources[{number}]"
            generator = find_generator(one.generator, where)
            options = checked(generator.options, one.options, where)
            name = options.name or Path(one.generator).stem
            if not NAME.fullmatch(name):
                raise UsageError(f"{where}: name: expected lower-case letters, digits and dashes, found {name!r}")
            if name in found:
                raise UsageError(f"{where}: name: there is another source {name!r}; give each a name of its own")
            if series.clock not in options.clocks:
                raise UsageError(f"{where}: {_unfit(one.generator, series.clock, options)}")
            found[name] = LoadedSource(generator, options)
        series._asked.update(found)
        return series

    @property
    def asked(self) -> Mapping[str, LoadedSource]:
        """Its sources by their names, each with its generator."""
        return self._asked

    @property
    def simulated(self) -> bool:
        """Whether its truths are made up, or its time is no real one."""
        return self.clock == "simulated"

    @property
    def replayed(self) -> bool:
        """Whether it asks of a recorded past, which passes once more."""
        return self.clock == "replayed"

    @property
    def moved(self) -> bool:
        """Whether its time moves only as it is told."""
        return self.clock != REAL_CLOCK

    @property
    def clock_name(self) -> str:
        """Name of its clock in the ledger: ``real``, or its own."""
        return {REAL_CLOCK: REAL_CLOCK, "replayed": f"{REPLAYED}{self.name}"}.get(self.clock, self.name)

    @property
    def mark(self) -> str:
        """What is said of its clock wherever something of it is shown: SIMULATED, REPLAYED, or nothing."""
        return self.clock.upper() if self.moved else ""

    def rounds(self, since_ns: int, until_ns: int) -> Iterator[RoundTimes]:
        """Its rounds whose generation lies in a stretch of time, both ends included, in order.

        Args:
            since_ns: when it was begun, from which its :attr:`weeks` are counted.
            until_ns: the last moment.
        """
        return itertools.islice(self.schedule.rounds(self.zone, since_ns, until_ns), self.weeks)

    @cached_property
    def zone(self) -> ZoneInfo:
        """Zone of the schedule."""
        return ZoneInfo(self.timezone)

    @property
    def start_ns(self) -> int | None:
        """:attr:`start` in nanoseconds since the epoch."""
        return None if self.start is None else moment_ns(self.start)


def _unfit(generator: str, clock: str, options: Options) -> str:
    """Why a source cannot be asked by a clock."""
    why = {
        True: "makes up its truths",
        False: "asks of a recorded past" if options.clocks == {"replayed"} else "asks of no recorded past",
    }[options.is_simulated]
    allowed = " or ".join(repr(one) for one in CLOCKS if one in options.clocks)
    return f"the generator {generator!r} {why}, which needs clock = {allowed}; found {clock!r}"


def find_definition(name: str) -> Path:
    """The file of a definition: a path, or the name of one that the library brings.

    Raises:
        UsageError: there is neither.
    """
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        return path
    brought = {one.stem: one for one in sorted(_brought().glob("*.toml"))}
    if name not in brought:
        raise UsageError(
            f"{name}: no file, and the library brings no rounds of that name; it has {', '.join(sorted(brought))}"
        )
    return brought[name]


def _brought() -> Path:
    """Folder of the definitions that the library brings: in a wheel inside the library, in a checkout beside it."""
    package = Path(str(resources.files("openfingym")))
    installed = package / "_rounds"
    return installed if installed.is_dir() else package.parent / "rounds"


def _placed(data: dict[str, object], folder: Path) -> dict[str, object]:
    """Make paths of generators absolute."""
    sources = data.get("sources")
    if not isinstance(sources, list):
        return data
    return data | {
        "sources": [
            one | {"generator": str((folder / one["generator"]).absolute())}
            if isinstance(one, dict) and str(one.get("generator", "")).endswith(".py")
            else one
            for one in sources
        ]
    }
