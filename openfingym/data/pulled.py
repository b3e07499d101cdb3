"""Panels of pulled data: from the files of the last pull alone, never from the network.

| source | channels | values |
|---|---|---|
| yahoo | tickers | close, adjusted for splits by Yahoo and for dividends here |
| binance-archive, binance-rest | pairs | close |
| treasury | tenors (``10y``); all the pull has if none | par yield, percent per annum |
| ecb | pairs (``usd_jpy``: yen per dollar) or currencies (``JPY``: yen per euro) | reference rate or cross |
| fred | series ids | the series |
| eiopa | maturities (``10y``; ``Austria.10y`` where several countries were pulled); all if none | spot rate, percent |

Channels share one calendar: the rows in which every one of them has a value. Nothing is filled; the
notes say how many rows went.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.curves import Curves
    from openfingym.data.dataset import Measure
    from openfingym.data.panel import Panel
    from openfingym.data.sources import Cache, Table
    from openfingym.data.sources.record import PullRecord

FIRST_DAY = date(2023, 1, 1)
"""Start of the pull command in a message, for a source that needs one and an author who named none."""
CROSS_DIGITS = 7
"""Significant digits of a cross rate, as in the bundled ``ecb-fx``."""
SHOWN = 6
"""The most channels that a message or title names."""
_PAIR = re.compile(r"([a-z]{3})_([a-z]{3})")
_MATURITY = re.compile(r"(.+\.)?\d+y")
_RATE = re.compile(r"DGS\d+(MO)?")
"""FRED's ids of Treasury yields at constant maturity: ``DGS10``, ``DGS3MO``."""
_NEEDS_START = frozenset({"binance-archive", "binance-rest"})
"""Sources that refuse a request without a start."""


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The channels that the caller wants, before they are cut to a common calendar."""

    values: NDArray[np.float64]
    """float64[n, d], NaN where there is no value."""
    channels: tuple[str, ...]
    unit: str
    corporate_actions: str
    notes: tuple[str, ...] = ()


def pulled_panel(
    source: str,
    channels: Sequence[str] = (),
    *,
    interval: str | None = None,
    start: date | None = None,
    end: date | None = None,
    measure: Measure | None = None,
    cache: Cache | None = None,
) -> Panel:
    """The panel of real data that was pulled last, and covers ``channels``.

    Args:
        source: source of :data:`openfingym.data.sources.SOURCES`, or a dataset of
            :data:`~openfingym.data.sources.catalog.PULLABLE`, which also fixes the interval.
        channels: channels wanted, named as the module's table says for the source; all that the pull has if empty.
        interval: length of a bar of ``yahoo`` and ``binance-...``, such as ``1h``; a day if None.
        start: first day wanted, which the pull must reach back to; all rows if None.
        end: last day wanted, which the pull must reach; all rows if None.
        measure: measure of the values; None for that of the source, which for ``fred`` is ``yield`` where all ids are
            Treasury yields, else ``mixed``.
        cache: where pulls are kept; the one in the store by default.

    Raises:
        DataError: nothing that was pulled covers this; the message is the command that pulls it. Or a file
            was damaged, a channel is unknown, or no row has a value in every channel.
    """
    record, table = pulled_table(source, channels, interval=interval, start=start, end=end, cache=cache)
    chosen = _choose(table, record, tuple(channels))
    measure = measure or _measure(record.source, chosen.channels)
    return _aligned(table, record, chosen, measure, start, end)


def pulled_table(
    source: str,
    channels: Sequence[str] = (),
    *,
    interval: str | None = None,
    start: date | None = None,
    end: date | None = None,
    cache: Cache | None = None,
) -> tuple[PullRecord, Table]:
    """The latest pull that covers ``channels``, with the publisher's own columns and values.

    Args:
        source: name of a source or of a dataset that can be pulled, as for :func:`pulled_panel`.
        channels: channels that the pull must cover, as for :func:`pulled_panel`.
        interval: length of a bar, as for :func:`pulled_panel`.
        start: first day wanted, which the pull must reach back to; no matter if None.
        end: last day wanted, which the pull must reach; no matter if None.
        cache: where pulls are kept; the one in the store by default.

    Raises:
        DataError: nothing that was pulled covers this; the message is the command that pulls it. Or a file was damaged.
    """
    from openfingym.data.sources import SOURCES
    from openfingym.data.sources import Cache as DefaultCache
    from openfingym.data.sources.catalog import find_pull
    from openfingym.data.sources.record import read_table

    cache = cache or DefaultCache()
    record = find_pull(source, needed_symbols(source, channels), interval, cache)
    if record is None or not _reaches(record, start, end):
        raise DataError(_missing(source, channels, interval, start, end, record))
    return record, read_table(record, cache, SOURCES)


def pulled_curves(countries: Sequence[str] = ("Euro",), *, source: str = "eiopa", cache: Cache | None = None) -> Curves:
    """EIOPA's risk-free curves that were pulled last, as percent, in the shape of
    :func:`openfingym.data.curves.simulated_curves`.

    Args:
        countries: names of the countries, as EIOPA spells them.
        source: ``eiopa``, or a dataset of :data:`~openfingym.data.sources.catalog.PULLABLE` that comes from it.
        cache: where pulls are kept; the one in the store by default.

    Raises:
        DataError: nothing was pulled, the files are damaged, or a country is missing; see :func:`pulled_panel`.
    """
    from openfingym.data.curves import Curves
    from openfingym.data.sources.eiopa import MATURITIES

    channels = [f"{country}.{year}y" for country in countries for year in range(1, MATURITIES + 1)]
    panel = pulled_panel(source, channels, cache=cache)
    values = panel.values.reshape(len(panel.times), len(countries), MATURITIES)
    info = replace(
        panel.info,
        channels=tuple(countries),
        title=f"Risk-free curves of {len(countries)} countries, 1 to {MATURITIES} years",
    )
    maturities = np.arange(1, MATURITIES + 1)
    maturities.flags.writeable = False
    return Curves(panel.times, tuple(countries), maturities, values, info)


def needed_symbols(source: str, channels: Sequence[str]) -> tuple[str, ...]:
    """The symbols that a pull must have asked for to give these channels."""
    kind = source_of(source)
    if kind == "ecb":
        # Every rate of the ECB is per euro, so there is none of the euro itself.
        currencies = {code.upper() for channel in channels for code in _currencies(channel)}
        return tuple(sorted(currencies - {"EUR"}))
    if kind == "eiopa":
        return tuple(dict.fromkeys(_country(channel) for channel in channels))
    return tuple(channels)


def _country(channel: str) -> str:
    """The country of a maturity such as ``Austria.10y``; ``Euro`` of a plain ``10y``; a country is its own."""
    return (channel.rpartition(".")[0] or "Euro") if _MATURITY.fullmatch(channel) else channel


def source_of(name: str) -> str:
    """The source of a named dataset; a source's name is its own."""
    from openfingym.data.sources.catalog import PULLABLE

    return PULLABLE[name].source if name in PULLABLE else name


def pull_command(
    source: str,
    symbols: Sequence[str] = (),
    *,
    interval: str | None = None,
    start: date | None = None,
    end: date | None = None,
) -> str:
    """The command that pulls this, for a shell."""
    from openfingym.data.sources.catalog import PULLABLE

    words = ["openfingym", "data", "pull", source]
    if source not in PULLABLE:
        words += ["--symbols", ",".join(symbols)] if symbols else []
        words += ["--interval", interval] if interval else []
        if start is None and source in _NEEDS_START:
            start = FIRST_DAY
    words += ["--start", start.isoformat()] if start else []
    words += ["--end", end.isoformat()] if end else []
    return shlex.join(words)


def _missing(
    source: str,
    channels: Sequence[str],
    interval: str | None,
    start: date | None,
    end: date | None,
    record: PullRecord | None,
) -> str:
    more = f" and {len(channels) - SHOWN} more" if len(channels) > SHOWN else ""
    what = f"{', '.join(channels[:SHOWN]) or 'all channels'}{more} of {source}"
    command = pull_command(source, needed_symbols(source, channels), interval=interval, start=start, end=end)
    found = (
        ""
        if record is None
        else f"; the pull of {record.pulled_at} is from {record.start or 'the first day'} to {record.end or 'its last'}"
    )
    return f"{what} have not been pulled{found}. Run this once, with a network: {command}"


def _reaches(record: PullRecord, start: date | None, end: date | None) -> bool:
    # A pull that named no start or end asked for everything on that side.
    early = record.start is None or start is None or date.fromisoformat(record.start) <= start
    late = record.end is None or end is None or date.fromisoformat(record.end) >= end
    return early and late


def _choose(table: Table, record: PullRecord, channels: tuple[str, ...]) -> _Chosen:
    if record.source == "yahoo":
        return _adjusted_closes(table, channels or record.symbols)
    if record.source in _NEEDS_START:
        symbols = channels or record.symbols
        unit = "units of the quote asset (the end of the pair's name)"
        return _Chosen(_closes(table, symbols), symbols, unit, "none: crypto-assets have neither splits nor dividends")
    if record.source == "ecb":
        return _rates(table, channels or table.columns)
    if record.source == "eiopa":
        return _curves(table, record, channels)
    if record.source in {"treasury", "fred"}:
        picked = table.select(channels) if channels else table
        nothing = "none: interest rates and statistics have none"
        return _Chosen(picked.values, picked.columns, picked.unit, nothing)
    raise UsageError(f"{record.source} gives no panel; load a graph with openfingym.data.loaded_graphs.load_graph")


def _closes(table: Table, symbols: Sequence[str]) -> NDArray[np.float64]:
    """float64[n, len(symbols)]: the close of each, NaN where there was no bar."""
    # A table of one symbol names its columns without it.
    return np.stack(
        [table.column("close" if "close" in table.columns else f"{symbol}.close") for symbol in symbols], axis=1
    )


def _adjusted_closes(table: Table, symbols: tuple[str, ...]) -> _Chosen:
    from openfingym.data.sources import adjusted_prices
    from openfingym.data.sources.consistency import require_consistent

    closes = _closes(table, symbols)
    values = np.empty_like(closes)
    counts, notes = {"split": 0, "dividend": 0, "capital-gain": 0}, []
    for i, symbol in enumerate(symbols):
        actions = [action for action in table.actions if action.symbol == symbol]
        for action in actions:
            counts[action.kind] += 1
        currency, times = table.currencies.get(symbol, ""), table.times
        require_consistent(symbol, closes[:, i], times, actions, frequency=table.frequency)
        values[:, i] = adjusted_prices(closes[:, i], times, actions, frequency=table.frequency, currency=currency)
        prefix = "" if "close" in table.columns else f"{symbol}."
        if f"{prefix}adj_close" in table.columns:
            apart = np.abs(table.column(f"{prefix}adj_close") / values[:, i] - 1.0)
            # A tenth of a percent is far more than the rounding of Yahoo's figures: the two adjust differently.
            if np.nanmax(apart, initial=0.0) > 1e-3:
                notes.append(f"{symbol}: up to {np.nanmax(apart):.2%} from Yahoo's own adjusted close")
    actions_text = (
        f"adjusted for {counts['split']} splits by Yahoo, and here for {counts['dividend']} dividends and "
        f"{counts['capital-gain']} capital gains: all earlier closes times 1 - D / P, P the close before the ex-date; "
        "so ratios are total returns, and not point-in-time"
    )
    return _Chosen(values, symbols, table.unit.partition(";")[0], actions_text, tuple(notes))


def _currencies(channel: str) -> tuple[str, ...]:
    pair = _PAIR.fullmatch(channel)
    return (pair[1], pair[2]) if pair else (channel,)


def _rates(table: Table, channels: tuple[str, ...]) -> _Chosen:
    def per_euro(code: str) -> NDArray[np.float64]:
        return np.ones(len(table.times)) if code == "EUR" else table.column(code)

    values = np.empty((len(table.times), len(channels)))
    for i, channel in enumerate(channels):
        pair = _PAIR.fullmatch(channel)
        if pair is None:
            values[:, i] = per_euro(channel)
            continue
        # Both are per euro: yen per euro over dollars per euro is yen per dollar.
        cross = per_euro(pair[2].upper()) / per_euro(pair[1].upper())
        values[:, i] = [float(f"{value:.{CROSS_DIGITS}g}") for value in cross.tolist()]
    crosses = sum(_PAIR.fullmatch(channel) is not None for channel in channels)
    unit = "units of the second currency per unit of the first" if crosses else "units of the currency per euro"
    notes = (f"{crosses} pairs are crosses through the euro, to {CROSS_DIGITS} significant digits",) if crosses else ()
    return _Chosen(values, channels, unit, "none: exchange rates have none", notes)


def _curves(table: Table, record: PullRecord, channels: tuple[str, ...]) -> _Chosen:
    countries = record.symbols or ("Euro",)
    # A table of one country names its columns by maturity alone.
    names = {channel: channel.rpartition(".")[2] if len(countries) == 1 else _full(channel) for channel in channels}
    picked = table.select(tuple(names.values())) if channels else table
    # The publisher's decimals have five places; without rounding, times 100 would end in binary noise.
    percent = np.round(picked.values * 100.0, 6)
    notes = ("decimals times 100",)
    unit = "percent per annum, annually compounded spot rate"
    return _Chosen(percent, channels or picked.columns, unit, "none: interest rates have none", notes)


def _full(channel: str) -> str:
    return channel if "." in channel else f"Euro.{channel}"


def _measure(source: str, channels: Sequence[str]) -> Measure:
    if source == "fred":
        return "yield" if all(_RATE.fullmatch(channel) for channel in channels) else "mixed"
    return "yield" if source in {"treasury", "eiopa"} else "price"


def _aligned(
    table: Table, record: PullRecord, chosen: _Chosen, measure: Measure, start: date | None, end: date | None
) -> Panel:
    """Cut to the period, keep the rows in which every channel has a value, and say what went."""
    from openfingym.data.panel import Panel

    values, notes = chosen.values.copy(), list(chosen.notes)
    if measure == "price":
        # A price that is zero or below has no return, so it counts as missing; crude oil in April 2020 had one.
        for row, column in np.argwhere(values <= 0.0):
            notes.append(
                f"{chosen.channels[column]}: {values[row, column]} on {table.times[row].astype('datetime64[D]')} taken "
                "as missing"
            )
        values[values <= 0.0] = np.nan
    provenance = table.provenance.noting(*notes)
    wide = replace(table, values=values, columns=chosen.channels, unit=chosen.unit, provenance=provenance)
    whole = wide.between(start, end).complete()
    title = (
        f"{', '.join(chosen.channels[:SHOWN])}{' and more' if len(chosen.channels) > SHOWN else ''}, pulled from "
        f"{record.source}"
    )
    panel = whole.to_panel(name=f"pulled-{record.source}", title=title, measure=measure)
    info = replace(
        panel.info,
        provenance=f"pulled {record.pulled_at} from {record.base_url}, read by {record.parser}; {len(record.files)} "
        "files",
        calendar=f"the {len(whole.times)} rows in which every channel has a value, of "
        f"{len(wide.between(start, end).times)} in the period; nothing is filled",
        corporate_actions=chosen.corporate_actions,
        originals=tuple((origin.url, origin.sha256) for origin in record.files),
    )
    return Panel(panel.times, panel.values, panel.channels, info)
