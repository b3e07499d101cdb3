"""The simulators: exact laws of their parts, and the stylised facts they are there for."""

import dataclasses
import functools
import math

import numpy as np
import pytest
from arch import arch_model
from scipy import stats
from statsmodels.tsa.stattools import acf

from openfingym import data
from openfingym.data import dataset
from openfingym.data.models import read_model
from openfingym.data.processes.draws import student_t
from openfingym.data.simulate import (
    PERIODS_PER_YEAR,
    Channel,
    LeadLag,
    PanelSimulator,
    calendar_times,
    paths,
    significant,
    simulate,
)
from openfingym.errors import DataError
from tests.sweeps import sweep

LED = ("sim-commodities", "sim-crypto", "sim-crypto-wide", "sim-us-equities")
NAMES = (*LED, "sim-global-indices", "sim-us-60")


@functools.cache
def load_panel(name):
    """Loaded once: each is drawn anew whenever it is loaded."""
    return data.load_panel(name)


def simulator(name):
    return read_model(dataset.SERIES / f"{name}.toml")


def log_returns(prices):
    return np.diff(np.log(prices), axis=0)


ONE = PanelSimulator(
    seed=3,
    start="2000-01-03",
    calendar="business-days",
    rows=12_000,
    burn_in=300,
    digits=9,
    degrees_of_freedom=6.0,
    alpha=0.08,
    gamma=0.06,
    beta=0.85,
    ar=0.0,
    lead=0.0,
    channels=(Channel("a", "s", 100.0, 0.2, 0.0, 0.0),),
)


@pytest.mark.parametrize("degrees", [4.5, 5.0, 12.0])
def test_shocks_follow_the_student_distribution(degrees):
    u, v = 1.0 - np.random.default_rng(0).random((2, 50_000))
    draws = student_t((u, v), degrees)
    scale = math.sqrt((degrees - 2.0) / degrees)
    assert stats.kstest(draws, stats.t(degrees, scale=scale).cdf).pvalue > 0.01


def test_an_estimator_finds_the_parameters_again():
    _, prices = simulate(ONE)
    fitted = (
        arch_model(1e4 * log_returns(prices)[:, 0], mean="Zero", p=1, o=1, q=1, dist="t", rescale=False)
        .fit(disp="off")
        .params
    )
    assert fitted["alpha[1]"] == pytest.approx(ONE.alpha, abs=0.025)
    assert fitted["gamma[1]"] == pytest.approx(ONE.gamma, abs=0.03)
    assert fitted["beta[1]"] == pytest.approx(ONE.beta, abs=0.03)
    assert fitted["nu"] == pytest.approx(ONE.degrees_of_freedom, abs=1.0)


def test_volatility_and_correlations_are_those_asked_for():
    channels = tuple(Channel(name, name[0], 10.0, 0.3, 0.5, 0.6) for name in ("a1", "a2", "b1"))
    flat = dataclasses.replace(ONE, alpha=0.0, gamma=0.0, beta=0.0, rows=40_000, channels=channels)
    returns = log_returns(simulate(flat)[1])
    assert returns.std(axis=0) * math.sqrt(252) == pytest.approx([0.3] * 3, rel=0.03)
    correlation = np.corrcoef(returns.T)
    assert correlation[0, 1] == pytest.approx(0.5**2 + 0.6**2, abs=0.03)
    assert correlation[0, 2] == pytest.approx(0.5**2, abs=0.03)


def test_a_follower_answers_its_leader_and_not_the_reverse():
    channels = (
        Channel("a1", "a", 10.0, 0.2, 0.0, 0.0),
        Channel("a2", "a", 10.0, 0.4, 0.0, 0.0),
        Channel("b1", "b", 10.0, 0.2, 0.0, 0.0),
    )
    flat = dataclasses.replace(ONE, alpha=0.0, gamma=0.0, beta=0.0, ar=-0.1, lead=0.2, rows=40_000, channels=channels)
    returns = log_returns(simulate(flat)[1])
    design = returns[:-1]
    slopes = np.linalg.lstsq(design, returns[1:], rcond=None)[0]
    expected = np.array([[-0.1, 0.2 * 2.0, 0.0], [0.0, -0.1, 0.0], [0.0, 0.0, -0.1]])
    assert slopes == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("name", NAMES)
def test_stylised_facts(name):
    parameters = simulator(name)
    returns = log_returns(load_panel(name).values)
    stated = np.array([channel.volatility for channel in parameters.channels])
    assert returns.std(axis=0) * math.sqrt(PERIODS_PER_YEAR[parameters.calendar]) == pytest.approx(stated, rel=0.35)
    assert stats.kurtosis(returns, axis=0).min() > 1.0
    linear = np.array([acf(column, nlags=5)[1:] for column in returns.T])
    clustered = np.array([acf(column**2, nlags=5)[1:] for column in returns.T])
    assert np.abs(linear).max() < 0.1
    assert clustered.mean(axis=0).min() > 0.05
    assert clustered.mean() > 5 * np.abs(linear).mean()


@pytest.mark.parametrize("name", [*LED, "sim-us-60"])
def test_sectors_move_together(name):
    parameters = simulator(name)
    correlation = np.corrcoef(log_returns(load_panel(name).values).T)
    sectors = np.array([channel.sector for channel in parameters.channels])
    same = (sectors[:, None] == sectors) & ~np.eye(len(sectors), dtype=bool)
    assert correlation[same].mean() > correlation[sectors[:, None] != sectors].mean() > 0.0
    assert correlation.min() > 0.0


@pytest.mark.parametrize("name", LED)
def test_the_predictability_is_there_and_small(name):
    """A regression of followers on their leader's last return, out of nothing but prices."""
    parameters = simulator(name)
    returns = log_returns(load_panel(name).values)
    names = [channel.sector for channel in parameters.channels]
    standard = returns / returns.std(axis=0)
    pairs = [(i, names.index(sector)) for i, sector in enumerate(names) if names.index(sector) != i]
    slopes = [np.linalg.lstsq(standard[:-1][:, [i, j]], standard[1:, i], rcond=None)[0][1] for i, j in pairs]
    assert np.mean(slopes) == pytest.approx(parameters.lead, abs=0.03)
    assert max(abs(slope) for slope in slopes) < 0.2


def test_spillovers_are_found_again_and_nothing_moves_new_york():
    parameters = simulator("sim-global-indices")
    returns = log_returns(load_panel("sim-global-indices").values)
    standard = returns / returns.std(axis=0)
    names = parameters.channel_names
    slopes = np.linalg.lstsq(standard[:-1], standard[1:], rcond=None)[0]
    for spill in parameters.spillovers:
        assert slopes[names.index(spill.source), names.index(spill.target)] == pytest.approx(spill.returns, abs=0.05)
    assert np.abs(slopes[1:, 0]).max() < 0.08


def test_news_from_new_york_raises_volatility_elsewhere_and_bad_news_more():
    names = simulator("sim-global-indices").channel_names
    returns = log_returns(load_panel("sim-global-indices").values)
    standard = returns / returns.std(axis=0)
    size = np.abs(standard[:-1, 0])
    good, bad = size * (standard[:-1, 0] > 0), size * (standard[:-1, 0] < 0)
    # Two days on, when New York's return itself has been passed on.
    after = [
        np.linalg.lstsq(np.column_stack([np.ones_like(good), good, bad])[:-1], standard[2:, j] ** 2, rcond=None)[0]
        for j in range(8)
    ]
    assert all(slopes[2] > slopes[1] for slopes in after)
    assert all(slopes[2] > 0.2 for slopes in after[names.index("n225") :])


def test_an_index_fits_like_the_index_it_imitates():
    """GJR-GARCH of the real S&P 500 and Nasdaq 1999 to 2018: gamma 0.13 to 0.18, beta 0.90 to 0.92, alpha nearly
    none."""
    returns = log_returns(data.load_panel("sim-global-indices", ["gspc"]).values)[:, 0]
    fitted = arch_model(100 * returns, p=1, o=1, q=1, dist="t").fit(disp="off").params
    assert fitted["alpha[1]"] < 0.03
    assert fitted["gamma[1]"] == pytest.approx(0.155, abs=0.03)
    assert fitted["beta[1]"] == pytest.approx(0.905, abs=0.02)
    # 7.5 and 9.2; the mix of two shocks of 6 degrees is near 8.
    assert 6.0 < fitted["nu"] < 10.0


def test_variance_spills_without_changing_its_mean():
    channels = (Channel("a", "a", 10.0, 0.2, 0.0, 0.0), Channel("b", "b", 10.0, 0.4, 0.0, 0.0))
    spilled = dataclasses.replace(
        ONE,
        alpha=0.1,
        gamma=0.0,
        beta=0.8,
        degrees_of_freedom=9.0,
        rows=60_000,
        channels=channels,
        spillovers=(LeadLag("a", "b", 0.0, 1.0),),
    )
    made = paths(spilled)
    # All of b's news is a's, so b's variance is a's but for the units.
    assert made.variances[:, 1] == pytest.approx(4.0 * made.variances[:, 0])
    assert made.returns.std(axis=0) * math.sqrt(252) == pytest.approx([0.2, 0.4], rel=0.03)
    assert abs(np.corrcoef(made.returns.T)[0, 1]) < 0.02


def test_momentum_and_drift_have_their_closed_forms():
    flat = dataclasses.replace(
        ONE, alpha=0.0, gamma=0.0, beta=0.0, momentum=0.5, momentum_decay=0.9, drift=0.25, rows=60_000
    )
    returns = paths(flat).returns[:, 0]
    assert returns.mean() == pytest.approx(0.25 / 252, abs=4 * returns.std() / math.sqrt(len(returns)) * 2)
    # m is an AR(1) with coefficient q = decay + (1 - decay) momentum = 0.95, and r = momentum m + e.
    q, c, w = 0.95, 0.5, 0.1
    variance = w * w / (1.0 - q * q)
    first = (c * c * variance * q + c * w) / (c * c * variance + 1.0)
    found = acf(returns, nlags=2)
    assert found[1] == pytest.approx(first, abs=0.015)
    assert found[2] == pytest.approx(first * q, abs=0.015)


def test_the_law_planted_in_the_sixty_stocks_is_worth_half_a_percent():
    parameters = simulator("sim-us-60")
    returns = log_returns(load_panel("sim-us-60").values) - parameters.drift / 252
    forecast, trend = np.zeros_like(returns), np.zeros(60)
    for t in range(1, len(returns)):
        trend = parameters.momentum_decay * trend + (1 - parameters.momentum_decay) * returns[t - 1]
        forecast[t] = parameters.ar * returns[t - 1] + parameters.momentum * trend
    late = slice(len(returns) // 2, None)
    gain = 1.0 - ((returns - forecast)[late] ** 2).sum() / (returns[late] ** 2).sum()
    assert 0.005 < gain < 0.01
    # Either part alone is worth less.
    assert 1.0 - ((returns[1:] - parameters.ar * returns[:-1]) ** 2).sum() / (returns**2).sum() < gain


def test_the_equities_are_like_those_they_are_calibrated_to():
    real = load_panel("us-large-caps")
    recent = real.times >= np.datetime64("2000-01-01")
    simulated = load_panel("sim-us-equities")
    shared = [name for name in simulated.channels if name in real.channels]
    assert len(shared) == 18
    a = log_returns(real.values[recent][:, [real.channels.index(name) for name in shared]])
    b = log_returns(simulated.values[:, [simulated.channels.index(name) for name in shared]])
    assert b.std(axis=0) == pytest.approx(a.std(axis=0), rel=0.35)
    sizes = [np.median([acf(np.abs(column), nlags=5)[5] for column in returns.T]) for returns in (a, b)]
    assert sizes[1] == pytest.approx(sizes[0], abs=0.08)
    correlations = [np.corrcoef(returns.T)[np.triu_indices(len(shared), 1)].mean() for returns in (a, b)]
    assert correlations[1] == pytest.approx(correlations[0], abs=0.06)


@pytest.mark.parametrize("digits", [3, 6, 7])
def test_significant_digits_are_those_of_the_decimal_text(digits):
    values = np.exp(np.random.default_rng(0).uniform(-25, 25, 20_000))
    values = np.concatenate([values, [1.0, 10.0, 0.1, 999.9999999, 1e6, 9.9999999e-5, 123456.0]])
    assert significant(values, digits).tolist() == [float(f"{value:.{digits}g}") for value in values.tolist()]


@pytest.mark.parametrize("name", sweep(NAMES, 2))
def test_the_calendar(name):
    times = load_panel(name).times
    if simulator(name).calendar == "hours":
        assert set(np.diff(times).tolist()) == {3_600_000_000_000}
    else:
        assert np.is_busday(times.astype("datetime64[D]")).all()
        assert np.busday_count(times[0].astype("datetime64[D]"), times[-1].astype("datetime64[D]")) == len(times) - 1


def test_a_trading_day_has_390_minutes_and_a_weekend_none():
    times = calendar_times("trading-minutes", "2025-01-10", 392)  # a Friday
    assert [str(time)[:16] for time in times[[0, 389, 390, 391]]] == [
        "2025-01-10T14:30",
        "2025-01-10T20:59",
        "2025-01-13T14:30",
        "2025-01-13T14:31",
    ]


def test_seed_and_digits():
    small = dataclasses.replace(ONE, rows=50, digits=4)
    _, one = simulate(small)
    assert simulate(small)[1].tolist() == one.tolist()
    assert simulate(dataclasses.replace(small, seed=4))[1].tolist() != one.tolist()
    assert one.tolist() == [[float(f"{price:.4g}")] for (price,) in one.tolist()]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"beta": 0.95}, "below 1"),
        ({"alpha": -0.1}, "negative"),
        ({"gamma": -0.2}, "negative"),
        ({"degrees_of_freedom": 4.0}, "above 4"),
        ({"rows": 0}, "at least one row"),
        ({"calendar": "weeks"}, "known calendar"),
        ({"channels": (Channel("a", "s", 1.0, 0.2, 0.9, 0.5),)}, "must not exceed 1"),
        ({"momentum": 1.0}, "must be in"),
        ({"momentum_decay": -0.1}, "must be in"),
        ({"spillovers": (LeadLag("b", "a", 0.1),)}, "not there: b"),
        ({"spillovers": (LeadLag("a", "a", 0.1, 0.7), LeadLag("a", "a", 0.1, 0.7))}, "shares of the news"),
    ],
)
def test_parameters_that_make_no_process(change, words):
    with pytest.raises(DataError, match=words):
        dataclasses.replace(ONE, **change)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n[simulator]", "\n[simulatr]"),
        ("seed = 20260626", "sede = 1"),
        ('name = "gold"', 'name = "silver"'),
        ("seed = 20260626", "seed = "),
        ("\nseed = 20260626", '\nmodel = "garch"\nseed = 20260626'),
    ],
)
def test_a_damaged_parameter_table(tmp_path, old, new):
    path = tmp_path / "sim.toml"
    path.write_text((dataset.SERIES / "sim-commodities.toml").read_text().replace(old, new, 1))
    with pytest.raises(DataError, match="reinstall openfingym"):
        read_model(path)
