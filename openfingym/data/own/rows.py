"""An author's rows of features: CSV or Parquet with a date (optional), an id (optional), features and a target.

A task package holds them in the same form, as ``data.csv``: the date or the row's number, ``id``, the features, and the
target last.

The order of rows within a date tells nothing. Files are often sorted, and the place of a row among those of its date
could then tell its target: rows with an id go by it, others are shuffled by a permutation that nobody knows who lacks
the targets.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import require_printable
from openfingym.data.dataset import suggestion
from openfingym.data.own.cells import examples, left_out
from openfingym.data.own.dates import date_column, take_times
from openfingym.data.own.graphs import hidden_order
from openfingym.data.own.tables import (
    COUNTERS,
    NUMBERS,
    floats_of,
    is_number,
    is_numeric,
    read_frame,
    truth_hint,
)
from openfingym.digests import sha256_of
from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

STORED = "data.csv"
"""Name of the file in which a task package holds its own rows."""
IDS = frozenset(
    {"id", "name", "series", "ticker", "symbol", "isin", "cusip", "permno", "gvkey"}
    | {"firm", "company", "stock", "asset", "fund", "entity", "item"}
)
"""Names of the column that says what a row describes, such as a stock; in lower case."""


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows in order of time; a gap is NaN."""

    times: NDArray[np.datetime64] | None
    """datetime64[ns][n], UTC; None where rows are known by their number."""
    series: NDArray[np.int64]
    """int64[n], which of ``ids`` a row belongs to; without ids, its place among the rows of its date."""
    ids: tuple[str, ...]
    """The author's names of what rows describe, sorted; empty where no column has them."""
    columns: tuple[str, ...]
    """Names of the features, then of the target."""
    values: NDArray[np.float64]
    """float64[n, features + 1], the target last."""
    steps: tuple[str, ...] = ()
    """What was done to the author's rows, step by step, for people to read."""
    dropped: int = 0
    """Number of the author's rows that were left out."""

    @property
    def clock(self) -> NDArray[np.datetime64]:
        """The date of each row, or its number, int64."""
        # Without times, rows are numbered.
        return np.arange(len(self.values)) if self.times is None else self.times  # type: ignore[return-value]

    def kept(self, rows: NDArray[np.bool_], reason: str) -> OwnRows:
        """A copy with some of the rows alone.

        Args:
            rows: bool[n], True for the rows that stay.
            reason: why the others are left out, for the record.

        Raises:
            DataError: no row is left.
        """
        gone, step = left_out(rows, reason)
        if not gone:
            return self
        return replace(
            self,
            times=None if self.times is None else self.times[rows],
            series=self.series[rows],
            values=self.values[rows],
            steps=(*self.steps, step),
            dropped=self.dropped + gone,
        )


def read_own_rows(path: Path, target: str | None = None, content: bytes | None = None) -> OwnRows:
    """Read an author's rows.

    Args:
        path: path of the file.
        target: name of the column to predict; None for the last column.
        content: content of the file, unpacked, where somebody has read it already; None to read it.

    Raises:
        UsageError: the file cannot be opened, or has no such target.
        DataError: it is malformed, has text where numbers are needed, or something has two rows at one date.
    """
    frame, _ = read_frame(path, content)
    date, first = date_column(frame), str(frame.columns[0])
    if first.lower() in (NUMBERS if date is None else COUNTERS) and is_numeric(frame[first]):
        frame = frame.drop(columns=first)
    times, frame, found = take_times(frame, path)
    # A target may be called "fund" or "item" and still be the number to predict.
    named = [name for name in frame.columns if name.lower() in IDS and name != target]
    if len(named) > 1:
        raise DataError(f"{path}: {examples(named)} each say what a row is of; leave one, and leave the others out")
    texts = _ids(frame.pop(named[0]), path) if named else None
    frame = _target_last(frame, target, path)
    require_printable([*map(str, frame.columns), *dict.fromkeys(texts or ())], str(path))
    _require_numbers(frame, path)
    values = floats_of(frame).to_numpy(dtype=np.float64)
    rows = _ordered(path, times, texts, tuple(map(str, frame.columns)), values)
    return replace(rows, steps=(*found, *rows.steps))


def stored_csv(rows: OwnRows) -> bytes:
    """The file of a task package that holds rows without gaps; equal rows give equal bytes."""
    from openfingym.data.csvfile import time_labels

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    first = ["row"] if rows.times is None else ["time"]
    writer.writerow([*first, *(["id"] if rows.ids else []), *rows.columns])
    labels = range(len(rows.values)) if rows.times is None else time_labels(rows.times)
    # repr is the shortest text that reads back as the same float64. These are arrays and not frames of pandas.
    for label, place, values in zip(labels, rows.series.tolist(), rows.values.tolist(), strict=True):  # noqa: PD011
        writer.writerow([label, *([rows.ids[place]] if rows.ids else []), *map(repr, values)])
    return file.getvalue().encode()


def _ids(cells: pd.Series, path: Path) -> list[str]:
    texts: list[str] = cells.astype(object).where(cells.notna(), "").astype(str).str.strip().tolist()
    if "" in texts:
        raise DataError(f"{path}, row {texts.index('') + 2}: column {cells.name!r} does not say what the row is of")
    return texts


def _target_last(frame: pd.DataFrame, target: str | None, path: Path) -> pd.DataFrame:
    """The frame with its target as the last column."""
    names = [str(name) for name in frame.columns]
    if target is not None and target not in names:
        raise UsageError(f"--target: {path} has no column {target!r} of numbers to predict{suggestion(target, names)}")
    if len(names) < 2:
        raise DataError(
            f"{path}: {examples(names) if names else 'no column'} beside dates and ids; expected a feature at least, "
            "and the number to predict"
        )
    chosen = names[-1] if target is None else target
    return frame[[*(name for name in names if name != chosen), chosen]]


def _require_numbers(frame: pd.DataFrame, path: Path) -> None:
    for name in frame.columns:
        wrong = ~is_number(frame[name])
        if not wrong.any():
            continue
        row = int(wrong.argmax())
        cell = frame[name].iloc[row]
        where = f"{path}, row {row + 2}, column {name!r}: {str(cell)!r} is not a finite number{truth_hint(cell)}"
        if name == frame.columns[-1]:
            raise DataError(f"{where}; the column to predict, which --target names, holds numbers")
        raise DataError(
            f"{where}, and features are. Encode a category as numbers: a column of 0 and 1 for each, as by "
            f"pandas.get_dummies(frame, columns=[{name!r}], dtype=float), or its rank where it has an order. If the "
            "column says what a row is of, call it 'id'; if it holds dates, 'date'"
        )


def _ordered(
    path: Path,
    times: pd.DatetimeIndex | None,
    texts: list[str] | None,
    columns: tuple[str, ...],
    values: NDArray[np.float64],
) -> OwnRows:
    """The rows in order of time, each with its series."""
    count = len(values)
    ids = tuple(sorted(set(texts))) if texts is not None else ()
    number = {name: place for place, name in enumerate(ids)}
    series = np.array([number[text] for text in texts], dtype=np.int64) if texts is not None else None
    if times is None:
        _require_unsorted(path, values[:, -1], columns[-1])
        step = "the rows have no date: they are known by their number, from 0, and split by it"
        return OwnRows(None, np.zeros(count, np.int64) if series is None else series, ids, columns, values, (step,))
    stamps = times.to_numpy().astype("datetime64[ns]")
    order = _order(stamps, series, values)
    stamps, values = stamps[order], np.ascontiguousarray(values[order])
    steps: tuple[str, ...] = () if times.is_monotonic_increasing else ("rows sorted by date",)
    # Which rows are the first of their date.
    first = np.append(True, stamps[1:] != stamps[:-1])
    if series is None:
        starts = np.flatnonzero(first)
        place = np.arange(count) - starts[np.cumsum(first) - 1]
        if place.any():
            steps += ("no column says what rows are of: those of a date are in an order that tells nothing",)
        return OwnRows(stamps, place.astype(np.int64), (), columns, values, steps)
    series = series[order]
    twice = ~first[1:] & (series[1:] == series[:-1])
    if twice.any():
        row = int(twice.argmax())
        raise DataError(f"{path}: {ids[series[row]]!r} has two rows at {times[order[row]].isoformat()}; leave one")
    return OwnRows(stamps, series, ids, columns, values, steps)


def _order(
    stamps: NDArray[np.datetime64], series: NDArray[np.int64] | None, values: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Places of the rows by date, and within a date by series, or in an order that tells nothing."""
    if series is not None:
        return np.lexsort((series, stamps)).astype(np.int64)
    # Shuffled by a permutation that follows from all values, targets included; a stable sort keeps it within a date.
    shuffled = hidden_order(sha256_of(values.tobytes()), [""] * len(values))
    return shuffled[np.argsort(stamps[shuffled], kind="stable")]


def _require_unsorted(path: Path, targets: NDArray[np.float64], name: str) -> None:
    """Refuse rows without dates that are sorted by what is to be predicted: their number would tell it."""
    steps = np.diff(targets[~np.isnan(targets)])
    if len(steps) and steps.any() and ((steps >= 0.0).all() or (steps <= 0.0).all()):
        raise DataError(
            f"{path}: the rows are sorted by {name!r}, which is to be predicted, and without dates their number would "
            "tell it; shuffle them, or add a column 'date'"
        )
