"""The simulators: closed forms of their parts, consistency of their bars, and what an estimator finds."""

import dataclasses
import math

import numpy as np
import pytest
from arch import arch_model
from statsmodels.tsa.stattools import acf

from openfingym.data.processes.book import OrderBookBars
from openfingym.data.processes.draws import stream
from openfingym.data.processes.factor_garch import HOURS_PER_YEAR, PAIRS, CryptoPair, FactorGarch
from openfingym.data.processes.garch import Garch
from openfingym.data.processes.ohlcv import DAYS_PER_YEAR, STOCKS, DailyBars
from openfingym.errors import DataError

FLAT = Garch(0.0, 0.0)


def columns(process, paths):
    return dict(zip(process.channels, np.moveaxis(paths, 2, 0), strict=True))


def test_an_estimator_finds_the_market_again():
    process = FactorGarch((CryptoPair("a", 0.6, 1.0),), 15_000, "log_returns")
    returns = process.paths(stream(1), 1)[0, :, 0] / (0.6 / math.sqrt(HOURS_PER_YEAR))
    fit = arch_model(returns, mean="Zero", dist="t", rescale=False).fit(disp="off").params
    assert fit["alpha[1]"] == pytest.approx(process.market.alpha, abs=0.02)
    assert fit["beta[1]"] == pytest.approx(process.market.beta, abs=0.03)
    assert fit["nu"] == pytest.approx(5.0, abs=0.5)


def test_garch_moments():
    """Kurtosis and autocorrelation of squares in closed form (Bollerslev 1986)."""
    a, b, k = 0.1, 0.8, 50.0
    process = FactorGarch((CryptoPair("a", 1.0, 1.0),), 2_000, "log_returns", market=Garch(a, b), degrees_of_freedom=k)
    returns = process.paths(stream(2), 300)[:, :, 0]
    noise = 3 + 6 / (k - 4)
    kurtosis = noise * (1 - (a + b) ** 2) / (1 - (a + b) ** 2 - (noise - 1) * a * a)
    assert (returns**4).mean() / (returns**2).mean() ** 2 == pytest.approx(kurtosis, rel=0.06)
    found = np.mean([acf(path**2, nlags=2)[1:] for path in returns], axis=0)
    first = a * (1 - a * b - b * b) / (1 - 2 * a * b - b * b)
    assert found == pytest.approx([first, (a + b) * first], abs=0.02)


def test_crypto_variances_and_correlations():
    process = FactorGarch(PAIRS, 60, "log_returns", market=FLAT, own=FLAT, degrees_of_freedom=20.0, burn_in=0)
    returns = process.paths(stream(3), 1_500).reshape(-1, 20)
    assert returns.std(axis=0) * math.sqrt(HOURS_PER_YEAR) == pytest.approx(
        [pair.volatility for pair in PAIRS], rel=0.02
    )
    a = np.array([pair.market for pair in PAIRS])
    expected = np.outer(a, a)
    np.fill_diagonal(expected, 1.0)
    assert np.corrcoef(returns.T) == pytest.approx(expected, abs=0.02)


def test_correlations_rise_with_the_market_variance():
    returns = FactorGarch(PAIRS[:4], 60, "log_returns").paths(stream(4), 3_000)
    calm_first = np.argsort((returns[:, :59] ** 2).mean(axis=(1, 2)))
    last = returns[:, 59]
    calm, wild = (np.corrcoef(last[part].T)[np.triu_indices(4, 1)].mean() for part in np.array_split(calm_first, 2))
    assert wild > calm + 0.02


def test_prices_are_those_of_the_returns():
    prices = FactorGarch(PAIRS[:3], 30, "prices").paths(stream(5), 4)
    returns = FactorGarch(PAIRS[:3], 30, "log_returns").paths(stream(5), 4)
    assert np.log(prices) == pytest.approx(np.cumsum(returns, axis=1), abs=1e-12)


def test_bars_are_consistent():
    process = DailyBars()
    bar = columns(process, process.paths(stream(6), 1_000))
    assert (bar["high"] >= np.maximum(bar["open"], bar["close"])).all()
    assert (bar["low"] <= np.minimum(bar["open"], bar["close"])).all()
    assert (bar["low"] > 0).all()
    assert (bar["volume"] > 0).all()
    assert len(process.stocks) == 10


def test_highs_and_lows_are_those_of_brownian_motion():
    """E[max^2] = s^2 by reflection, E[range^2] = 4 log(2) s^2 (Parkinson 1980), for s^2 the session's variance."""
    stock = dataclasses.replace(STOCKS[0], volatility=0.3)
    process = DailyBars(stocks=(stock,), garch=FLAT, degrees_of_freedom=1_000)
    bar = columns(process, process.paths(stream(7), 4_000))
    session = 0.3**2 / DAYS_PER_YEAR * (1 - process.overnight)
    assert (np.log(bar["close"] / bar["open"]) ** 2).mean() == pytest.approx(session, rel=0.03)
    assert (np.log(bar["high"] / bar["open"]) ** 2).mean() == pytest.approx(session, rel=0.03)
    assert (np.log(bar["low"] / bar["open"]) ** 2).mean() == pytest.approx(session, rel=0.03)
    assert (np.log(bar["high"] / bar["low"]) ** 2).mean() == pytest.approx(4 * math.log(2) * session, rel=0.03)
    gaps = np.log(bar["open"][:, 1:] / bar["close"][:, :-1])
    assert (gaps**2).mean() == pytest.approx(0.3**2 / DAYS_PER_YEAR * process.overnight, rel=0.03)


def test_ohlcv_is_near_its_calibration_targets():
    """Means over AAPL, GOOG, IBM and MSFT, 2004-09 to 2013-03; see docs/synthetic.md."""
    process = DailyBars(steps=2_000)
    bar = columns(process, process.paths(stream(8), 20))
    close = np.diff(np.log(bar["close"]))
    gap, session = np.log(bar["open"][:, 1:] / bar["close"][:, :-1]), np.log(bar["close"] / bar["open"])[:, 1:]
    volume = np.log(bar["volume"])
    assert np.mean([acf(np.abs(path), nlags=1)[1] for path in close]) == pytest.approx(0.21, abs=0.07)
    assert (gap**2).mean() / ((gap**2).mean() + (session**2).mean()) == pytest.approx(0.343, abs=0.03)
    assert volume.std(axis=1).mean() == pytest.approx(0.38, abs=0.03)
    assert np.mean([acf(path, nlags=1)[1] for path in volume]) == pytest.approx(0.595, abs=0.05)
    size = np.log(np.abs(close) + 1e-4)
    assert np.mean([np.corrcoef(v[1:], s)[0, 1] for v, s in zip(volume, size, strict=True)]) == pytest.approx(
        0.38, abs=0.12
    )
    fit = arch_model(100 * close[0], mean="Zero", o=1, dist="t", rescale=False).fit(disp="off").params
    assert fit["alpha[1]"] + fit["gamma[1]"] / 2 + fit["beta[1]"] == pytest.approx(process.garch.persistence, abs=0.02)


def test_the_book_never_crosses():
    process = OrderBookBars()
    bar = columns(process, process.paths(stream(9), 1_000))
    assert process.channels[:5] == ("last", "bid_1", "ask_1", "bid_2", "ask_2")
    assert len(process.channels) == 14
    assert (bar["bid_2"] < bar["bid_1"]).all()
    assert (bar["bid_1"] < bar["ask_1"]).all()
    assert (bar["ask_1"] < bar["ask_2"]).all()
    assert ((bar["last"] == bar["bid_1"]) | (bar["last"] == bar["ask_1"])).all()
    for name in process.channels[:5]:
        assert np.abs(bar[name] / 0.01 - np.rint(bar[name] / 0.01)).max() < 1e-6
    for name in process.channels[5:13]:
        assert (bar[name] == np.floor(bar[name])).all()
        assert (bar[name] >= (1 if "size" in name else 0)).all()
    for side in ("buy", "sell"):
        assert (bar[f"{side}_trades"] <= bar[f"{side}_volume"]).all()
        assert ((bar[f"{side}_trades"] > 0) == (bar[f"{side}_volume"] > 0)).all()


def test_book_laws_in_closed_form():
    process = OrderBookBars(garch=FLAT, tick=1e-7, degrees_of_freedom=50.0, burn_in=0)
    bar = columns(process, process.paths(stream(10), 3_000))
    returns = np.diff(np.log((bar["bid_1"] + bar["ask_1"]) / 2))
    assert returns.std() == pytest.approx(2e-4, rel=0.01)
    lagged = (returns[:, 1:] * returns[:, :-1]).mean() / returns.var()
    assert lagged == pytest.approx(process.impact**2 * process.flow_ar, abs=0.01)
    ticks = (bar["ask_1"] - bar["bid_1"]) / process.tick
    assert ticks.mean() == pytest.approx(1 + 0.3 / 0.7, rel=0.01)
    assert ((bar["bid_1"] - bar["bid_2"]) / process.tick).mean() == pytest.approx(1 + 0.2 / 0.8, rel=0.01)
    sizes = np.log(bar["ask_size_1"])
    assert np.median(sizes) == pytest.approx(process.log_size, abs=0.05)
    assert sizes.std() == pytest.approx(process.size_sd, rel=0.04)
    assert np.corrcoef(sizes[:, 1:].ravel(), sizes[:, :-1].ravel())[0, 1] == pytest.approx(process.depth_ar, abs=0.02)
    both = np.corrcoef(sizes.ravel(), np.log(bar["bid_size_2"]).ravel())[0, 1]
    assert both == pytest.approx(0.5, abs=0.04)
    volume = np.log(bar["buy_volume"] + bar["sell_volume"] + 1)
    assert np.corrcoef(volume[:, 1:].ravel(), volume[:, :-1].ravel())[0, 1] == pytest.approx(
        process.activity_ar, abs=0.02
    )


def test_book_prices_move_with_the_flow_and_cluster():
    process = dataclasses.replace(OrderBookBars(), steps=15_000)
    bar = columns(process, process.paths(stream(11), 1))
    returns = np.diff(np.log((bar["bid_1"] + bar["ask_1"])[0] / 2))
    imbalance = ((bar["buy_volume"] - bar["sell_volume"]) / (bar["buy_volume"] + bar["sell_volume"]))[0, 1:]
    assert np.corrcoef(returns, imbalance)[0, 1] == pytest.approx(process.impact, abs=0.06)
    fit = arch_model(1e4 * returns, mean="Zero", dist="t", rescale=False).fit(disp="off").params
    assert fit["alpha[1]"] + fit["beta[1]"] == pytest.approx(process.garch.persistence, abs=0.03)
    realised = bar["realised_volatility_bp"][0, 1:]
    # E[h] = 1, and the square of a lognormal of mean 1 and log deviation 0.2 has mean exp(0.04).
    assert (realised**2).mean() == pytest.approx(4.0 * math.exp(0.04), rel=0.15)
    assert np.corrcoef(realised, np.abs(returns))[0, 1] > 0.2


@pytest.mark.parametrize(
    "make",
    [
        lambda: FactorGarch((CryptoPair("a", 0.6, 1.1),), 10, "prices"),
        lambda: FactorGarch((), 10, "prices"),
        lambda: FactorGarch(PAIRS, 10, "prices", degrees_of_freedom=4.0),
        lambda: DailyBars(overnight=1.0),
        lambda: DailyBars(stocks=()),
        lambda: OrderBookBars(flow_ar=1.0),
        lambda: OrderBookBars(spread_q=0.95),
    ],
)
def test_parameters_that_make_no_process(make):
    with pytest.raises(DataError):
        make()
