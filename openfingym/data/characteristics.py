"""Simulated panel of 60 stocks by month: 42 characteristics and the excess log return of the month after.

The row of month t + 1 does not tell the return of month t, not even to somebody who is shown all rows at
once: nothing here is computed from a price or a return (no momentum, reversal, volatility, beta, size or
valuation). Characteristics and return shocks come from streams of their own, and given the characteristics
of its own month a return is independent of those of every other::

    y(t, i) = g(x(t, i)) + market(t) + industry(t, j(i)) + own(t, i)                    shocks: Student t, mean zero
    g = PREMIUM + linear terms + products with a macro variable + a square + a product of two characteristics

g is :func:`expected_excess_return`, a function of the published, rounded characteristics alone: the best forecast
there is. Its form follows the simulation study of Gu, Kelly and Xiu (2020, appendix A), and so does the
normalisation: ranks within the month, mapped to [-1, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.dataset import DatasetInfo, require_simulated
from openfingym.data.months import month_ends
from openfingym.data.processes.draws import Branch, autoregression, normals, stream, students
from openfingym.data.processes.sets import paths_digest
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "sim-us-characteristics"
DEFAULT_SEED = 20260702
SHA256 = "94b5c4e3ed016bb4ea7457b59b477309f32bfda7b016103afb1bca1a39af5434"
"""Digest of features, then excess returns, at the default seed, little-endian float64 in C order."""
FIRST, MONTHS, STOCKS = "2004-05", 264, 60
BURN_IN = 360
"""Months drawn before the first, so that every autoregression has reached its stationary law."""
FEATURE_DECIMALS, RETURN_DECIMALS = 6, 8
REPORT_EVERY = 3
"""Months from one account of a firm to its next."""
_FIRMS, _LATENT, _WEIGHTS, _MACRO, _MARKET, _INDUSTRY, _OWN = range(7)
"""Numbers of the seed's streams, by what they draw; the last three make returns, the others features."""

REPORTED = (
    "accruals",
    "asset_growth",
    "book_leverage",
    "capital_expenditure_growth",
    "capital_turnover",
    "cash_flow_to_debt",
    "cash_holdings",
    "current_ratio",
    "debt_growth",
    "depreciation_to_plant",
    "employee_growth",
    "gross_profitability",
    "inventory_change",
    "net_operating_assets",
    "operating_profitability",
    "organization_capital",
    "receivables_turnover",
    "research_to_sales",
    "return_on_assets",
    "return_on_equity",
    "sales_growth",
    "share_issuance",
    "tangibility",
)
"""Characteristics from quarterly accounts: they change every third month, and stocks differ in which month that is."""
WATCHED = (
    "analyst_coverage",
    "forecast_dispersion",
    "growth_forecast",
    "insider_ownership",
    "institutional_breadth",
    "institutional_ownership",
)
"""Characteristics from analysts and owners: they change every month."""
INDUSTRIES = ("consumer", "energy", "financials", "health", "technology")
MACRO = (
    "treasury_bill", "term_spread", "inflation", "industrial_production", "unemployment",
    "money_growth", "credit_growth", "consumer_confidence",
)  # fmt: skip
"""Macroeconomic variables: standardised, and the same for every stock."""
RANKED = REPORTED + WATCHED
"""Characteristics that are ranked within the month."""
FEATURES = (*RANKED, *(f"industry_{name}" for name in INDUSTRIES), *MACRO)

REPORTED_PERSISTENCE, WATCHED_PERSISTENCE, MACRO_PERSISTENCE = 0.97, 0.93, 0.93
LATENT = 4
"""Number of properties of a firm (quality, growth, ...) that its characteristics share."""
SHARED = 0.5
"""Share of a characteristic's variance that comes from those properties."""

PREMIUM = 0.004
"""Mean excess log return a month, over stocks and states of the economy."""
LINEAR = (
    ("gross_profitability", 0.01),
    ("asset_growth", -0.009),
    ("share_issuance", -0.007),
    ("forecast_dispersion", -0.006),
)
"""Effect on the expected monthly return of going from the median to the highest rank."""
BY_MACRO = (("book_leverage", "term_spread", 0.004), ("cash_holdings", "inflation", -0.003))
"""Effects of a characteristic times a macro variable."""
PRODUCTS = (("return_on_equity", "institutional_ownership", 0.01),)
"""Effects of a product of two characteristics."""
SQUARES = (("accruals", -0.01),)
"""Effect of x^2 - 1/3, whose mean over ranks is zero."""
MARKET, INDUSTRY, OWN = 0.018, 0.012, 0.072
"""Standard deviations of the three shocks to a month's return."""
DEGREES_OF_FREEDOM = 5.0


@dataclass(frozen=True, eq=False)
class Characteristics:
    """Stocks by month, complete and in order. The arrays are read-only."""

    months: NDArray[np.datetime64]
    """datetime64[ns][m], the month end at which the features are known, UTC."""
    stocks: tuple[str, ...]
    """Labels of the 60 stocks, always in this order."""
    names: tuple[str, ...]
    """Names of the 42 features."""
    features: NDArray[np.float64]
    """float64[m, 60, 42]: ranks within the month on [-1, 1], then industries (0 or 1), then macro variables
    (standardised)."""
    excess_return: NDArray[np.float64]
    """float64[m, 60], log return over the bill in the month *after* ``months``, a decimal fraction."""
    info: DatasetInfo


def simulated_characteristics(seed: int = DEFAULT_SEED, branch: Branch | None = None) -> Characteristics:
    """264 months from May 2004 to April 2026 of 60 stocks.

    Args:
        seed: seed of all draws, not negative. The default is public: an operator who needs the labels hidden passes a
            secret one.
        branch: the month from which on features and returns are drawn anew, and the seed; None for no such month.

    Raises:
        DataError: the seed is negative, or this machine does not make the bytes that the default seed stands for.
    """
    if seed < 0:
        raise DataError(f"a seed must not be negative, found {seed}")
    features = _features(seed, branch)
    excess_return = np.round(expected_excess_return(features) + _shocks(seed, branch), RETURN_DECIMALS) + 0.0
    digest = paths_digest([features, excess_return])
    if seed == DEFAULT_SEED and branch is None:
        require_simulated(NAME, digest, SHA256, "returns")
    months = month_ends(FIRST, MONTHS)
    for array in (months, features, excess_return):
        array.flags.writeable = False
    stocks = tuple(f"s{i + 1:02d}" for i in range(STOCKS))
    return Characteristics(months, stocks, FEATURES, features, excess_return, _info(months, seed, digest))


def expected_excess_return(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Conditional mean of the excess log return, float64[...], of features float64[..., 42]: the best forecast there
    is.
    """
    column = {name: features[..., k] for k, name in enumerate(FEATURES)}
    total = np.full(features.shape[:-1], PREMIUM)
    for name, effect in LINEAR:
        total += effect * column[name]
    for left, right, effect in (*BY_MACRO, *PRODUCTS):
        total += effect * column[left] * column[right]
    for name, effect in SQUARES:
        total += effect * (column[name] ** 2 - 1.0 / 3.0)
    return total


def _features(seed: int, branch: Branch | None) -> NDArray[np.float64]:
    """Features, float64[months, stocks, 42]; no shock to a return has any part in them."""
    # The order of an order is the rank of each: 0 for the smallest.
    ranks = np.argsort(np.argsort(_firms(seed, branch), axis=1, kind="stable"), axis=1, kind="stable")
    industry = np.broadcast_to(_industry()[:, None] == np.arange(len(INDUSTRIES)), (MONTHS, STOCKS, len(INDUSTRIES)))
    white = normals(stream(seed, _MACRO, branch=branch), BURN_IN + MONTHS, 1, len(MACRO))
    macro = np.broadcast_to(_autoregression(white, MACRO_PERSISTENCE)[BURN_IN:], (MONTHS, STOCKS, len(MACRO)))
    features = np.concatenate([2.0 * ranks / (STOCKS - 1) - 1.0, industry, macro], axis=2)
    # Adding zero turns the negative zeros of rounding into plain ones, so that equal values are equal bytes.
    return np.round(features, FEATURE_DECIMALS) + 0.0


def _firms(seed: int, branch: Branch | None = None) -> NDArray[np.float64]:
    """Characteristics before they are ranked, float64[months, stocks, 29]."""
    # A few more months than are shown: in the first one, the last account of a firm may be older.
    early, steps = REPORT_EVERY - 1, BURN_IN + MONTHS + REPORT_EVERY - 1
    latent = _autoregression(normals(stream(seed, _LATENT, branch=branch), steps, STOCKS, LATENT), REPORTED_PERSISTENCE)
    # The weights belong to the law, not to a month: a branch leaves them as they are.
    weights = normals(stream(seed, _WEIGHTS), LATENT, len(RANKED))
    # Of length 1 for each characteristic; accumulate adds in one order on every machine, unlike sum.
    weights /= np.sqrt(np.add.accumulate(weights * weights, axis=0)[-1])
    persistence = np.array([REPORTED_PERSISTENCE] * len(REPORTED) + [WATCHED_PERSISTENCE] * len(WATCHED))
    firms = math.sqrt(1.0 - SHARED) * _autoregression(
        normals(stream(seed, _FIRMS, branch=branch), steps, STOCKS, len(RANKED)), persistence
    )
    for factor, weight in enumerate(weights):
        firms += math.sqrt(SHARED) * latent[..., factor, None] * weight
    firms = firms[BURN_IN:]
    month, stock = np.arange(MONTHS)[:, None], np.arange(STOCKS)
    # Months since a stock's last account; firms report in different months, as their years end.
    age = (month + stock) % REPORT_EVERY
    known = firms[early:].copy()
    known[..., : len(REPORTED)] = firms[early + month - age, stock, : len(REPORTED)]
    return known


def _shocks(seed: int, branch: Branch | None) -> NDArray[np.float64]:
    """The unpredictable part of every return, float64[months, stocks]."""
    market = students(stream(seed, _MARKET, branch=branch), DEGREES_OF_FREEDOM, MONTHS, 1)
    industry = students(stream(seed, _INDUSTRY, branch=branch), DEGREES_OF_FREEDOM, MONTHS, len(INDUSTRIES))[
        :, _industry()
    ]
    own = students(stream(seed, _OWN, branch=branch), DEGREES_OF_FREEDOM, MONTHS, STOCKS)
    return MARKET * market + INDUSTRY * industry + OWN * own


def _industry() -> NDArray[np.int64]:
    """Industry of each stock, int64[stocks]."""
    return np.arange(STOCKS, dtype=np.int64) % len(INDUSTRIES)


def _autoregression(white: NDArray[np.float64], phi: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """:func:`autoregression` of shocks that give it unit variance in the long run."""
    return autoregression(np.sqrt(1.0 - np.square(phi)) * white, phi)


def _info(months: NDArray[np.datetime64], seed: int, digest: str) -> DatasetInfo:
    first, last = months[[0, -1]].astype("datetime64[D]").tolist()
    return DatasetInfo(
        name=NAME,
        title=f"Simulated characteristics and excess returns of {STOCKS} stocks",
        kind="simulated",
        source="seeded simulator of OpenFinGym (openfingym/data/characteristics.py); stands in for a panel of US "
        "stocks",
        provenance=(
            f"persistent firm and macro variables, ranked within the month, seed {seed}; the expected return is a "
            "nonlinear function of "
            "ten features; everything chosen by hand in the range commonly reported, not fitted"
        ),
        licence="Apache-2.0",
        frequency="monthly",
        measure="mixed",
        unit="see units; the label is an excess log return a month, a decimal fraction",
        calendar="Month ends at which the features are known, without gaps; the label belongs to the month after.",
        corporate_actions="none: no price exists, and no stock enters or leaves",
        first=first,
        last=last,
        rows=MONTHS,
        channels=FEATURES,
        missing=0,
        sha256=digest,
        units=("rank within the month, -1 to 1",) * len(RANKED)
        + ("0 or 1",) * len(INDUSTRIES)
        + ("standard deviations",) * len(MACRO),
        notes=(
            "the digest is that of features, then excess returns, float64 in C order, little-endian",
            "no feature is computed from a price or a return, so that no month's features tell the label of another",
            "returns have constant volatility and fat tails; there is no momentum, size or value effect to find",
            "the same 60 stocks throughout; the names say which characteristic a column imitates",
        ),
    )
