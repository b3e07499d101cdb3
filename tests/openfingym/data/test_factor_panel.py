"""Indicators against their definitions, and the panel that is made of them."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from openfingym.data import dataset, load_panel
from openfingym.data.factor_panel import parse_factor_panel
from openfingym.data.indicators import ema, macd, rsi
from openfingym.data.models import read_model
from openfingym.data.simulate import paths
from openfingym.errors import DataError

NAME = "sim-nifty50"
WALK = 100.0 + np.cumsum(np.random.default_rng(0).normal(size=300))


@pytest.fixture(scope="module")
def column():
    panel = load_panel(NAME)
    return dict(zip(panel.channels, panel.values.T, strict=True))  # noqa: PD011 - an array, not a data frame


def model():
    return read_model(dataset.SERIES / f"{NAME}.toml")


def test_an_average_of_a_ramp_lags_by_a_closed_form():
    """Of x(t) = t the EMA with decay q is t - (q / (1 - q)) (1 - q^t)."""
    t = np.arange(200.0)
    q = 1.0 - 2.0 / 13.0
    assert ema(t, 12) == pytest.approx(t - q / (1.0 - q) * (1.0 - q**t))
    # Far out both averages lag by (span - 1) / 2, so MACD is (26 - 12) / 2 times the slope.
    assert macd(t)[-1] == pytest.approx(7.0, abs=1e-4)


def test_averages_are_those_of_pandas():
    series = pd.Series(WALK)
    expected = series.ewm(span=12, adjust=False).mean() - series.ewm(span=26, adjust=False).mean()
    assert macd(WALK) == pytest.approx(expected.to_numpy())


def test_the_strength_index_of_known_walks():
    assert np.isnan(rsi(WALK)[:14]).all()
    assert (rsi(np.arange(1.0, 40.0))[14:] == 100.0).all()
    assert (rsi(np.arange(40.0, 1.0, -1.0))[14:] == 0.0).all()
    assert (rsi(np.full(20, 3.0))[14:] == 50.0).all()
    # Up 2, down 1, in turn: the first index is 100 * 14 / (14 + 7).
    zigzag = np.cumsum(np.tile([2.0, -1.0], 20))
    assert rsi(np.concatenate([[0.0], zigzag]))[14] == pytest.approx(100.0 * 14 / 21)


def test_the_strength_index_is_wilders_smoothing():
    changes = np.diff(WALK)
    smooth = []
    for side in (np.maximum(changes, 0.0), np.maximum(-changes, 0.0)):
        start = pd.Series([side[:14].mean(), *side[14:]])
        smooth.append(start.ewm(alpha=1 / 14, adjust=False).mean().to_numpy())
    assert rsi(WALK)[14:] == pytest.approx(100.0 - 100.0 / (1.0 + smooth[0] / smooth[1]))


def test_too_few_values_for_an_index():
    with pytest.raises(DataError, match="more than 14 values, found 14"):
        rsi(WALK[:14])


def test_the_indicators_are_those_of_the_prices_in_the_panel(column):
    assert column["macd"][450:] == pytest.approx(macd(column["nifty50"])[450:], abs=1e-4)
    assert column["rsi"][450:] == pytest.approx(rsi(column["nifty50"])[450:], abs=1e-4)
    # Started long before the first row, so the first rows are no start-up artefact.
    assert abs(column["macd"][0]) > 1.0
    assert 0.0 < column["rsi"].min() < 50.0 < column["rsi"].max() < 100.0


def test_the_volatility_index_expects_what_comes():
    """At no premium and no noise, the squared index is the mean variance of the next 21 days."""
    stated = model()
    flat = dataclasses.replace(
        stated, premium=1.0, noise=0.0, simulator=dataclasses.replace(stated.simulator, rows=40_000, spillovers=())
    )
    index = flat.generate()[1][:, 5] / 100.0
    longer = dataclasses.replace(flat.simulator, rows=40_000 + flat.warm_up)
    shocks = paths(longer).returns[flat.warm_up :, 0] - longer.drift / 252
    shocks[1:] -= longer.ar * shocks[:-1].copy()
    ahead = 252.0 * np.convolve(shocks**2, np.ones(21) / 21, mode="valid")[1:]
    expected = index[: len(ahead)] ** 2
    assert ahead.mean() == pytest.approx(expected.mean(), rel=0.05)
    slope = np.polyfit(expected, ahead, 1)[0]
    assert slope == pytest.approx(1.0, abs=0.15)


def test_the_index_is_high_when_the_market_has_fallen(column):
    returns = np.diff(np.log(column["nifty50"]))
    assert np.corrcoef(returns, np.diff(np.log(column["india_vix"])))[0, 1] < -0.3
    assert 100 * returns.std() * math.sqrt(252) == pytest.approx(column["india_vix"].mean() / 1.1, rel=0.15)


def test_the_factors_move_as_stated(column):
    returns = {name: np.diff(np.log(column[name])) for name in ("nifty50", "sp500", "usd_inr", "crude", "gold")}
    assert np.corrcoef(returns["nifty50"], returns["usd_inr"])[0, 1] == pytest.approx(-0.17, abs=0.06)
    assert np.corrcoef(returns["nifty50"], returns["sp500"])[0, 1] == pytest.approx(0.33, abs=0.06)
    assert np.corrcoef(returns["sp500"][:-1], returns["nifty50"][1:])[0, 1] ** 2 == pytest.approx(0.055, abs=0.02)
    assert returns["usd_inr"].std() * math.sqrt(252) == pytest.approx(0.066, rel=0.15)


@pytest.mark.parametrize(
    ("change", "error"), [({"warm_up": 5}, DataError), ({"noise_ar": 1.0}, DataError), ({"premum": 1.0}, TypeError)]
)
def test_tables_that_make_no_panel(change, error):
    import tomllib

    table = tomllib.loads((dataset.SERIES / f"{NAME}.toml").read_text())["simulator"]
    table.pop("model")
    with pytest.raises(error):
        parse_factor_panel({**table, **change})
