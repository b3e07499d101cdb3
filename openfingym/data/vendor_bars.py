"""Bars of pulled data: open, high, low, close and volume, from the files of the last pull alone.

| source | symbols | bars |
|---|---|---|
| yahoo | tickers | adjusted for splits by Yahoo; dividends beside them, not taken out |
| binance-archive, binance-rest | pairs | as published |

Symbols share one clock: all rows from the first in which every symbol trades. Where one has no bar in
a later row, it is halted there (see :mod:`openfingym.data.bars`), and so where it has a price of zero or below; nothing
else is filled. A high or low that misses open or close by no more than the rounding of an adjustment is moved to it.
Prices and corporate actions that contradict each other are refused (:mod:`openfingym.data.sources.consistency`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import content_digest
from openfingym.data.pulled import pulled_table
from openfingym.data.sources.consistency import cash_by_row, one_currency, require_consistent
from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.bars import Bars
    from openfingym.data.dataset import DatasetInfo
    from openfingym.data.sources import Cache, Table
    from openfingym.data.sources.record import PullRecord

WITH_BARS = frozenset({"yahoo", "binance-archive", "binance-rest"})
"""Sources that publish bars."""


def pulled_bars(
    source: str,
    symbols: Sequence[str] = (),
    *,
    names: Sequence[str] = (),
    interval: str | None = None,
    start: date | None = None,
    end: date | None = None,
    cache: Cache | None = None,
) -> tuple[Bars, DatasetInfo]:
    """The bars that were pulled last, and where they are from.

    Args:
        source: ``yahoo``, ``binance-archive``, ``binance-rest``, or a dataset of
            :data:`~openfingym.data.sources.catalog.PULLABLE` that comes from one of them.
        symbols: instruments wanted, by the source's names; all that the pull has if empty.
        names: what to call the instruments, one name each; the source's own names if empty.
        interval: length of a bar, such as ``1h``, if ``source`` is no named dataset; a day if None.
        start: first day wanted, which the pull must reach back to; all rows if None.
        end: last day wanted, which the pull must reach; all rows if None.
        cache: where pulls are kept; the one in the store by default.

    Raises:
        DataError: nothing that was pulled covers this; the message is the command that pulls it. Or a bar contradicts
            itself, prices and corporate actions contradict each other, the symbols are quoted in two currencies, or in
            no row do all symbols trade.
        UsageError: the source has no bars.
    """
    from openfingym.data.bars import FIELDS, Bars, widen

    record, table = pulled_table(source, symbols, interval=interval, start=start, end=end, cache=cache)
    if record.source not in WITH_BARS:
        raise UsageError(f"{record.source} has no bars; {', '.join(sorted(WITH_BARS))} do")
    wanted = tuple(symbols) or record.symbols
    called = tuple(names) or wanted
    wide = table.between(start, end)
    # A table of one symbol names its columns without it.
    plain = "close" in wide.columns
    columns = [[wide.column(field if plain else f"{symbol}.{field}") for field in FIELDS] for symbol in wanted]
    values = np.stack([np.stack(fields, axis=1) for fields in columns], axis=1)
    one_currency({symbol: wide.currencies[symbol] for symbol in wanted if symbol in wide.currencies})
    notes = _without_worthless(values, wanted, wide.times)
    widen(values)
    # Yahoo repeats the price of a day without a trade beside a volume of zero, or leaves the volume out.
    values[np.isnan(values).any(axis=2)] = np.nan
    # A volume of NaN compares as False, so a halted symbol does not trade.
    trades = (values[:, :, 4] > 0.0).all(axis=1)
    if not trades.any():
        raise DataError(f"{source}: in no row do all of {', '.join(wanted)} trade")
    first = int(trades.argmax())
    paid = _dividends(table, wanted, wide.times, values[:, :, 3])[first:]
    # Whoever holds a share before the open is paid, and nobody holds one before the first row.
    paid[0] = 0.0
    bars = Bars.from_array(wide.times[first:], called, values[first:], dividend=paid, name=f"pulled-{record.source}")
    return bars, _info(bars, wide, record, first, notes)


def _without_worthless(
    values: NDArray[np.float64], symbols: Sequence[str], times: NDArray[np.datetime64]
) -> tuple[str, ...]:
    """Take rows with a price of zero or below as missing, in place; returns a note on each symbol that has some."""
    worthless: NDArray[np.bool_] = np.asarray((values[:, :, :4] <= 0.0).any(axis=2))
    values[worthless] = np.nan
    return tuple(
        f"{symbol}: {len(rows)} rows with a price of zero or below taken as halts, the first on "
        f"{times[rows[0]].astype('datetime64[D]')}"
        for symbol, rows in zip(symbols, map(np.flatnonzero, worthless.T), strict=True)
        if len(rows)
    )


def _dividends(
    table: Table, symbols: Sequence[str], times: NDArray[np.datetime64], close: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cash per share of dividends and capital gains, on the row on which shares trade without it, float64[T, S].

    Args:
        table: the table with the corporate actions.
        symbols: names of the symbols.
        times: datetime64[T].
        close: float64[T, S], NaN where there is no bar.

    Raises:
        DataError: actions and prices of a symbol contradict each other.
    """
    paid = np.zeros(close.shape)
    for place, symbol in enumerate(symbols):
        actions = [action for action in table.actions if action.symbol == symbol]
        currency = table.currencies.get(symbol, "")
        if currency:
            require_consistent(symbol, close[:, place], times, actions, frequency=table.frequency)
        cash = cash_by_row(close[:, place], times, actions, frequency=table.frequency, currency=currency)
        paid[list(cash), place] = list(cash.values())
    return paid


def _info(bars: Bars, table: Table, record: PullRecord, skipped: int, notes: Sequence[str]) -> DatasetInfo:
    from openfingym.data.bars import FIELDS
    from openfingym.data.dataset import DatasetInfo

    channels = tuple(f"{symbol}_{field}" for symbol in bars.symbols for field in FIELDS)
    paid = int((bars.dividend > 0.0).sum())
    # Dividends count: they are part of what an account is worth.
    everything = np.concatenate([bars.to_array().reshape(len(bars), -1), bars.dividend], axis=1)
    digest = content_digest(bars.times, (*channels, *(f"{symbol}_dividend" for symbol in bars.symbols)), everything)
    info = DatasetInfo(
        name=f"pulled-{record.source}",
        title=f"Bars of {', '.join(bars.symbols[:6])}{' and more' if len(bars.symbols) > 6 else ''}, pulled from "
        f"{record.source}",
        kind="real",
        source=table.provenance.publisher,
        provenance=f"pulled {record.pulled_at} from {record.base_url}, read by {record.parser}; {len(record.files)} "
        "files",
        licence=table.provenance.licence,
        frequency=table.frequency,
        measure="mixed",
        unit="see units",
        calendar=f"all {len(bars)} rows from the first in which every symbol trades; {skipped} before it left out, "
        f"{int((~bars.tradable).sum())} halts of single symbols",
        corporate_actions=f"adjusted for splits by Yahoo; {paid} dividends beside the bars, not taken out of them"
        if record.source == "yahoo"
        else "none: crypto-assets have neither splits nor dividends",
        first=bars.times[0].astype("datetime64[D]").item(),
        last=bars.times[-1].astype("datetime64[D]").item(),
        rows=len(bars),
        channels=channels,
        missing=0,
        sha256=digest,
        units=(table.unit,) * len(channels),
        notes=(*table.provenance.notes, *notes),
    )
    return replace(info, originals=tuple((origin.url, origin.sha256) for origin in record.files))
