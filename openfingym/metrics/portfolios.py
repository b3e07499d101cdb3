"""Tail risk of strategies run on generated prices (Cont, Cucuringu, Xu and Zhang 2026, Tail-GAN).

Windows hold increments; a price is 1 plus their running sum. The strategies are one buy-and-hold
of ten units in each asset, and 50 static long-short portfolios whose weights are drawn once from
a seed and scaled to a sum of absolute values of 1, also ten units. Neither depends on the path,
so the profit of a window is linear in its total increment. Nothing is rounded and no profit is
dropped, both of which the paper's code does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, in_unit_interval, known, number, windows
from openfingym.metrics.record import Metric
from openfingym.metrics.risk import tail_risk
from openfingym.metrics.tail import LEVEL, kupiec_rejected

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNITS = 10.0
"""Units that a strategy holds."""
PORTFOLIOS = 50
"""Number of static long-short portfolios."""
PORTFOLIO_SEED = 2606_26350
"""Seed of the static weights: fixed, since they are part of the metric's definition."""
RESAMPLES = 100
"""Number of samples of real windows on which a VaR is tested."""
RESAMPLE_SIZE = 1000
"""Number of windows in each of these samples."""
TEST_SIZE = 0.05
"""Probability with which a test rejects what is true."""


def strategy_weights(channels: int, portfolios: int = PORTFOLIOS, seed: int = PORTFOLIO_SEED) -> NDArray[np.float64]:
    """Units held of each asset by each strategy, float64[channels + portfolios, channels].

    First one buy-and-hold an asset, then the static long-short portfolios, whose weights are
    standard normal and scaled so that their absolute values add up to 1.
    """
    static = np.random.default_rng(seed).standard_normal((portfolios, channels))
    static /= np.abs(static).sum(axis=1, keepdims=True)
    return UNITS * np.concatenate((np.eye(channels), static))


def strategy_profits(increments: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Profit of each strategy in each window, float64[strategies, n], from increments [n, t, d]."""
    with np.errstate(over="ignore", invalid="ignore"):
        return finite_profits(weights @ increments.sum(axis=1).T)


def finite_profits(profits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The profits themselves.

    Raises:
        UsageError: a profit is beyond float64.
    """
    if not np.isfinite(profits).all():
        raise UsageError("the profits are too large for float64; the increments must be of a plausible size")
    return profits


def relative_tail_error(real: Numbers, fake: Numbers, level: float = LEVEL, weights: Numbers | None = None) -> float:
    """Mean over strategies and over VaR and ES of |fake - real| / |real|.

    Args:
        real: increments of the real windows, [n, t, d].
        fake: increments of the generated windows, [m, t, d].
        level: tail probability, in (0, 1).
        weights: units held of each asset by each strategy, [strategies, d]; None for :func:`strategy_weights`.

    Raises:
        DataError: a real VaR or ES is zero.
    """
    ours, theirs = windows(real, fake)
    in_unit_interval("level", level)
    held = _weights(weights, ours.shape[2])
    return tail_gap(strategy_profits(ours, held), strategy_profits(theirs, held), level)


def tail_gap(real: NDArray[np.float64], fake: NDArray[np.float64], level: float) -> float:
    """Mean over strategies and over VaR and ES of |fake - real| / |real|.

    Args:
        real: profits in the real windows, float64[strategies, n].
        fake: profits in the generated windows, float64[strategies, m].
        level: tail probability, in (0, 1).

    Raises:
        DataError: a real VaR or ES is zero.
    """
    true = np.stack(tail_risk(real, level))
    if not np.all(true):
        raise DataError("the relative tail error is undefined: a VaR or ES of the real windows is zero")
    guess = np.stack(tail_risk(fake, level))
    with np.errstate(over="ignore"):
        return number("the relative tail error", (np.abs(guess - true) / np.abs(true)).mean())


def kupiec_rejection(
    real: Numbers,
    fake: Numbers,
    level: float = LEVEL,
    weights: Numbers | None = None,
    resamples: int = RESAMPLES,
    *,
    seed: int = 0,
) -> float:
    """Share of Kupiec tests, at 5 %, that reject the VaR of the generated profits on real profits.

    Each strategy's VaR is the quantile of its generated profits; each of ``resamples`` samples of
    1,000 real windows (with replacement) counts its breaches. A perfect generator is rejected in
    about 5 % of tests, somewhat more for small samples, and never systematically less: below
    that, smaller is not better, so this is a diagnostic.

    Returns:
        A share in [0, 1].
    """
    ours, theirs = windows(real, fake)
    in_unit_interval("level", level)
    held = _weights(weights, ours.shape[2])
    var = tail_risk(strategy_profits(theirs, held), level)[0]
    # Whether a window breaches the VaR does not depend on the sample that it is drawn into.
    breached = strategy_profits(ours, held) < var[:, None]
    # Drawing windows with replacement and counting breaches of every strategy is one product with the numbers of times
    # that each window is drawn.
    draws = np.random.default_rng(seed).multinomial(
        RESAMPLE_SIZE, np.full(ours.shape[0], 1.0 / ours.shape[0]), size=resamples
    )
    breaches = (breached.astype(np.float64) @ draws.T).astype(np.intp)
    return float(kupiec_rejected(breaches, RESAMPLE_SIZE, level, TEST_SIZE).mean())


def _weights(weights: Numbers | None, channels: int) -> NDArray[np.float64]:
    """The weights that were given, or else those of the metric's definition, float64[strategies, channels]."""
    if weights is None:
        return strategy_weights(channels)
    held = known("weights", weights, 2)
    if held.shape[1] != channels:
        raise DataError(f"weights have {held.shape[1]} assets, expected {channels}")
    return held


SOURCE = "Cont, Cucuringu, Xu and Zhang 2026"
METRICS = (
    *(
        Metric(
            f"relative_tail_error_{round(100 * level):02d}",
            relative_tail_error,
            "paths",
            f"relative error of VaR and ES at {level:.0%}",
            "none",
            SOURCE,
            parameters={"level": level},
            differs="static strategies alone, all windows at once (the code: 16 draws of 1,000); VaR and ES are not "
            "rounded to 3 decimals, nor profits of 0 left out of ES",
        )
        for level in (0.01, 0.05, 0.10)
    ),
    Metric(
        "kupiec_rejection",
        kupiec_rejection,
        "paths",
        "share of coverage tests that reject the generated VaR",
        "fraction",
        SOURCE,
        (0.0, 1.0),
        optimum=None,
        diagnostic=True,
        stochastic=True,
        repeats=RESAMPLES,
        noise=0.1,
        proper=False,
        differs="static strategies alone, the VaR of all generated windows (the code: of 1,000); no breach at all is "
        "tested too, where the code has NaN and counts no rejection",
    ),
)
