"""Where the next episode of each of many trading environments starts."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from openfingym.envs.trading_episodes import Episodes
from openfingym.errors import UsageError


class NextStarts:
    """The next start of each environment, drawn from a generator of its own, as N single environments would draw it."""

    def __init__(self, episodes: Episodes, count: int) -> None:
        self._episodes = episodes
        self.rows = np.zeros(count, np.int64)
        """The row at whose close the next episode of each environment starts, int64[N]."""
        self.lasts = np.zeros(count, np.int64)
        """The row in which the next episode of each environment ends, int64[N]."""
        self.generators: list[np.random.Generator] = []
        """The generator of each environment; none before the first seeding."""
        self.seeds: list[int] = []
        """The seed of each generator."""

    def seed(self, seed: int | Sequence[int | None] | None, which: NDArray[np.bool_]) -> None:
        """Seed the generators of some environments.

        Args:
            seed: one seed, from which environment i gets ``seed + i``; a list with a seed, or None, for each
                environment; or None to go on with the generators as they are (the forms of Gymnasium's vector
                environments).
            which: the environments whose generators are seeded, bool[N].

        Raises:
            UsageError: there is not one seed for each environment.
        """
        seeds = _seeds(seed, len(self.rows))
        if not self.generators:
            seeded = [seeding.np_random(number if own else None) for number, own in zip(seeds, which, strict=True)]
            self.generators, self.seeds = [generator for generator, _ in seeded], [number for _, number in seeded]
            self.draw(np.ones(len(seeds), np.bool_))
            return
        renewed = which & np.array([number is not None for number in seeds])
        for i in np.flatnonzero(renewed):
            self.generators[i], self.seeds[i] = seeding.np_random(seeds[i])
        # Starts that were drawn with the old generators are drawn again, so that they follow from the seeds.
        self.draw(renewed)

    def draw(self, which: NDArray[np.bool_]) -> None:
        """Choose the next starts of these environments."""
        for i in np.flatnonzero(which):
            self.rows[i] = self._episodes.starts(1, self.generators[i], self._episodes.start)[0]
        self.lasts[which] = self._episodes.ends(self.rows[which])

    def rows_of(self, start: object) -> NDArray[np.int64]:
        """The rows in which episodes start that the caller of ``reset`` chooses, int64[N].

        Args:
            start: one start for all environments (``random``, ``first`` or a row), or a sequence of N of them.

        Raises:
            UsageError: there is no such row, or not one for each environment.
        """
        # An array without axes has no entries: it is one start, and refused as such.
        if (isinstance(start, np.ndarray) and start.ndim) or (
            isinstance(start, Sequence) and not isinstance(start, str)
        ):
            starts = list(start)
        else:
            starts = [start] * len(self.rows)
        if len(starts) != len(self.rows):
            raise UsageError(f"start has {len(starts)} rows; expected one for each of {len(self.rows)} environments")
        drawn = zip(self.generators, starts, strict=True)
        return np.concatenate([self._episodes.starts(1, generator, chosen) for generator, chosen in drawn])


def _seeds(seed: object, count: int) -> list[int | None]:
    """The seed of each of so many environments, from a form that :meth:`NextStarts.seed` takes.

    Raises:
        UsageError: it has none of these forms.
    """
    if seed is None:
        return [None] * count
    if _is_seed(seed):
        return [int(seed) + i for i in range(count)]
    try:
        seeds = list(seed)  # type: ignore[call-overload]  # asked here
    except TypeError:
        seeds = [seed]
    if not all(number is None or _is_seed(number) for number in seeds):
        raise UsageError(
            f"seed is {reprlib.repr(seed)}; expected a whole number from 0 on, a list with one, or None, for each of "
            f"{count} environments, or None"
        )
    if len(seeds) != count:
        raise UsageError(f"seed has {len(seeds)} entries; expected one for each of {count} environments")
    return [None if number is None else int(number) for number in seeds]


def _is_seed(number: object) -> TypeGuard[int]:
    return isinstance(number, int | np.integer) and bool(number >= 0)
