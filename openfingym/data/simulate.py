"""A seeded simulator of a panel of prices, for data that cannot be bundled.

Per step t and channel i, with every shock a Student t of unit variance (Bailey 1994)::

    z_i = a_i M + b_i S_sector(i) + sqrt(1 - a_i^2 - b_i^2) E_i              market, sector, own
    e_i = sqrt(h_i) z_i
    n_i = (alpha + gamma 1[e_i < 0]) e_i^2                                   news
    h_i(t+1) = w_i + (1 - K_i) n_i + sum of k_ij (v_i / v_j)^2 n_j + beta h_i    GJR-GARCH(1,1), K_i = sum of k_ij
    r_i(t+1) = d + ar r_i(t) + momentum m_i(t) + e_i(t+1)
               + lead (v_i / v_l) r_l(t) [i is not l]                        l leads i's sector
               + sum of s_ij (v_i / v_j) r_j(t)                              spillovers from j to i
    m_i(t+1) = decay m_i(t) + (1 - decay) r_i(t+1)
    p_i = p_i(0) exp(sum of r_i)

w_i makes v_i^2 the unconditional variance of e_i (Glosten, Jagannathan and Runkle 1993). The
same parameters give the same bytes on every machine: random bits come straight from PCG64,
whose stream NumPy guarantees; recursions are element-wise, in a fixed order, without BLAS; and
prices are rounded to a few significant digits, far above the last bits in which the exponential
or cosine of one machine differs from another's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.processes.draws import Branch

Calendar = Literal["business-days", "hours", "5-seconds", "trading-minutes"]
TRADING_MINUTES = 390
"""Minutes of a trading day of US stocks, from half past nine to four."""
PERIODS_PER_YEAR: dict[str, float] = {
    "business-days": 252.0,
    "hours": 8760.0,
    "5-seconds": 6_307_200.0,
    "trading-minutes": 252.0 * TRADING_MINUTES,
}
"""Rows in a year of each calendar, by which a yearly volatility becomes that of a row."""


@dataclass(frozen=True)
class Channel:
    """One simulated price series."""

    name: str
    sector: str
    """The first channel of a sector leads the others."""
    price: float
    """p_i(0), the price before the first row."""
    volatility: float
    """v_i, unconditional standard deviation of the shock, annualised by the calendar's periods."""
    market: float
    """a_i, loading on the market's shock."""
    own_sector: float
    """b_i, loading on the sector's shock."""


@dataclass(frozen=True)
class LeadLag:
    """The effect of one channel on another a period later, as where markets close one after the other."""

    source: str
    target: str
    returns: float
    """s_ij, effect of the source's last return, in units of volatility."""
    news: float = 0.0
    """k_ij, share of the target's news that is the source's."""


@dataclass(frozen=True)
class PanelSimulator:
    """All parameters of a simulated panel."""

    seed: int
    start: str
    """First day (ISO), at midnight UTC."""
    calendar: Calendar
    """``business-days`` is Monday to Friday, ``hours`` every hour, ``5-seconds`` every fifth second,
    ``trading-minutes`` 390 minutes from 14:30 UTC on, Monday to Friday.
    """
    rows: int
    burn_in: int
    """Steps thrown away first, so that volatilities start in their stationary law."""
    digits: int
    """Significant digits of a price."""
    degrees_of_freedom: float
    """Degrees of freedom of every shock; above 4, so that a kurtosis exists."""
    alpha: float
    """Effect of a squared shock on the next row's variance."""
    gamma: float
    """What a negative shock adds to alpha."""
    beta: float
    """Share of the variance that is left in the next row."""
    ar: float
    """Effect of a channel's own last return on its next."""
    lead: float
    """Effect of the sector leader's last return, in units of volatility."""
    channels: tuple[Channel, ...]
    spillovers: tuple[LeadLag, ...] = ()
    momentum: float = 0.0
    """Effect of m, the exponentially weighted mean of a channel's own past returns; below 1."""
    momentum_decay: float = 0.0
    """Share of m that is left a row later."""
    drift: float = 0.0
    """Log return a year that every channel has on top; d is that divided by the calendar's periods."""

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels, in the order of the columns."""
        return tuple(channel.name for channel in self.channels)

    def generate(self, branch: Branch | None = None) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
        """Make the panel; see :func:`simulate`."""
        return simulate(self, branch)

    def __post_init__(self) -> None:
        persistence = self.alpha + self.gamma / 2 + self.beta
        if not (min(self.alpha, self.beta, self.alpha + self.gamma) >= 0.0 and persistence < 1.0):
            raise DataError(
                f"alpha + gamma / 2 + beta must be below 1 and no coefficient negative, found {persistence:.6g}"
            )
        if self.degrees_of_freedom <= 4.0:
            raise DataError(f"degrees_of_freedom must be above 4, found {self.degrees_of_freedom}")
        if self.rows < 1 or self.burn_in < 0 or self.calendar not in PERIODS_PER_YEAR:
            raise DataError(f"need at least one row and a known calendar, found {self.rows} and {self.calendar!r}")
        for channel in self.channels:
            if channel.market**2 + channel.own_sector**2 > 1.0:
                raise DataError(f"channel {channel.name!r}: market^2 + own_sector^2 must not exceed 1")
        if not (0.0 <= self.momentum < 1.0 and 0.0 <= self.momentum_decay < 1.0):
            raise DataError(
                f"momentum and momentum_decay must be in [0, 1), found {self.momentum} and {self.momentum_decay}"
            )
        for target in dict.fromkeys(spill.target for spill in self.spillovers):
            shares = [spill.news for spill in self.spillovers if spill.target == target]
            if min(shares) < 0.0 or sum(shares) > 1.0:
                raise DataError(
                    f"spillovers to {target!r}: shares of the news must not be negative, nor exceed 1 together"
                )
        if unknown := {name for spill in self.spillovers for name in (spill.source, spill.target)} - set(
            self.channel_names
        ):
            raise DataError(f"spillovers name channels that are not there: {', '.join(sorted(unknown))}")


@dataclass(frozen=True, eq=False)
class SimulatedPaths:
    """Returns and variances that prices are made from, float64[rows, d] each, per period."""

    returns: NDArray[np.float64]
    """Log returns."""
    variances: NDArray[np.float64]
    """Variance of the *next* row's shock, given everything up to this row."""


def parse_simulator(table: Mapping[str, Any]) -> PanelSimulator:
    """A simulator from its table, whose ``channels`` and ``spillovers`` are tables too.

    Raises:
        KeyError, TypeError: the table has not the keys of a simulator.
        DataError: the parameters make no process.
    """
    channels = tuple(Channel(**channel) for channel in table["channels"])
    spillovers = tuple(LeadLag(**spill) for spill in table.get("spillovers", ()))
    rest = {key: value for key, value in table.items() if key not in {"channels", "spillovers"}}
    return PanelSimulator(**rest, channels=channels, spillovers=spillovers)


def simulate(
    simulator: PanelSimulator, branch: Branch | None = None
) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
    """Generate the panel.

    Args:
        simulator: the parameters of the simulator.
        branch: the row from which on the panel is drawn anew, and the seed; None for the panel as it is.

    Returns:
        (times datetime64[ns][rows], prices float64[rows, channels]).
    """
    return calendar_times(simulator.calendar, simulator.start, simulator.rows), prices(
        simulator, paths(simulator, branch).returns
    )


def paths(simulator: PanelSimulator, branch: Branch | None = None) -> SimulatedPaths:
    """Returns and variances of the rows that are left after the burn-in."""
    made = _run(simulator, _shocks(simulator, branch))
    return SimulatedPaths(made.returns[simulator.burn_in :], made.variances[simulator.burn_in :])


def prices(simulator: PanelSimulator, returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Prices of log returns, float64[rows, d], rounded to the simulator's significant digits."""
    start = np.array([channel.price for channel in simulator.channels])
    # accumulate adds row after row; its order, and so its rounding, is the same everywhere.
    return significant(start * np.exp(np.add.accumulate(returns, axis=0)), simulator.digits)


def significant(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Positive values rounded to significant digits: the double nearest to the decimal.

    Powers of ten up to 10^22 are exact, and IEEE division and multiplication correctly rounded, so
    no machine differs; a logarithm that errs at a power of ten gives the same result from either side.
    """
    places = digits - 1 - np.floor(np.log10(values))
    up, down = 10.0 ** np.maximum(places, 0.0), 10.0 ** np.maximum(-places, 0.0)
    # By powers of ten of at least 1 alone, which are exact; 10 ** -k is not.
    rounded: NDArray[np.float64] = np.rint(values * up / down) / up * down
    return rounded


def _shocks(simulator: PanelSimulator, branch: Branch | None) -> NDArray[np.float64]:
    """z, float64[burn_in + rows, d], of unit variance."""
    from openfingym.data.processes.draws import stream, students

    channels = simulator.channels
    sectors = list(dict.fromkeys(channel.sector for channel in channels))
    steps, width = simulator.burn_in + simulator.rows, 1 + len(sectors) + len(channels)
    bits = stream(simulator.seed, branch=branch)
    # The columns: first the market's shock, then one a sector, then one a channel.
    draws = students(bits, simulator.degrees_of_freedom, steps, width)
    a = np.array([channel.market for channel in channels])
    b = np.array([channel.own_sector for channel in channels])
    of_sector = draws[:, [1 + sectors.index(channel.sector) for channel in channels]]
    own = np.array([math.sqrt(1.0 - channel.market**2 - channel.own_sector**2) for channel in channels])
    shocks: NDArray[np.float64] = a * draws[:, :1] + b * of_sector + own * draws[:, 1 + len(sectors) :]
    return shocks


def _run(simulator: PanelSimulator, shocks: NDArray[np.float64]) -> SimulatedPaths:
    """The recursion, over burn-in and rows."""
    v = np.array([channel.volatility for channel in simulator.channels]) / math.sqrt(
        PERIODS_PER_YEAR[simulator.calendar]
    )
    variance = v * v
    omega = variance * (1.0 - simulator.alpha - simulator.gamma / 2 - simulator.beta)
    sectors = [channel.sector for channel in simulator.channels]
    leader = np.array([sectors.index(name) for name in sectors])
    # The first channel of a sector leads it, and does not follow itself. Effects are in units of volatility.
    follow = np.where(leader == np.arange(len(leader)), 0.0, simulator.lead * v / v[leader])
    spills, own = _spills(simulator, v)
    returns, variances = np.empty_like(shocks), np.empty_like(shocks)
    last, trend = np.zeros_like(v), np.zeros_like(v)
    # Element by element and in a fixed order: sums by BLAS differ in their last bits from machine to machine.
    for t, z in enumerate(shocks):
        e = np.sqrt(variance) * z
        news = (simulator.alpha + simulator.gamma * (e < 0.0)) * (e * e)
        step = simulator.ar * last + follow * last[leader] + e
        received = own * news
        for source, weights, shares in spills:
            step = step + weights * last[source]
            received = received + shares * news[source]
        if simulator.momentum:
            step = step + simulator.momentum * trend
            trend = simulator.momentum_decay * trend + (1.0 - simulator.momentum_decay) * step
        # This row's shock is drawn, so what follows is the variance of the next.
        variance = omega + received + simulator.beta * variance
        last = step
        returns[t], variances[t] = last, variance
    return SimulatedPaths(returns + simulator.drift / PERIODS_PER_YEAR[simulator.calendar], variances)


def _spills(
    simulator: PanelSimulator, v: NDArray[np.float64]
) -> tuple[list[tuple[int, NDArray[np.float64], NDArray[np.float64]]], NDArray[np.float64]]:
    """For each source (its place, effect on every channel's return, effect on every channel's news); and the share of
    its own news that is left to each channel.
    """
    names = simulator.channel_names
    own = np.ones_like(v)
    effects: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for spill in simulator.spillovers:
        i, j = names.index(spill.target), names.index(spill.source)
        weights, shares = effects.setdefault(j, (np.zeros_like(v), np.zeros_like(v)))
        weights[i] += spill.returns * v[i] / v[j]
        shares[i] += spill.news * (v[i] / v[j]) ** 2
        own[i] -= spill.news
    return [(j, *pair) for j, pair in effects.items()], own


def calendar_times(calendar: Calendar, first: str, rows: int) -> NDArray[np.datetime64]:
    """The times of a calendar's first rows from a day on, datetime64[ns][rows], UTC."""
    start, steps = np.datetime64(first, "D"), np.arange(rows)
    times: NDArray[np.datetime64]
    if calendar == "hours":
        times = start.astype("datetime64[h]") + steps.astype("timedelta64[h]")
    elif calendar == "5-seconds":
        times = start.astype("datetime64[s]") + (5 * steps).astype("timedelta64[s]")
    elif calendar == "trading-minutes":
        days, minutes = np.divmod(steps, TRADING_MINUTES)
        # Half past nine in New York is 14:30 UTC in winter; these days know no summer time.
        opens = np.busday_offset(start, days, roll="forward").astype("datetime64[m]") + np.timedelta64(
            14 * 60 + 30, "m"
        )
        times = opens + minutes.astype("timedelta64[m]")
    else:
        times = np.busday_offset(start, steps, roll="forward")
    return times.astype("datetime64[ns]")
