"""The simulators: exact laws of their parts, and the stylised facts they are there for."""

import dataclasses
import math

import numpy as np
import pytest
from arch import arch_model
from scipy import stats
from statsmodels.tsa.stattools import acf

from openfingym.data import dataset, load_panel
from openfingym.data.simulate import PERIODS_PER_YEAR, Channel, Simulator, read_simulator, simulate, student_t
from openfingym.errors import DataError

NAMES = ("sim-commodities", "sim-crypto")


def simulator(name):
    return read_simulator(dataset.SERIES / f"{name}.toml")


def log_returns(prices):
    return np.diff(np.log(prices), axis=0)


ONE = Simulator(
    seed=3, start="2000-01-03", calendar="business-days", rows=12_000, burn_in=300, digits=9, degrees_of_freedom=6.0, alpha=0.08,
    gamma=0.06, beta=0.85, ar=0.0, lead=0.0, channels=(Channel("a", "s", 100.0, 0.2, 0.0, 0.0),),
)  # fmt: skip


@pytest.mark.parametrize("degrees", [4.5, 5.0, 12.0])
def test_shocks_follow_the_student_distribution(degrees):
    u, v = 1.0 - np.random.default_rng(0).random((2, 50_000))
    draws = student_t((u, v), degrees)
    scale = math.sqrt((degrees - 2.0) / degrees)
    assert stats.kstest(draws, stats.t(degrees, scale=scale).cdf).pvalue > 0.01


def test_an_estimator_finds_the_parameters_again():
    _, prices = simulate(ONE)
    fitted = arch_model(1e4 * log_returns(prices)[:, 0], mean="Zero", p=1, o=1, q=1, dist="t", rescale=False).fit(disp="off").params
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
    channels = (Channel("a1", "a", 10.0, 0.2, 0.0, 0.0), Channel("a2", "a", 10.0, 0.4, 0.0, 0.0), Channel("b1", "b", 10.0, 0.2, 0.0, 0.0))
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


@pytest.mark.parametrize("name", NAMES)
def test_sectors_move_together(name):
    parameters = simulator(name)
    correlation = np.corrcoef(log_returns(load_panel(name).values).T)
    sectors = np.array([channel.sector for channel in parameters.channels])
    same = (sectors[:, None] == sectors) & ~np.eye(len(sectors), dtype=bool)
    assert correlation[same].mean() > correlation[sectors[:, None] != sectors].mean() > 0.0
    assert correlation.min() > 0.0


@pytest.mark.parametrize("name", NAMES)
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


@pytest.mark.parametrize("name", NAMES)
def test_the_calendar(name):
    times = load_panel(name).times
    if simulator(name).calendar == "hours":
        assert set(np.diff(times).tolist()) == {3_600_000_000_000}
    else:
        assert np.is_busday(times.astype("datetime64[D]")).all()
        assert np.busday_count(times[0].astype("datetime64[D]"), times[-1].astype("datetime64[D]")) == len(times) - 1


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
    ],
)
def test_a_damaged_parameter_table(tmp_path, old, new):
    path = tmp_path / "sim.toml"
    path.write_text((dataset.SERIES / "sim-commodities.toml").read_text().replace(old, new, 1))
    with pytest.raises(DataError, match="reinstall openfingym"):
        read_simulator(path)
