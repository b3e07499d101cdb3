"""The task model: what ``task.toml`` may say, and nothing else.

A task is the triple (dataset, description, evaluation) of the OpenFinGym paper, section 3.1.
The file is a Harbor task configuration (schema 1.4); everything of ours sits under
``[metadata.openfingym]``. Unknown keys are errors, because a misspelt ``weigth`` would
otherwise silently change a score.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from openfingym.errors import TaskError

Family = Literal["forecasting", "generation", "trading", "fraud"]
AssetClass = Literal["commodity", "crypto", "equity", "fx", "rates", "lob", "synthetic", "graph"]
Frequency = Literal["intraday", "hourly", "daily", "weekly", "monthly", "none"]
DataKind = Literal["real", "simulated", "specified"]
ValueSemantics = Literal["log_return", "price_level", "yield_level"]

TASK_NAME = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
WEIGHT_TOLERANCE = 1e-6

PositiveInt = Annotated[int, Field(gt=0)]
Fraction = Annotated[float, Field(gt=0.0, lt=1.0)]


class _Section(BaseModel):
    """A table of ``task.toml``: immutable, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _tuple(value: object) -> object:
    """TOML arrays arrive as lists; the frozen model holds tuples."""
    return tuple(value) if isinstance(value, list) else value


class Author(_Section):
    """An author of the package, as Harbor records it."""

    name: str
    email: str | None = None


class Package(_Section):
    """``[task]``: identity of the package."""

    name: str
    """``org/task-name``; the second half is the name used everywhere in OpenFinGym."""
    version: str
    description: str = Field(min_length=1)
    authors: tuple[Author, ...] = ()
    keywords: tuple[str, ...] = ()

    _lists = field_validator("authors", "keywords", mode="before")(_tuple)

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        import re

        org, slash, short = name.partition("/")
        if not (slash and re.match(TASK_NAME, org) and re.match(TASK_NAME, short)):
            raise ValueError(f"{name!r} is not of the form org/task-name in lower-case kebab-case, such as mydesk/oil-forecast")
        return name


class Dataset(_Section):
    """``[metadata.openfingym.dataset]``: a bundled series by ``name``, or a CSV ``file`` beside ``task.toml``."""

    name: str | None = None
    """Name of a bundled dataset, as in ``openfingym data list``."""
    file: str | None = None
    """Path of a CSV, relative to the task's folder: first column an ISO date, one column a channel."""
    measure: Literal["price", "yield"] | None = None
    """What the columns of ``file`` hold; a bundled dataset states its own."""
    kind: DataKind | None = None
    source: str | None = None
    licence: str | None = None
    channels: tuple[str, ...] = Field(min_length=1)
    """Columns used, in the order of the last axis of every array."""

    _lists = field_validator("channels", mode="before")(_tuple)

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
    def _one_source(self) -> Self:
        own = ("measure", "kind", "source", "licence")
        if (self.name is None) == (self.file is None):
            raise ValueError("give exactly one of 'name' (a bundled dataset) and 'file' (a CSV in the task's folder)")
        if self.file is not None and (missing := [key for key in own if getattr(self, key) is None]):
            raise ValueError(f"'file' also needs {', '.join(missing)}: data must say where it comes from")
        if self.name is not None and (extra := [key for key in own if getattr(self, key) is not None]):
            raise ValueError(f"{', '.join(extra)}: stated by the bundled dataset {self.name!r}; remove")
        return self


class Split(_Section):
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
    scaling: Literal["none", "standard"] = "none"
    """``standard`` subtracts the mean and divides by the standard deviation of the training rows."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        total = self.train + self.public + self.private
        if abs(total - 1.0) > WEIGHT_TOLERANCE:
            raise ValueError(f"train + public + private must be 1, found {total:.6g}")
        return self


class Contract(_Section):
    """``[metadata.openfingym.contract]``: shapes, units and the admissible range of a prediction."""

    lookback: PositiveInt
    """Rows of input a window shows."""
    horizon: PositiveInt
    """Rows to predict, directly after the inputs."""
    value_semantics: ValueSemantics
    unit: str
    """Unit of every value, such as ``percent per annum``."""
    low: float
    high: float
    """Predictions outside [low, high] are refused as implausible."""
    dtype: Literal["float64"] = "float64"

    @model_validator(mode="after")
    def _range(self) -> Self:
        if not (self.low < self.high and abs(self.low) < 1e12 and abs(self.high) < 1e12):
            raise ValueError(f"need finite low < high, found low = {self.low}, high = {self.high}")
        return self


class WeightedMetric(_Section):
    """One ``[[metadata.openfingym.scoring.metrics]]``: a loss of the reward bank and its weight."""

    name: str
    weight: float = Field(gt=0.0, le=1.0)


class Scoring(_Section):
    """``[metadata.openfingym.scoring]``: the total is the weighted sum of losses; lower is better."""

    metrics: tuple[WeightedMetric, ...] = Field(min_length=1)
    periods_per_year: float = Field(default=1.0, gt=0.0)
    """Annualisation factor P of the Sharpe ratio (its square root is applied); 1 leaves it per period."""
    tail_level: Fraction = 0.05
    """Level of Value-at-Risk and Expected Shortfall."""

    _lists = field_validator("metrics", mode="before")(_tuple)

    @model_validator(mode="after")
    def _weights(self) -> Self:
        from openfingym.metrics import LOSSES

        for metric in self.metrics:
            if metric.name not in LOSSES:
                near = difflib.get_close_matches(metric.name, LOSSES, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(sorted(LOSSES))}"
                raise ValueError(f"unknown metric {metric.name!r}{hint}")
        names = [metric.name for metric in self.metrics]
        if len(set(names)) < len(names):
            raise ValueError("a metric is listed twice")
        total = sum(metric.weight for metric in self.metrics)
        if abs(total - 1.0) > WEIGHT_TOLERANCE:
            raise ValueError(f"weights must add up to 1, found {total:.6g}")
        return self


class Verification(_Section):
    """``[metadata.openfingym.verification]``: how feedback is rationed."""

    budget: PositiveInt = 5
    """Accepted submissions a rollout may make."""
    requests_per_minute: float = Field(default=30.0, gt=0.0)
    burst: PositiveInt = 10
    feedback_digits: Annotated[int, Field(ge=1, le=6)] = 3
    """Significant digits of the public-fold feedback."""
    feedback_clip: float = Field(default=5.0, gt=0.0)
    """Feedback losses above this are shown as this."""


class Limits(_Section):
    """``[metadata.openfingym.limits]``: what Harbor's own keys do not cover."""

    pids: PositiveInt = 128
    output_kb: PositiveInt = 1024
    """Bytes of stdout and stderr kept and allowed, in KiB."""


class Provenance(_Section):
    """``[metadata.openfingym.provenance]``: where the task comes from."""

    paper: str
    catalogue_id: str | None = None
    """Row of the paper's task catalogue that this task follows."""
    note: str | None = None


class Spec(_Section):
    """``[metadata.openfingym]``."""

    format: Literal[1]
    family: Family
    asset_class: AssetClass
    frequency: Frequency
    dataset: Dataset
    split: Split
    contract: Contract
    scoring: Scoring
    verification: Verification = Verification()
    limits: Limits = Limits()
    provenance: Provenance

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.split.embargo < self.contract.horizon:
            raise ValueError(f"split.embargo ({self.split.embargo} rows) must be at least contract.horizon ({self.contract.horizon})")
        return self


class Metadata(_Section):
    """``[metadata]``: holds our table, and nothing else."""

    openfingym: Spec


class Agent(_Section):
    """``[agent]``: Harbor's table."""

    timeout_sec: float = Field(default=600.0, gt=0.0)


class VerifierTable(_Section):
    """``[verifier]``: Harbor's table; ``env`` is how a Harbor run reaches our verifier."""

    timeout_sec: float = Field(default=600.0, gt=0.0)
    env: Mapping[str, str] = {}


class Environment(_Section):
    """``[environment]``: Harbor's table; an agent never gets a network."""

    network_mode: Literal["no-network"] = "no-network"
    cpus: PositiveInt = 1
    memory_mb: PositiveInt = 2048
    storage_mb: PositiveInt = 256
    build_timeout_sec: float = Field(default=600.0, gt=0.0)


class TaskFile(_Section):
    """The whole of ``task.toml``."""

    schema_version: Literal["1.4"]
    task: Package
    metadata: Metadata
    agent: Agent = Agent()
    verifier: VerifierTable = VerifierTable()
    environment: Environment = Environment()


@dataclass(frozen=True)
class Task:
    """A task package as its author wrote it: a folder with ``task.toml`` and ``instruction.md``."""

    folder: Path
    """Folder of the package."""
    file: TaskFile
    """Everything ``task.toml`` says."""

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
        return self.folder / "task.toml"

    @property
    def instruction_path(self) -> Path:
        """Path of ``instruction.md``."""
        return self.folder / "instruction.md"

    @classmethod
    def read(cls, folder: Path) -> Task:
        """Read and check the package in ``folder``.

        Raises:
            TaskError: the file is missing or malformed; the message names file and key.
        """
        path = folder / "task.toml"
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise TaskError("no such file; a task package needs one (see `openfingym task new`)", path=path) from None
        except (OSError, UnicodeDecodeError) as error:
            raise TaskError(f"cannot be read: {error}", path=path) from error
        task = cls(folder, parse_task_file(text, path))
        if not task.instruction_path.is_file():
            raise TaskError("no such file; it is what the agent reads", path=task.instruction_path)
        return task


def parse_task_file(text: str, path: Path) -> TaskFile:
    """Parse the text of a ``task.toml``.

    Args:
        text: the file's content.
        path: where it came from, for messages.

    Raises:
        TaskError: with one line a problem, each naming the key.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"is not valid TOML: {error}", path=path) from error
    try:
        return TaskFile.model_validate(data)
    except ValidationError as error:
        problems = [_explain(detail) for detail in error.errors()]
        raise TaskError("; ".join(problems), path=path, key=_key(error.errors()[0]["loc"]) or None) from None


def _key(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


def _explain(detail: object) -> str:
    """Turn one pydantic error into a sentence that starts with the key."""
    assert isinstance(detail, dict)
    key, kind = _key(detail["loc"]), detail["type"]
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(detail["loc"][-1]), _fields_at(detail["loc"][:-1]), 1)
        return f"{key}: unknown key" + (f"; did you mean {near[0]!r}?" if near else "")
    if kind == "missing":
        return f"{key}: required, but not there"
    message = detail["msg"].removeprefix("Value error, ")
    found = detail.get("input")
    shown = "" if kind == "value_error" or isinstance(found, dict | list) else f", found {found!r}"
    return f"{key}: {message}{shown}" if key else f"{message}{shown}"


def _fields_at(location: tuple[int | str, ...]) -> list[str]:
    """Names of the keys allowed in the table at ``location``."""
    model: type[BaseModel] = TaskFile
    for part in location:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = [a for a in (annotation, *getattr(annotation, "__args__", ())) if isinstance(a, type) and issubclass(a, BaseModel)]
        if not inner:
            return []
        model = inner[0]
    return list(model.model_fields)
