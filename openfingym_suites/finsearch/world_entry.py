"""The world of financial search: a simulated market beside the real tables of the bundled vault."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.suites.world import World

if TYPE_CHECKING:
    from openfingym.vault import Vault


class MarketWorld(World):
    """A market with companies, prices, statistics and pages."""

    about = (
        "a market with companies, prices, statistics and pages beside the real tables of the bundled vault, 17 years"
    )
    simulates = True
    made_when_named = True

    def simulate(self, seed: int, days: int | None, folder: Path | None) -> Vault:
        """See :class:`~openfingym.suites.world.World`."""
        from openfingym_suites.finsearch.world import MarketSize, finsearch_vault, write_finsearch

        # The last day is fixed, so that a longer world begins earlier and ends with the same days.
        last = MarketSize.last_day
        size = MarketSize() if days is None else MarketSize(first_day=last - timedelta(days=days - 1))
        return finsearch_vault(size, seed=seed) if folder is None else write_finsearch(folder, size, seed=seed)


WORLD = MarketWorld()
