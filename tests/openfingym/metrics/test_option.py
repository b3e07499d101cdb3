"""The American put against QuantLib and a plain least-squares recursion."""

import math

import numpy as np
import pytest

from openfingym.errors import DataError, UsageError
from openfingym.metrics.option import RATE, STRIKE, YEARS_PER_STEP, american_put_error, put_prices

VOLATILITY = 0.3


def geometric(rng, blocks, paths, steps):
    drift = (RATE - VOLATILITY**2 / 2) * YEARS_PER_STEP
    return drift + VOLATILITY * math.sqrt(YEARS_PER_STEP) * rng.standard_normal((blocks, paths, steps))


def plain(returns):
    """Longstaff and Schwartz with numpy.polyfit, one block [paths, steps]."""
    spot = 100.0 * np.exp(np.cumsum(returns, axis=1))
    discount = math.exp(-RATE * YEARS_PER_STEP)
    cash = np.maximum(STRIKE - spot[:, -1], 0.0)
    for t in range(spot.shape[1] - 2, -1, -1):
        cash = cash * discount
        inside = spot[:, t] < STRIKE
        if inside.sum() >= 3:
            held = np.polyval(np.polyfit(spot[inside, t] - 95.0, cash[inside], 2), spot[inside, t] - 95.0)
            now = STRIKE - spot[inside, t]
            cash[inside] = np.where(now > held, now, cash[inside])
    return discount * cash.mean()


def test_agrees_with_the_plain_recursion():
    returns = geometric(np.random.default_rng(0), 6, 128, 8)
    assert put_prices(returns) == pytest.approx([plain(block) for block in returns], rel=1e-8)


def test_agrees_with_quantlib():
    ql = pytest.importorskip("QuantLib")
    today = ql.Date(1, 1, 2024)
    ql.Settings.instance().evaluationDate = today
    steps = 10
    calendar = ql.NullCalendar()
    # one exercise date every 365 days stands for one step; rate and variance are scaled to match
    flat = ql.YieldTermStructureHandle(ql.FlatForward(today, RATE * YEARS_PER_STEP, ql.Actual365Fixed()))
    variance = VOLATILITY * math.sqrt(YEARS_PER_STEP)
    surface = ql.BlackVolTermStructureHandle(ql.BlackConstantVol(today, calendar, variance, ql.Actual365Fixed()))
    process = ql.BlackScholesProcess(ql.QuoteHandle(ql.SimpleQuote(100.0)), flat, surface)
    dates = [today + 365 * k for k in range(1, steps + 1)]
    option = ql.VanillaOption(ql.PlainVanillaPayoff(ql.Option.Put, STRIKE), ql.BermudanExercise(dates))
    option.setPricingEngine(ql.FdBlackScholesVanillaEngine(process, 800, 800))
    price = float(put_prices(geometric(np.random.default_rng(1), 1, 200_000, steps))[0])
    assert price == pytest.approx(option.NPV(), rel=0.01)


def test_the_last_steps_matter():
    returns = geometric(np.random.default_rng(2), 1, 500, 6)
    wild = returns.copy()
    wild[:, :, -1] *= 10.0
    assert put_prices(wild)[0] > 1.3 * put_prices(returns)[0]


def test_a_perfect_generator_scores_zero_and_blocks_share_their_bias():
    rng = np.random.default_rng(3)
    futures = geometric(rng, 20, 128, 5)[..., None]
    assert american_put_error(futures.reshape(-1, 5, 1), futures) == 0.0
    fresh = geometric(rng, 200, 128, 5)[..., None]
    pooled = float(put_prices(fresh.reshape(1, -1, 5))[0])
    small = float(put_prices(fresh[..., 0]).mean())
    assert small - pooled > 0.02  # the upward bias of 128 paths, which both sides must carry
    assert american_put_error(geometric(rng, 200, 128, 5).reshape(-1, 5, 1), fresh) < small - pooled


def test_a_falling_knife_is_exercised_and_a_flat_path_is_worth_nothing():
    assert put_prices(np.zeros((2, 5, 4))).tolist() == [0.0, 0.0]
    falling = np.full((1, 5, 3), -0.1)
    assert put_prices(falling)[0] == pytest.approx(math.exp(-3 * RATE * YEARS_PER_STEP) * 100 * (1 - math.exp(-0.3)))


def test_faults():
    with pytest.raises(UsageError, match="at least 3 paths"):
        put_prices(np.zeros((1, 2, 4)))
    with pytest.raises(DataError, match="3 real futures"):
        american_put_error(np.zeros((2, 4, 1)), np.zeros((1, 5, 4, 1)))
    with pytest.raises(UsageError, match="expected"):
        american_put_error(np.zeros((5, 4, 1)), np.zeros((1, 5, 3, 1)))
