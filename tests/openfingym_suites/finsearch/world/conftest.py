"""A small world: some real rows of the bundled vault, and a few simulated companies for three and a half years."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

import pandas as pd
import pytest

from openfingym.vault import Vault, VaultWriter
from openfingym_suites.finsearch.world import MarketSize, write_finsearch
from openfingym_suites.finsearch.world.pages.facts import Facts, facts_of
from openfingym_suites.finsearch.world.simulate import SimulatedMarket, simulate

SIZE = MarketSize(first_day=date(2019, 1, 2), last_day=date(2022, 6, 30), us=4, mainland=2, hong_kong=1, dual=2)
ROWS = {
    "macro": "series = 'UNRATE' AND reference_date >= '2016-01-01'",
    "gdp": "series = 'CHE' AND reference_date >= '2019-01-01'",
    "company_facts": "ticker IN ('SNOW', 'NVDA') AND concept IN ('Revenues', 'NetIncomeLoss', 'Assets')",
    "filings": "form = '8-K'",
    "fomc_statements": "date >= '2022-01-01'",
    "market": "channel IN ('usd_cny', '10y') OR channel LIKE 'aapl%' AND date >= '2012-01-01'",
}


@dataclass(frozen=True)
class Small:
    """The world, what its pages are written from, and its vault."""

    world: SimulatedMarket
    facts: Facts
    vault: Vault


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """The small world."""
    folder = tmp_path_factory.mktemp("finsearch")
    bundled = Vault.open("bundled")
    everything = bundled.hindsight(datetime(2100, 1, 1, tzinfo=UTC))
    with VaultWriter(folder / "real", name="real", title="Some real rows", sources=bundled.manifest.sources) as writer:
        for entry in bundled.manifest.tables:
            if entry.name in ROWS:
                rows = everything.sql(f"SELECT * FROM {entry.name} WHERE {ROWS[entry.name]} ORDER BY known_at")
                writer.add(entry.spec, pd.DataFrame(rows))
        real = writer.finish()
    world = simulate(SIZE)
    return Small(world, facts_of(world), write_finsearch(folder / "world", SIZE, real=real))
