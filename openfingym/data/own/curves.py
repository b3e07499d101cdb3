"""An author's curves: CSV or Parquet, long or wide, one curve or several, with dates or without.

| form | columns |
|---|---|
| wide | a date, the name of the curve where there are several, then a column a maturity: ``0.25``, ``3m``, ``10y`` |
| long | a date, the name of the curve where there are several, ``maturity`` and one column of values |
| without dates | the same; a wide table's rows are in order, a long table has a column ``row`` instead |

A task package holds them as a table with a channel ``<curve>:<maturity>`` for each of both, curve after curve.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import repeated, require_printable
from openfingym.data.curves import Curves
from openfingym.data.own.cells import examples
from openfingym.data.own.dates import date_column, dates_of
from openfingym.data.own.tables import (
    NUMBERS,
    DataTable,
    floats_of,
    is_number,
    is_numeric,
    joined,
    names_in,
    read_frame,
    stems_of,
    truth_hint,
)
from openfingym.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.data.panel import Panel

MATURITIES = frozenset({"maturity", "tenor", "term", "years"})
"""Names of the column of maturities in a long table, in lower case."""
CURVES = frozenset({"curve", "country", "currency", "area", "region", "issuer", "name", "series", "id"})
"""Names of the column that says which curve a row belongs to, in lower case."""
MATURITY = re.compile(r"y?(\d+(?:\.\d+)?)\s*(d|days?|w|weeks?|m|mo|mos|mth|months?|y|yr|yrs|years?)?", re.IGNORECASE)
"""A maturity: a number, perhaps after a ``y``, and its unit unless that is years."""
PER_YEAR = {"d": 365.0, "w": 52.0, "m": 12.0, "y": 1.0}
"""How many of a unit are in a year, by the unit's first letter."""
KEY, CURVE = "\0key", "\0curve"
"""Names of two columns that are added, which no file's column can have: a row's date or number, and its curve."""
LONGEST = 200.0
"""The longest maturity, years; a larger number at the head of a column is something else."""


def read_own_curves(paths: Sequence[Path]) -> DataTable:
    """Read an author's files into one table with a channel for each curve and maturity.

    A curve that no column names is called by its file.

    Raises:
        UsageError: a file cannot be opened.
        DataError: a file is malformed, a curve lacks a maturity that another has, or the files have no date in common.
    """
    stems = stems_of(paths)
    tables = [_read(path, stem) for path, stem in zip(paths, stems, strict=True)]
    table = tables[0] if len(tables) == 1 else joined(paths, tables)
    where = ", ".join(map(str, paths))
    require_printable(table.channels, where)
    if twice := repeated(table.channels):
        raise DataError(f"{where}: {twice[0]!r} is in two files; a curve is in one")
    grid_of(table.channels, where)
    return table


def own_curves(panel: Panel) -> Curves:
    """The curves of a table that :func:`read_own_curves` made and a task package holds.

    Raises:
        DataError: its channels are not those of whole curves.
    """
    grid = grid_of(panel.channels, panel.info.name)
    values = panel.values.reshape(len(panel.times), len(grid.curves), len(grid.maturities))  # noqa: PD011 - no frame
    maturities = np.array(grid.maturities)
    if (maturities == np.round(maturities)).all():
        maturities = maturities.astype(np.int64)
    maturities.flags.writeable = False
    filled = None if panel.filled is None else panel.filled.reshape(values.shape)
    return Curves(panel.times, grid.curves, maturities, values, replace(panel.info, channels=grid.curves), filled)


@dataclass(frozen=True)
class CurveChannels:
    """The curves and maturities that the channels of a table are made of."""

    curves: tuple[str, ...]
    """Names of the curves."""
    maturities: tuple[float, ...]
    """Maturities in years, increasing; the same for every curve."""


def grid_of(channels: Sequence[str], where: str) -> CurveChannels:
    """The curves and maturities of channels, which must be every maturity of each curve in turn.

    Raises:
        DataError: a channel is named otherwise, or a curve lacks a maturity; names it.
    """
    pairs = []
    for channel in channels:
        curve, _, label = channel.rpartition(":")
        years = years_of(label)
        if not curve or years is None:
            raise DataError(f"{where}: channel {channel!r} is no <curve>:<maturity>, such as euro:10y")
        pairs.append((curve, years))
    curves = tuple(dict.fromkeys(curve for curve, _ in pairs))
    maturities = tuple(sorted({years for _, years in pairs}))
    present = set(pairs)
    for pair in ((curve, years) for curve in curves for years in maturities):
        if pair not in present:
            raise DataError(
                f"{where}: curve {pair[0]!r} has no maturity {label_of(pair[1])}, which another has; all curves need "
                "the same maturities, so leave out the curve or the maturity"
            )
    if len(maturities) < 2:
        raise DataError(f"{where}: one maturity, {label_of(maturities[0])}; a curve has two at least")
    if pairs != [(curve, years) for curve in curves for years in maturities]:
        raise DataError(f"{where}: channels are not in order; expected curve after curve, each by rising maturity")
    return CurveChannels(curves, maturities)


def years_of(text: str) -> float | None:
    """The maturity that a text such as ``0.25``, ``3m`` or ``10y`` states, in years; None for none."""
    match = MATURITY.fullmatch(text.strip())
    if match is None:
        return None
    years = float(match[1]) / PER_YEAR[(match[2] or "y")[0].lower()]
    return years if 0.0 < years <= LONGEST else None


def label_of(years: float) -> str:
    """A maturity as a text that :func:`years_of` reads back: ``3m``, ``10y``, or years with decimals."""
    months = round(years * 12.0)
    if months / 12.0 != years:
        return f"{years!r}y"
    return f"{months}m" if months % 12 else f"{months // 12}y"


def _read(path: Path, stem: str) -> DataTable:
    """One file, whatever its form."""
    frame, head = read_frame(path)
    names = [str(name) for name in frame.columns]
    number = names[0] if names[0].lower() in NUMBERS and is_numeric(frame[names[0]]) else None
    maturity = next((name for name in names if name.lower() in MATURITIES), None)
    # Columns are told apart by exclusion: the number of the row, the maturity or the maturities, the date, then the
    # curve, by its name or as the first text. What is left holds values, or nobody knows what.
    columns = {name: years for name in names if maturity is None and (years := years_of(name)) is not None}
    rest = [name for name in names if name not in columns and name not in {number, maturity}]
    date = date_column(frame[rest])
    rest = [name for name in rest if name != date]
    curve = next((name for name in rest if name.lower() in CURVES), None)
    if curve is None:
        curve = next((name for name in rest if not is_numeric(frame[name])), None)
    rest = [name for name in rest if name != curve]
    _require_form(path, maturity, columns, rest)
    frame = frame.assign(**{CURVE: stem if curve is None else names_in(frame[curve])})
    steps = head
    if date is not None:
        frame = frame.assign(**{KEY: dates_of(frame[date], path)})
    else:
        frame = frame.assign(**{KEY: _numbers(frame, path, number, long=maturity is not None)})
        steps = (
            *head,
            "the rows have no date: they are known by their number, from 0",
        )
    wide = _spread(frame, path, columns) if maturity is None else _gathered(frame, path, maturity, rest[0])
    return _table(wide, path, dated=date is not None, steps=steps)


def _require_form(path: Path, maturity: str | None, columns: Mapping[str, float], rest: Sequence[str]) -> None:
    """Refuse a table with columns whose meaning cannot be told."""
    if maturity is not None:
        if len(rest) != 1:
            raise DataError(
                f"{path}: a long table of curves has one column of values beside the date, the curve and {maturity!r}; "
                f"found {examples(rest) if rest else 'none'}"
            )
        return
    if len(columns) < 2:
        raise DataError(
            f"{path}: no curves: expected a column a maturity, such as 3m, 1y and 10y or 0.25, 1 and 10, or columns "
            f"'maturity' and 'value'; maturities found: {', '.join(columns) or 'none'}"
        )
    if rest:
        raise DataError(
            f"{path}: {examples(rest)}: neither a date, nor a maturity such as 3m or 10, nor the name of a curve; name "
            "the column, or leave it out"
        )
    years = sorted(columns.values())
    if twice := next((a for a, b in pairwise(years) if a == b), None):
        raise DataError(f"{path}: two columns are of maturity {label_of(twice)}; leave one out")


def _numbers(frame: pd.DataFrame, path: Path, number: str | None, *, long: bool) -> pd.Series:
    """The number of each line's row, where there are no dates."""
    if not long:
        place = frame.groupby(CURVE, sort=False).cumcount()
        counts = frame.groupby(CURVE, sort=False).size()
        if counts.max() > counts.min():
            raise DataError(
                f"{path}: {counts.idxmax()!r} has {counts.max()} rows and {counts.idxmin()!r} {counts.min()}; without "
                "dates, every curve needs as many. Add a column 'date'"
            )
        return place
    if number is None:
        raise DataError(
            f"{path}: a long table needs a column 'date', or a first column 'row' with the number of the curve's row: "
            "nothing else says which maturities belong together"
        )
    return floats_of(frame[[number]])[number]


def _spread(frame: pd.DataFrame, path: Path, columns: Mapping[str, float]) -> pd.DataFrame:
    """A wide table with the index (key, curve), and one column for each maturity, called by its years."""
    _require_numbers(frame, path, list(columns))
    values = floats_of(frame[list(columns)]).rename(columns=columns)
    out = values.set_index([frame[KEY], frame[CURVE]])
    if out.index.duplicated().any():
        when, who = out.index[out.index.duplicated()][0]
        raise DataError(
            f"{path}: {who!r} has two rows at {_when(when)}; a curve has one row a date. Of several curves a column "
            "'curve' tells which"
        )
    return out


def _gathered(frame: pd.DataFrame, path: Path, maturity: str, value: str) -> pd.DataFrame:
    """A long table made wide: the index (key, curve), and one column for each maturity, called by its years."""
    years = np.array([years_of(str(text)) or np.nan for text in frame[maturity]])
    if np.isnan(years).any():
        row = int(np.isnan(years).argmax())
        raise DataError(
            f"{path}, row {row + 2}, column {maturity!r}: {str(frame[maturity].iloc[row])!r} is no maturity; expected "
            f"years up to {LONGEST:g}, or a form such as 3m or 10y"
        )
    _require_numbers(frame, path, [value])
    values = floats_of(frame[[value]]).assign(key=frame[KEY], curve=frame[CURVE], years=years)
    index = values.set_index(["key", "curve", "years"])[value]
    if index.index.duplicated().any():
        when, who, which = index.index[index.index.duplicated()][0]
        raise DataError(
            f"{path}: {who!r} has two values of maturity {label_of(which)} at {_when(when)}. Of several curves a "
            "column 'curve' tells which"
        )
    return index.unstack("years")  # noqa: PD010 - of an index


def _require_numbers(frame: pd.DataFrame, path: Path, columns: Sequence[str]) -> None:
    for name in columns:
        wrong = ~is_number(frame[name])
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"{path}, row {row + 2}, column {name!r}: {str(frame[name].iloc[row])!r} is not a number"
                f"{truth_hint(frame[name].iloc[row])}; a curve holds numbers, or empty cells where a value is missing"
            )


def _table(wide: pd.DataFrame, path: Path, *, dated: bool, steps: tuple[str, ...]) -> DataTable:
    """One row for each key, with the maturities of each curve as channels; ``wide`` has the index (key, curve)."""
    # Curves in the order of the file, and not that of their names.
    order = list(dict.fromkeys(wide.index.get_level_values(1)))
    by_key = wide.unstack(level=1).sort_index()  # noqa: PD010 - of an index
    maturities = sorted(map(float, wide.columns))
    pairs = [(years, curve) for curve in order for years in maturities]
    values = np.ascontiguousarray(by_key[pairs].to_numpy(dtype=np.float64))
    # Unstacking made a column for every curve and maturity, whether or not any row has a value there.
    empty = np.isnan(values).all(axis=0)
    if empty.any():
        years, curve = pairs[int(empty.argmax())]
        raise DataError(
            f"{path}: curve {curve!r} has no value of maturity {label_of(years)}; all curves need the same maturities, "
            "so leave out the curve or the maturity"
        )
    keys = by_key.index.to_numpy()
    times = keys.astype("datetime64[ns]") if dated else None
    return DataTable(times, tuple(f"{curve}:{label_of(years)}" for years, curve in pairs), values, steps)


def _when(key: object) -> str:
    return str(key).removesuffix(" 00:00:00") if hasattr(key, "isoformat") else f"row {key:g}"
