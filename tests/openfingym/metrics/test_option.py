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


def test_repeating_what_happened_scores_exactly_zero_whatever_k():
    real = geometric(np.random.default_rng(3), 1, 251, 5)[0][..., None]
    for k in (1, 2, 7, 128):
        assert american_put_error(real, np.repeat(real[:, None], k, axis=1)) == 0.0


def test_blocks_hold_one_path_a_context():
    rng = np.random.default_rng(4)
    real, futures = geometric(rng, 1, 60, 5)[0][..., None], geometric(rng, 60, 8, 5)[..., None]
    expected = abs(np.mean([plain(futures[:, j, :, 0]) for j in range(8)]) - plain(real[..., 0]))
    assert american_put_error(real, futures) == pytest.approx(expected)
    # which future of a context stands in which block is the agent's choice and means nothing beyond the noise of the
    # pairing
    assert american_put_error(real, futures[:, ::-1]) == pytest.approx(expected)


def test_both_sides_carry_the_bias_of_few_paths_and_the_mixture_over_contexts():
    rng = np.random.default_rng(5)
    contexts, k = 2000, 16
    drifts = 0.05 * rng.standard_normal((contexts, 1, 1))  # each context has a price of its own, far from the mixture's
    real, futures = (drifts + geometric(rng, contexts, count, 5) for count in (1, k))
    error = american_put_error(real[:, 0, :, None], futures[..., None])
    by_context = abs(float(put_prices(futures).mean()) - float(put_prices(real.transpose(1, 0, 2))[0]))
    assert error < 0.5 * by_context
    pooled = float(put_prices(geometric(rng, 1, 200_000, 5))[0])
    assert float(put_prices(geometric(rng, 400, 128, 5)).mean()) - pooled > 0.02


def test_a_falling_knife_is_exercised_and_a_flat_path_is_worth_nothing():
    assert put_prices(np.zeros((2, 5, 4))).tolist() == [0.0, 0.0]
    falling = np.full((1, 5, 3), -0.1)
    assert put_prices(falling)[0] == pytest.approx(math.exp(-3 * RATE * YEARS_PER_STEP) * 100 * (1 - math.exp(-0.3)))


def test_faults():
    with pytest.raises(UsageError, match="at least 3 paths"):
        put_prices(np.zeros((1, 2, 4)))
    with pytest.raises(DataError, match="3 real futures"):
        american_put_error(np.zeros((2, 4, 1)), np.zeros((2, 5, 4, 1)))
    with pytest.raises(UsageError, match=r"expected \[5, k, 4, 1\]"):
        american_put_error(np.zeros((5, 4, 1)), np.zeros((5, 5, 3, 1)))
    with pytest.raises(UsageError, match=r"expected \[5, k, 4, 1\]"):
        american_put_error(np.zeros((5, 4, 1)), np.zeros((4, 5, 4, 1)))
