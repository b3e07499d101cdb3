"""Reading and writing a panel as CSV: first column an ISO date or time, one column a channel.

A time without an offset is UTC. Nothing is repaired: a cell that is missing, a date out of
order or a price that is not positive is an error naming line and column, because a silently
filled value would end up in somebody's score.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from openfingym.data.dataset import DatasetInfo, Measure, suggestion
from openfingym.digests import sha256_of
from openfingym.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from openfingym.data.panel import Panel
    from openfingym.task import DataKind
    from openfingym.task.model import Frequency

DAY_NS = 86_400_000_000_000
"""Nanoseconds in a day."""
YEARS = (1678, 2261)
"""First and last of the whole years that fit into 64 bits of nanoseconds."""
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "."})
"""What a cell without a value may hold, in lower case."""


def read_csv_panel(
    path: Path,
    *,
    content: bytes | None = None,
    measure: Measure,
    kind: DataKind,
    source: str,
    licence: str,
    name: str,
    channels: Sequence[str] | None = None,
    dates: bool = True,
    prepared: Sequence[str] = (),
) -> Panel:
    """Read a task author's own CSV (or ``.csv.gz``).

    Args:
        path: path of the file, ``.csv`` or ``.csv.gz``.
        content: content of the file, unpacked, where somebody has read it already; None to read it.
        measure: ``price`` (must be positive), ``yield`` or ``mixed`` (unlike units; levels only).
        kind: what the data is: ``real``, ``simulated`` or ``specified``.
        source: where the numbers come from.
        licence: licence under which the numbers may be used.
        name: name of the dataset in error messages and records.
        channels: columns to read, in this order; all of them if None.
        dates: whether the first column is a date; else it is the number of the row, from 0.
        prepared: what was done to make the file, in words.

    Raises:
        DataError: the file cannot be read, or a line is at fault; the message says which.
    """
    from openfingym.data.panel import Panel

    text = _decode(read_bytes(path) if content is None else content, path)
    columns, times, values = parse_csv(text, str(path), measure=measure, channels=channels, dates=dates)
    require_printable(columns, str(path))
    first, last = times[[0, -1]].astype("datetime64[D]").tolist() if dates else (None, None)
    info = DatasetInfo(
        name=name,
        title=name,
        kind=kind,
        source=source,
        provenance=f"the task author's file {path.name}, read as it is",
        licence=licence,
        frequency=frequency_of(times) if dates else "none",
        measure=measure,
        unit="as the task states",
        calendar="the rows of the author's file" + ("" if dates else ", which have no date"),
        corporate_actions="as in the author's file",
        first=first,
        last=last,
        rows=len(times),
        channels=columns,
        missing=0,
        units=("as the task states",) * len(columns) if measure == "mixed" else (),
        sha256=content_digest(times, columns, values),
        prepared=tuple(prepared),
    )
    times.flags.writeable = values.flags.writeable = False
    return Panel(times, values, columns, info)


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked if its name ends in ``.gz``.

    Raises:
        DataError: it cannot be read or unpacked.
    """
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def unpacked(packed: bytes, path: Path, most: int) -> bytes:
    """The unpacked content of a ``.gz`` file.

    Args:
        packed: content of the ``.gz`` file.
        path: path of the file, for messages.
        most: largest number of bytes that it may unpack to.

    Raises:
        DataError: the content cannot be unpacked, or is larger than ``most``.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
            # One byte more than is allowed tells that there is more, without unpacking a bomb whole.
            content = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be unpacked ({error})") from error
    if len(content) > most:
        raise DataError(f"{path}: unpacks to more than {most // 2**20} MiB, the most that is read of it")
    return content


def csv_texts(source: Path | io.StringIO, **options: Any) -> pd.DataFrame:
    """The cells of a CSV file with a header as texts, by pandas; a missing cell is an empty text.

    Args:
        source: the file, or what it holds.
        options: further options of ``pandas.read_csv``.

    Raises:
        ValueError: it is no CSV file, or a row has more cells than the header; pandas' own errors are of this type.
    """
    # By itself pandas would turn "1_000", "007" and "NA" into something else before anybody looks at them.
    return read_csv(source, dtype=object, keep_default_na=False, **options)


def read_csv(source: Path | io.StringIO | io.BytesIO, **options: Any) -> pd.DataFrame:
    """``pandas.read_csv`` that refuses rows with more cells than the header.

    Args:
        source: the file, or what it holds.
        options: options of ``pandas.read_csv``.

    Raises:
        ValueError: it is no CSV file, or a row has more cells than the header; pandas' own errors are of this type.
    """
    import pandas as pd

    # Where rows are longer than the header, pandas makes an index of what is too much, so that every value moves into
    # another column; told not to, it cuts the rows off, with a warning alone: "1,5" would be read as 1.
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame: pd.DataFrame = pd.read_csv(source, index_col=False, **options)
            return frame
        except pd.errors.ParserWarning:
            raise ValueError("a row has more cells than the header; a text with a comma needs quotes") from None


def repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, sorted."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def require_printable(names: Iterable[str], where: str) -> None:
    """Refuse names of an author's channels, nodes or graphs that cannot be printed: some would command a terminal.

    Args:
        names: the names.
        where: name of the file, for the message.

    Raises:
        DataError: a name has a character that cannot be printed; the message shows it by its code.
    """
    for name in names:
        if not name.isprintable():
            raise DataError(
                f"{where}: the name {name!r} has a character that cannot be printed, such as a control character, a "
                "line end or a space of a special kind; expected a name of printable characters, so rename it"
            )


def parse_csv(
    text: str, where: str, *, measure: Measure, channels: Sequence[str] | None = None, dates: bool = True
) -> tuple[tuple[str, ...], NDArray[Any], NDArray[np.float64]]:
    """Parse CSV text into (channels, times datetime64[ns][n], values float64[n, d]).

    Without ``dates`` the times are the numbers of the rows, int64[n].

    Raises:
        DataError: with ``where``, the line and the column of the first fault.
    """
    # Strict: a quote in the wrong place is an error, where the reader would otherwise guess what was meant.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise DataError(f"{where}, line {reader.line_num}: {error}") from None
    if not rows:
        raise DataError(f"{where}: the file is empty; expected a header line and at least one row")
    header = [name.strip() for name in rows[0][1]]
    body = rows[1:]
    if not body:
        raise DataError(f"{where}: there is a header but no row below it")
    for line, row in body:
        if len(row) != len(header):
            raise DataError(f"{where}, line {line}: {len(row)} cells, but the header has {len(header)}")
    indices = _columns(header, channels, where)
    times = _times(body, header[0], where) if dates else _numbers(body, header[0], where)
    values = _values(body, header, indices, measure, where)
    return tuple(header[i] for i in indices), times, values


def canonical_csv(times: NDArray[np.datetime64], channels: Sequence[str], values: NDArray[np.float64]) -> bytes:
    """The one CSV text of a panel: shortest decimals that read back exactly, UTF-8, line feeds.

    Times are dates where all are midnight, and end in ``Z`` otherwise. Rows without dates have their numbers, int64, in
    place of times.
    """
    if times.dtype.kind != "M":
        return _csv_text("row", times.tolist(), channels, values)
    return _csv_text("time", time_labels(times), channels, values)


def time_labels(times: NDArray[np.datetime64]) -> list[str]:
    """Times as ISO texts: dates where all are midnight, and with ``Z`` at the end otherwise."""
    stamps = times.astype("datetime64[ns]")
    # One unit for all rows, the coarsest that loses nothing: the text of a panel must not depend on who writes it.
    instants = stamps.astype(np.int64)
    unit: Literal["D", "s", "ns"] = (
        "D" if not (instants % DAY_NS).any() else "s" if not (instants % 10**9).any() else "ns"
    )
    suffix = "" if unit == "D" else "Z"
    return [f"{label}{suffix}" for label in np.datetime_as_string(stamps, unit=unit).tolist()]


def _csv_text(first: str, labels: Sequence[object], channels: Sequence[str], values: NDArray[np.float64]) -> bytes:
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow([first, *channels])
    lines = [f"{label},{','.join(map(repr, row))}\n" for label, row in zip(labels, values.tolist(), strict=True)]
    return (head.getvalue() + "".join(lines)).encode()


def content_digest(times: NDArray[np.datetime64], channels: Sequence[str], values: NDArray[np.float64]) -> str:
    """Hex SHA-256 of the canonical CSV."""
    return sha256_of(canonical_csv(times, channels, values))


def _decode(raw: bytes, path: Path) -> str:
    try:
        # Spreadsheets begin UTF-8 with a byte-order mark, which would become part of the first column's name.
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None


def _columns(header: list[str], channels: Sequence[str] | None, where: str) -> list[int]:
    """Positions of the wanted columns."""
    present = header[1:]
    if not present:
        raise DataError(f"{where}, line 1: needs a date column and at least one channel, found only {header[0]!r}")
    twice = repeated(present)
    if twice or "" in present:
        raise DataError(
            f"{where}, line 1: every column needs a name of its own" + (f"; twice: {', '.join(twice)}" if twice else "")
        )
    return [1 + i for i in channel_positions(present, channels, where)]


def channel_positions(present: Sequence[str], channels: Sequence[str] | None, where: str) -> list[int]:
    """Position of each wanted channel among those present.

    Raises:
        DataError: a channel is unknown (near misses are suggested), named twice, or none is wanted.
    """
    if channels is None:
        return list(range(len(present)))
    if isinstance(channels, str) or not channels or len(set(channels)) < len(channels):
        raise DataError(f"{where}: channels must be a list of different names, found {channels!r}")
    places = {name: place for place, name in enumerate(present)}
    for name in channels:
        if name not in places:
            raise DataError(f"{where}: no channel {name!r}{suggestion(name, present)}")
    return [places[name] for name in channels]


def _times(body: list[tuple[int, list[str]]], column: str, where: str) -> NDArray[np.datetime64]:
    stamps: list[datetime] = []
    for line, row in body:
        try:
            stamp = datetime.fromisoformat(row[0].strip())
        except ValueError:
            raise DataError(
                f"{where}, line {line}, column {column!r}: {row[0]!r} is not an ISO date such as 2024-01-31"
            ) from None
        # Others would wrap around without an error.
        if not YEARS[0] <= stamp.year <= YEARS[1]:
            raise DataError(
                f"{where}, line {line}, column {column!r}: {row[0]!r} is outside the years {YEARS[0]} to {YEARS[1]}"
            )
        stamp = stamp.replace(tzinfo=UTC) if stamp.tzinfo is None else stamp.astimezone(UTC)
        if stamps and stamp <= stamps[-1]:
            fault = (
                "occurs twice" if stamp == stamps[-1] else f"is earlier than the row above ({stamps[-1].isoformat()})"
            )
            raise DataError(
                f"{where}, line {line}, column {column!r}: {row[0]!r} {fault}; rows must be in strictly increasing "
                "order"
            )
        stamps.append(stamp)
    return np.array([stamp.replace(tzinfo=None) for stamp in stamps], dtype="datetime64[us]").astype("datetime64[ns]")


def _numbers(body: list[tuple[int, list[str]]], column: str, where: str) -> NDArray[np.int64]:
    """The numbers of the rows, which must be 0, 1, 2 and so on."""
    for place, (line, row) in enumerate(body):
        if row[0].strip() != str(place):
            raise DataError(
                f"{where}, line {line}, column {column!r}: {row[0]!r}, expected {place}: rows without dates are "
                "numbered from 0"
            )
    return np.arange(len(body), dtype=np.int64)


def _values(
    body: list[tuple[int, list[str]]], header: list[str], indices: list[int], measure: Measure, where: str
) -> NDArray[np.float64]:
    values = np.empty((len(body), len(indices)))
    for i, (line, row) in enumerate(body):
        for j, index in enumerate(indices):
            try:
                value = float(row[index])
            except ValueError:
                value = math.nan
            # float() reads "1_000" as a thousand, which no CSV file means.
            if not math.isfinite(value) or (measure == "price" and value <= 0.0) or "_" in row[index]:
                raise DataError(f"{where}, line {line}, column {header[index]!r}: {_fault(row[index], value)}")
            values[i, j] = value
    return values


def _fault(cell: str, value: float) -> str:
    if cell.strip().lower() in MISSING:
        return f"the value is missing ({cell!r}); fill or drop the row before"
    if "_" in cell or math.isnan(value):
        return f"{cell!r} is not a number"
    if math.isinf(value):
        return f"{cell!r} is not finite"
    return f"{cell!r} is not a positive price"


def frequency_of(times: NDArray[np.datetime64]) -> Frequency:
    """Frequency by the median spacing of the rows."""
    if len(times) < 2:
        return "none"
    # The median, since weekends and holidays stretch some of the spacings; 3.6e12 nanoseconds are an hour.
    hours = float(np.median(np.diff(times).astype(np.int64))) / 3.6e12
    bounds: tuple[tuple[float, Frequency], ...] = (
        (1.0, "intraday"),
        (24.0, "hourly"),
        (24.0 * 5, "daily"),
        (24.0 * 20, "weekly"),
    )
    return next((name for limit, name in bounds if hours < limit), "monthly")
