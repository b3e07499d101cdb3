"""Simulated stock characteristics: no feature of any month tells a return, but for the planted signal."""

import hashlib

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from openfingym.data import characteristics as module
from openfingym.data.characteristics import (
    DEFAULT_SEED,
    FEATURES,
    INDUSTRIES,
    MACRO,
    RANKED,
    REPORTED,
    expected_excess_return,
    simulated_characteristics,
)
from openfingym.errors import DataError

TRAIN, PUBLIC = 96, 144
"""End of the training and of the public months: May 2004 to April 2012, to April 2016, to April 2026."""


@pytest.fixture(scope="module")
def panel():
    return simulated_characteristics()


def r2_zero(truth, prediction):
    return 1 - ((truth - prediction) ** 2).sum() / (truth**2).sum()


def test_the_contract(panel):
    assert panel.features.shape == (264, 60, 42)
    assert panel.excess_return.shape == (264, 60)
    assert len(set(panel.names)) == 42
    assert len(set(panel.stocks)) == 60
    assert str(panel.months[0])[:10] == "2004-05-31"
    assert str(panel.months[-1])[:10] == "2026-04-30"
    assert panel.months.dtype == "datetime64[ns]"
    assert (np.diff(panel.months.astype("datetime64[M]").astype(int)) == 1).all()
    assert np.isfinite(panel.features).all()
    assert np.isfinite(panel.excess_return).all()
    for array in (panel.months, panel.features, panel.excess_return):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_no_characteristic_is_named_after_a_price_or_a_return():
    for word in (
        "momentum",
        "reversal",
        "volatility",
        "beta",
        "size",
        "market",
        "price",
        "book_to",
        "yield",
        "turnover_share",
        "illiquidity",
    ):
        assert not [name for name in FEATURES if word in name], word


def test_provenance(panel):
    info = panel.info
    assert (info.kind, info.measure, info.frequency, info.rows, info.missing) == (
        "simulated",
        "mixed",
        "monthly",
        264,
        0,
    )
    assert info.channels == panel.names == FEATURES
    assert len(info.units) == 42
    content = panel.features.astype("<f8").tobytes() + panel.excess_return.astype("<f8").tobytes()
    assert info.sha256 == hashlib.sha256(content).hexdigest() == module.SHA256


def test_seeds(panel):
    assert simulated_characteristics(3).info.sha256 != panel.info.sha256
    with pytest.raises(DataError, match="negative"):
        simulated_characteristics(-1)


def test_other_bytes_are_refused(monkeypatch):
    monkeypatch.setattr(module, "PREMIUM", 0.005)
    with pytest.raises(DataError, match="expected " + module.SHA256):
        simulated_characteristics()


def test_ranks_industries_and_macro(panel):
    levels = np.round(2 * np.arange(60) / 59 - 1, 6)
    ranked = np.sort(panel.features[:, :, : len(RANKED)], axis=1)
    assert (ranked == levels[:, None]).all()
    industry = panel.features[:, :, len(RANKED) : len(RANKED) + len(INDUSTRIES)]
    assert (industry.sum(axis=2) == 1).all()
    assert (industry == industry[0]).all()
    assert (industry[0].sum(axis=0) == 12).all()
    macro = panel.features[:, :, -len(MACRO) :]
    assert (macro == macro[:, :1]).all()
    assert (np.abs(macro[:, 0].mean(axis=0)) < 1.2).all()
    assert ((macro[:, 0].std(axis=0) > 0.5) & (macro[:, 0].std(axis=0) < 1.6)).all()


def test_accounts_come_every_third_month():
    firms = module._firms(DEFAULT_SEED)
    changed = (np.diff(firms, axis=0) != 0).all(axis=2, where=np.arange(len(RANKED)) < len(REPORTED))
    stale = (np.diff(firms, axis=0) == 0).all(axis=2, where=np.arange(len(RANKED)) < len(REPORTED))
    due = (np.arange(1, 264)[:, None] + np.arange(60)) % 3 == 0
    assert (changed == due).all()
    assert (stale == ~due).all()
    assert (np.diff(firms[:, :, len(REPORTED) :], axis=0) != 0).all()


def test_features_do_not_read_the_shocks(panel, monkeypatch):
    """Other returns, the same features to the last byte."""
    monkeypatch.setattr(module, "_shocks", lambda seed, branch: np.full((264, 60), 0.5))
    other = simulated_characteristics(11)
    monkeypatch.undo()
    same = simulated_characteristics(11)
    assert other.features.tobytes() == same.features.tobytes()
    assert np.abs(other.excess_return - 0.5 - expected_excess_return(other.features)).max() < 1e-8


def test_the_expected_return_by_hand():
    x = dict.fromkeys(FEATURES, 0.0)
    x.update(
        gross_profitability=1.0,
        asset_growth=-0.5,
        book_leverage=0.5,
        term_spread=2.0,
        return_on_equity=-1.0,
        institutional_ownership=0.5,
    )
    by_hand = 0.004 + 0.01 + 0.0045 + 0.5 * 2.0 * 0.004 - 0.5 * 0.01 + 0.01 / 3
    assert expected_excess_return(np.array([x[name] for name in FEATURES])) == pytest.approx(by_hand, abs=1e-15)


def strongest(features, targets, leads=25):
    """Largest |correlation| of any feature, 0 to 24 months later, with each target float64[n, months, stocks]."""
    best = np.zeros(len(targets))
    for lead in range(leads):
        x = features[lead:].reshape(-1, features.shape[2])
        y = targets[:, : targets.shape[1] - lead].reshape(len(targets), -1).T
        x, y = x - x.mean(axis=0), y - y.mean(axis=0)
        correlation = (x / np.linalg.norm(x, axis=0)).T @ (y / np.linalg.norm(y, axis=0))
        best = np.maximum(best, np.abs(correlation).max(axis=0))
    return best


def bound(features, unexplained, draws=100):
    """Largest value over shuffles of whole months, which keeps the dependence of stocks and of features."""
    order = np.random.default_rng(0)
    return strongest(features, np.stack([unexplained[order.permutation(len(unexplained))] for _ in range(draws)])).max()


def test_no_feature_of_any_month_tells_more_of_a_label_than_the_planted_signal(panel):
    unexplained = panel.excess_return - expected_excess_return(panel.features)
    limit = bound(panel.features, unexplained)
    assert strongest(panel.features, unexplained[None])[0] < limit
    assert strongest(np.abs(panel.features), unexplained[None])[0] < bound(np.abs(panel.features), unexplained)
    assert strongest(panel.features, np.abs(unexplained)[None])[0] < bound(panel.features, np.abs(unexplained))


@pytest.mark.parametrize("lead", [1, 12])
def test_a_characteristic_that_reads_returns_would_be_found(panel, lead):
    """The same check with a hundredth of a return's variance in one characteristic."""
    unexplained = panel.excess_return - expected_excess_return(panel.features)
    leaking = panel.features.copy()
    leaking[lead:, :, 4] += 0.1 * leaking[:, :, 4].std() * unexplained[:-lead] / unexplained.std()
    assert strongest(leaking, unexplained[None])[0] > bound(leaking, unexplained)


def test_the_ideal_forecast_explains_one_to_three_percent(panel):
    ideal = expected_excess_return(panel.features)
    for months in (slice(None), slice(TRAIN, PUBLIC), slice(PUBLIC, None)):
        assert 0.01 < r2_zero(panel.excess_return[months], ideal[months]) < 0.03
    assert 0.06 < panel.excess_return.std() < 0.09


def test_learners_beat_zero_and_stay_below_the_ideal():
    """Fitted once on the training months, scored on the private ones, over several seeds."""
    gains = {"ridge": [], "boosting": [], "ideal": []}
    for seed in (DEFAULT_SEED, 0, 1):
        panel = simulated_characteristics(seed)
        x, y = panel.features[:TRAIN].reshape(-1, 42), panel.excess_return[:TRAIN].ravel()
        hidden, truth = panel.features[PUBLIC:].reshape(-1, 42), panel.excess_return[PUBLIC:].ravel()
        mean, scale = x.mean(axis=0), x.std(axis=0)
        ridge = Ridge(alpha=20_000.0).fit((x - mean) / scale, y)
        boosting = HistGradientBoostingRegressor(
            max_iter=60, learning_rate=0.03, max_depth=3, min_samples_leaf=200, l2_regularization=50.0, random_state=0
        ).fit(x, y)
        gains["ridge"].append(r2_zero(truth, ridge.predict((hidden - mean) / scale)))
        gains["boosting"].append(r2_zero(truth, boosting.predict(hidden)))
        gains["ideal"].append(r2_zero(truth, expected_excess_return(hidden)))
    for learner in ("ridge", "boosting"):
        assert gains[learner][0] > 0.005
        assert np.mean(gains[learner]) > 0.003
        assert (np.array(gains[learner]) < gains["ideal"]).all()


def test_products_and_squares_are_part_of_the_signal(panel):
    """Without them the ideal forecast is clearly worse: a linear model cannot have it all."""
    x = panel.features.reshape(-1, 42)
    ideal = expected_excess_return(x)
    design = np.concatenate([np.ones((len(x), 1)), x[:, : len(RANKED)]], axis=1)
    linear = design @ np.linalg.lstsq(design, ideal, rcond=None)[0]
    assert 0.15 < 1 - linear.var() / ideal.var() < 0.6
