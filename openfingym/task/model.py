"""The task model: what ``task.toml`` may say, and nothing else.

A task is the triple (dataset, description, evaluation) of the OpenFinGym paper, section 3.1.
The file is a Harbor task configuration (schema 1.4); everything of ours sits under
``[metadata.openfingym]``. Unknown keys are errors, because a misspelt ``weigth`` would
otherwise silently change a score.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError, field_validator, model_validator

from openfingym.errors import TaskError
from openfingym.task.contracts import Contract, Family, Fraction, PositiveInt, Section, as_tuple
from openfingym.task.explain import explain, key_of
from openfingym.task.files import CONFIG, INSTRUCTION, read_task_file, require_plain_folder
from openfingym.task.known_kinds import parse_contract
from openfingym.task.scoring import WEIGHT_TOLERANCE, Scoring

AssetClass = Literal["commodity", "crypto", "equity", "fx", "rates", "lob", "synthetic", "graph"]
Frequency = Literal["intraday", "hourly", "daily", "weekly", "monthly", "none"]
OwnKind = Literal["real", "simulated", "specified"]
"""What data can be."""
DataKind = Literal[OwnKind, "real with hindsight", "simulated with hindsight"]
"""What the figures of a result are about: data of a kind; *with hindsight*, an experiment whose agents were shown what
was not known yet, so that no other result is beside it."""
Fill = Literal["none", "forward", "interpolate", "drop"]

LONGEST_LINE = 4096
"""Characters of a line of ``task.toml``."""
TASK_NAME = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"


class Author(Section):
    """An author of the package, as Harbor records it."""

    name: str
    email: str | None = None


class Package(Section):
    """``[task]``: identity of the package."""

    name: str
    """``org/task-name``; the second half is the name used everywhere in OpenFinGym."""
    version: str
    description: str = Field(min_length=1)
    authors: tuple[Author, ...] = ()
    keywords: tuple[str, ...] = ()

    _lists = field_validator("authors", "keywords", mode="before")(as_tuple)

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        import re

        org, slash, short = name.partition("/")
        if not (slash and re.match(TASK_NAME, org) and re.match(TASK_NAME, short)):
            raise ValueError(
                f"{name!r} is not of the form org/task-name in lower-case kebab-case, such as mydesk/oil-forecast"
            )
        return name


class Pulled(Section):
    """``[metadata.openfingym.dataset.pulled]``: where the real data comes from."""

    source: str
    """Name of a source, as in ``openfingym data pull``."""
    symbols: tuple[str, ...] = ()
    """The source's names of the channels, in the dataset's order."""
    interval: str | None = None
    """Length of a bar, such as ``1h``, for a source that has several; a day if None."""

    _lists = field_validator("symbols", mode="before")(as_tuple)


class Prepared(Section):
    """``[metadata.openfingym.dataset.prepared]``: how ``file`` was made from the author's own files."""

    files: tuple[str, ...]
    """Names of the author's files."""
    fill: Fill = "none"
    """What was done about cells without a value."""
    filled: Annotated[int, Field(ge=0)] = 0
    """Cells that were given a value."""
    dropped: Annotated[int, Field(ge=0)] = 0
    """Rows left out, for a gap or because another file lacks them."""
    interpolated_to: Annotated[int, Field(ge=0)] | None = None
    """The last row of ``file``, from 0, on whose value an interpolated cell rests; it must be a training row."""
    steps: tuple[str, ...] = ()
    """Everything that was done, in words and in order."""

    _lists = field_validator("files", "steps", mode="before")(as_tuple)


class Dataset(Section):
    """``[metadata.openfingym.dataset]``: bundled data by ``name``, or a ``file`` beside ``task.toml``."""

    name: str | None = None
    """Name of a bundled dataset, as in ``openfingym data list``."""
    file: str | None = None
    """Path of a file, relative to the task's folder: a CSV, first column an ISO date, one column a channel; of a graph
    what ``openfingym task new --from`` wrote."""
    measure: Literal["price", "yield", "mixed"] | None = None
    """What the columns of ``file`` hold; a bundled dataset states its own."""
    kind: OwnKind | None = None
    source: str | None = None
    licence: str | None = None
    channels: tuple[str, ...] = ()
    """Columns used, in the order of the last axis of every array; none for all."""
    first: date | None = None
    """First day of the rows used, as a TOML date; all rows before it are left out."""
    last: date | None = None
    """Last day of the rows used; all rows after it are left out."""
    dates: bool = True
    """Whether the first column of ``file`` is a date; else it is the number of the row, and nothing has a time."""
    prepared: Prepared | None = None
    """How ``file`` was made, where ``openfingym task new --from`` made it."""
    pulled: Pulled | None = None
    """The real data this dataset stands in for, used with ``--real`` once it has been pulled."""

    _lists = field_validator("channels", mode="before")(as_tuple)

    @field_validator("channels")
    @classmethod
    def _unique(cls, channels: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({c for c in channels if channels.count(c) > 1})
        if twice:
            raise ValueError(f"channels named more than once: {', '.join(twice)}")
        return channels

    @field_validator("file")
    @classmethod
    def _inside(cls, file: str | None) -> str | None:
        if file is not None:
            path = PurePosixPath(file)
            if path.is_absolute() or ".." in path.parts or "\\" in file or not path.parts:
                raise ValueError(f"{file!r} must be a relative path inside the task's folder, without '..'")
        return file

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise ValueError(f"first ({self.first}) must not be after last ({self.last})")
        return self

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        own = ("measure", "kind", "source", "licence")
        if (self.name is None) == (self.file is None):
            raise ValueError("give exactly one of 'name' (a bundled dataset) and 'file' (a file in the task's folder)")
        if self.file is not None and (missing := [key for key in own if getattr(self, key) is None]):
            raise ValueError(f"'file' also needs {', '.join(missing)}: data must say where it comes from")
        if not self.dates and (self.file is None or self.first is not None or self.last is not None):
            raise ValueError("dates = false is for a 'file' without dates, and goes neither with first nor with last")
        if self.name is not None and (extra := [key for key in (*own, "prepared") if getattr(self, key) is not None]):
            raise ValueError(f"{', '.join(extra)}: stated by the bundled dataset {self.name!r}; remove")
        return self


class Split(Section):
    """``[metadata.openfingym.split]``: three consecutive blocks of time.

    Training windows come from the first block at every ``train_stride`` rows. Hidden windows
    tile the second (public fold) and third (private fold) block without overlap, so that no
    target is ever inside another window's inputs.
    """

    train: Fraction
    public: Fraction
    private: Fraction
    train_stride: PositiveInt = 1
    """Rows between the starts of two training windows."""
    embargo: PositiveInt
    """Rows left out between two blocks; at least one horizon."""
    log1p: tuple[str, ...] = ()
    """Channels replaced by ln(1 + x) first: sizes and counts, which are heavy-tailed."""
    scaling: Literal["none", "standard", "mean", "start"] = "none"
    """``standard`` subtracts the mean and divides by the standard deviation of the training rows; ``mean``
    divides by the mean, which leaves prices positive and returns as they are; ``start``, for generation alone,
    divides each window by the row before it, so that prices of all years are alike."""
    scaled: tuple[str, ...] = ()
    """Channels that are scaled; none for all."""

    _lists = field_validator("log1p", "scaled", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        total = self.train + self.public + self.private
        if abs(total - 1.0) > WEIGHT_TOLERANCE:
            raise ValueError(f"train + public + private must be 1, found {total:.6g}")
        return self


class Verification(Section):
    """``[metadata.openfingym.verification]``: how feedback is rationed."""

    budget: PositiveInt = 5
    """Accepted submissions a rollout may make."""
    requests_per_minute: float = Field(default=30.0, gt=0.0)
    burst: PositiveInt = 10
    feedback_digits: Annotated[int, Field(ge=1, le=6)] = 3
    """Significant digits of the public-fold feedback."""
    feedback_clip: float = Field(default=5.0, gt=0.0)
    """Feedback losses above this are shown as this."""


class RolloutLimits(Section):
    """``[metadata.openfingym.limits]``: what Harbor's own keys do not cover."""

    pids: PositiveInt = 128
    output_kb: PositiveInt = 1024
    """Bytes of stdout and stderr kept and allowed, in KiB."""


class TaskProvenance(Section):
    """``[metadata.openfingym.provenance]``: where the task comes from."""

    paper: str
    catalogue_id: str | None = None
    """Row of the paper's task catalogue that this task follows."""
    note: str | None = None


class Waiver(Section):
    """``[[metadata.openfingym.waivers]]``: a finding of the leak check that is none, and why."""

    file: str = Field(min_length=1)
    """The public file it is in, as the check names it."""
    finding: str = Field(min_length=1)
    """What is found there, as the check says it: everything up to the hidden row."""
    reason: str = Field(min_length=12)
    """Why it is no leak, for whoever uses the task."""


class Spec(Section):
    """``[metadata.openfingym]``."""

    format: Literal[1]
    family: Family
    asset_class: AssetClass
    frequency: Frequency
    panel: str = Field(min_length=1)
    """What the data holds, in a few words: the sector, the currencies, the tenors."""
    dataset: Dataset
    split: Split | None = None
    contract: Annotated[SerializeAsAny[Contract], BeforeValidator(parse_contract)]
    scoring: Scoring
    verification: Verification = Verification()
    limits: RolloutLimits = RolloutLimits()
    provenance: TaskProvenance
    waivers: tuple[Waiver, ...] = ()

    _lists = field_validator("waivers", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.contract.agree(self)
        return self

    @property
    def rows(self) -> Split:
        """The split of a task that has one."""
        assert self.split is not None, "only asked of kinds that need a split"
        return self.split


class Metadata(Section):
    """``[metadata]``: holds our table, and nothing else."""

    openfingym: Spec


class AgentSection(Section):
    """``[agent]``: Harbor's table."""

    timeout_sec: float = Field(default=600.0, gt=0.0)


class VerifierTable(Section):
    """``[verifier]``: Harbor's table; ``env`` is how a Harbor run reaches our verifier."""

    timeout_sec: float = Field(default=600.0, gt=0.0)
    env: Mapping[str, str] = {}


class EnvironmentSection(Section):
    """``[environment]``: Harbor's table; an agent never gets a network."""

    network_mode: Literal["no-network"] = "no-network"
    cpus: PositiveInt = 1
    memory_mb: PositiveInt = 2048
    storage_mb: PositiveInt = 256
    build_timeout_sec: float = Field(default=600.0, gt=0.0)


class TaskFile(Section):
    """The whole of ``task.toml``."""

    schema_version: Literal["1.4"]
    task: Package
    metadata: Metadata
    agent: AgentSection = AgentSection()
    verifier: VerifierTable = VerifierTable()
    environment: EnvironmentSection = EnvironmentSection()


@dataclass(frozen=True)
class Task:
    """A task package as its author wrote it: a folder with ``task.toml`` and ``instruction.md``."""

    folder: Path
    """Folder of the package."""
    file: TaskFile
    """Everything ``task.toml`` says."""
    real: bool = False
    """Whether pulled real data takes the place of simulated data."""

    @property
    def name(self) -> str:
        """Short name, such as ``treasury-forecast``."""
        return self.file.task.name.partition("/")[2]

    @property
    def version(self) -> str:
        """Version of the package, as its author states it."""
        return self.file.task.version

    @property
    def spec(self) -> Spec:
        """The ``[metadata.openfingym]`` table."""
        return self.file.metadata.openfingym

    @property
    def config_path(self) -> Path:
        """Path of ``task.toml``."""
        return self.folder / CONFIG

    @property
    def instruction_path(self) -> Path:
        """Path of ``instruction.md``."""
        return self.folder / INSTRUCTION

    @classmethod
    def read(cls, folder: Path) -> Task:
        """Read and check the package in ``folder``.

        Raises:
            TaskError: a file is missing or malformed, or the folder holds a link; the message names file and key.
        """
        text = _text(folder)
        require_plain_folder(folder)
        task = cls(folder, parse_task_file(text, folder / CONFIG))
        read_task_file(folder, INSTRUCTION)
        return task


def stated_family(folder: Path) -> str | None:
    """The family that a task states, whatever else is wrong with it; None where that cannot be read."""
    try:
        found: object = _tables(_text(folder), folder / CONFIG)
    except TaskError:
        return None
    for key in ("metadata", "openfingym", "family"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


def _text(folder: Path) -> str:
    try:
        return read_task_file(folder, CONFIG).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"cannot be read: {error}", path=folder / CONFIG) from error


def parse_task_file(text: str, path: Path) -> TaskFile:
    """Parse the text of a ``task.toml``.

    Args:
        text: content of the ``task.toml`` file.
        path: path of the file, for error messages.

    Raises:
        TaskError: the file is malformed; the message has one line a problem, each naming the key.
    """
    data = _tables(text, path)
    try:
        return TaskFile.model_validate(data)
    except ValidationError as error:
        details = error.errors()
        problems = [explain(detail, TaskFile, data) for detail in details]
        key = key_of(details[0]["loc"])
        # The error puts its key before the message, which starts with it.
        raise TaskError("; ".join(problems).removeprefix(f"{key}: "), path=path, key=key or None) from None


def _tables(text: str, path: Path) -> dict[str, object]:
    # Reading a key of n parts takes memory of their square; a key is on one line.
    if len(max(text.split("\n"), key=len)) > LONGEST_LINE:
        raise TaskError(f"has a line of more than {LONGEST_LINE:,} characters; break it", path=path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"is not valid TOML: {error}", path=path) from error
    except (RecursionError, ValueError) as error:
        raise TaskError(
            "is not valid TOML: it is nested too deep, or has a number of thousands of digits", path=path
        ) from error
