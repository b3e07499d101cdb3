"""What ``openfingym task new`` writes that differs from kind to kind, and what an author may give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.data.dataset import Measure
    from openfingym.task.dataset import Fill


@dataclass(frozen=True)
class Given:
    """What an author gives ``openfingym task new`` of their own."""

    files: tuple[Path, ...]
    """The files with the data; one at least."""
    labels: Path | None = None
    """A table of labels beside them."""
    features: Path | None = None
    """A table of features beside them."""
    fill: Fill | None = None
    """What to do about cells without a value; None to refuse them."""
    measure: Measure | None = None
    """What the columns hold; None to go by their signs."""
    target: str | None = None
    """The column to predict of rows of features; None for the last one."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all files."""
        return tuple(path.name for path in (*self.files, self.labels, self.features) if path is not None)


@dataclass(frozen=True)
class OwnData:
    """An author's data as a task package holds it."""

    file: str
    """Name of the file that the task reads."""
    content: Mapping[str, bytes]
    """Every file to write, by name."""
    measure: Measure
    names: tuple[str, ...]
    """Names of the author's files that it was made from."""
    steps: tuple[str, ...] = ()
    """What was done, for people."""
    fill: Fill = "none"
    filled: int = 0
    """Cells that were given a value."""
    dropped: int = 0
    """Rows left out."""
    dates: bool = True
    """Whether rows have a date."""
    interpolated_to: int | None = None
    """The last row on which an interpolated cell rests; None for none."""


@dataclass(frozen=True)
class Start:
    """What a scaffold of one kind of task holds. Its family and baseline are those of the kind's contract."""

    data: str
    """What it starts from, for people."""
    description: str
    asks: str
    """First sentence of the instruction."""
    asset_class: str
    frequency: str
    panel: str
    dataset: str | None
    """Name of bundled data; None for a CSV of two random walks, ``alpha`` and ``beta``, or for own data."""
    split: tuple[float, float, float, int] | None
    """Shares of the three blocks, and the embargo."""
    contract: str
    """Lines of the contract's table, without ``kind``."""
    metrics: tuple[tuple[str, float], ...]
    """Names and weights."""
    feedback: str = ""
    """Lines of the table about feedback."""
    own: str = "this kind cannot start from a file of your own"
    """What is said beside the name of bundled data."""
    periods_per_year: float | None = None
    own_data: OwnData | None = None
    """The author's own data; None without any."""
