"""The season in a world of one rollout, which nobody else has seen and which is in memory alone."""

from __future__ import annotations

from collections.abc import Mapping

from openfingym.errors import DataError
from openfingym.vault.arrays import Array
from openfingym.vault.held import held, opened
from openfingym_suites.findeepforecast.claims import read_report
from openfingym_suites.findeepforecast.seasons import SeasonParts, own_parts
from openfingym_suites.findeepforecast.world.building import write_findeepforecast

ATTEMPTS = 4
"""How many worlds are drawn at most, until one has as many questions as the task."""
_SEEDS = 1 << 256
"""More than any seed of a tape: the next world has the seed that is so much larger."""


def own_season(seed: int, like: SeasonParts) -> tuple[Mapping[str, Array], SeasonParts]:
    """Draw a world, and the season's questions about it.

    Args:
        seed: the number from which everything follows; not negative, of any size.
        like: the season in the world that all know, whose numbers of questions are taken.

    Returns:
        The files of its vault, and the problems to practise on and those that count.

    Raises:
        DataError: no world has enough questions.
        StoreError: the store, where files are written to first, cannot be written.
    """
    for attempt in range(ATTEMPTS):
        own = seed + attempt * _SEEDS
        files = held(lambda folder, own=own: write_findeepforecast(folder, seed=own, season_only=True))  # type: ignore[misc]
        try:
            parts = own_parts(opened(files), like)
        finally:
            # Of news that is never read again.
            read_report.cache_clear()
        if parts is not None:
            return files, parts
    raise DataError(f"of {ATTEMPTS} worlds none has {len(like.private)} questions that can be decided")
