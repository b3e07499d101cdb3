"""The world: a simulated harbour, as a vault in which each day becomes known when it is over."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from openfingym.suites import World
from openfingym.vault import Source, TableSpec, Vault, VaultWriter

NAME = "harbour-traffic"
FIRST_DAY = date(2025, 1, 1)
DAYS = 120
TRAFFIC = TableSpec(
    name="traffic",
    columns={"day": "DATE", "arrivals": "INTEGER", "waiting": "INTEGER"},
    key=("day",),
    about="day",
)


class HarbourWorld(World):
    """Ships that arrive and wait."""

    about = "ships that arrive at a harbour and wait, 120 days"
    simulates = True
    made_when_named = True

    def simulate(self, seed: int = 0, days: int | None = None, folder: Path | None = None) -> Vault:
        """Make the vault; the same seed and days give the same digest."""
        import numpy as np
        import pandas as pd

        random, count, waiting = np.random.default_rng(seed), days or DAYS, 20
        rows = []
        for number in range(count):
            day = FIRST_DAY + timedelta(days=number)
            arrivals = int(random.poisson(4 if day.weekday() >= 5 else 9))
            # Pilots work at weekends too, but fewer of them.
            served = int(random.poisson(5 if day.weekday() >= 5 else 8.6))
            waiting = min(max(waiting + arrivals - served, 0), 100)
            known = datetime.combine(day + timedelta(days=1), time(0), UTC)
            rows.append({"day": day, "arrivals": arrivals, "waiting": waiting, "known_at": known})
        source = Source(name="harbour_traffic.world, a simulator", licence="CC0-1.0", note="no ship exists")
        title = f"A simulated harbour, {count} days from {FIRST_DAY}, seed {seed}; no ship of it is real"
        with VaultWriter(folder, name=NAME, title=title, sources=[source], simulated=True) as writer:
            writer.add(TRAFFIC, pd.DataFrame(rows))
            return writer.finish()


WORLD = HarbourWorld()
