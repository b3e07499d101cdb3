"""Drawing the windows of a repeat, as a protocol says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.published.protocol import Drawing

FEWEST = 10
"""Windows without which a fifth of them is not even two."""


@dataclass(frozen=True, eq=False)
class SampleWindows:
    """All windows there are of a task: real ones whole, with their context where they have one."""

    train: NDArray[np.float64]
    """[n, t, d]."""
    hidden: NDArray[np.float64]
    """[m, t, d], public fold first."""
    generated: NDArray[np.float64]
    """[k, t, d]; with contexts, the futures [m, k, t - lookback, d]."""

    @property
    def lookback(self) -> int:
        """Rows of context."""
        return int(self.hidden.shape[1] - self.generated.shape[-2])

    def scaled(self, pool: NDArray[np.float64]) -> SampleWindows:
        """The same with every channel mapped to [0, 1] by the smallest and largest value of the pool; a constant
        channel becomes 0.
        """
        low, high = pool.min(axis=(0, 1)), pool.max(axis=(0, 1))
        width = np.where(high > low, high - low, 1.0)
        return SampleWindows(*((part - low) / width for part in (self.train, self.hidden, self.generated)))

    def pool(self, drawing: Drawing) -> NDArray[np.float64]:
        """The real windows that a protocol draws from."""
        return np.concatenate((self.train, self.hidden)) if drawing.pool == "all" else self.hidden


@dataclass(frozen=True, eq=False)
class Sample:
    """The windows of one repeat, in the order they were drawn."""

    real: NDArray[np.float64]
    """[n, t, d]."""
    fake: NDArray[np.float64]
    """[m, t, d]."""
    held_out: float
    """Share of either side, the last of it, that a classifier is tested on."""
    train: NDArray[np.float64]
    """The task's training windows."""
    lookback: int
    """Rows of context that windows begin with."""
    futures: NDArray[np.float64] | None
    """With contexts, all generated futures of those drawn, [n, k, t - lookback, d]."""
    seed: int


def draw(drawing: Drawing, windows: SampleWindows, pool: NDArray[np.float64], repeat: int, seed: int) -> Sample:
    """The windows of a repeat.

    Args:
        drawing: how they are drawn.
        windows: what there is.
        pool: the real windows to draw from; see :meth:`SampleWindows.pool`.
        repeat: number of the repeat, from 0; -1 for everything there is, contexts in order.
        seed: seed of all repeats.

    Raises:
        UsageError: there are fewer than 10 windows on a side.
    """
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
        one = futures[np.arange(count), generator.integers(made.shape[1], size=count)]
        real = pool[chosen]
        fake = np.concatenate((real[:, : windows.lookback], one), axis=1)
    else:
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
