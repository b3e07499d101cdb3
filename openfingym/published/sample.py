"""Draws of the windows of a repeat, as a protocol states them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.published.protocol import Drawing

FEWEST = 10
"""The fewest windows of a side: of fewer, the fifth that is held out would not even be two."""


@dataclass(frozen=True, eq=False)
class SampleWindows:
    """All windows of a task, real and generated. Real windows begin with their context where the task has contexts."""

    train: NDArray[np.float64]
    """Training windows, float64[n, t, d]."""
    hidden: NDArray[np.float64]
    """Hidden windows, float64[m, t, d], the public fold first."""
    generated: NDArray[np.float64]
    """Generated windows, float64[k, t, d]; in a task with contexts, k futures of each, float64[m, k, t - lookback, d].
    """

    @property
    def lookback(self) -> int:
        """Number of rows of a context; 0 without contexts."""
        return int(self.hidden.shape[1] - self.generated.shape[-2])

    def scaled(self, pool: NDArray[np.float64]) -> SampleWindows:
        """A copy with every channel mapped to [0, 1] by its smallest and largest value in ``pool``.

        A channel that is constant there becomes 0.
        """
        low, high = pool.min(axis=(0, 1)), pool.max(axis=(0, 1))
        width = np.where(high > low, high - low, 1.0)
        return SampleWindows(*((part - low) / width for part in (self.train, self.hidden, self.generated)))

    def pool(self, drawing: Drawing) -> NDArray[np.float64]:
        """The real windows that a protocol draws from."""
        return np.concatenate((self.train, self.hidden)) if drawing.pool == "all" else self.hidden


@dataclass(frozen=True, eq=False)
class Sample:
    """The windows of one repeat, in the order in which they were drawn."""

    real: NDArray[np.float64]
    """Real windows, float64[n, t, d]."""
    fake: NDArray[np.float64]
    """Generated windows, float64[m, t, d]."""
    held_out: float
    """Share of either side, at its end, on which a classifier is tested and not trained."""
    train: NDArray[np.float64]
    """Training windows of the task, float64[k, t, d]."""
    lookback: int
    """Number of rows of context that windows begin with."""
    futures: NDArray[np.float64] | None
    """All generated futures of the contexts drawn, float64[n, k, t - lookback, d]; None in a task without contexts."""
    seed: int
    """Seed of everything else that a measure draws."""


def draw(drawing: Drawing, windows: SampleWindows, pool: NDArray[np.float64], repeat: int, seed: int) -> Sample:
    """The windows of a repeat.

    Args:
        drawing: what the protocol states about drawing.
        windows: all windows of the task.
        pool: real windows to draw from, as :meth:`SampleWindows.pool` gives them.
        repeat: number of the repeat, from 0; -1 for all windows, with contexts in order.
        seed: seed of all repeats together.

    Raises:
        UsageError: there are fewer than 10 windows on a side.
    """
    # Plus one, since a seed is not negative: 0 is that of the draw of everything.
    generator = np.random.default_rng((seed, repeat + 1))
    made, wanted = windows.generated, drawing.windows or max(len(pool), len(windows.generated))
    if min(len(pool), len(made)) < FEWEST:
        raise UsageError(
            f"a published protocol needs {FEWEST} windows a side, found {len(pool)} real and {len(made)} generated"
        )
    futures = None
    if drawing.how == "contexts":
        count = len(pool)
        chosen = np.arange(count) if repeat < 0 else generator.integers(count, size=count)
        futures = made[chosen]
        one_each = futures[np.arange(count), generator.integers(made.shape[1], size=count)]
        real = pool[chosen]
        fake = np.concatenate((real[:, : windows.lookback], one_each), axis=1)
    else:
        # Only ``permuted`` compares as many real windows as generated ones.
        count = len(made) if drawing.how != "permuted" else min(len(made), len(pool))
        count = count if repeat < 0 else min(wanted, count)
        fake = made[generator.permutation(len(made))[:count]]
        if drawing.how == "resampled":
            real = pool[generator.integers(len(pool), size=count)]
        elif drawing.how == "permuted":
            real = pool[generator.permutation(len(pool))[:count]]
        else:
            real = pool
    number = int(generator.integers(2**31))
    return Sample(real, fake, drawing.held_out, windows.train, windows.lookback, futures, number)
