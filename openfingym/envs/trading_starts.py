"""Where the next episode of each of many trading environments starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from openfingym.envs.trading_episodes import Episodes
from openfingym.errors import UsageError


class NextStarts:
    """The next start of each environment, drawn from a generator of its own, as N single environments would."""

    def __init__(self, episodes: Episodes, count: int) -> None:
        self._episodes = episodes
        self.rows = np.zeros(count, np.int64)
        """int64[N], the row at whose close each next episode starts; ``lasts`` are the rows in which they end."""
        self.lasts = np.zeros(count, np.int64)
        self.generators: list[np.random.Generator] = []
        self.seeds: list[int] = []

    def seed(self, seed: int | Sequence[int | None] | None, which: NDArray[np.bool_]) -> None:
        """Seed the generators of some environments.

        Args:
            seed: one seed, from which environment i gets ``seed + i``; a list with a seed, or None, for each
                environment; or None to go on with the generators as they are (the forms of Gymnasium's vector
                environments).
            which: bool[N], the environments.

        Raises:
            UsageError: there is not one seed for each environment.
        """
        count = len(self.rows)
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(count)]
        else:
            seeds = [None if one is None else int(one) for one in seed]
        if len(seeds) != count:
            raise UsageError(f"seed has {len(seeds)} entries; expected one for each of {count} environments")
        if not self.generators:
            made = [seeding.np_random(one if chosen else None) for one, chosen in zip(seeds, which, strict=True)]
            self.generators, self.seeds = [generator for generator, _ in made], [number for _, number in made]
            self.draw(np.ones(count, np.bool_))
            return
        anew = which & np.array([one is not None for one in seeds])
        for i in np.flatnonzero(anew):
            self.generators[i], self.seeds[i] = seeding.np_random(seeds[i])
        self.draw(anew)

    def draw(self, which: NDArray[np.bool_]) -> None:
        """Choose the next starts of these environments."""
        for i in np.flatnonzero(which):
            self.rows[i] = self._episodes.starts(1, self.generators[i], self._episodes.start)[0]
        self.lasts[which] = self._episodes.ends(self.rows[which])

    def given(self, start: object) -> NDArray[np.int64]:
        """Rows of one start for all environments, or of N starts.

        Raises:
            UsageError: there is no such row, or not one for each environment.
        """
        if isinstance(start, np.ndarray | Sequence) and not isinstance(start, str):
            starts = list(start)
        else:
            starts = [start] * len(self.rows)
        if len(starts) != len(self.rows):
            raise UsageError(f"start has {len(starts)} rows; expected one for each of {len(self.rows)} environments")
        drawn = zip(self.generators, starts, strict=True)
        return np.concatenate([self._episodes.starts(1, generator, one) for generator, one in drawn])
