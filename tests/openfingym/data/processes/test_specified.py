"""The papers' processes against integrals, differential equations and other libraries."""

import dataclasses
import math

import numpy as np
import pytest
from arch import arch_model
from scipy import integrate, special, stats
from statsmodels.tsa.stattools import acf

from openfingym.data.processes.draws import stream
from openfingym.data.processes.fractional import FractionalBrownian, fractional_covariance
from openfingym.data.processes.garch import Garch
from openfingym.data.processes.ou import OrnsteinUhlenbeck
from openfingym.data.processes.rough import RoughVolatility, _hypergeometric, volterra_covariance
from openfingym.data.processes.tailgan import TailGan
from openfingym.errors import DataError


def assert_covariance(sample, expected):
    """Every entry of a covariance within five standard errors of a Gaussian's."""
    n = len(sample)
    found = np.cov(sample.T)
    own = np.diag(expected)
    error = np.sqrt((expected**2 + own[:, None] * own) / n)
    assert (np.abs(found - expected) < 5 * error).all()


@pytest.mark.parametrize("t", [0.0, 7.0, 62.0])
def test_ou_transition_is_the_integral(t):
    process = OrnsteinUhlenbeck()
    decay, shift, sd = process.transition(t)
    drift = integrate.quad(lambda s: math.exp(-process.theta * (t + 1 - s)) * process.mu * s, t, t + 1)[0]
    variance = integrate.quad(
        lambda s: math.exp(-2 * process.theta * (t + 1 - s)) * (2 * process.sigma * s / 64) ** 2, t, t + 1
    )[0]
    assert (decay, shift, sd) == pytest.approx((math.exp(-0.02), drift, math.sqrt(variance)), rel=1e-9)


def test_ou_moments_solve_the_moment_equations():
    process = OrnsteinUhlenbeck()
    paths = process.paths(stream(1), 20_000)[:, :, 0]

    def moments(t, m):
        return [process.mu * t - process.theta * m[0], -2 * process.theta * m[1] + (2 * process.sigma * t / 64) ** 2]

    solved = integrate.solve_ivp(moments, (0, 63), [0.0, 1 / 3], t_eval=np.arange(64), rtol=1e-10, atol=1e-12).y
    sd = np.sqrt(3 * solved[1])
    assert (np.abs(paths.mean(axis=0) - math.sqrt(3) * solved[0]) < 5 * sd / math.sqrt(20_000)).all()
    assert paths.std(axis=0) == pytest.approx(sd, rel=0.03)
    assert (math.sqrt(3) * solved[0, -1], sd[-1]) == pytest.approx((23.5, 4.81), abs=0.05)
    assert stats.kstest(paths[:, 0], stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)).cdf).pvalue > 0.01


@pytest.mark.parametrize("hurst", [0.1, 0.25, 0.7])
def test_fbm_covariance(hurst):
    process = FractionalBrownian(hurst=hurst)
    paths = process.paths(stream(2), 20_000)
    assert paths.shape == (20_000, 11, 3)
    assert not paths[:, 0].any()
    times = np.arange(1, 11) / 10
    expected = fractional_covariance(times, hurst)
    assert np.diag(expected) == pytest.approx(times ** (2 * hurst))
    assert_covariance(paths[:, 1:].transpose(0, 2, 1).reshape(-1, 10), expected)
    assert np.abs(np.corrcoef(paths[:, -1].T)[np.triu_indices(3, 1)]).max() < 0.03


def test_fbm_increments_are_fractional_noise():
    """Lag-1 correlation of increments is 2^(2H - 1) - 1, whatever the time."""
    increments = np.diff(FractionalBrownian().paths(stream(3), 20_000), axis=1).transpose(0, 2, 1).reshape(-1, 10)
    found = np.corrcoef(increments.T)[np.arange(9), np.arange(1, 10)]
    assert found == pytest.approx([2**-0.5 - 1] * 9, abs=0.025)


@pytest.mark.parametrize("g", [0.05, 0.25, 0.45])
def test_hypergeometric_is_that_of_scipy(g):
    x = np.linspace(0.001, 0.999, 500)
    assert _hypergeometric(g, x) == pytest.approx(special.hyp2f1(1, g, 2 - g, x), rel=1e-13)


@pytest.mark.parametrize(("s", "t"), [(0.1, 0.9), (0.4, 0.5), (0.98, 1.0)])
def test_volterra_covariance_is_its_integral(s, t):
    exact = integrate.quad(lambda u: 0.5 * (t - u) ** -0.25, 0, s, weight="alg", wvar=(0, -0.25))[0]
    assert volterra_covariance(np.array([s, t]), 0.25)[0, 1] == pytest.approx(exact, rel=1e-7)


def test_rough_volatility_follows_its_law():
    process = RoughVolatility()
    paths = process.paths(stream(4), 10_000)
    log_price, log_variance = paths[:, :, 0], paths[:, :, 1]
    times = np.arange(200) / 199
    w = (log_variance - log_variance[:, :1] + 0.125 * np.sqrt(times)) / 0.5
    some = [1, 2, 10, 50, 120, 199]
    assert_covariance(w[:, some], volterra_covariance(times, 0.25)[np.ix_(some, some)])
    variance = np.exp(log_variance)
    error = variance.std(axis=0) / 100
    assert (np.abs(variance.mean(axis=0) - 0.1) < 5 * error).all()
    h = 1 / 199
    z = (np.diff(log_price) + 0.5 * h * variance[:, :-1]) / np.sqrt(h * variance[:, :-1])
    assert stats.kstest(z[:, ::20].ravel(), "norm").pvalue > 0.01
    assert abs(np.corrcoef(z[:, -1], w[:, -1])[0, 1]) < 0.05
    assert stats.kstest(log_price[:, 0] / 0.05, "norm").pvalue > 0.01


def test_tailgan_deviations_are_exact_and_correlations_those_of_the_noise():
    process = TailGan()
    paths = process.paths(stream(5), 3_000)
    assert paths.shape == (3_000, 100, 5)
    assert paths.std(axis=1) == pytest.approx(np.broadcast_to(process.deviation, (3_000, 5)), rel=1e-12)
    assert np.linalg.eigvalsh(process.correlation).min() == pytest.approx(0.27, abs=0.005)
    innovations = paths.copy()
    for asset, coefficient in ((1, 0.5), (2, -0.12)):
        innovations[:, 1:, asset] -= coefficient * paths[:, :-1, asset]
    pooled = np.corrcoef(innovations[:, 1:].reshape(-1, 5).T)
    assert pooled[:3, :3] == pytest.approx(process.correlation[:3, :3], abs=0.02)
    # A variance of its own and t noise weaken a correlation, here by less than a quarter.
    assert (pooled / process.correlation)[:3, 3:].min() > 0.75


def test_tailgan_garch_assets_are_garch():
    """The published recursion gave squares without any autocorrelation."""
    process = TailGan()
    paths = process.paths(stream(6), 3_000)
    squares = [np.mean([acf(path[:, asset] ** 2, nlags=1)[1] for path in paths[:400]]) for asset in range(5)]
    assert squares[0] == pytest.approx(0.0, abs=0.03)
    assert min(squares[3:]) > 0.05
    long = dataclasses.replace(process, steps=15_000).paths(stream(7), 1)[0]
    for asset, garch, k in zip((3, 4), process.garch, process.degrees_of_freedom, strict=True):
        fit = (
            arch_model(long[:, asset] / long[:, asset].std(), mean="Zero", dist="t", rescale=False)
            .fit(disp="off")
            .params
        )
        assert fit["alpha[1]"] == pytest.approx(garch.alpha, abs=0.025)
        assert fit["beta[1]"] == pytest.approx(garch.beta, abs=0.05)
        assert fit["nu"] == pytest.approx(k, rel=0.15)
    slopes = [np.linalg.lstsq(long[:-1, [i]], long[1:, i], rcond=None)[0][0] for i in (0, 1, 2)]
    assert slopes == pytest.approx([0.0, 0.5, -0.12], abs=0.03)


@pytest.mark.parametrize(
    "make",
    [
        lambda: OrnsteinUhlenbeck(theta=0.0),
        lambda: FractionalBrownian(hurst=1.0),
        lambda: RoughVolatility(hurst=0.5),
        lambda: RoughVolatility(xi_sd=0.05),
        lambda: Garch(0.2, 0.8),
        lambda: Garch(-0.1, 0.8),
    ],
)
def test_parameters_that_make_no_process(make):
    with pytest.raises(DataError, match="found"):
        make()
