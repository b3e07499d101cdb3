"""The parts of a new task (``openfingym task new``) that differ from kind to kind, and the files an author may give."""

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
    """The files that an author gives ``openfingym task new``, and how they are to be read."""

    files: tuple[Path, ...]
    """Paths of the files with the data; at least one."""
    labels: Path | None = None
    """Path of a table of labels, for graphs; None without one."""
    features: Path | None = None
    """Path of a table of features, for graphs; None without one."""
    fill: Fill | None = None
    """What to do about cells without a value; None to refuse them."""
    measure: Measure | None = None
    """What the columns hold; None for prices if all values are positive, else for mixed values."""
    target: str | None = None
    """Name of the column to predict, for rows of features; None for the last column."""

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
    """What the columns hold."""
    names: tuple[str, ...]
    """Names of the author's files that the data was made from."""
    steps: tuple[str, ...] = ()
    """Everything that was done to the author's files, as sentences."""
    fill: Fill = "none"
    """What was done about cells without a value."""
    filled: int = 0
    """Number of cells that were given a value."""
    filled_cells: str | None = None
    """Name of the file in ``content`` that says which cells these are; None where there is none."""
    dropped: int = 0
    """Number of rows that were left out."""
    dates: bool = True
    """Whether rows have a date."""
    interpolated_to: int | None = None
    """The last row, from 0, on whose value an interpolated cell rests; None if no cell was interpolated."""
    hint: str = ""
    """Advice about another kind of task for such data; empty for none."""
    oddities: tuple[str, ...] = ()
    """What is odd about the values, for the author; see :func:`openfingym.data.plausibility.oddities`."""


@dataclass(frozen=True)
class Start:
    """A new task of one kind, before it has a name. Its family and baseline are those of the kind's contract."""

    data: str
    """The data that the task starts from, in words."""
    description: str
    """``description`` in ``task.toml``."""
    asks: str
    """First sentence of the instruction."""
    asset_class: str
    """``asset_class`` in ``task.toml``."""
    frequency: str
    """``frequency`` in ``task.toml``."""
    panel: str
    """What the data holds, in a few words."""
    dataset: str | None
    """Name of bundled data; None for a CSV of two random walks, ``alpha`` and ``beta``, or for own data."""
    split: tuple[float, float, float, int] | None
    """Shares of the training, public and private block, and the rows of the embargo; None for data without a split."""
    contract: str
    """Lines of the table ``contract`` in ``task.toml``, without ``kind``."""
    metrics: tuple[tuple[str, float], ...]
    """Names and weights of the metrics."""
    feedback: str = ""
    """Lines of the table ``verification``, beside its budget."""
    own: str = "this kind cannot start from a file of your own"
    """The comment beside the name of bundled data."""
    periods_per_year: float | None = None
    """``scoring.periods_per_year`` in ``task.toml``; None to leave it out."""
    own_data: OwnData | None = None
    """The author's own data; None where the task starts from other data."""
