"""The world of a forecasting season, which is simulated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.suites.world import World

if TYPE_CHECKING:
    from openfingym.vault import Vault


class SeasonWorld(World):
    """Companies with reports, statistics and stories of a season."""

    about = "companies with reports, statistics and stories of a ten-week season; of a length of its own"
    simulates = True
    made_when_named = True

    def simulate(self, seed: int, days: int | None, folder: Path | None) -> Vault:
        """See :class:`~openfingym.suites.world.World`."""
        from openfingym_suites.findeepforecast.world.building import findeepforecast_vault, write_findeepforecast

        if days is not None:
            raise UsageError(
                "findeepforecast is as long as its season and what comes before and after it; leave out --days"
            )
        return findeepforecast_vault(seed=seed) if folder is None else write_findeepforecast(folder, seed=seed)


WORLD = SeasonWorld()
