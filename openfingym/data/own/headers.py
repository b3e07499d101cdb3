"""The head of an author's CSV file: which rows name the columns, and what they are called.

Usually the first row has the names. Vendors' files have two rows of names (fields and tickers), an address above them,
names in brackets, or none at all. What has no names is read only where its columns can be told from their values.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import csv_texts, repeated
from openfingym.data.own.cells import examples
from openfingym.data.own.dates import CLOCK, DAY, epoch_unit, is_time, numbers_of
from openfingym.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

FIELDS = ("open", "high", "low", "close")
"""Names by which a row of names is known to be one of fields."""
BINANCE = (
    "open_time", "open", "high", "low", "close", "volume", "close_time", "quote_volume", "count", "taker_buy_volume",
    "taker_buy_quote_volume", "ignore",
)  # fmt: skip
"""Columns of Binance's archive, whose files for the spot market have no names."""
DATABENTO = frozenset({"rtype", "publisher_id", "instrument_id"})
"""Columns by which Databento's records are known."""
METATRADER = frozenset({"<DATE>", "<TICKVOL>", "<SPREAD>"})
"""Columns by which the bars of MetaTrader 5 are known."""
SMALLEST_FIXED = 1_000_000
"""A whole number of a billionth is at least as large in some row: a price of 0.001."""
LETTERS = {"t": "time", "o": "open", "h": "high", "l": "low", "c": "close", "v": "volume", "T": "ticker"}
"""Names of columns in the answers of Alpaca's and Polygon's interfaces, by the letters that stand for them there."""
CORNERS = frozenset({"", "price", "ticker", "tickers", "attributes", "symbol", "symbols"})
"""What stands in the first cell of a row of names that has another below it, in lower case."""
_WHOLE = re.compile(r"\s*-?[0-9]{1,19}\s*")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_NUMBERED = re.compile(r"\d{1,2}\. (?=[a-z])")


def read_named(text: str, path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The cells of a CSV file as texts, with a name for each column, and what was done to come by the names.

    Raises:
        DataError: two columns have one name, or the columns have no names and cannot be told from their values.
        ValueError: it is no CSV file; pandas' own errors are of this type.
    """
    address, _, rest = text.partition("\n")
    steps: list[str] = []
    if re.fullmatch(r"https?://\S+", address.strip().strip('"')) and "," not in address:
        text, steps = rest, ["a first line that is an address left out"]
    # Row by row, since a file's first row may have fewer cells than those below it.
    lines = (line for line in io.StringIO(text) if line.strip())
    rows = [[cell.strip() for cell in row] for row in itertools.islice(csv.reader(lines), 3)]
    if not rows:
        return csv_texts(io.StringIO(text)), ()  # raises pandas' own error
    if (levels := _levels(rows)) is not None:
        names, skipped = levels
        frame = csv_texts(io.StringIO(text), header=None, skiprows=skipped)
        frame.columns = names[: len(frame.columns)]
        steps.append(f"{skipped} rows above the values made into names of columns")
    elif _is_data(rows[0]):
        frame = csv_texts(io.StringIO(text), header=None)
        frame.columns, told = _told(frame, path)
        steps += told
    else:
        # pandas calls the second of two columns "a" "a.1", so that the names are looked at before.
        require_unlike([name for name in rows[0] if name], path)
        frame = csv_texts(io.StringIO(text))
    if "<PER>" in frame.columns:
        # Stooq writes how long the bars are into each row, as a letter or in minutes.
        frame, steps = frame.drop(columns="<PER>"), [*steps, "column '<PER>' left out, the length of a bar"]
    if METATRADER.issubset(frame.columns):
        steps.append("columns are MetaTrader's, whose times are in its broker's zone")
    frame.columns = [bare(str(name)) for name in frame.columns]
    if {"t", "o", "h", "l", "c"} <= set(frame.columns):
        frame.columns = [LETTERS.get(name, name) for name in frame.columns]
        steps.append("columns t, o, h, l, c read as time, open, high, low, close")
    require_unlike(list(frame.columns), path)
    return _displayed(frame, steps), tuple(steps)


def _displayed(frame: pd.DataFrame, steps: list[str]) -> pd.DataFrame:
    """Databento's prices as they are quoted: its files have whole numbers of a billionth unless asked for others.

    The largest number of 64 bits stands for a price that there is none of (Databento, "Standards and conventions").
    """
    names = {str(name).lower(): name for name in frame.columns}
    if not DATABENTO.union(FIELDS) <= names.keys():
        return frame
    fields = [names[field] for field in FIELDS]
    cells = [cell for name in fields for cell in frame[name] if isinstance(cell, str) and cell.strip()]
    # Quoted prices have decimals there, as in 4108.500000000, and no whole one is as large.
    if not all(map(_WHOLE.fullmatch, cells)) or max(map(abs, map(int, cells)), default=0) < SMALLEST_FIXED:
        return frame
    steps.append("prices, whole numbers of a billionth, divided by 1e9")

    def displayed(cell: object) -> object:
        if not isinstance(cell, str) or not cell.strip():
            return cell
        return "" if int(cell) == np.iinfo(np.int64).max else str(Decimal(cell.strip()).scaleb(-9))

    return frame.assign(**{name: frame[name].map(displayed) for name in fields})


def flattened(columns: pd.MultiIndex) -> list[str]:
    """Names for the columns of a frame with a level of fields and one of tickers; other levels joined as they are."""
    levels = [[str(name) for name in columns.get_level_values(place)] for place in range(columns.nlevels)]
    return _joined(levels) or ["_".join(filter(None, name)) for name in zip(*levels, strict=True)]


def require_unlike(names: Sequence[str], path: Path) -> None:
    """Refuse columns of which two have the same name."""
    if twice := repeated(names):
        raise DataError(f"{path}: columns with the same name: {examples(twice)}; give each a name of its own")


def bare(name: str) -> str:
    """A column's name without spaces around it, without the brackets that Stooq and MetaTrader write, and without Alpha
    Vantage's numbers, as in ``4. close``.
    """
    name = _NUMBERED.sub("", name.strip(), count=1) if _NUMBERED.match(name.strip()) else name.strip()
    if re.fullmatch(r"<\w+>", name) is None:
        return name
    return {"<VOL>": "volume"}.get(name, name[1:-1].lower())


def _levels(rows: Sequence[Sequence[str]]) -> tuple[list[str], int] | None:
    """Names of columns from two rows of names, and how many rows stand above the values; None where there is one."""
    if len(rows) < 3 or len(rows[0]) < 2 or rows[0][0].lower() not in CORNERS:
        return None
    first, second, third = rows
    # pandas writes the name of the index in a row of its own below those of the columns.
    named = third[0] and not is_time(third[0]) and not any(third[1:])
    if not named and (second[0].lower() not in CORNERS or not is_time(third[0])):
        return None
    names = _joined([first[1:], second[1:]])
    return None if names is None else ([third[0] if named else "date", *names], 3 if named else 2)


def _joined(levels: Sequence[Sequence[str]]) -> list[str] | None:
    """Names of columns from a level of fields and one of tickers; None where no level is one of fields."""
    for place, level in enumerate(levels):
        if len(levels) == 2 and {*FIELDS[:1], *FIELDS[3:]} & {name.lower() for name in level if name}:
            tickers = levels[1 - place]
            several = len(set(tickers)) > 1
            return [f"{ticker}_{name}" if several else name for name, ticker in zip(level, tickers, strict=True)]
    return None


def _is_data(cells: Sequence[str]) -> bool:
    """Whether a row has values alone: numbers and times, and no name."""
    filled = [cell for cell in cells if cell]
    times = (DAY, CLOCK)
    return bool(filled) and all(
        _NUMBER.fullmatch(cell) or is_time(cell) or any(time.fullmatch(cell) for time in times) for cell in filled
    )


def _told(frame: pd.DataFrame, path: Path) -> tuple[list[str], list[str]]:
    """Names for columns that have none, from their values, and sentences about them.

    Raises:
        DataError: the values do not tell.
    """
    width = frame.shape[1]
    first = [str(cell).strip() for cell in frame.iloc[0]]
    names: list[str] = []
    steps: list[str] = []
    if width == len(BINANCE):
        names = list(BINANCE)
    elif width in {6, 7} and DAY.fullmatch(first[0]) and ":" in first[1] and CLOCK.fullmatch(first[1]):
        names = ["date", "time", *FIELDS, "volume"][:width]
        steps.append("MetaTrader and HistData write such rows: the former's times are its broker's, the latter's EST")
    elif width in {5, 6} and (is_time(first[0]) or epoch_unit(frame[0])):
        names = ["date", *FIELDS, "volume"][:width]
        if re.fullmatch(r"\d{8} \d{6}", first[0]):
            steps.append("HistData writes such rows, whose times are EST the whole year (UTC-5)")
    elif width == 7 and epoch_unit(frame[0]) and all(map(_WHOLE.fullmatch, map(str, frame[6]))):
        # Kraken's archive, "OHLCVT".
        names = ["date", *FIELDS, "volume", "trades"]
    if names and _are_bars(frame, names.index("open")):
        read_as = f"columns without names read as {', '.join(names)}: highs and lows fit in no other order"
        return names, [read_as, *steps]
    found = ", ".join(map(str, frame.iloc[0, :6]))
    raise DataError(
        f"{path}: its first row has values ({found}) and no names; add a line above it that names the columns, such as "
        f"date,{'close' if width == 2 else 'first,second'}"
    )


def _are_bars(frame: pd.DataFrame, first: int) -> bool:
    """Whether four columns from ``first`` on are open, high, low and close: the second is never below another, the
    third never above, and that in no other order.
    """
    prices = np.stack([numbers_of(frame[place]) for place in range(first, first + 4)], axis=1)
    if not np.isfinite(prices).all():
        return False
    high, low = (prices.max(axis=1) == prices.T).all(axis=1), (prices.min(axis=1) == prices.T).all(axis=1)
    return bool(high.tolist() == [False, True, False, False] and low.tolist() == [False, False, True, False])
