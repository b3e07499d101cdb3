"""Mean reversion and trend following against a trader who walks one path at a time."""

import numpy as np
import pytest

from openfingym.errors import DataError
from openfingym.metrics.cases import drifting_paths
from openfingym.metrics.threshold_strategies import dynamic_tail_error, threshold_profits


def walk(increments, signal, low, high, direction):
    """Profit on one path [t] of one asset: a position in words."""
    prices = 1.0 + np.concatenate(([0.0], np.cumsum(increments)))
    short = long = 0
    profit = 0.0
    for t in range(1, len(prices) - 1):
        before, now = signal(prices, t - 1), signal(prices, t)
        if before is None:
            continue
        if before < 0 <= now or before > 0 >= now:
            short = long = 0
        if before < high <= now:
            short = 1
        if before > low >= now:
            long = 1
        profit += 10.0 * direction * (short - long) * (prices[t + 1] - prices[t])
    return profit


def reversion(width):
    return lambda prices, t: None if t < width else prices[t] - prices[: width + 1].mean()


def trend(width):
    def signal(prices, t):
        return (
            None
            if t < 2 * width - 1
            else prices[t - width + 1 : t + 1].mean() - prices[t - 2 * width + 1 : t + 1].mean()
        )

    return signal


def levels(real, signal, asset):
    prices = 1.0 + np.concatenate((np.zeros((len(real), 1)), np.cumsum(real[:, :, asset], axis=1)), axis=1)
    z = [signal(row, t) for row in prices for t in range(prices.shape[1])]
    return np.quantile([value for value in z if value is not None], (0.31, 0.69))


@pytest.mark.parametrize("steps", [20, 33])
def test_agrees_with_a_trader_who_walks_each_path(steps):
    rng = np.random.default_rng(0)
    real, fake = rng.standard_normal((2, 30, steps, 2)) / 100
    width = steps // 10
    got = threshold_profits(real, fake)[1]
    assert threshold_profits(real, real)[0].tolist() == threshold_profits(real, fake)[0].tolist()
    assert got.shape == (4, 30)
    expected = []
    for signal, direction in ((reversion(width), -1.0), (trend(width), 1.0)):
        for asset in range(2):
            low, high = levels(real, signal, asset)
            expected.append([walk(path[:, asset], signal, low, high, direction) for path in fake])
    assert got == pytest.approx(np.array(expected), abs=1e-12)
    assert np.count_nonzero(got) > got.size / 2


def test_the_unit_does_not_matter():
    rng = np.random.default_rng(2)
    real, fake = drifting_paths(rng, 400, 60), drifting_paths(rng, 400, 60)
    assert threshold_profits(1e-3 * real, 1e-3 * fake)[1] == pytest.approx(
        1e-3 * threshold_profits(real, fake)[1], rel=1e-9
    )
    assert dynamic_tail_error(7 * real, 7 * fake) == pytest.approx(dynamic_tail_error(real, fake), rel=1e-9)


def test_dependence_in_time_shows_where_static_portfolios_are_blind():
    from openfingym.metrics.portfolios import relative_tail_error

    rng = np.random.default_rng(3)
    shocks = rng.standard_normal((6000, 100, 1))
    real, same = shocks[:3000], shocks[3000:]
    # alternating the sign of the same shocks within pairs keeps the law of the total nearly as it is, and kills trends
    anti = same.copy()
    anti[:, 1::2] = -0.9 * anti[:, ::2] + np.sqrt(1 - 0.81) * anti[:, 1::2]
    anti *= same.sum(axis=1).std() / anti.sum(axis=1).std()
    static = relative_tail_error(real, anti), relative_tail_error(real, same)
    dynamic = dynamic_tail_error(real, anti), dynamic_tail_error(real, same)
    assert static[0] < 0.15
    assert dynamic[1] < 0.1
    assert dynamic[0] > 5 * dynamic[1]


def test_too_short_to_trade_is_an_error():
    with pytest.raises(DataError, match="zero"):
        dynamic_tail_error(np.ones((5, 1, 2)), np.ones((5, 1, 2)))
