"""Trading: what an account made of its episodes; the functions are :mod:`openfingym.metrics.performance`'s.

Only ``log_growth`` ranks. A ratio of return to risk is the same for a thousandth of the position; a return
has no such scale, but an account cannot lose more than it has, so the largest bet is the best one.
"""

from __future__ import annotations

import math

from openfingym.metrics import performance
from openfingym.metrics.record import Metric

RATIO_CLIP = (-10.0, 10.0)
"""An annual ratio beyond this is a sign of too few steps or of a leak, not of skill."""
RETURN_CLIP = (-1.0, 10.0)

_PAPER = "OpenFinGym (arXiv 2606.26350), section 3.1"
_ANNUAL = ("periods_per_year",)
_ANY = (-math.inf, math.inf)
METRICS = (
    # In cash its size is the account's, so it has no place in a total beside ratios: reported, and total_return
    # weighed.
    Metric(
        "pnl",
        performance.pnl,
        "trading",
        "profit, mean over episodes",
        "cash",
        _PAPER,
        _ANY,
        "higher",
        None,
        diagnostic=True,
        proper=False,
    ),
    Metric(
        "total_return",
        performance.total_return,
        "trading",
        "final over initial equity minus one, mean over episodes",
        "fraction",
        _PAPER,
        (-1.0, math.inf),
        "higher",
        None,
        RETURN_CLIP,
        proper=False,
    ),
    Metric(
        "log_growth",
        performance.log_growth,
        "trading",
        "logarithm of final over initial equity, mean over episodes",
        "none",
        "Kelly 1956",
        (math.log(performance.WEALTH_FLOOR), math.inf),
        "higher",
        None,
        differs="an episode's final equity is held above one hundredth of the initial one",
    ),
    Metric(
        "sharpe_ratio",
        performance.sharpe_ratio,
        "trading",
        "annualised mean over standard deviation of step returns, pooled",
        "none",
        f"{_PAPER}; Sharpe 1994",
        _ANY,
        "higher",
        None,
        RATIO_CLIP,
        options=_ANNUAL,
        proper=False,
        differs="constant returns have 0, where common libraries have infinity or rounding noise",
    ),
    Metric(
        "sortino_ratio",
        performance.sortino_ratio,
        "trading",
        "annualised mean over downside deviation of step returns, pooled",
        "none",
        "Sortino and van der Meer 1991",
        _ANY,
        "higher",
        None,
        RATIO_CLIP,
        options=_ANNUAL,
        proper=False,
        differs="held within 1000, where without a loss it is infinite",
    ),
    # An account that never trades has no drawdown: alone, it would reward doing nothing.
    Metric(
        "max_drawdown",
        performance.max_drawdown,
        "trading",
        "largest fall of equity from a peak, worst episode",
        "fraction",
        _PAPER,
        (0.0, 1.0),
        diagnostic=True,
        proper=False,
    ),
    Metric(
        "calmar_ratio",
        performance.calmar_ratio,
        "trading",
        "annual growth over the largest drawdown",
        "none",
        "Young 1991",
        _ANY,
        "higher",
        None,
        RATIO_CLIP,
        options=_ANNUAL,
        proper=False,
        differs="held within 1000, where without a fall it is infinite; growth compounds over all episodes",
    ),
    Metric(
        "turnover",
        performance.turnover,
        "trading",
        "notional traded a year over mean equity, two-way",
        "1 / year",
        _PAPER,
        diagnostic=True,
        options=_ANNUAL,
        proper=False,
    ),
    Metric(
        "hit_rate",
        performance.hit_rate,
        "trading",
        "share of closing fills that made money after fees",
        "fraction",
        "this project",
        (0.0, 1.0),
        "higher",
        1.0,
        diagnostic=True,
        proper=False,
    ),
    Metric(
        "exposure",
        performance.exposure,
        "trading",
        "mean of long plus short over equity",
        "multiple of equity",
        "this project",
        diagnostic=True,
        proper=False,
    ),
    Metric(
        "cost_paid",
        performance.cost_paid,
        "trading",
        "fees, slippage and borrowing over initial equity",
        "fraction",
        "this project",
        diagnostic=True,
        proper=False,
    ),
)
