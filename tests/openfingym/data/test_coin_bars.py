"""Bars of simulated coins: consistent by construction, around the closes of the panel simulator, with the facts they
are there for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats
from statsmodels.tsa.stattools import acf

from openfingym.data import dataset, load_panel
from openfingym.data.bars import Bars
from openfingym.data.coin_bars import CoinBars
from openfingym.data.models import read_model
from openfingym.data.simulate import PERIODS_PER_YEAR, Channel, PanelSimulator, simulate
from openfingym.errors import DataError

FLAT = PanelSimulator(
    seed=5,
    start="2020-01-01",
    calendar="hours",
    rows=20_000,
    burn_in=50,
    digits=12,
    degrees_of_freedom=60.0,
    alpha=0.0,
    gamma=0.0,
    beta=0.0,
    ar=0.0,
    lead=0.0,
    channels=(Channel("a", "s", 100.0, 0.6, 0.0, 0.0),),
)
"""Nearly a Brownian motion: shocks all but normal, one variance."""


@pytest.fixture(scope="module")
def bars() -> Bars:
    return Bars.from_panel(load_panel("sim-crypto-bars"))


def test_closes_are_those_of_the_panel_simulator(bars: Bars) -> None:
    model = read_model(dataset.SERIES / "sim-crypto-bars.toml")
    assert isinstance(model, CoinBars)
    times, closes = simulate(model.panel)
    assert np.array_equal(bars.times, times)
    # The bars exponentiate sums in another order, so that a rounding may fall to the other side.
    assert bars.close == pytest.approx(closes, rel=2e-5)


def test_bars_are_consistent_and_all_trade(bars: Bars) -> None:
    assert bars.symbols == ("btc", "eth", "sol")
    assert bars.tradable.all()
    assert (bars.high > bars.low).all()
    gaps = np.log(bars.open[1:] / bars.close[:-1]).std(axis=0) / np.diff(np.log(bars.close), axis=0).std(axis=0)
    assert gaps == pytest.approx(np.full(3, np.sqrt(0.005)), rel=0.1)


def test_stylised_facts(bars: Bars) -> None:
    returns = np.diff(np.log(bars.close), axis=0)
    model = read_model(dataset.SERIES / "sim-crypto-bars.toml")
    assert isinstance(model, CoinBars)
    stated = np.array([channel.volatility for channel in model.panel.channels])
    assert returns.std(axis=0) * np.sqrt(PERIODS_PER_YEAR["hours"]) == pytest.approx(stated, rel=0.15)
    assert stats.kurtosis(returns).min() > 1.0
    parkinson = (np.log(bars.high / bars.low) ** 2).mean(axis=0) / (4.0 * np.log(2.0))
    assert parkinson / returns.var(axis=0) == pytest.approx(np.ones(3), abs=0.15)
    volume = np.log(bars.volume[1:])
    for coin in range(3):
        assert 0.2 < np.corrcoef(volume[:, coin], np.log(np.abs(returns[:, coin]) + 1e-12))[0, 1] < 0.5
        assert acf(volume[:, coin], nlags=1)[1] > 0.6
        assert acf(returns[:, coin] ** 2, nlags=5)[1:].mean() > 0.05
        assert abs(acf(returns[:, coin], nlags=1)[1]) < 0.1


def test_btc_leads_eth_and_not_the_reverse(bars: Bars) -> None:
    returns = np.diff(np.log(bars.close), axis=0)
    slopes = np.linalg.lstsq(returns[:-1, :2], returns[1:, :2], rcond=None)[0]
    stated = np.array([0.52, 0.64])
    assert slopes[0, 1] == pytest.approx(0.12 * stated[1] / stated[0], abs=0.03)
    assert slopes[1, 0] == pytest.approx(0.0, abs=0.03)


def test_highs_of_a_brownian_motion_have_the_law_of_its_maximum() -> None:
    """Reflection principle: the maximum of a Brownian motion over its start is |N(0, s^2)|."""
    one = CoinBars(FLAT, (100.0,), moves=1, gap=0.0, volume_elasticity=0.0, volume_ar=0.0, volume_sd=1.0)
    times, values = one.generate()
    assert len(times) == FLAT.rows
    start, close = np.log(values[:, 0]), np.log(values[:, 3])
    returns = close - start
    scale = 0.6 / np.sqrt(8760.0)
    variance = 0.5 * (scale**2 + returns**2)
    for reach, sign in ((np.log(values[:, 1]) - start, 1.0), (start - np.log(values[:, 2]), -1.0)):
        # Given the end point y and the variance s^2, exp(-2 m (m - y) / s^2) is uniform for the maximum m of a bridge.
        uniform = np.exp(-2.0 * reach * (reach - sign * returns) / variance)
        assert stats.kstest(uniform, stats.uniform.cdf).pvalue > 0.01
    assert stats.kstest(np.log(values[:, 4] / 100.0), stats.norm.cdf).pvalue > 0.01


def test_moves_within_a_bar_end_at_its_close_for_any_number_of_them() -> None:
    for moves in (1, 3, 24):
        made = CoinBars(
            FLAT, (100.0,), moves=moves, gap=0.1, volume_elasticity=0.3, volume_ar=0.5, volume_sd=0.1
        ).generate()[1]
        assert made[:, 3] == pytest.approx(simulate(FLAT)[1][:, 0], rel=1e-9)
        opened = np.log(made[1:, 0] / made[:-1, 3])
        assert opened.std() == pytest.approx(np.sqrt(0.1) * 0.6 / np.sqrt(8760.0), rel=0.05)


def test_parameters_that_make_no_bars_are_refused() -> None:
    fine = CoinBars(FLAT, (100.0,), moves=1, gap=0.0, volume_elasticity=0.0, volume_ar=0.0, volume_sd=1.0)
    for change in ({"moves": 0}, {"gap": 1.0}, {"volume_ar": 1.0}, {"median_volume": ()}, {"median_volume": (0.0,)}):
        with pytest.raises(DataError):
            dataclasses.replace(fine, **change)
