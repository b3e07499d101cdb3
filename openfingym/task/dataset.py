"""The data of a task as ``task.toml`` states them: bundled or in a file, from where, and how they were prepared."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from openfingym.task.contracts import Section, as_tuple

OwnKind = Literal["real", "simulated", "specified"]
"""What data can be: from a named source, simulated in place of one, or synthetic by the paper's own definition."""
Fill = Literal["none", "forward", "interpolate", "drop"]
"""What can be done about cells without a value; see :attr:`Prepared.fill`."""


def inside_folder(file: str | None) -> str | None:
    """A path of a file, which must lie inside the task's folder.

    Raises:
        ValueError: the path leads out of the folder.
    """
    if file is not None:
        path = PurePosixPath(file)
        # A backslash separates folders on Windows only: refused, so that a path means the same everywhere.
        if path.is_absolute() or ".." in path.parts or "\\" in file or not path.parts:
            raise ValueError(f"{file!r} must be a relative path inside the task's folder, without '..'")
    return file


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
    filled_cells: str | None = None
    """Path of the CSV, relative to the task's folder, that says which cells these are: columns ``channel``, ``first``
    and ``last``, rows of ``file`` counted from 0. Hidden ones are not scored. None where nobody knows which."""
    dropped: Annotated[int, Field(ge=0)] = 0
    """Rows left out, for a gap or because another file lacks them."""
    interpolated_to: Annotated[int, Field(ge=0)] | None = None
    """The last row of ``file``, from 0, on whose value an interpolated cell rests; it must be a training row."""
    steps: tuple[str, ...] = ()
    """Everything that was done, in words and in order."""

    _lists = field_validator("files", "steps", mode="before")(as_tuple)
    _inside = field_validator("filled_cells")(inside_folder)


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
        twice = sorted(name for name, count in Counter(channels).items() if count > 1)
        if twice:
            raise ValueError(f"channels named more than once: {', '.join(twice)}")
        return channels

    _inside = field_validator("file")(inside_folder)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise ValueError(f"first ({self.first}) must not be after last ({self.last})")
        return self

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        # What a bundled dataset states itself, and the author of a file must state.
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
