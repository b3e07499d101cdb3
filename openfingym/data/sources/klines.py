"""Binance candlesticks ("klines"), as both the archive and the REST interface spell them."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.sources.table import Block, DataProvenance, Table, join
from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from openfingym.data.sources.source import SourceRequest
    from openfingym.task.model import Frequency

COLUMNS = ("open", "high", "low", "close", "volume", "quote_volume", "count", "taker_buy_base", "taker_buy_quote")
_POSITIONS = (1, 2, 3, 4, 5, 7, 8, 9, 10)
"""Where the columns are among a candlestick's cells; 0 is the opening time, 6 the closing time, 11 unused."""
WIDTH = 12
"""Number of cells of a candlestick."""
UNIT = (
    "prices in the quote asset; volume and taker_buy_base in the base asset; quote_volume, taker_buy_quote in the "
    "quote asset"
)
STEP_S: dict[str, int] = {
    "1s": 1,
    "1m": 60,
    "3m": 180,
    "5m": 300,
    "15m": 900,
    "30m": 1800,
    "1h": 3600,
    "2h": 7200,
    "4h": 14400,
    "6h": 21600,
    "8h": 28800,
    "12h": 43200,
    "1d": 86400,
}
"""Intervals of fixed length, in seconds. Case matters to Binance: 1m is a minute, 1M a month."""
MICROSECONDS_FROM = 10**14
"""A time stamp from here on is in microseconds (the archive's files since 2025), a smaller one in milliseconds."""
_SYMBOL = re.compile(r"[A-Z0-9]{2,30}")


@dataclass(frozen=True)
class SpotMarkets:
    """What the archive and the REST interface have in common as sources."""

    base_url: str
    name: str
    publisher: str
    licence: str = (
        "Binance terms: free to download for your own use; redistribution is not granted, so it is never bundled"
    )
    frequency: str = "one second to one day"
    gives: str = f"{', '.join(COLUMNS)} by opening time in UTC"
    lag_days: int | None = 1


def checked(source: str, request: SourceRequest) -> tuple[str, Frequency, date, date]:
    """Interval, frequency, first and last day of a request, the last at most yesterday in UTC.

    Raises:
        UsageError: a symbol, the interval or the period is not one that Binance has.
    """
    interval = request.interval or "1d"
    if interval not in STEP_S:
        raise UsageError(f"{source} has no interval {interval!r} here; known: {', '.join(STEP_S)}")
    if not request.symbols:
        raise UsageError(f"{source} needs at least one symbol, such as BTCUSDT")
    for symbol in request.symbols:
        if not _SYMBOL.fullmatch(symbol):
            raise UsageError(
                f"{source}: {symbol!r} is not a symbol; it is base and quote in capital letters, such as BTCUSDT"
            )
    # Today's bars are not all complete, and a period that ends today would never be read the same twice.
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    if request.start is None:
        raise UsageError(f"{source} needs a start day")
    end = min(request.end or yesterday, yesterday)
    if request.start > end:
        raise UsageError(f"{source}: the period {request.start} to {end} is empty; bars up to yesterday are complete")
    seconds = STEP_S[interval]
    frequency: Frequency = "daily" if seconds == 86400 else "hourly" if seconds >= 3600 else "intraday"
    return interval, frequency, request.start, end


def read_csv(content: bytes, where: str) -> Block:
    """Read an archive's CSV file, with or without a header line, in milliseconds or microseconds.

    Raises:
        DataError: a line has not twelve cells, a cell is no number, or times are not in order.
    """
    body = content.removeprefix(b"\xef\xbb\xbf")
    if body[:1].isalpha():
        header, _, body = body.partition(b"\n")
        if not header.startswith(b"open_time,open,high,low,close,"):
            raise DataError(
                f"{where}: the header is {header[:80]!r}, expected none or open_time,open,high,...; the format has "
                "changed"
            )
    if not body.strip():
        raise DataError(f"{where}: the file is empty")
    try:
        rows = np.loadtxt(io.StringIO(body.decode("ascii")), delimiter=",", dtype=np.float64, ndmin=2, comments=None)
    except ValueError as error:
        raise DataError(f"{where}: not candlesticks ({error}); the file may be cut off") from None
    # A file that was cut off within its last number still parses.
    if not body.endswith(b"\n"):
        raise DataError(f"{where}: the last line has no end; the file is cut off")
    return block(rows, where)


def block(rows: NDArray[np.float64], where: str) -> Block:
    """Rows of twelve cells as (times, columns, values).

    Raises:
        DataError: another width, times out of order, a price that is not positive, or high and low that contradict open
            and close.
    """
    if rows.ndim != 2 or rows.shape[1] != WIDTH:
        raise DataError(f"{where}: {rows.shape[-1]} cells a line, expected {WIDTH}; the format has changed")
    if not np.isfinite(rows).all():
        raise DataError(f"{where}, line {int(np.argwhere(~np.isfinite(rows))[0][0]) + 1}: a cell is not finite")
    times = stamps(rows[:, 0])
    late = np.flatnonzero(~(times[1:] > times[:-1]))
    if late.size:
        raise DataError(f"{where}, line {int(late[0]) + 2}: {times[late[0] + 1]} is not after the line above")
    values = np.ascontiguousarray(rows[:, _POSITIONS])
    opened, high, low, close = values[:, :4].T
    wrong = np.flatnonzero((low <= 0.0) | (high < np.maximum(opened, close)) | (low > np.minimum(opened, close)))
    if wrong.size:
        raise DataError(
            f"{where}, line {int(wrong[0]) + 1}: open, high, low, close are {values[wrong[0], :4].tolist()}, which is "
            "no candlestick"
        )
    return times, COLUMNS, values


def stamps(raw: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Unix milliseconds or microseconds, told apart by their size, as datetime64[ns]."""
    # Both are integers far below 2**53, so nothing was lost on the way through float64.
    whole = raw.astype(np.int64)
    micro = np.where(whole >= MICROSECONDS_FROM, whole, whole * 1000)
    return micro.astype("datetime64[us]").astype("datetime64[ns]")


def table(blocks: Mapping[str, Block], interval: str, frequency: Frequency, provenance: DataProvenance) -> Table:
    """One table of the bars of every symbol; a note for each that lacks bars between its first and its last."""
    for symbol, (times, _, _) in blocks.items():
        gaps = absent(times, interval)
        if gaps:
            provenance = provenance.noting(f"{symbol}: {gaps} bars of {interval} are missing within the period")
    times, columns, values = join(blocks)
    return Table(times, values, tuple(columns), frequency, UNIT, provenance)


def absent(times: NDArray[np.datetime64], interval: str) -> int:
    """Number of bars of the interval that are missing between the first and the last."""
    span = int((times[-1] - times[0]) // np.timedelta64(STEP_S[interval], "s"))
    return max(0, span + 1 - len(times))
