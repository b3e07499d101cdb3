"""Minute bars of the simulated book: consistent bar by bar, and lawful on average."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from statsmodels.tsa.stattools import acf

from openfingym.data import dataset, dataset_info, load_panel
from openfingym.data.book_bars import CHANNELS, UNITS, autoregression
from openfingym.data.models import read_model
from openfingym.errors import DataError

NAME = "sim-lob-bars"


def model(**change):
    return dataclasses.replace(read_model(dataset.SERIES / f"{NAME}.toml"), **change)


@pytest.fixture(scope="module")
def bar():
    return dict(zip(CHANNELS, load_panel(NAME).values.T, strict=True))


def test_what_is_stated():
    assert dataset_info(NAME).channels == CHANNELS
    assert dataset_info(NAME).units == UNITS
    assert set(np.diff(load_panel(NAME).times).tolist()) == {60_000_000_000}


@pytest.mark.parametrize("seed", [20260703, 1, 2])
@pytest.mark.parametrize("log_volume", [4.3, 0.0, 7.0])
def test_every_bar_is_consistent(seed, log_volume):
    """Also where hardly anything trades, and where every order walks the book."""
    made = model(seed=seed, log_volume=log_volume, rows=800).generate()[1]
    bar = dict(zip(CHANNELS, made.T, strict=True))
    for price in ("open", "close", "vwap"):
        assert (bar["low"] <= bar[price]).all()
        assert (bar[price] <= bar["high"]).all()
    for price in ("open", "high", "low", "close", "spread"):
        assert (bar[price] == (100 * bar[price]).round() / 100).all()
    assert (bar["volume"] == bar["buy_volume"] + bar["sell_volume"]).all()
    assert (bar["n_trades"] >= 12).all()
    assert (bar["n_trades"] <= bar["volume"]).all()
    for count in ("volume", "n_trades", "buy_volume", "sell_volume", "bid_size", "ask_size"):
        assert (bar[count] == bar[count].round()).all()
        assert (bar[count] >= 0).all()
    assert bar["spread"].min() >= 0.01
    assert min(bar["bid_size"].min(), bar["ask_size"].min()) >= 2
    assert bar["imbalance"] == pytest.approx(
        (bar["bid_size"] - bar["ask_size"]) / (bar["bid_size"] + bar["ask_size"]), abs=1e-6
    )


def test_a_large_order_walks_to_the_second_level():
    """With one lot a level and a spread of a tick, bars of one step reach over the first quotes exactly when volume
    does."""
    one = model(
        rows=3_000, steps_per_bar=1, log_size=-9.0, size_sd=0.0, size_flow=0.0, spread_q=1e-12, alpha=0.0, beta=0.0
    )
    bar = dict(zip(CHANNELS, one.generate()[1].T, strict=True))
    assert (bar["spread"] == 0.01).all()
    assert bar["buy_volume"].max() <= 2
    both = (bar["buy_volume"] == 2) & (bar["sell_volume"] == 2)
    width = (100 * (bar["high"] - bar["low"])).round()
    assert both.any()
    assert (width[both] >= 3).all()
    assert (width[(bar["buy_volume"] == 1) & (bar["sell_volume"] == 1)] == 1).all()


def test_a_bar_of_one_step_trades_at_the_quotes():
    one = model(rows=3_000, steps_per_bar=1, log_volume=0.0, log_size=9.0)
    bar = dict(zip(CHANNELS, one.generate()[1].T, strict=True))
    single = (bar["buy_volume"] == 0) | (bar["sell_volume"] == 0)
    assert single.any()
    assert (bar["high"][single] == bar["low"][single]).all()
    assert (100 * (bar["high"] - bar["low"]))[~single] == pytest.approx(100 * bar["spread"][~single])
    assert (bar["open"][~single] != bar["close"][~single]).all()


def test_stylised_facts(bar):
    returns = np.diff(np.log(bar["close"]))
    assert stats.kurtosis(returns) > 0.5
    assert acf(returns**2, nlags=5)[1:].mean() > 0.03
    assert acf(bar["volume"], nlags=1)[1] > 0.3
    assert acf(bar["spread"], nlags=1)[1] > 0.0
    assert np.corrcoef(bar["volume"], bar["realised_vol"])[0, 1] > 0.1
    assert np.corrcoef(bar["bid_size"] + bar["ask_size"], bar["realised_vol"])[0, 1] < 0.0
    realised = np.sqrt((bar["realised_vol"] ** 2).mean()) / 1e4
    assert realised == pytest.approx(np.sqrt(12) * 1.5e-4, rel=0.15)
    # Prices move on ticks and between bid and ask, which adds to the variance of the mid.
    assert realised * 0.9 < returns.std() < realised * 1.4


def test_the_flow_predicts_a_little(bar):
    returns = np.diff(np.log(bar["close"]))
    flow = (bar["buy_volume"] - bar["sell_volume"]) / bar["volume"]
    for signal in (flow, bar["imbalance"]):
        assert 0.005 < np.corrcoef(signal[:-1], returns)[0, 1] ** 2 < 0.05
        assert np.corrcoef(signal[:-1], returns)[0, 1] > 0
    mute = model(impact=0.0, rows=6_400).generate()[1]
    bare = dict(zip(CHANNELS, mute.T, strict=True))
    assert np.corrcoef(bare["imbalance"][:-1], np.diff(np.log(bare["close"])))[0, 1] ** 2 < 0.005


def test_the_autoregression_has_its_law():
    path = autoregression(np.random.default_rng(0).normal(size=100_000), 0.8)
    assert path.std() == pytest.approx(1.0, abs=0.03)
    assert acf(path, nlags=2)[1:] == pytest.approx([0.8, 0.64], abs=0.02)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"impact": 1.0}, r"in \[0, 1\)"),
        ({"alpha": 0.5, "beta": 0.6}, r"in \[0, 1\)"),
        ({"spread_q": 0.0}, "spread_q"),
        ({"degrees_of_freedom": 4.0}, "degrees of freedom"),
        ({"rows": 0}, "a bar"),
        ({"burn_in": 0}, "burn-in"),
    ],
)
def test_parameters_that_make_no_book(change, words):
    with pytest.raises(DataError, match=words):
        model(**change)
