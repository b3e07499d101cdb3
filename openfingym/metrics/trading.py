"""Metrics of trading; their functions are in :mod:`openfingym.metrics.performance`.

Only ``log_growth`` ranks. A ratio of return to risk is the same for a thousandth of the position, so that it does not
see the size of a bet. A mean return does, but since an account cannot lose more than it has, the largest bet is the
best one.
"""

from __future__ import annotations

import math
from functools import partial

from openfingym.metrics import performance
from openfingym.metrics.record import Metric

RATIO_CLIP = (-10.0, 10.0)
"""An annual ratio beyond this is a sign of too few steps or of a leak, not of skill."""
RETURN_CLIP = (-1.0, 10.0)

_PAPER = "OpenFinGym (arXiv 2606.26350), section 3.1"
_ANY = (-math.inf, math.inf)
_account = partial(Metric, problem="trading")
_gain = partial(_account, direction="higher", optimum=None)
_ratio = partial(_gain, unit="none", range=_ANY, clip=RATIO_CLIP, options=("periods_per_year",), proper=False)
_reported = partial(_account, diagnostic=True, proper=False)
METRICS = (
    # In cash its size is that of the account, so that it has no place in a total beside ratios: it is reported, and
    # total_return has the weight.
    _gain(
        "pnl",
        performance.pnl,
        description="profit, mean over episodes",
        unit="cash",
        source=_PAPER,
        range=_ANY,
        diagnostic=True,
        proper=False,
    ),
    _gain(
        "total_return",
        performance.total_return,
        description="final over initial equity minus one, mean over episodes",
        unit="fraction",
        source=_PAPER,
        range=(-1.0, math.inf),
        clip=RETURN_CLIP,
        proper=False,
    ),
    _gain(
        "log_growth",
        performance.log_growth,
        description="logarithm of final over initial equity, mean over episodes",
        unit="none",
        source="Kelly 1956",
        range=(math.log(performance.WEALTH_FLOOR), math.inf),
        differs="an episode's final equity is held above one hundredth of the initial one",
    ),
    _ratio(
        "sharpe_ratio",
        performance.sharpe_ratio,
        description="annualised mean over standard deviation of step returns, pooled",
        source=f"{_PAPER}; Sharpe 1994",
        differs="constant returns have 0, where common libraries have infinity or rounding noise",
    ),
    _ratio(
        "sortino_ratio",
        performance.sortino_ratio,
        description="annualised mean over downside deviation of step returns, pooled",
        source="Sortino and van der Meer 1991",
        differs="held within 1000, where without a loss it is infinite",
    ),
    # An account that never trades has no drawdown: alone, it would reward doing nothing.
    _reported(
        "max_drawdown",
        performance.max_drawdown,
        description="largest fall of equity from a peak, worst episode",
        unit="fraction",
        source=_PAPER,
        range=(0.0, 1.0),
    ),
    _ratio(
        "calmar_ratio",
        performance.calmar_ratio,
        description="annual growth over the largest drawdown; a loss times the drawdown",
        source="Young 1991",
        version=2,
        changed="a loss was divided by the drawdown too, so that a deeper fall made it look smaller",
        differs="a loss is multiplied by the drawdown, as Israelsen 2005 does for the Sharpe ratio; held within 1000, "
        "where without a fall it is infinite; growth compounds over all episodes",
    ),
    _reported(
        "turnover",
        performance.turnover,
        description="notional traded a year over mean equity, two-way",
        unit="1 / year",
        source=_PAPER,
        options=("periods_per_year",),
    ),
    _reported(
        "hit_rate",
        performance.hit_rate,
        description="share of closing fills that made money after fees",
        unit="fraction",
        source="this project",
        range=(0.0, 1.0),
        direction="higher",
        optimum=1.0,
    ),
    _reported(
        "exposure",
        performance.exposure,
        description="mean of long plus short over equity",
        unit="multiple of equity",
        source="this project",
    ),
    _reported(
        "cost_paid",
        performance.cost_paid,
        description="fees, slippage and borrowing over initial equity",
        unit="fraction",
        source="this project",
    ),
)
