"""Simulated risk-free curves of 24 currency areas, of the shape that EIOPA publishes every month.

Up to a country's last liquid point L, continuously compounded zero rates are Nelson, Siegel and Svensson's::

    y(u) = b1 + b2 A(u / l1) + b3 (A(u / l1) - exp(-u / l1)) + b4 (A(u / l2) - exp(-u / l2)),   A(x) = (1 - exp(-x)) / x

and beyond it the forward rate goes exponentially to the ultimate forward rate, w = ln(1 + UFR)::

    f(L + h) = w + (f(L) - w) exp(-a h),   so that
    u y(u) = L y(L) + (u - L) w + (f(L) - w) (1 - exp(-a (u - L))) / a

This is the form of the extrapolation in EIOPA's 2020 opinion on the review of Solvency II, not the older Smith-Wilson
method: both end at the UFR, and this one needs no linear system. What is stored is 100 (exp(y) - 1), compounded
annually.

The factors of country c are b_k(c, t) = mean_k(c) + scale(c) (r_k C_k(t) + sqrt(1 - r_k^2) O_k(c, t)): C common, O its
own, both first-order autoregressions, with t shocks whose correlations are those between the factors of the Treasury
curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.dataset import DatasetInfo, require_simulated
from openfingym.data.months import month_ends
from openfingym.data.processes.draws import Branch, autoregression, stream, students
from openfingym.data.processes.gaussian import cholesky, correlate
from openfingym.data.processes.sets import paths_digest
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "sim-eiopa-curves"
DEFAULT_SEED = 20260701
SHA256 = "ed8cad1cbdab8d4ef2858191eaed682d50fc5819ff4f255d313b4a43a57e87a0"
"""Digest of the values at the default seed, little-endian float64 in C order."""
FIRST, MONTHS, MATURITIES = "1986-01", 480, 150
BURN_IN = 600
"""Months drawn before the first, so that the factors have reached their stationary law."""
DECIMALS = 3
"""Decimals of a percentage, far above the last bits in which the exponential of one machine differs from another's."""
DEGREES_OF_FREEDOM = 5.0
CONVERGENCE = 0.11
"""a, a year: speed at which forward rates reach the ultimate one."""
DECAY = (2.1, 6.0)
"""l1 and l2, years."""

PERSISTENCE = (0.961, 0.985, 0.948, 0.923)
"""Monthly autoregression of level, slope and the two curvatures, fitted to ``ust-par-yields`` and corrected for the
bias of a short sample (Kendall 1954), + (1 + 3 phi) / n; the next two are fitted to the same series."""
SHOCK = (0.247, 0.339, 0.755, 0.875)
"""Standard deviation of their monthly shocks, percentage points."""
CORRELATION = (
    (1.0, -0.794, 0.211, -0.383),
    (-0.794, 1.0, -0.355, 0.408),
    (0.211, -0.355, 1.0, -0.603),
    (-0.383, 0.408, -0.603, 1.0),
)
"""Correlations between those shocks."""
COMMON = (0.75, 0.65, 0.55, 0.5)
"""r_k, loading on the common component; chosen by hand."""


@dataclass(frozen=True)
class CurrencyArea:
    """A currency area. All numbers but those of the US are chosen by hand."""

    code: str
    liquid: int
    """L, last liquid point in years."""
    ultimate: float
    """Ultimate forward rate, percent, compounded annually; constant over time."""
    level: float
    slope: float
    curvature: float
    """Means of b1, b2 and b3 in percent; that of b4 is zero."""
    scale: float
    """Movements relative to those of the US."""


COUNTRIES = (
    CurrencyArea("EA", 20, 3.3, 3.1, -1.7, -2.0, 0.75),
    CurrencyArea("AU", 30, 3.8, 4.6, -1.4, -1.2, 0.9),
    CurrencyArea("BG", 10, 3.3, 4.0, -2.3, -1.5, 0.8),
    CurrencyArea("CA", 30, 3.3, 3.6, -1.5, -1.5, 0.8),
    CurrencyArea("CH", 15, 2.3, 1.9, -1.1, -1.4, 0.5),
    CurrencyArea("CL", 10, 4.3, 5.4, -1.5, -0.9, 1.0),
    CurrencyArea("CN", 10, 4.3, 3.7, -1.3, -0.5, 0.5),
    CurrencyArea("CZ", 15, 3.3, 4.1, -1.4, -1.3, 0.9),
    CurrencyArea("DK", 20, 3.3, 3.0, -1.8, -1.9, 0.75),
    CurrencyArea("GB", 50, 3.3, 3.9, -1.5, -1.6, 0.9),
    CurrencyArea("HK", 15, 3.3, 3.5, -2.1, -1.9, 0.9),
    CurrencyArea("HU", 15, 4.3, 6.0, -0.7, -0.5, 1.3),
    CurrencyArea("IS", 10, 3.8, 6.4, -0.4, -0.3, 1.3),
    CurrencyArea("JP", 30, 3.3, 2.0, -1.6, -1.9, 0.4),
    CurrencyArea("KR", 20, 3.3, 3.7, -1.2, -0.9, 0.7),
    CurrencyArea("MX", 20, 4.3, 7.6, -0.9, -0.6, 1.2),
    CurrencyArea("NO", 10, 3.3, 3.8, -1.2, -1.0, 0.8),
    CurrencyArea("NZ", 20, 3.3, 4.8, -1.3, -1.0, 0.9),
    CurrencyArea("PL", 10, 3.8, 5.1, -1.0, -0.7, 1.0),
    CurrencyArea("RO", 10, 4.3, 6.3, -1.2, -0.8, 1.2),
    CurrencyArea("SE", 10, 3.3, 3.2, -1.5, -1.5, 0.8),
    CurrencyArea("SG", 20, 3.3, 3.1, -1.4, -1.3, 0.6),
    CurrencyArea("TH", 15, 3.3, 3.6, -1.6, -1.1, 0.7),
    CurrencyArea("US", 30, 3.3, 3.9, -2.8, -2.3, 1.0),
)


@dataclass(frozen=True, eq=False)
class Curves:
    """Term structures of several countries, complete and in order. The arrays are read-only.

    What is said of months, countries and maturities holds for simulated and pulled curves; an author's own have rows of
    any frequency, and any names and maturities.
    """

    times: NDArray[np.datetime64]
    """datetime64[ns][months], month ends, UTC; int64, the numbers of the rows, of an author's without dates."""
    countries: tuple[str, ...]
    """ISO 3166 codes, and ``EA`` for the euro area."""
    maturities: NDArray[np.int64] | NDArray[np.float64]
    """int64[150]: 1 to 150 years; float64 where some are parts of a year."""
    values: NDArray[np.float64]
    """float64[months, countries, 150], spot rates in percent a year, compounded annually."""
    info: DatasetInfo
    filled: NDArray[np.bool_] | None = None
    """bool of the shape of the values, True for those that an author had no value for and gave one; None for none."""


def simulated_curves(seed: int = DEFAULT_SEED, branch: Branch | None = None) -> Curves:
    """480 months of the curves of 24 countries.

    Args:
        seed: seed of all draws, not negative. The default is public: an operator who needs the hidden months hidden
            passes a secret one.
        branch: the month from which on the factors are drawn anew, and the seed; None for no such month.

    Raises:
        DataError: the seed is negative, or this machine does not make the bytes that the default seed stands for.
    """
    if seed < 0:
        raise DataError(f"a seed must not be negative, found {seed}")
    maturities = np.arange(1, MATURITIES + 1, dtype=np.int64)
    values = np.round(spot_rates(_factors(seed, branch), maturities.astype(np.float64)), DECIMALS) + 0.0
    digest = paths_digest([values])
    if seed == DEFAULT_SEED and branch is None:
        require_simulated(NAME, digest, SHA256, "rates")
    times = month_ends(FIRST, MONTHS)
    for array in (times, maturities, values):
        array.flags.writeable = False
    return Curves(times, tuple(country.code for country in COUNTRIES), maturities, values, _info(times, seed, digest))


def drawn_curves(seed: int, months: int, maturities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Curves of all countries drawn from the law of :func:`simulated_curves`, float64[months, countries, maturities].

    Another number of months gives other curves, and not more or fewer of the same.

    Args:
        seed: seed of all draws, not negative.
        months: number of months to draw.
        maturities: float64[m], maturities in years, increasing.
    """
    drawn: NDArray[np.float64] = np.round(spot_rates(_factors(seed, None, months), maturities), DECIMALS) + 0.0
    return drawn


def spot_rates(factors: NDArray[np.float64], maturities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spot rates in percent a year, compounded annually, float64[months, countries, maturities].

    Args:
        factors: float64[months, countries, 4], b1 to b4 in percent, one column a country of :data:`COUNTRIES`.
        maturities: float64[m], maturities in years, positive.
    """
    curves = np.empty((*factors.shape[:2], len(maturities)))
    for c, country in enumerate(COUNTRIES):
        b, liquid = factors[:, c], maturities <= country.liquid
        last = np.array([float(country.liquid)])
        zero, forward = _combine(b, _zero_loadings(last)), _combine(b, _forward_loadings(last))
        ultimate = 100.0 * np.log1p(country.ultimate / 100.0)
        # Beyond the last liquid point: the module's formula for u y(u), divided by u.
        beyond = maturities[~liquid]
        fading = (1.0 - np.exp(-CONVERGENCE * (beyond - country.liquid))) / CONVERGENCE
        curves[:, c, liquid] = _combine(b, _zero_loadings(maturities[liquid]))
        curves[:, c, ~liquid] = (
            country.liquid * zero + (beyond - country.liquid) * ultimate + (forward - ultimate) * fading
        ) / beyond
    annual: NDArray[np.float64] = 100.0 * np.expm1(curves / 100.0)
    return annual


def _zero_loadings(u: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Loadings of b1 to b4 on the zero rate at u years, float64[len(u)] each."""
    x, z = u / DECAY[0], u / DECAY[1]
    slope = (1.0 - np.exp(-x)) / x
    return np.ones_like(u), slope, slope - np.exp(-x), (1.0 - np.exp(-z)) / z - np.exp(-z)


def _forward_loadings(u: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Loadings of b1 to b4 on the instantaneous forward rate at u years, float64[len(u)] each."""
    x, z = u / DECAY[0], u / DECAY[1]
    return np.ones_like(u), np.exp(-x), x * np.exp(-x), z * np.exp(-z)


def _combine(b: NDArray[np.float64], loadings: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
    """The sum of b float64[months, 4] times its loadings, float64[months, n]; in a fixed order, without BLAS."""
    total = np.zeros((len(b), len(loadings[0])))
    for k, loading in enumerate(loadings):
        total += b[:, k, None] * loading
    return total


def _factors(seed: int, branch: Branch | None, months: int = MONTHS) -> NDArray[np.float64]:
    """The factors b1 to b4, float64[months, countries, 4], from a start in their stationary law."""
    lower = cholesky(np.array(CORRELATION))
    moves = []
    # A stream each for the common component, which is one series, and for those of the countries.
    for part, series in enumerate((1, len(COUNTRIES))):
        white = students(stream(seed, part, branch=branch), DEGREES_OF_FREEDOM, BURN_IN + months, series, len(SHOCK))
        moves.append(autoregression(correlate(white, lower) * np.array(SHOCK), np.array(PERSISTENCE))[BURN_IN:])
    common, own = moves
    loading = np.array(COMMON)
    mixed = loading * common + np.sqrt(1.0 - loading * loading) * own
    mean = np.array([(country.level, country.slope, country.curvature, 0.0) for country in COUNTRIES])
    scale = np.array([country.scale for country in COUNTRIES])
    factors: NDArray[np.float64] = mean + scale[:, None] * mixed
    return factors


def _info(times: NDArray[np.datetime64], seed: int, digest: str) -> DatasetInfo:
    first, last = times[[0, -1]].astype("datetime64[D]").tolist()
    return DatasetInfo(
        name=NAME,
        title=f"Simulated risk-free curves of {len(COUNTRIES)} currency areas, 1 to {MATURITIES} years",
        kind="simulated",
        source="seeded simulator of OpenFinGym (openfingym/data/curves.py); stands in for EIOPA's monthly risk-free "
        "curves",
        provenance=(
            f"Nelson-Siegel-Svensson factors, one autoregression each, seed {seed}; dynamics fitted to the month ends "
            "of ust-par-yields, "
            "country means and scales chosen by hand; beyond the last liquid point forwards converge exponentially to "
            "the ultimate one; "
            "rounded to 0.001 percentage points"
        ),
        licence="Apache-2.0",
        frequency="monthly",
        measure="yield",
        unit="percent a year, spot rate compounded annually",
        calendar="Month ends, without gaps. The dates are fictional: they say nothing about the rates of that month.",
        corporate_actions="none: interest rates have none",
        first=first,
        last=last,
        rows=MONTHS,
        channels=tuple(country.code for country in COUNTRIES),
        missing=0,
        sha256=digest,
        notes=(
            (
                "each channel is a curve of 150 maturities; the digest is that of the float64 values in C order, "
                "little-endian"
            ),
            "no value is a rate that anybody published; the codes say which area a channel imitates",
            "the ultimate forward rate does not change; EIOPA's moves by up to 0.15 points a year",
            "rates have no lower bound, and no quote is missing",
        ),
    )
