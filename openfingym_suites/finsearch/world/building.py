"""Building the vault ``finsearch`` when it is first wanted: real tables of the bundled vault and a simulated market."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.digests import sha256_of_json
from openfingym.vault import Source, Vault, VaultWriter
from openfingym.vault.bundled import DIGEST as BUNDLED_DIGEST
from openfingym.vault.bundled import bundled_vault
from openfingym.vault.made import made_vault
from openfingym_suites.finsearch.world import frames, macro, specs
from openfingym_suites.finsearch.world.indices import PricedIndex
from openfingym_suites.finsearch.world.pages import write_pages
from openfingym_suites.finsearch.world.rates import PricedRate
from openfingym_suites.finsearch.world.roster import MarketSize
from openfingym_suites.finsearch.world.simulate import SimulatedMarket, simulate
from openfingym_suites.finsearch.world.statements import frame

if TYPE_CHECKING:
    import pandas as pd

NAME = "finsearch"
DIGEST = "daaab08e4206801b7befe449fd7209beb170450f548fe24ca6161834a5c49029"
"""Digest of the vault of the default world, which a test builds."""
VERSION = 1
"""Version of the simulator: raised by whoever gives a world of the same size and seed other rows."""
SOURCE = Source(
    name="openfingym.suites.finsearch.world, a simulator",
    licence="Apache-2.0",
    note="tables instruments (rows with simulated), bars, actions, statements, series, constituents and most pages: no "
    "company exists, no price was paid, no office published a figure. Exchange rates follow the ECB's real reference "
    "rates of the day before; calendars of exchanges are real",
)


def finsearch_vault(size: MarketSize | None = None, *, seed: int = 0) -> Vault:
    """The vault from the store, or built there now, in less than a minute.

    Args:
        size: how large the simulated part is; None for the default.
        seed: the number from which every random draw of the simulated part follows; the same seed, size and version
            give the same digest.

    Raises:
        StoreError: the store cannot be written.
    """
    size = size or MarketSize()
    return made_vault(NAME, recipe_of(size, seed), lambda: write_finsearch(None, size, seed=seed))


def write_finsearch(
    folder: str | Path | None, size: MarketSize | None = None, *, seed: int = 0, real: Vault | None = None
) -> Vault:
    """Write the vault to a folder, or to the store if it is None.

    Args:
        folder: folder that the vault is written to; it must not exist. None for the store.
        size: how large the simulated part is; None for the default.
        seed: the number from which every random draw of the simulated part follows.
        real: vault with real tables, under the names and with the columns of the bundled one; None for the bundled one.

    Raises:
        StoreError: it cannot be written there, or the disk is full.
    """
    size = size or MarketSize()
    bundled = real or bundled_vault()
    world = simulate(size, seed=seed)
    title = (
        f"Real macro and GDP vintages, company facts, filings, FOMC statements and market prices, and a simulated "
        f"market with {len(world.companies)} companies, {size.first_day} to {size.last_day}, seed {seed}"
    )
    sources = [*bundled.manifest.sources, SOURCE]
    notes = {"seed": str(seed)}
    # Real tables are copied as they are, under the names and with the known times of the vault that they are from.
    with VaultWriter(folder, name=NAME, title=title, sources=sources, simulated=True, notes=notes) as writer:
        for entry in bundled.manifest.tables:
            if entry.name in specs.REAL:
                writer.add(entry.spec, bundled.folder / f"{entry.name}.parquet")
        _add(writer, world, bundled)
        return writer.finish()


def _add(writer: VaultWriter, world: SimulatedMarket, bundled: Vault) -> None:
    """Add the tables that have simulated rows; those of instruments, series and pages have real rows besides."""
    import pandas as pd

    others: list[PricedIndex | PricedRate] = [*world.indices, *world.rates]
    writer.add(specs.INSTRUMENTS, frames.instruments(world.lines, world.indices, world.rates, bundled))
    bars: list[pd.DataFrame] = list(frames.bars(world.lines, others))
    writer.add(specs.BARS, pd.concat(bars, ignore_index=True))
    writer.add(specs.ACTIONS, frames.actions(world.lines))
    writer.add(specs.STATEMENTS, frame(world.reported))
    writer.add(specs.SERIES, frames.series(world.points))
    info: list[pd.DataFrame] = [macro.info(list(world.points)), frames.real_series(bundled)]
    writer.add(specs.SERIES_INFO, pd.concat(info, ignore_index=True))
    writer.add(specs.CONSTITUENTS, frames.constituents(world.indices))
    writer.add(specs.PAGES, write_pages(world, bundled.hindsight(datetime(2100, 1, 1, tzinfo=UTC))))


def recipe_of(size: MarketSize, seed: int, real: str = BUNDLED_DIGEST) -> str:
    """Hex SHA-256 of all that decides the rows of a vault: seed, size, the simulator's version, and the real rows.

    Args:
        size: how large the simulated part is.
        seed: the number from which every random draw of the simulated part follows.
        real: digest of the vault with the real tables.
    """
    stated = [str(size.first_day), str(size.last_day), size.us, size.mainland, size.hong_kong, size.dual]
    return sha256_of_json({"version": VERSION, "size": stated, "seed": seed, "real": real})
