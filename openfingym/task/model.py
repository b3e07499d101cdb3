"""The task model: what ``task.toml`` may say, and nothing else.

A task is the triple (dataset, description, evaluation) of the OpenFinGym paper, section 3.1.
The file is a Harbor task configuration (schema 1.4); everything of ours sits under
``[metadata.openfingym]``. Unknown keys are errors, because a misspelt ``weigth`` would
otherwise silently change a score.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError, field_validator, model_validator

from openfingym.errors import TaskError
from openfingym.task.contracts import Contract, Family, Fraction, PositiveInt, Section, as_tuple
from openfingym.task.dataset import Dataset, OwnKind
from openfingym.task.explain import explain, key_of
from openfingym.task.files import CONFIG, INSTRUCTION, read_task_file, require_plain_folder
from openfingym.task.known_kinds import parse_contract
from openfingym.task.scoring import WEIGHT_TOLERANCE, Scoring

AssetClass = Literal["commodity", "crypto", "equity", "fx", "rates", "lob", "synthetic", "graph", "other"]
Frequency = Literal["intraday", "hourly", "daily", "weekly", "monthly", "none"]
DataKind = Literal[OwnKind, "real with hindsight", "simulated with hindsight"]
"""What the figures of a result are about: data of a kind; *with hindsight*, an experiment whose agents were shown what
was not known yet, so that its results are compared with no others."""

LONGEST_LINE = 4096
"""Most characters that a line of ``task.toml`` may have."""
SHARES = ("train", "public", "private")
"""Keys of a split by shares of the rows."""
STARTS = ("public_from", "private_from")
"""Keys of a split by days."""
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
        org, slash, short = name.partition("/")
        if not (slash and re.match(TASK_NAME, org) and re.match(TASK_NAME, short)):
            raise ValueError(
                f"{name!r} is not of the form org/task-name in lower-case kebab-case, such as mydesk/oil-forecast"
            )
        return name


class Split(Section):
    """``[metadata.openfingym.split]``: three consecutive blocks of time.

    Training windows come from the first block at every ``train_stride`` rows. Hidden windows come from the second
    (public fold) and third (private fold) block, and are shown one after the other, each after the one before it was
    answered.

    The blocks are shares of the rows (``train``, ``public``, ``private``), or begin on stated days (``public_from``,
    ``private_from``), so that all tasks on a real series hide the same days of it.
    """

    train: Fraction | None = None
    public: Fraction | None = None
    private: Fraction | None = None
    public_from: date | None = None
    """First day of the second block, in place of shares."""
    private_from: date | None = None
    """First day of the third block, in place of shares; its first window begins ``embargo`` rows later."""
    train_stride: PositiveInt = 1
    """Rows between the starts of two training windows."""
    hidden_stride: PositiveInt | None = None
    """Rows from one hidden window to the next; None for as many as a window asks for, so that every row is asked for
    once. More, where every row would make too many windows."""
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

    @field_validator("public_from", "private_from", mode="before")
    @classmethod
    def _day(cls, value: object) -> object:
        """A day that is written as text, as Harbor keeps it."""
        with contextlib.suppress(ValueError):
            return date.fromisoformat(value) if isinstance(value, str) else value
        return value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        stated = {name: getattr(self, name) for name in (*SHARES, *STARTS)}
        given = [name for name, value in stated.items() if value is not None]
        if given == list(STARTS):
            if not stated["public_from"] < stated["private_from"]:
                raise ValueError(
                    f"public_from must be a day before private_from, found {self.public_from} and {self.private_from}"
                )
            return self
        if given != list(SHARES):
            raise ValueError(
                f"needs {', '.join(SHARES)} (shares of the rows), or {' and '.join(STARTS)} (first days of the hidden "
                f"blocks) in their place; found {', '.join(given) or 'none of them'}"
            )
        total = sum(self.shares)
        # Decimal fractions are not exact in binary: 0.7 + 0.2 + 0.1 is not 1.
        if abs(total - 1.0) > WEIGHT_TOLERANCE:
            raise ValueError(f"train + public + private must be 1, found {total:.6g}")
        return self

    @property
    def dated(self) -> bool:
        """Whether the hidden blocks begin on stated days."""
        return self.private_from is not None

    @property
    def shares(self) -> tuple[float, float, float]:
        """Shares of the training, the public and the private block, for a split that is not :attr:`dated`."""
        assert self.train is not None, "a split by days has no shares"
        assert self.public is not None, "a split by days has no shares"
        assert self.private is not None, "a split by days has no shares"
        return self.train, self.public, self.private


class Verification(Section):
    """``[metadata.openfingym.verification]``: how feedback is rationed."""

    budget: PositiveInt = 5
    """Accepted submissions a rollout may make."""
    requests_per_minute: float = Field(default=30.0, gt=0.0)
    """Rate at which a rollout may submit, or have actions refused; beyond ``burst``."""
    burst: PositiveInt = 10
    """Submissions or refused actions that may come at once, before that rate holds."""
    feedback_digits: Annotated[int, Field(ge=1, le=6)] = 3
    """Significant digits of the public-fold feedback."""
    feedback_clip: float = Field(default=5.0, gt=0.0)
    """Feedback losses above this are shown as this."""


class RolloutLimits(Section):
    """``[metadata.openfingym.limits]``: what Harbor's own keys do not cover."""

    pids: PositiveInt = 128
    """Processes and threads that an agent's program may have at once."""
    output_kb: PositiveInt = 1024
    """Most that an agent's program may write to stdout and stderr, in KiB; all of that is kept."""


class TaskProvenance(Section):
    """``[metadata.openfingym.provenance]``: where the task comes from."""

    paper: str
    catalogue_id: str | None = None
    """Row of the paper's task catalogue that this task follows."""
    note: str | None = None


class Waiver(Section):
    """``[[metadata.openfingym.waivers]]``: a finding of the leak check that is no leak, and why."""

    file: str = Field(min_length=1)
    """The public file that the finding is in, as the check names it."""
    finding: str = Field(min_length=1)
    """What is found there, in the words of the check: everything up to the hidden row."""
    reason: str = Field(min_length=12)
    """Why it is no leak, for whoever uses the task."""


class Spec(Section):
    """``[metadata.openfingym]``: everything that a task states beyond Harbor's own tables."""

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
        """The table ``split``, for code that runs only for tasks that have one."""
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
    """Folder of the task, with ``task.toml`` in it."""
    file: TaskFile
    """Everything that ``task.toml`` says."""
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
        """Read and check the task in ``folder``.

        Raises:
            TaskError: a file is missing or malformed, or the folder holds a link; the message names file and key.
        """
        # Before the folder is searched: of a folder that is no task, the message should say that task.toml is missing.
        text = _text(folder)
        require_plain_folder(folder)
        task = cls(folder, parse_task_file(text, folder / CONFIG))
        # Read only to be refused early if it is missing or too large.
        read_task_file(folder, INSTRUCTION)
        return task


def stated_family(folder: Path) -> str | None:
    """The family that a task states, even if its ``task.toml`` is malformed otherwise; None where it cannot be read."""
    try:
        value: object = _tables(_text(folder), folder / CONFIG)
    except TaskError:
        return None
    for key in ("metadata", "openfingym", "family"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


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
        # TaskError puts the key before the message, which starts with the same key.
        raise TaskError("; ".join(problems).removeprefix(f"{key}: "), path=path, key=key or None) from None


def _tables(text: str, path: Path) -> dict[str, object]:
    # For a dotted key of n parts, a.b.c..., tomllib needs memory in proportion to n squared. A key cannot span lines.
    if len(max(text.split("\n"), key=len)) > LONGEST_LINE:
        raise TaskError(f"has a line of more than {LONGEST_LINE:,} characters; break it", path=path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"is not valid TOML: {error}", path=path) from error
    # int() raises a ValueError at more than 4,300 digits. TOMLDecodeError is one as well, so its clause comes first.
    except (RecursionError, ValueError) as error:
        raise TaskError(
            "is not valid TOML: it is nested too deep, or has a number of thousands of digits", path=path
        ) from error
