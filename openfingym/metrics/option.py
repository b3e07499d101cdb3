"""Price of an American put by least-squares Monte Carlo (Longstaff and Schwartz 2001).

Spot and strike are 100, the rate 0.01 a year, a step 1/252 year; a path is S_t = 100 exp(sum of
its log returns). Exercise is possible at every step: backward in time the value is discounted,
regressed on 1, s and s^2 over the paths in the money (at least three), and exercised where the
intrinsic value exceeds the regression.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, answer, known, number
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPOT = STRIKE = 100.0
RATE = 0.01
YEARS_PER_STEP = 1.0 / 252.0
FEWEST_PATHS = 3
"""Number of paths in the money that a regression needs, and so the fewest from which a price is computed."""
LARGEST_RETURN = 1e4
"""Size at which a log return is held: a larger one changes no price of a put, but could overflow."""


def put_prices(log_returns: Numbers) -> NDArray[np.float64]:
    """Price of the put on each block of paths.

    Args:
        log_returns: log returns of each step, [blocks, paths, t]; at least 3 paths and 1 step.

    Returns:
        Price of the put in each block, float64[blocks], for a spot of 100.

    Raises:
        UsageError: fewer than 3 paths, or the returns are not finite numbers.
    """
    r = answer("log_returns", log_returns, 3)
    if r.shape[1] < FEWEST_PATHS:
        raise UsageError(f"a put price needs at least {FEWEST_PATHS} paths, found {r.shape[1]}")
    log_price = np.cumsum(np.clip(r, -LARGEST_RETURN, LARGEST_RETURN), axis=2)
    # Within the range of exp; at either end the put is worth its strike, or nothing.
    spot = SPOT * np.exp(np.clip(log_price, -700.0, 700.0))
    intrinsic = np.maximum(STRIKE - spot, 0.0)
    discount = math.exp(-RATE * YEARS_PER_STEP)
    # ``cash`` is what a path pays at the step at hand, if nothing is exercised before.
    cash = intrinsic[:, :, -1]
    for t in range(r.shape[2] - 2, -1, -1):
        cash = discount * cash
        exercise = _exercised(spot[:, :, t], intrinsic[:, :, t], cash)
        cash = np.where(exercise, intrinsic[:, :, t], cash)
    # From the first step to today; the holder may also exercise today.
    value: NDArray[np.float64] = discount * cash.mean(axis=1)
    return np.maximum(value, max(STRIKE - SPOT, 0.0))


def american_put_error(real: Numbers, futures: Numbers) -> float:
    """Mean over channels of |price on real futures - mean price on generated ones|.

    A least-squares price on few paths is biased upward, and a mixture over contexts is not priced
    like its parts, so both sides are priced on one path a context: the real futures at once, and
    the generated ones in k blocks, block j holding the j-th future of every context. Repeating each
    context's real future k times scores exactly 0.

    Args:
        real: log returns of the realised futures, [contexts, t, d], contexts >= 3.
        futures: log returns generated for the same contexts in the same order, [contexts, k, t, d].

    Raises:
        DataError: fewer than 3 real futures.
        UsageError: the futures have a wrong shape.
    """
    ours, theirs = known("real", real, 3), answer("futures", futures, 4)
    if theirs.shape[0] != ours.shape[0] or theirs.shape[2:] != ours.shape[1:]:
        raise UsageError(
            f"futures have shape {theirs.shape}, expected [{ours.shape[0]}, k, {ours.shape[1]}, {ours.shape[2]}]"
        )
    if len(ours) < FEWEST_PATHS:
        raise DataError(f"a put price needs at least {FEWEST_PATHS} real futures, found {len(ours)}")
    # Block j is the j-th future of every context: one path a context, as on the real side.
    blocks = theirs.transpose(1, 0, 2, 3)
    errors = [
        abs(_mean(put_prices(blocks[..., d])) - float(put_prices(ours[None, ..., d])[0])) for d in range(ours.shape[2])
    ]
    return number("the put's pricing error", math.fsum(errors) / len(errors))


def _mean(prices: NDArray[np.float64]) -> float:
    """Mean of prices; of equal prices, exactly that price."""
    # Relative to the first: a sum of equal numbers over their count may be off by a bit, and must score 0.
    return float(prices[0] + (prices - prices[0]).mean())


def _exercised(
    spot: NDArray[np.float64], intrinsic: NDArray[np.float64], cash: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which paths [blocks, paths] are exercised now rather than held for ``cash``."""
    inside = intrinsic > 0.0
    weight = inside.astype(np.float64)
    count = weight.sum(axis=1)
    enough = count >= FEWEST_PATHS
    safe = np.where(enough, count, 1.0)[:, None]
    # Only prices in the money matter, and those are below the strike; standardised, the squares stay well conditioned.
    s = np.where(inside, spot, 0.0)
    mean = s.sum(axis=1, keepdims=True) / safe
    centred = np.where(inside, s - mean, 0.0)
    deviation = np.sqrt((centred * centred).sum(axis=1, keepdims=True) / safe)
    u = centred / np.where(deviation > 0.0, deviation, 1.0)
    design = np.stack((weight, u, u * u), axis=2)
    # A pseudo-inverse: with few different prices, the three columns depend on one another.
    gram = design.transpose(0, 2, 1) @ design
    coefficients = np.linalg.pinv(gram, rcond=1e-12, hermitian=True) @ (
        design.transpose(0, 2, 1) @ (weight * cash)[:, :, None]
    )
    continuation = (design @ coefficients)[:, :, 0]
    decision: NDArray[np.bool_] = inside & enough[:, None] & (intrinsic > continuation)
    return decision


METRICS = (
    Metric(
        "american_put_error",
        american_put_error,
        "futures",
        "gap of American put prices",
        "price, spot 100",
        "Tao, Ni and Liu 2024, corrected",
        minimum_rows=3,
        differs=(
            "the recursion begins at the last step (the code's two steps before it), and both sides are priced on one "
            "path a context"
        ),
    ),
)
