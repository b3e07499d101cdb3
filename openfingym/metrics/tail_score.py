"""VaR and ES judged together, by the score that both minimise (Fissler and Ziegel 2016).

With W = 10 and x the realised profit, the score of (v, e) is, as in Tail-GAN (Cont, Cucuringu, Xu
and Zhang 2026),

    S = (1[x <= v] - a) W (x^2 - v^2) / 2 + e 1[x <= v] (v - x) + a e (e / 2 - v).

Its mean over a sample is smallest at the sample's own VaR and ES, among pairs with W v <= e <= v <= 0.
So profits are centred on the real mean, which makes both negative, and a generated pair outside is
moved to the edge. They are then divided by the size of the real ES: S is homogeneous, so no test
changes, and differences become pure numbers.
"""

from __future__ import annotations

from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, in_unit_interval, known, number, windows
from openfingym.metrics.portfolios import (
    PORTFOLIO_SEED,
    RESAMPLE_SIZE,
    RESAMPLES,
    SOURCE,
    TEST_SIZE,
    strategy_profits,
    strategy_weights,
)
from openfingym.metrics.record import Metric
from openfingym.metrics.risk import tail_risk
from openfingym.metrics.tail import LEVEL
from openfingym.metrics.threshold_strategies import threshold_profits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

WEIGHT = 10.0
"""The parameter W of the score."""
FLAT = 1e-12
"""Share of the mean below which a spread is taken for rounding."""
GRID = 20
"""Number of levels between 0 and a at which quantiles are compared."""
HELD_OUT_SEED = PORTFOLIO_SEED + 1
"""Seed of 50 portfolios that no other score uses."""


def joint_score(
    profits: NDArray[np.float64], var: NDArray[np.float64], es: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """The score S of a VaR and an ES on each profit, float64[strategies, n].

    Args:
        profits: realised profits of each strategy, float64[strategies, n].
        var: VaR of each strategy, float64[strategies].
        es: ES of each strategy, float64[strategies].
        level: tail probability a, in (0, 1).

    Raises:
        UsageError: a score is beyond float64.
    """
    v, e = var[:, None], es[:, None]
    below = (profits <= v).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        score: NDArray[np.float64] = (
            (below - level) * (0.5 * WEIGHT) * (profits**2 - v**2)
            + e * below * (v - profits)
            + level * e * (0.5 * e - v)
        )
    if not np.isfinite(score).all():
        raise UsageError(
            "the scores of VaR and ES are too large for float64; the increments must be of a plausible size"
        )
    return score


def score_test_rejection(
    real: Numbers, fake: Numbers, level: float = LEVEL, resamples: int = RESAMPLES, *, seed: int = 0
) -> float:
    """Share of tests, at 5 %, that find the generated VaR and ES to score unlike the real ones on real profits.

    For each strategy, static and with thresholds, and each of ``resamples`` samples of 1,000 real
    windows (with replacement), Welch's two-sided test compares the mean score of the generated
    (VaR, ES) with that of the real pair; at 1,000 values Student's law is the normal one. Both means
    are over the same windows, which the test ignores, as the paper's code does: it rejects large
    errors only, and a perfect generator almost never.

    Returns:
        A share in [0, 1].
    """
    ours, theirs = windows(real, fake)
    in_unit_interval("level", level)
    weights = strategy_weights(ours.shape[2])
    dynamic = threshold_profits(ours, theirs)
    true, guess = (
        np.concatenate((strategy_profits(side, weights), more))
        for side, more in zip((ours, theirs), dynamic, strict=True)
    )
    # Centred and scaled by the real profits, where the score is proper and means are comparable between strategies.
    true, guess = _scaled(true, guess, level)
    # Samples with replacement as the numbers of times that each window is drawn, so that means are one product.
    draws = (
        np.random.default_rng(seed)
        .multinomial(RESAMPLE_SIZE, np.full(len(ours), 1.0 / len(ours)), size=resamples)
        .T.astype(np.float64)
    )
    means, variances = [], []
    for profits in (true, guess):
        scores = joint_score(true, *_pair(profits, level), level)
        mean = scores @ draws / RESAMPLE_SIZE
        with np.errstate(over="ignore"):
            square = (scores * scores) @ draws / RESAMPLE_SIZE
        means.append(mean)
        variances.append(np.maximum(square - mean * mean, 0.0) / (RESAMPLE_SIZE - 1))
    gap, error = np.abs(means[1] - means[0]), np.sqrt(variances[0] + variances[1])
    return float((gap > NormalDist().inv_cdf(1.0 - TEST_SIZE / 2.0) * error).mean())


def generalization_dq(train: Numbers, held_out: Numbers, fake: Numbers, level: float = LEVEL) -> float:
    """d(held out, generated) - d(training, generated), or 0 where that is negative, d being the distance of tail
    quantiles.

    d is the mean over 50 static portfolios that no other score uses, and over levels below
    ``level``, of the absolute difference of the profits' quantiles, as a multiple of the real ES.
    A generator that repeats its training windows is nearer to them than to others. Arora et al.
    take the absolute value, under which fresh draws from the true law are as far off as copies: they
    are nearer to the larger sample. One that is equally far from both gets 0, however far: a diagnostic.

    Args:
        train: increments of the training windows, [n, t, d].
        held_out: increments of windows that no generator has seen, [m, t, d].
        fake: increments of the generated windows, [k, t, d].
        level: tail probability, in (0, 1).
    """
    levels = level * (np.arange(GRID) + 0.5) / GRID

    def distance(real: NDArray[np.float64], guess: NDArray[np.float64]) -> float:
        quantiles = [np.quantile(profits, levels, axis=1) for profits in (real, guess)]
        return float(np.abs(quantiles[0] - quantiles[1]).mean())

    return _generalization(train, held_out, fake, level, distance)


def generalization_ds(train: Numbers, held_out: Numbers, fake: Numbers, level: float = LEVEL) -> float:
    """The gap of :func:`generalization_dq` by another distance: the excess of the mean score of the generated (VaR, ES)
    over that of the real pair.
    """

    def distance(real: NDArray[np.float64], guess: NDArray[np.float64]) -> float:
        own, other = (joint_score(real, *_pair(profits, level), level) for profits in (real, guess))
        return float((other - own).mean())

    return _generalization(train, held_out, fake, level, distance)


def _generalization(
    train: Numbers,
    held_out: Numbers,
    fake: Numbers,
    level: float,
    distance: Callable[[NDArray[np.float64], NDArray[np.float64]], float],
) -> float:
    """How much further the generated profits are from those of held-out windows than from those of training windows."""
    seen, unseen, guess = known("train", train, 3), known("held_out", held_out, 3), answer("fake", fake, 3)
    in_unit_interval("level", level)
    if seen.shape[1:] != unseen.shape[1:]:
        raise DataError(f"train has [steps, channels] = {list(seen.shape[1:])}, held_out {list(unseen.shape[1:])}")
    if guess.shape[1:] != seen.shape[1:]:
        raise UsageError(
            f"fake windows have [steps, channels] = {list(guess.shape[1:])}, expected {list(seen.shape[1:])}"
        )
    channels = seen.shape[2]
    # Without the buy-and-hold strategies, which other scores use.
    weights = strategy_weights(channels, seed=HELD_OUT_SEED)[channels:]
    profits = strategy_profits(guess, weights)
    distances = [distance(*_scaled(strategy_profits(real, weights), profits, level)) for real in (unseen, seen)]
    return number("the generalization gap", max(distances[0] - distances[1], 0.0))


def _pair(profits: NDArray[np.float64], level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """VaR and ES of each strategy, float64[strategies] each, moved to where the score is proper."""
    var, es = tail_risk(profits, level)
    # W v <= e <= v <= 0: v is lowered as far as that takes, then e.
    var = np.minimum(np.minimum(var, es / WEIGHT), 0.0)
    return var, np.minimum(es, var)


def _scaled(
    true: NDArray[np.float64], guess: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both less each strategy's real mean, as multiples of the size of its real ES."""
    mean = true.mean(axis=1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        true, guess = true - mean, guess - mean
    size = np.abs(tail_risk(true, level)[1])[:, None]
    if (size <= FLAT * np.abs(mean)).any():
        raise DataError("a strategy's profit on the real windows is always the same, so its risk has no scale")
    return true / size, guess / size


_generalisation = partial(
    Metric,
    problem="copying",
    unit="none",
    source=f"Arora et al. 2017, one-sided; named by {SOURCE}",
    optimum=None,
    diagnostic=True,
    proper=False,
    differs="defined here, since the paper's definition could not be looked up",
)
METRICS = (
    Metric(
        "score_test_rejection",
        score_test_rejection,
        "paths",
        "share of tests that tell the generated VaR and ES from the real ones by their score",
        "fraction",
        f"{SOURCE}; Fissler and Ziegel 2016",
        (0.0, 1.0),
        diagnostic=True,
        stochastic=True,
        repeats=RESAMPLES,
        noise=0.1,
        minimum_rows=2,
        proper=False,
        differs="profits are centred on the real mean, and a pair outside the score's domain is moved to its edge",
    ),
    _generalisation(
        "generalization_dq",
        generalization_dq,
        description="distance of tail quantiles from held-out windows beyond that from training ones",
    ),
    _generalisation(
        "generalization_ds",
        generalization_ds,
        description="excess score of VaR and ES on held-out windows beyond that on training ones",
    ),
)
