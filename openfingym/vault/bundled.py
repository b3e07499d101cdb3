"""The vault that comes with the library: figures and texts with the times at which they became known.

The package has the rows as compressed CSV, stated in ``files/vault.toml`` beside the terms of their sources, and the
series of :mod:`openfingym.data`. The snapshot is built into the store when it is first wanted, which takes seconds. A
known time is an upper bound: where a source has a day alone, it is the end of that day where the source is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import store
from openfingym.data import dataset_info, load_panel
from openfingym.errors import DataError
from openfingym.vault.spec import KNOWN_AT, Source, TableSpec
from openfingym.vault.vault import Vault
from openfingym.vault.vault_toml import add_tables, read_statement
from openfingym.vault.writer import VAULTS, VaultWriter

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.task.exposure import Days

NAME = "bundled"
DIGEST = "c443f09c0eff20f2bc069efa85e302dc387191d47ae6cee20f7edb489330ffe7"
"""Digest of the snapshot; a test builds it and compares."""
FILES = Path(__file__).parent / "files"
_STOCK_CLOSE = ("20:00", "America/New_York")
"""When the extended session ends, in which volume still grows."""


@dataclass(frozen=True)
class _Market:
    """When the prices of a day are known, and which later changes to them are undone."""

    hour: str
    """Time of the day at which the day's prices are known, ``hh:mm``."""
    zone: str
    """Time zone of that time."""
    splits: tuple[tuple[str, str], ...] = ()
    """Two-for-one splits that the dataset is adjusted for and that are undone: (start of a channel's name, first day
    in new shares)."""


_MARKETS = {
    "ecb-fx": _Market("17:00", "Europe/Berlin"),
    "ecb-fx-8": _Market("17:00", "Europe/Berlin"),
    "ust-par-yields": _Market("20:00", "America/New_York"),
    "ust-par-yields-1993": _Market("20:00", "America/New_York"),
    "goog-ohlcv": _Market(*_STOCK_CLOSE),
    "us-stocks-ohlcv": _Market(
        *_STOCK_CLOSE, splits=(("aapl", "2000-06-21"), ("aapl", "2005-02-28"), ("msft", "2003-02-18"))
    ),
}
"""The real series. Adjusted closes are left out, and with them us-large-caps: they were computed from later dividends
and splits.
"""
SERIES = tuple(_MARKETS)
"""Names of the datasets of the table ``market``."""
_SPEC = TableSpec(
    name="market",
    columns={"dataset": "VARCHAR", "channel": "VARCHAR", "date": "DATE", "value": "DOUBLE"},
    key=("dataset", "channel", "date"),
    about="date",
    known_basis="after the close, on the same day: ECB reference rates (fixed about 14:15) at 17:00 in Frankfurt, "
    "stock bars and Treasury yields at 20:00 in New York. Prices and volumes of stocks are as traded, not adjusted. No "
    "corrections are recorded: a figure that was corrected later stands at the time of the first",
)


def bundled_vault() -> Vault:
    """The snapshot, built if the store does not have it yet.

    Raises:
        StoreError: the store cannot be written.
        DataError: the files of the package are not what they should be.
    """
    folder = store.home() / VAULTS / NAME / DIGEST[:12]
    if not folder.is_dir():
        built = build().digest
        if built != DIGEST:
            raise DataError(f"the package's files make vault {built[:12]}, not {DIGEST[:12]}; reinstall openfingym")
    return Vault.open(folder)


def served(until: date) -> dict[str, Days]:
    """The days of the real series that the table ``market`` has, by instrument; the vault need not be built for that.

    Args:
        until: the last day as of which anybody asks.
    """
    from openfingym.data.instruments import instrument
    from openfingym.task.exposure import between

    days: dict[str, Days] = {}
    for info in map(dataset_info, _MARKETS):
        assert info.first is not None
        assert info.last is not None
        for name in sorted({instrument(info, channel) for channel in info.channels}):
            days[name] = tuple(sorted({*days.get(name, ()), *between(info.first, min(info.last, until))}))
    return days


def build(folder: Path | None = None) -> Vault:
    """Build the snapshot from the files of the package.

    Args:
        folder: folder that the snapshot is written to; None for the store.
    """
    stated = read_statement(FILES / "vault.toml")
    with VaultWriter(folder, name=NAME, title=stated.title, sources=[*stated.sources, *_sources()]) as writer:
        add_tables(writer, stated, FILES)
        writer.add(_SPEC, [_prices(name, market) for name, market in _MARKETS.items()])
        return writer.finish()


def _sources() -> list[Source]:
    sources = []
    for name, market in _MARKETS.items():
        info = dataset_info(name)
        note = f"table market, dataset {name}: {info.provenance}"
        if market.splits:
            note += " In the vault, bars are in the shares of their day again: the division is undone."
        sources.append(Source(name=info.source, licence=info.licence, note=note))
    return sources


def _prices(name: str, market: _Market) -> pd.DataFrame:
    """A dataset as rows, one for each day and channel."""
    import pandas as pd

    panel = load_panel(name)
    days = pd.DatetimeIndex(panel.times)
    hours = pd.Timedelta(f"{market.hour}:00")
    parts = []
    for channel, column in zip(panel.channels, panel.values.T, strict=True):  # noqa: PD011  # of a panel, not of pandas
        # An adjusted close was computed from later dividends and splits, and would tell of them.
        if channel.endswith("adj_close"):
            continue
        values = column.copy()
        for start, first_day in market.splits:
            if channel.startswith(start):
                # Back to the shares of the day: twice the price, half the volume. Both are exact in binary.
                values[days < pd.Timestamp(first_day)] *= 0.5 if channel.endswith("volume") else 2.0
        known_at = (days + hours).tz_localize(market.zone).tz_convert("UTC")
        parts.append(
            pd.DataFrame({"dataset": name, "channel": channel, "date": days, "value": values, KNOWN_AT: known_at})
        )
    return pd.concat(parts)
