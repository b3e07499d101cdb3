"""Twins of real bars: paths that look like the market and whose next bar nobody can look up.

Filtered historical simulation (Barone-Adesi, Giannopoulos and Vosper 1999; Barone-Adesi, Bourgoin and Giannopoulos
1998). Of the known rows, per symbol::

    m_t = ln(open, high, low, close / last close)            the moves of a bar
    e_t = close move - its mean
    h_t = (1 - a - b) v + a e_(t-1)^2 + b h_(t-1)            GARCH(1,1), v the sample variance of e

and of a twin, row after row, with k drawn uniformly from the known rows, the same for all symbols::

    m*_t = m_k sqrt(h*_t / h_k)                              h* by the same recursion along the new path

So volatility clusters, tails and the cross-section are those of the market. Rows are drawn one by one and not in
blocks: in a block of known rows, whoever recognises one of them knows the next. What is lost is any dependence of
returns on their own past.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OPEN, HIGH, LOW, CLOSE, VOLUME = range(5)
MIN_ROWS = 100
"""Fewest known rows from which a variance and its persistence are estimated."""
DIGITS = 7
"""Significant digits of a twin's prices."""
REACTIONS = np.arange(0.02, 0.21, 0.02)
"""Values of the parameter a among which the fit chooses."""
PERSISTENCES = np.array([0.80, 0.90, 0.94, 0.96, 0.98, 0.99])
"""Values of a + b among which the fit chooses; below 1, so that the variance of a path stays about its mean."""


@dataclass(frozen=True)
class PanelGarch:
    """One GARCH(1,1) for all symbols, each about a variance of its own."""

    reaction: float
    """The parameter a of the recursion."""
    persistence: float
    """The sum a + b of the recursion's parameters."""
    variance: Floats
    """v, the mean squared shock of each symbol, float64[S], in squared log returns a bar."""

    def following(self, variance: Floats, squared: Floats) -> Floats:
        """The variance of each symbol in the next row, from its variance and squared shock in this one."""
        target = (1.0 - self.persistence) * self.variance
        after: Floats = target + self.reaction * squared + (self.persistence - self.reaction) * variance
        return after


def resample(bars: Floats, rows: int, seed: int) -> Floats:
    """A path of bars from the last close on.

    Args:
        bars: known bars, float64[T, S, 5]: open, high, low, close, volume; adjusted for splits. A volume of 0 is a
            halt.
        rows: number of rows of the path.
        seed: seed of the draws, an integer of any size, not negative; the same seed gives the same path.

    Returns:
        float64[rows, S, 5]; volumes are those of the rows drawn.

    Raises:
        DataError: fewer than 100 rows in which all symbols trade, or one of them never moves.
    """
    moves = np.log(bars[1:, :, :VOLUME] / bars[:-1, :, CLOSE, None])
    volumes = bars[1:, :, VOLUME]
    # Rows are drawn for all symbols at once, so a row in which one is halted would halt it in the twin.
    pool = np.flatnonzero((volumes > 0.0).all(axis=1))
    if len(pool) < MIN_ROWS:
        raise DataError(f"a twin needs {MIN_ROWS} known rows in which all symbols trade, found {len(pool)}")
    mean = moves[:, :, CLOSE].mean(axis=0)
    shocks = moves[:, :, CLOSE] - mean
    garch = fit(shocks)
    variances = _variances(garch, shocks)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    drawn = pool[generator.integers(len(pool), size=rows)]
    path = np.empty((rows, *moves.shape[1:]))
    # The path goes on from the last known row, also in its volatility; its own shocks then drive the variance.
    variance = garch.following(variances[-1], shocks[-1] ** 2)
    for t, k in enumerate(drawn):
        path[t] = moves[k] * np.sqrt(variance / variances[k])[:, None]
        variance = garch.following(variance, (path[t, :, CLOSE] - mean) ** 2)
    return np.concatenate([_prices(bars[-1, :, CLOSE], path), volumes[drawn][:, :, None]], axis=2)


def fit(shocks: Floats) -> PanelGarch:
    """Gaussian quasi-maximum likelihood over a grid, all symbols together, with variance targeting (Francq, Horvath and
    Zakoian 2011).

    Args:
        shocks: log returns of each symbol less their mean, float64[T, S].

    Returns:
        The process of the grid with the highest likelihood.

    Raises:
        DataError: the price of a symbol never moves.
    """
    variance = (shocks**2).mean(axis=0)
    if not (variance > 0.0).all():
        raise DataError(f"symbol {int((variance <= 0.0).argmax())} never moves in training; it has no twin")
    reaction, persistence = (grid.ravel() for grid in np.meshgrid(REACTIONS, PERSISTENCES, indexing="ij"))
    # Each symbol in multiples of its own variance, so that one recursion with mean 1 serves all of them.
    scaled = shocks**2 / variance
    h = np.ones((len(reaction), shocks.shape[1]))
    loss = np.zeros(len(reaction))
    for squared in scaled:
        loss += (np.log(h) + squared / h).sum(axis=1)
        h = (1.0 - persistence)[:, None] + reaction[:, None] * squared + (persistence - reaction)[:, None] * h
    best = int(loss.argmin())
    return PanelGarch(float(reaction[best]), float(persistence[best]), variance)


def _variances(garch: PanelGarch, shocks: Floats) -> Floats:
    """The variance of every known row, float64[T, S]; the first row has the sample variance."""
    out = np.empty_like(shocks)
    h = garch.variance
    for t, shock in enumerate(shocks):
        out[t] = h
        h = garch.following(h, shock**2)
    return out


def _prices(last: Floats, moves: Floats) -> Floats:
    """The prices that moves lead to, open, high, low and close, float64[rows, S, 4], from the last close on."""
    from openfingym.data.simulate import significant

    closes = np.log(last) + np.add.accumulate(moves[:, :, CLOSE], axis=0)
    before = closes - moves[:, :, CLOSE]
    # Rounded to few digits: exp and log differ between machines in their last bits, and a twin must not.
    prices = significant(np.exp(before[:, :, None] + moves), DIGITS)
    # In exact arithmetic moves keep their order; rounding could break it.
    prices[:, :, HIGH], prices[:, :, LOW] = prices.max(axis=2), prices.min(axis=2)
    return prices
