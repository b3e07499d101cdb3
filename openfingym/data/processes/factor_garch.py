"""Hourly crypto pairs: a factor GARCH simulator, whose correlations move with the market's variance.

::

    r_i(t) = v_i (a_i F(t) + sqrt(1 - a_i^2) E_i(t))       F and every E_i: GARCH(1,1), t shocks, unit variance

so that Var r_i = v_i^2 and corr(r_i, r_j) = a_i a_j in the long run, while given the past
cov(r_i, r_j) = v_i v_j a_i a_j h_F(t): correlations rise when the market's variance does, as in DCC, at
the cost of a vector instead of a matrix recursion (Engle, Ng and Rothschild 1990). Every path starts
after a burn-in, from the stationary law, and independently of all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.data.processes.draws import students
from openfingym.data.processes.garch import Garch
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOURS_PER_YEAR = 8760.0
MARKET_GARCH = Garch(0.07, 0.91)
OWN_GARCH = Garch(0.06, 0.9)

Values = Literal["log_returns", "prices"]


@dataclass(frozen=True, repr=False)
class CryptoPair:
    """The simulated price of one crypto-asset in another, such as bitcoin in USDT."""

    name: str
    volatility: float
    """v_i, annualised (8,760 hours)."""
    market: float
    """a_i, loading on the market, within -1 and 1."""

    def __repr__(self) -> str:
        # The digests of the process sets are made of this text, so its "Pair" stays whatever the class is called.
        return f"Pair(name={self.name!r}, volatility={self.volatility!r}, market={self.market!r})"


@dataclass(frozen=True)
class FactorGarch:
    """Parameters of paths of several crypto pairs that move together."""

    pairs: tuple[CryptoPair, ...]
    """Pairs that are the channels, in this order."""
    steps: int
    """Number of hours of a path."""
    values: Values
    """``log_returns`` per hour, or ``prices`` over the price before the first step."""
    market: Garch = MARKET_GARCH
    """Law of F."""
    own: Garch = OWN_GARCH
    """Law of every E_i."""
    degrees_of_freedom: float = 5.0
    """Degrees of freedom of the shocks; above 4, so that a kurtosis exists."""
    burn_in: int = 300
    """Hours thrown away before the first."""

    def __post_init__(self) -> None:
        if not self.pairs or self.steps < 2:
            raise DataError(f"need a pair and two steps at least, found {len(self.pairs)} and {self.steps}")
        for pair in self.pairs:
            if not (abs(pair.market) <= 1.0 and pair.volatility > 0.0):
                raise DataError(
                    f"pair {pair.name!r}: market must be within -1 and 1 and volatility positive, found {pair}"
                )
        if self.degrees_of_freedom <= 4.0:
            raise DataError(f"degrees_of_freedom must be above 4, found {self.degrees_of_freedom}")

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return tuple(pair.name for pair in self.pairs)

    def paths(self, bits: np.random.PCG64, n: int) -> NDArray[np.float64]:
        """Draw n paths, float64[n, steps, pairs], of ``values``."""
        length = self.burn_in + self.steps
        factor = self.market.run(students(bits, self.degrees_of_freedom, length, n, 1), self.steps)[0]
        own = self.own.run(students(bits, self.degrees_of_freedom, length, n, len(self.pairs)), self.steps)[0]
        a = np.array([pair.market for pair in self.pairs])
        v = np.array([pair.volatility for pair in self.pairs]) / math.sqrt(HOURS_PER_YEAR)
        returns: NDArray[np.float64] = (v * (a * factor + np.sqrt(1.0 - a * a) * own)).transpose(1, 0, 2)
        if self.values == "log_returns":
            return returns
        return np.exp(np.add.accumulate(returns, axis=1))


PAIRS = tuple(
    CryptoPair(name, volatility, market)
    for name, volatility, market in (
        ("btc_usdt", 0.48, 0.88),
        ("eth_usdt", 0.62, 0.90),
        ("bnb_usdt", 0.60, 0.78),
        ("xrp_usdt", 0.80, 0.70),
        ("sol_usdt", 0.90, 0.78),
        ("ada_usdt", 0.82, 0.80),
        ("doge_usdt", 0.95, 0.68),
        ("trx_usdt", 0.58, 0.55),
        ("link_usdt", 0.86, 0.79),
        ("dot_usdt", 0.84, 0.82),
        ("avax_usdt", 0.95, 0.78),
        ("ltc_usdt", 0.76, 0.77),
        ("bch_usdt", 0.88, 0.70),
        ("xlm_usdt", 0.84, 0.68),
        ("uni_usdt", 0.98, 0.72),
        ("atom_usdt", 0.86, 0.76),
        ("etc_usdt", 0.84, 0.75),
        ("fil_usdt", 0.98, 0.73),
        ("near_usdt", 1.05, 0.74),
        ("algo_usdt", 0.92, 0.76),
    )
)
"""Chosen by hand in the range commonly reported for large coins: volatility 48 to 105 percent, correlation 0.37 to
0.79."""
