"""Simulated risk-free curves: their closed form, their calibration to the Treasury curve, their bytes."""

import hashlib

import numpy as np
import pytest
from scipy.integrate import quad

from openfingym.data import curves as module
from openfingym.data import load_panel
from openfingym.data.curves import (
    CONVERGENCE,
    CORRELATION,
    COUNTRIES,
    DECAY,
    PERSISTENCE,
    SHOCK,
    simulated_curves,
    spot_rates,
)
from openfingym.errors import DataError

TENORS = np.array([1 / 12, 0.25, 0.5, 1, 2, 3, 5, 7, 10, 20, 30])
COMPARED = [1, 2, 5, 10, 30]


@pytest.fixture(scope="module")
def curves():
    return simulated_curves()


@pytest.fixture(scope="module")
def treasury():
    """Month ends of the real par yields, float64[162, 11], percent, compounded twice a year."""
    panel = load_panel("ust-par-yields")
    months = panel.times.astype("datetime64[M]")
    return panel.values[:-1][months[1:] != months[:-1]]


def test_the_contract(curves):
    assert curves.values.shape == (480, 24, 150)
    assert len(set(curves.countries)) == 24
    assert {"EA", "US", "GB", "JP"} <= set(curves.countries)
    assert curves.maturities.tolist() == list(range(1, 151))
    assert curves.times.dtype == "datetime64[ns]"
    days = curves.times.astype("datetime64[D]")
    following = days + np.timedelta64(1, "D")
    assert (following.astype("datetime64[M]").astype("datetime64[D]") == following).all()
    assert (np.diff(days.astype("datetime64[M]").astype(int)) == 1).all()
    assert np.isfinite(curves.values).all()
    assert curves.values.tolist() == np.round(curves.values, 3).tolist()
    assert not np.signbit(curves.values[curves.values == 0.0]).any()
    for array in (curves.times, curves.maturities, curves.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_provenance(curves):
    info = curves.info
    assert (info.kind, info.measure, info.frequency, info.rows, info.missing) == (
        "simulated",
        "yield",
        "monthly",
        480,
        0,
    )
    assert info.channels == curves.countries
    assert [np.datetime64(info.first), np.datetime64(info.last)] == curves.times[[0, -1]].astype(
        "datetime64[D]"
    ).tolist()
    assert info.sha256 == hashlib.sha256(curves.values.astype("<f8").tobytes()).hexdigest() == module.SHA256
    assert "fictional" in info.calendar


def test_seeds():
    again = simulated_curves()
    other = simulated_curves(7)
    assert again.values.tobytes() == simulated_curves().values.tobytes()
    assert other.info.sha256 != again.info.sha256
    assert "seed 7" in other.info.provenance
    assert not (other.values == again.values).all(axis=(0, 2)).any()
    with pytest.raises(DataError, match="negative"):
        simulated_curves(-1)


def test_other_bytes_are_refused(monkeypatch):
    monkeypatch.setattr(module, "CONVERGENCE", CONVERGENCE * 1.001)
    with pytest.raises(DataError, match="expected " + module.SHA256):
        simulated_curves()


@pytest.mark.parametrize("code", ["EA", "CN", "GB"])
def test_zero_rates_are_the_mean_of_their_forward_rates(code):
    """The curve by numerical integration of the instantaneous forward rate that the model is defined by."""
    position = next(i for i, country in enumerate(COUNTRIES) if country.code == code)
    country = COUNTRIES[position]
    b = np.array([3.1, -2.2, -1.7, 1.3])
    factors = np.zeros((1, len(COUNTRIES), 4))
    factors[0, position] = b

    def liquid(u):
        x, z = u / DECAY[0], u / DECAY[1]
        return b[0] + b[1] * np.exp(-x) + b[2] * x * np.exp(-x) + b[3] * z * np.exp(-z)

    def forward(u):
        if u <= country.liquid:
            return liquid(u)
        ultimate = 100 * np.log(1 + country.ultimate / 100)
        return ultimate + (liquid(country.liquid) - ultimate) * np.exp(-CONVERGENCE * (u - country.liquid))

    maturities = np.array([1.0, 7.0, country.liquid, country.liquid + 1.0, 60.0, 150.0])
    found = spot_rates(factors, maturities)[0, position]
    for u, rate in zip(maturities, found, strict=True):
        zero = quad(forward, 0, u, points=[country.liquid] if country.liquid < u else None, limit=200)[0] / u
        assert rate == pytest.approx(100 * np.expm1(zero / 100), abs=1e-8)


def test_forward_rates_reach_the_ultimate_one(curves):
    discount = (1 + curves.values / 100) ** -curves.maturities
    forward = 100 * (discount[:, :, :-1] / discount[:, :, 1:] - 1)
    ultimate = np.array([country.ultimate for country in COUNTRIES])
    far = forward[:, :, 115:].mean(axis=2)
    assert np.abs(far - ultimate).max() < 0.02
    assert np.abs(np.diff(forward, axis=2)).max() < 2.0


def test_levels_are_plausible(curves):
    assert curves.values.min() > -3.0
    assert curves.values.max() < 16.0
    ten_years = curves.values[:, :, 9].mean(axis=0)
    assert (np.abs(ten_years - [country.level for country in COUNTRIES]) < 2.0).all()


def test_dynamics_are_those_fitted_to_the_treasury_curve(treasury):
    zero = 200 * np.log1p(treasury / 200)
    x, z = TENORS / DECAY[0], TENORS / DECAY[1]
    slope = (1 - np.exp(-x)) / x
    loadings = np.stack([np.ones(11), slope, slope - np.exp(-x), (1 - np.exp(-z)) / z - np.exp(-z)], axis=1)
    factors = np.linalg.lstsq(loadings, zero.T, rcond=None)[0].T
    assert np.sqrt(((factors @ loadings.T - zero) ** 2).mean()) < 0.07
    x = factors - factors.mean(axis=0)
    phi = (x[1:] * x[:-1]).sum(axis=0) / (x[:-1] ** 2).sum(axis=0)
    shocks = x[1:] - phi * x[:-1]
    assert phi + (1 + 3 * phi) / len(shocks) == pytest.approx(PERSISTENCE, abs=1e-3)
    assert shocks.std(axis=0) == pytest.approx(SHOCK, abs=1e-3)
    assert np.corrcoef(shocks.T) == pytest.approx(np.array(CORRELATION), abs=1e-3)
    us = next(country for country in COUNTRIES if country.code == "US")
    assert factors.mean(axis=0)[:3] == pytest.approx([us.level, us.slope, us.curvature], abs=0.05)


def statistics(curve):
    """Of rates float64[months, 5] at 1, 2, 5, 10 and 30 years."""
    changes = np.diff(curve, axis=0)
    spectrum = np.linalg.svd(changes - changes.mean(axis=0), compute_uv=False) ** 2
    return {
        "change": changes.std(axis=0),
        "persistence": np.array([np.corrcoef(rate[1:], rate[:-1])[0, 1] for rate in curve.T]),
        "slope": (curve[:, 3] - curve[:, 1]).std(),
        "ends": np.corrcoef(changes[:, 0], changes[:, 3])[0, 1],
        "components": spectrum[:3] / spectrum.sum(),
        "mean": curve.mean(axis=0),
    }


def test_the_simulated_us_moves_like_the_treasury_curve(curves, treasury):
    real = statistics(treasury[:, [TENORS.tolist().index(m) for m in COMPARED]])
    ours = statistics(curves.values[:, curves.countries.index("US"), [m - 1 for m in COMPARED]])
    assert ours["change"] == pytest.approx(real["change"], rel=0.2)
    assert ours["persistence"] == pytest.approx(real["persistence"], abs=0.08)
    assert ours["slope"] == pytest.approx(real["slope"], rel=0.3)
    assert ours["ends"] == pytest.approx(real["ends"], abs=0.15)
    assert ours["components"] == pytest.approx(real["components"], abs=0.05)
    assert ours["mean"] == pytest.approx(real["mean"], abs=0.6)


def test_countries_move_together_but_not_as_one(curves):
    changes = np.diff(curves.values[:, :, 9], axis=0)
    correlation = np.corrcoef(changes.T)[np.triu_indices(24, 1)]
    assert 0.3 < correlation.mean() < 0.7
    assert correlation.max() < 0.85


def test_enough_windows_without_overlap(curves):
    """Ten months of input and one of target: rows of train, public and private as 17, 20 and 63 percent, embargo 1."""
    months, countries = curves.values.shape[:2]
    train, public = int(months * 0.172), int(months * 0.2)
    private = months - train - public
    assert 1_600 < (train - 10) * countries < 1_800
    assert (public - 1) // 11 * countries >= 60
    assert (private - 1) // 11 * countries >= 120


def test_the_last_curve_is_hard_but_not_impossible_to_beat(curves):
    """Mean reversion is worth a few percent of the squared error of a random walk."""
    train, test = curves.values[:96], curves.values[106:]
    mean = train.mean(axis=0)
    walk = ((test[1:] - test[:-1]) ** 2).mean()
    reverting = ((test[1:] - mean - 0.96 * (test[:-1] - mean)) ** 2).mean()
    assert 0.9 < reverting / walk < 1.0
