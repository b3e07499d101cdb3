"""Tail risk of generated returns, and the coverage test of a VaR.

Returns and profits are signed: a negative VaR is a loss. Two quantiles are in use and both are
here under their own names: the interpolated one of :mod:`openfingym.metrics.risk`, and the order
statistic sorted[int(a n)] of the generation papers' code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.arrays import Numbers, answer, in_unit_interval, windows
from openfingym.metrics.record import Metric
from openfingym.metrics.risk import mean_gap, sharpe_ratio, tail_risk

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVEL = 0.05
"""Tail probability of VaR and ES."""


@dataclass(frozen=True)
class Kupiec:
    """Outcome of a test of unconditional coverage."""

    breaches: int
    """Number of returns strictly below the VaR."""
    count: int
    """Number of all returns."""
    statistic: float
    """Likelihood ratio, chi-squared with one degree of freedom under the null hypothesis."""
    p_value: float
    """Probability of a statistic at least as large under the null hypothesis."""


def kupiec(returns: Numbers, value_at_risk: float, level: float = LEVEL) -> Kupiec:
    """Kupiec's (1995) test that returns fall below a VaR with probability ``level``.

    LR = 2 [x ln((x / n) / a) + (n - x) ln((1 - x / n) / (1 - a))] with 0 ln 0 = 0, so it is
    defined for no breach and for n breaches.

    Args:
        returns: returns of each period, [n], as fractions.
        value_at_risk: a quantile of returns, negative for a loss, in their unit.
        level: tail probability a, in (0, 1).
    """
    r = answer("returns", returns, 1)
    in_unit_interval("level", level)
    if not math.isfinite(value_at_risk):
        raise UsageError(f"the VaR must be finite, found {value_at_risk}")
    breaches = int(np.count_nonzero(r < value_at_risk))
    statistic = float(_likelihood_ratio(np.array([breaches]), r.size, level)[0])
    return Kupiec(breaches, r.size, statistic, chi2_1_p(statistic))


def chi2_1_p(statistic: float) -> float:
    """Upper tail of the chi-squared distribution with one degree of freedom."""
    return math.erfc(math.sqrt(max(statistic, 0.0) / 2.0))


def kupiec_rejected(breaches: NDArray[np.intp], count: int, level: float, size: float = 0.05) -> NDArray[np.bool_]:
    """Whether each number of breaches rejects the level, bool of the shape of ``breaches``.

    Args:
        breaches: numbers of returns below the VaR.
        count: number of all returns.
        level: tail probability of the VaR, in (0, 1).
        size: probability with which a true level is rejected.
    """
    # Computed once for every number that is possible, and looked up: there are far more tests than outcomes.
    outcomes = _likelihood_ratio(np.arange(count + 1), count, level)
    rejects = np.array([chi2_1_p(value) < size for value in outcomes.tolist()])
    decision: NDArray[np.bool_] = rejects[breaches]
    return decision


def order_statistic_tail(returns: Numbers, level: float = LEVEL) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """VaR = sorted[int(a n)] and ES = mean of sorted[: int(a n) + 1], over the FIRST axis.

    Args:
        returns: returns per period, [n, ...].
        level: tail probability a, in (0, 1).

    Returns:
        (VaR, ES), each float64[...]; for a single return both equal it.
    """
    r = answer("returns", returns)
    in_unit_interval("level", level)
    if r.ndim == 0:
        raise UsageError("returns must have at least one axis")
    worst = _worst(r, level)
    return worst[-1], worst.mean(axis=0)


def order_statistic_var_gap(real: Numbers, fake: Numbers, level: float = LEVEL) -> float:
    """Mean over steps and channels of |VaR_fake - VaR_real|, order statistics across windows, in the unit of the
    returns.
    """
    in_unit_interval("level", level)
    ours, theirs = windows(real, fake)
    return mean_gap(_worst(ours, level)[-1], _worst(theirs, level)[-1])


def order_statistic_es_gap(real: Numbers, fake: Numbers, level: float = LEVEL) -> float:
    """Mean over steps and channels of |ES_fake - ES_real|, order statistics across windows, in the unit of the
    returns.
    """
    in_unit_interval("level", level)
    ours, theirs = windows(real, fake)
    return mean_gap(_worst(ours, level).mean(axis=0), _worst(theirs, level).mean(axis=0))


def pooled_sharpe_gap(real: Numbers, fake: Numbers, periods_per_year: float = 1.0) -> float:
    """Mean over channels of |Sharpe_fake - Sharpe_real|, returns pooled over windows and steps."""
    # Moments need no channel's returns side by side, so the rows stay where they are.
    ours, theirs = (paths.reshape(-1, paths.shape[2]).T for paths in windows(real, fake, scan=False))
    try:
        return mean_gap(sharpe_ratio(ours, periods_per_year), sharpe_ratio(theirs, periods_per_year))
    except UsageError:
        # Searched only now: this raises the error that names the array and the cell, if one is not finite.
        windows(real, fake)
        raise


def pooled_var_gap(real: Numbers, fake: Numbers, tail_level: float = LEVEL) -> float:
    """Mean over channels of |VaR_fake - VaR_real|, returns pooled over windows and steps, interpolated quantile."""
    ours, theirs = windows(real, fake)
    return mean_gap(tail_risk(_pooled(ours), tail_level)[0], tail_risk(_pooled(theirs), tail_level)[0])


def pooled_es_gap(real: Numbers, fake: Numbers, tail_level: float = LEVEL) -> float:
    """Mean over channels of |ES_fake - ES_real|, returns pooled over windows and steps, interpolated quantile."""
    ours, theirs = windows(real, fake)
    return mean_gap(tail_risk(_pooled(ours), tail_level)[1], tail_risk(_pooled(theirs), tail_level)[1])


def _worst(returns: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """The int(level n) + 1 lowest over the first axis, of which the highest is last and the others in any order."""
    k = int(level * returns.shape[0])
    return np.partition(returns, k, axis=0)[: k + 1]


def _pooled(paths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns of each channel, float64[d, n * t]."""
    return np.ascontiguousarray(paths.transpose(2, 0, 1)).reshape(paths.shape[2], -1)


def _likelihood_ratio(breaches: NDArray[np.intp], count: int, level: float) -> NDArray[np.float64]:
    """Kupiec's statistic for each number of breaches, with 0 ln 0 = 0."""
    share = breaches / count
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(breaches > 0, breaches * np.log(share / level), 0.0)
        above = np.where(breaches < count, (count - breaches) * np.log((1.0 - share) / (1.0 - level)), 0.0)
    ratio: NDArray[np.float64] = 2.0 * (below + above)
    return np.maximum(ratio, 0.0)


_KIT = "Tao, Ni and Liu 2024 (code); ICAIF 2024 crypto challenge, tail_metric"
_RISK = "OpenFinGym (arXiv 2606.26350), Table 6"
_AT = {"level": LEVEL}
METRICS = (
    Metric(
        "order_statistic_var_gap",
        order_statistic_var_gap,
        "paths",
        "VaR gap by step and channel",
        "return",
        _KIT,
        parameters=_AT,
        differs="windows are sorted; the code sorts along an axis of one value, so takes them as they come",
    ),
    Metric(
        "order_statistic_es_gap",
        order_statistic_es_gap,
        "paths",
        "ES gap by step and channel",
        "return",
        _KIT,
        parameters=_AT,
        differs="windows are sorted; the code sorts along an axis of one value, so takes them as they come",
    ),
    Metric(
        "pooled_sharpe_gap",
        pooled_sharpe_gap,
        "paths",
        "gap of pooled Sharpe ratios",
        "none",
        _RISK,
        options=("periods_per_year",),
        differs="defined here, since the paper only names it: returns pooled over windows and steps",
    ),
    Metric(
        "pooled_var_gap",
        pooled_var_gap,
        "paths",
        "gap of pooled VaR",
        "return",
        _RISK,
        options=("tail_level",),
        differs="defined here, since the paper only names it: returns pooled over windows and steps",
    ),
    Metric(
        "pooled_es_gap",
        pooled_es_gap,
        "paths",
        "gap of pooled ES",
        "return",
        _RISK,
        options=("tail_level",),
        differs="defined here, since the paper only names it: returns pooled over windows and steps",
    ),
)
