"""A seeded market simulator, for data that cannot be bundled.

Per step t and channel i, with every shock a Student t of unit variance (Bailey 1994)::

    z_i = a_i M + b_i S_sector(i) + sqrt(1 - a_i^2 - b_i^2) E_i              market, sector, own
    e_i = sqrt(h_i) z_i
    h_i(t+1) = w_i + (alpha + gamma 1[e_i < 0]) e_i^2 + beta h_i             GJR-GARCH(1,1)
    r_i(t+1) = ar r_i(t) + lead (v_i / v_l) r_l(t) [i is not l] + e_i(t+1)   l leads i's sector
    p_i = p_i(0) exp(sum of r_i)

w_i makes v_i^2 the unconditional variance of e_i (Glosten, Jagannathan and Runkle 1993). The
same parameters give the same bytes on every machine: random bits come straight from PCG64,
whose stream NumPy guarantees; recursions are element-wise, in a fixed order, without BLAS; and
prices are rounded to six significant digits, far above the last bits in which the exponential
or cosine of one machine differs from another's.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Calendar = Literal["business-days", "hours"]
PERIODS_PER_YEAR: dict[str, float] = {"business-days": 252.0, "hours": 8760.0}


@dataclass(frozen=True)
class Channel:
    """One simulated price series."""

    name: str
    sector: str
    """The first channel of a sector leads the others."""
    price: float
    """Price before the first row."""
    volatility: float
    """v_i, unconditional standard deviation of the shock, annualised by the calendar's periods."""
    market: float
    """a_i, loading on the market's shock."""
    own_sector: float
    """b_i, loading on the sector's shock."""


@dataclass(frozen=True)
class Simulator:
    """All parameters of a simulated panel."""

    seed: int
    start: str
    """First day (ISO), at midnight UTC."""
    calendar: Calendar
    """``business-days`` is Monday to Friday, ``hours`` every hour."""
    rows: int
    burn_in: int
    """Steps thrown away first, so that volatilities start in their stationary law."""
    digits: int
    """Significant digits of a price."""
    degrees_of_freedom: float
    """Of every shock; above 4, so that a kurtosis exists."""
    alpha: float
    gamma: float
    beta: float
    ar: float
    """Effect of a channel's own last return on its next."""
    lead: float
    """Effect of the sector leader's last return, in units of volatility."""
    channels: tuple[Channel, ...]

    def __post_init__(self) -> None:
        persistence = self.alpha + self.gamma / 2 + self.beta
        if not (min(self.alpha, self.beta, self.alpha + self.gamma) >= 0.0 and persistence < 1.0):
            raise DataError(f"alpha + gamma / 2 + beta must be below 1 and no coefficient negative, found {persistence:.6g}")
        if self.degrees_of_freedom <= 4.0:
            raise DataError(f"degrees_of_freedom must be above 4, found {self.degrees_of_freedom}")
        if self.rows < 1 or self.burn_in < 0 or self.calendar not in PERIODS_PER_YEAR:
            raise DataError(f"need at least one row and a known calendar, found {self.rows} and {self.calendar!r}")
        for channel in self.channels:
            if channel.market**2 + channel.own_sector**2 > 1.0:
                raise DataError(f"channel {channel.name!r}: market^2 + own_sector^2 must not exceed 1")


def read_simulator(path: Path) -> Simulator:
    """The ``[simulator]`` table of a dataset's TOML file.

    Raises:
        DataError: it is not there or malformed.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        table = document["simulator"]
        channels = tuple(Channel(**channel) for channel in table.pop("channels"))
        simulator = Simulator(**table, channels=channels)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path}: no readable [simulator] table ({error!r}); reinstall openfingym") from error
    if [channel.name for channel in channels] != document["channels"]:
        raise DataError(f"{path}: the simulator's channels are not those of the dataset; reinstall openfingym")
    return simulator


def simulate(simulator: Simulator) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
    """Generate the panel.

    Returns:
        (times datetime64[ns][rows], prices float64[rows, channels]).
    """
    shocks = _shocks(simulator)
    returns = _returns(simulator, shocks)[simulator.burn_in :]
    start = np.array([channel.price for channel in simulator.channels])
    # accumulate adds row after row; its order, and so its rounding, is the same everywhere.
    exact = start * np.exp(np.add.accumulate(returns, axis=0))
    spec = f".{simulator.digits}g"
    prices = np.array([[float(format(price, spec)) for price in row] for row in exact.tolist()])
    return _times(simulator), prices


def student_t(uniforms: tuple[NDArray[np.float64], NDArray[np.float64]], degrees_of_freedom: float) -> NDArray[np.float64]:
    """Student t of unit variance from two independent uniforms on (0, 1].

    Bailey (1994), Mathematics of Computation 62, 779-781: sqrt(k (u^(-2/k) - 1)) cos(2 pi v) has
    k degrees of freedom; its variance k / (k - 2) is divided out.
    """
    u, v = uniforms
    k = degrees_of_freedom
    draw: NDArray[np.float64] = np.sqrt((k - 2.0) * (np.power(u, -2.0 / k) - 1.0)) * np.cos(2.0 * np.pi * v)
    return draw


def _uniforms(bits: np.random.PCG64, count: int) -> NDArray[np.float64]:
    """Uniforms on (0, 1] from the top 53 bits of each draw."""
    return ((bits.random_raw(count) >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53


def _shocks(simulator: Simulator) -> NDArray[np.float64]:
    """z, float64[burn_in + rows, d], of unit variance."""
    channels = simulator.channels
    sectors = list(dict.fromkeys(channel.sector for channel in channels))
    steps, width = simulator.burn_in + simulator.rows, 1 + len(sectors) + len(channels)
    bits = np.random.PCG64(simulator.seed)
    shape = (steps, width)
    draws = student_t(
        (_uniforms(bits, steps * width).reshape(shape), _uniforms(bits, steps * width).reshape(shape)),
        simulator.degrees_of_freedom,
    )
    a = np.array([channel.market for channel in channels])
    b = np.array([channel.own_sector for channel in channels])
    of_sector = draws[:, [1 + sectors.index(channel.sector) for channel in channels]]
    own = np.array([math.sqrt(1.0 - channel.market**2 - channel.own_sector**2) for channel in channels])
    shocks: NDArray[np.float64] = a * draws[:, :1] + b * of_sector + own * draws[:, 1 + len(sectors) :]
    return shocks


def _returns(simulator: Simulator, shocks: NDArray[np.float64]) -> NDArray[np.float64]:
    """r, float64[burn_in + rows, d], log returns per period."""
    names = [channel.sector for channel in simulator.channels]
    leader = np.array([names.index(name) for name in names])
    v = np.array([channel.volatility for channel in simulator.channels]) / math.sqrt(PERIODS_PER_YEAR[simulator.calendar])
    variance = v * v
    omega = variance * (1.0 - simulator.alpha - simulator.gamma / 2 - simulator.beta)
    follow = np.where(leader == np.arange(len(leader)), 0.0, simulator.lead * v / v[leader])
    returns = np.empty_like(shocks)
    last = np.zeros_like(v)
    for t, z in enumerate(shocks):
        e = np.sqrt(variance) * z
        variance = omega + (simulator.alpha + simulator.gamma * (e < 0.0)) * (e * e) + simulator.beta * variance
        last = simulator.ar * last + follow * last[leader] + e
        returns[t] = last
    return returns


def _times(simulator: Simulator) -> NDArray[np.datetime64]:
    start = np.datetime64(simulator.start, "D")
    steps = np.arange(simulator.rows)
    times: NDArray[np.datetime64]
    if simulator.calendar == "hours":
        times = start.astype("datetime64[h]") + steps.astype("timedelta64[h]")
    else:
        times = np.busday_offset(start, steps, roll="forward")
    return times.astype("datetime64[ns]")
