"""Time series as a source returns them: columns on one clock, gaps left in, and where all of it came from.

A :class:`openfingym.data.Panel` has no gaps and one unit. A table is one step earlier: it holds
what the service published, missing cells as NaN, and every repair is a step that is asked for
and leaves a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.data.csvfile import channel_positions, content_digest
from openfingym.data.dataset import DatasetInfo, Measure
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.panel import Panel
    from openfingym.task.model import Frequency


@dataclass(frozen=True)
class Origin:
    """One downloaded file."""

    url: str
    sha256: str
    """Hex digest of the bytes as received."""
    size: int
    """Size in bytes."""
    fetched_at: str
    """ISO time in UTC at which the service last confirmed these bytes."""


@dataclass(frozen=True)
class DataProvenance:
    """Where data came from, in enough detail to fetch it again and compare."""

    source: str
    publisher: str
    licence: str
    parser: str
    """Name and version of the code that read the files; a new version may read them differently."""
    files: tuple[Origin, ...]
    notes: tuple[str, ...] = ()
    """Everything that was left out, repaired or noticed."""

    def noting(self, *notes: str) -> DataProvenance:
        """A copy with more notes."""
        return replace(self, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class CorporateAction:
    """A corporate action, on the day from which shares trade without it."""

    symbol: str
    day: date
    kind: Literal["split", "dividend", "capital-gain"]
    value: float
    """For a split, new shares per old share; otherwise cash per share as counted today."""
    currency: str = ""
    """Currency of the cash; empty where the publisher does not state it, which means that of the quote."""


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns on one clock. The arrays are read-only."""

    times: NDArray[np.datetime64]
    """datetime64[ns][n], UTC, strictly increasing; days are at midnight."""
    values: NDArray[np.float64]
    """float64[n, d]; NaN where the service published nothing."""
    columns: tuple[str, ...]
    """Names of the d columns."""
    frequency: Frequency
    unit: str
    """Units of the values, in words."""
    provenance: DataProvenance
    actions: tuple[CorporateAction, ...] = ()
    """Splits and dividends, never applied to ``values`` by us; see :mod:`openfingym.data.sources.adjust`."""
    currencies: Mapping[str, str] = field(default_factory=dict)
    """Currency of each symbol's prices, as the publisher spells it; empty where it states none."""

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.times), len(self.columns)):
            raise DataError(
                f"values of shape {list(self.values.shape)} for {len(self.times)} times and {len(self.columns)} columns"
            )
        if not len(self.times):
            raise DataError(f"{self.provenance.source}: there is no row in the period asked for")
        # In this form, so that a time that is none (NaT) is out of order too.
        late = np.flatnonzero(~(self.times[1:] > self.times[:-1]))
        if late.size:
            row = int(late[0]) + 1
            raise DataError(
                f"{self.provenance.source}, row {row}: its time {self.times[row]} is not after {self.times[row - 1]}"
            )
        if np.isinf(self.values).any():
            row, column = (int(i) for i in np.argwhere(np.isinf(self.values))[0])
            raise DataError(
                f"{self.provenance.source}, row {row}, column {self.columns[column]!r}: the value is infinite"
            )
        self.times.flags.writeable = self.values.flags.writeable = False

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of times, columns and values, in the canonical CSV of :mod:`openfingym.data`."""
        return content_digest(self.times, self.columns, self.values)

    @property
    def missing(self) -> dict[str, int]:
        """Cells without a value, for each column that has any."""
        counts = np.isnan(self.values).sum(axis=0).tolist()
        return {name: count for name, count in zip(self.columns, counts, strict=True) if count}

    def column(self, name: str) -> NDArray[np.float64]:
        """The values of one column, float64[n].

        Raises:
            DataError: there is no column of that name; near misses are suggested.
        """
        return self.values[:, channel_positions(self.columns, [name], self.provenance.source)[0]]

    def select(self, columns: Sequence[str]) -> Table:
        """A copy with these columns alone, in this order.

        Raises:
            DataError: a column is unknown (near misses are suggested) or named twice.
        """
        positions = channel_positions(self.columns, columns, self.provenance.source)
        return replace(self, values=np.ascontiguousarray(self.values[:, positions]), columns=tuple(columns))

    def between(self, start: date | None, end: date | None) -> Table:
        """Rows from the day ``start`` to the day ``end``, both included.

        Raises:
            DataError: there is no row between them.
        """
        keep = day_mask(self.times, start, end)
        return replace(self, times=self.times[keep], values=self.values[keep])

    def complete(self) -> Table:
        """A copy with only the rows in which no cell is missing; a note says how many were left out.

        Raises:
            DataError: every row has a missing cell.
        """
        keep = ~np.any(np.isnan(self.values), axis=1, keepdims=False)
        dropped = int((~keep).sum())
        if not dropped:
            return self
        if dropped == len(keep):
            raise DataError(
                f"{self.provenance.source}: no row has a value in every one of the columns {', '.join(self.columns)}"
            )
        provenance = self.provenance.noting(f"{dropped} of {len(keep)} rows with a missing value dropped")
        return replace(self, times=self.times[keep], values=self.values[keep], provenance=provenance)

    def to_panel(self, *, name: str, title: str, measure: Measure) -> Panel:
        """The table as a panel, which must be complete and, for prices, positive.

        Raises:
            DataError: a cell is missing or a price not positive; the message names row and column.
        """
        from openfingym.data.panel import Panel

        faulty = np.isnan(self.values) | ((self.values <= 0.0) if measure == "price" else False)
        if faulty.any():
            row, column = (int(i) for i in np.argwhere(faulty)[0])
            found = self.values[row, column]
            fault = (
                "the value is missing; take complete() or select() first"
                if np.isnan(found)
                else f"{found} is not a positive price"
            )
            raise DataError(f"{self.provenance.source}, {self.times[row]}, column {self.columns[column]!r}: {fault}")
        info = DatasetInfo(
            name=name,
            title=title,
            kind="real",
            source=self.provenance.publisher,
            provenance=f"downloaded and read by {self.provenance.parser}",
            licence=self.provenance.licence,
            frequency=self.frequency,
            measure=measure,
            unit=self.unit,
            calendar=f"the {len(self.times)} times for which the publisher gives every column",
            corporate_actions=f"as published by {self.provenance.publisher}; see the notes",
            units=(self.unit,) * len(self.columns) if measure == "mixed" else (),
            first=self.times[0].astype("datetime64[D]").item(),
            last=self.times[-1].astype("datetime64[D]").item(),
            rows=len(self.times),
            channels=self.columns,
            missing=0,
            sha256=self.digest,
            notes=self.provenance.notes,
            originals=tuple((origin.url, origin.sha256) for origin in self.provenance.files),
        )
        return Panel(self.times, self.values, self.columns, info)


Block = tuple["NDArray[np.datetime64]", Sequence[str], "NDArray[np.float64]"]
"""A part of a table: (times[n], names of the columns, values[n, d]), times strictly increasing."""


def join(blocks: Mapping[str, Block]) -> Block:
    """Put blocks side by side on the union of their times, with NaN where a block has no row.

    A column is named ``key.column``, or just ``column`` where there is one block only.
    """
    times = np.unique(np.concatenate([block[0] for block in blocks.values()]))
    names: list[str] = []
    parts = []
    for key, (stamps, columns, values) in blocks.items():
        wide = np.full((len(times), len(columns)), np.nan)
        wide[np.searchsorted(times, stamps)] = values
        parts.append(wide)
        names.extend(f"{key}.{column}" if len(blocks) > 1 else column for column in columns)
    return times, tuple(names), np.ascontiguousarray(np.hstack(parts))


def stack(blocks: Iterable[Block], where: str) -> Block:
    """Put blocks of the same columns one after the other in time.

    Raises:
        DataError: there is no block, their columns differ, or one begins before the one ahead of it has ended.
    """
    chain = list(blocks)
    if not chain:
        raise DataError(f"{where}: nothing was published in the period asked for")
    columns = tuple(chain[0][1])
    for before, block in pairwise(chain):
        if tuple(block[1]) != columns:
            raise DataError(f"{where}: the columns change from {', '.join(columns)} to {', '.join(block[1])}")
        # Files of neighbouring months or years may not repeat a row, which would count twice.
        if block[0][0] <= before[0][-1]:
            raise DataError(f"{where}: the part from {block[0][0]} overlaps the one that ends {before[0][-1]}")
    return np.concatenate([block[0] for block in chain]), columns, np.concatenate([block[2] for block in chain])


def day_mask(times: NDArray[np.datetime64], start: date | None, end: date | None) -> NDArray[np.bool_]:
    """Which times fall on a day from ``start`` to ``end``, both included, bool[n]; None leaves a side open."""
    days = times.astype("datetime64[D]")
    keep = np.ones(len(days), dtype=bool)
    if start is not None:
        keep &= days >= np.datetime64(start, "D")
    if end is not None:
        keep &= days <= np.datetime64(end, "D")
    return keep
