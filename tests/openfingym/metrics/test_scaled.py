"""Relative point errors against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_percentage_error, r2_score

from openfingym.errors import DataError, UsageError
from openfingym.metrics.point import mae
from openfingym.metrics.scaled import (
    by_horizon,
    direction_macro_f1,
    directional_accuracy,
    mafe,
    mafe_by_horizon,
    mape,
    nrmse,
    r2,
    r2_oos,
    r2_zero,
    relative_mae,
    relative_mse,
    smape,
)


@pytest.fixture(params=[0, 1, 2])
def case(request):
    rng = np.random.default_rng(request.param)
    return rng.standard_normal((30, 4, 3)), rng.standard_normal((30, 4, 3))


def test_agrees_with_scikit_learn(case):
    y, f = case
    assert mape(y, f) == pytest.approx(mean_absolute_percentage_error(y.ravel(), f.ravel()), rel=1e-12)
    assert r2(y, f) == pytest.approx(r2_score(y.ravel(), f.ravel()), rel=1e-12)
    up = np.sign(y).ravel(), np.sign(f).ravel()
    assert directional_accuracy(y, f) == pytest.approx(accuracy_score(*up))
    assert direction_macro_f1(y, f) == pytest.approx(f1_score(*up, labels=[-1, 1], average="macro"))


def test_a_forecast_of_zero_is_half_up_and_half_down():
    y, f = np.array([1.0, -1.0, 0.0, 2.0, -3.0]), np.array([0.0, -1.0, 1.0, 3.0, 0.0])
    assert directional_accuracy(y, f) == 3 / 4
    # The same as counting each cell twice, a forecast of zero once for either side.
    twice = [1, 1, -1, -1, 1, 1, -1, -1], [1, -1, -1, -1, 1, 1, 1, -1]
    assert directional_accuracy(y, f) == accuracy_score(*twice)
    assert direction_macro_f1(y, f) == pytest.approx(f1_score(*twice, labels=[-1, 1], average="macro"))


def test_a_sign_without_knowledge_gains_the_drift_alone():
    y = np.random.default_rng(0).standard_normal((500, 5, 3)) + 0.05
    rises = (y > 0.0).mean()
    assert directional_accuracy(y, np.zeros_like(y)) == 0.5
    assert direction_macro_f1(y, np.zeros_like(y)) == pytest.approx(0.5, abs=1e-3)
    assert directional_accuracy(y, np.full_like(y, 1e-9)) == pytest.approx(rises)
    assert direction_macro_f1(y, np.full_like(y, 1e-9)) == pytest.approx(rises / (1.0 + rises))


def test_pooled_r2_is_not_the_mean_of_channels(case):
    y, f = case
    y = y * np.array([1.0, 10.0, 0.1])
    assert r2(y, f) != pytest.approx(
        np.mean([r2_score(y[..., c].ravel(), f[..., c].ravel()) for c in range(3)]), rel=1e-3
    )


def test_ratios_by_definition(case):
    y, f = case
    assert smape(y, f) == pytest.approx(np.mean(2 * np.abs(f - y) / (np.abs(y) + np.abs(f))), rel=1e-12)
    assert relative_mae(y, f) == pytest.approx(np.abs(f - y).sum() / np.abs(y).sum())
    assert nrmse(y, f) == pytest.approx(np.sqrt(((f - y) ** 2).mean()) / np.abs(y).mean())
    assert (
        r2_zero(y, f) == pytest.approx(1 - ((f - y) ** 2).sum() / (y**2).sum()) == pytest.approx(1 - relative_mse(y, f))
    )
    assert r2_oos(y, f, y.mean()) == pytest.approx(r2(y, f))
    assert r2_oos(y, f, 0.0) == pytest.approx(r2_zero(y, f))
    expanding = np.cumsum(y, axis=0) - y
    assert r2_oos(y, f, expanding) == pytest.approx(1 - ((f - y) ** 2).sum() / ((y - expanding) ** 2).sum())


def test_horizons_one_by_one(case):
    y, f = case
    assert mafe_by_horizon(y, f) == pytest.approx(by_horizon(mae, y, f))
    assert by_horizon(r2, y, f) == pytest.approx([r2_score(y[:, h].ravel(), f[:, h].ravel()) for h in range(4)])
    assert mafe(y, f) == pytest.approx(mae(y, f))


def test_edges_have_the_values_decided():
    assert mape(np.array([0.0, 2.0]), np.array([5.0, 3.0])) == 0.5
    assert smape(np.array([0.0, 1.0]), np.array([0.0, 0.0])) == 1.0
    assert smape(np.zeros(3), np.zeros(3)) == 0.0
    constant = np.full(5, 0.1)
    assert r2(constant, constant) == 1.0
    assert r2(constant, constant + 1e-9) == 0.0
    assert r2(np.arange(5.0), np.full(5, 2.0)) == 0.0


@pytest.mark.parametrize(
    "metric", [mape, relative_mae, relative_mse, nrmse, r2_zero, directional_accuracy, direction_macro_f1]
)
def test_a_truth_of_zero_is_ours(metric):
    with pytest.raises(DataError):
        metric(np.zeros(4), np.ones(4))


def test_faults_name_the_position_and_whose_they_are():
    y = np.zeros((2, 3))
    bad = y.copy()
    bad[1, 2] = np.nan
    with pytest.raises(UsageError, match=r"y_pred\[1, 2\] is not a finite"):
        smape(y, bad)
    with pytest.raises(DataError, match=r"y_true\[1, 2\]"):
        smape(bad, y)
    with pytest.raises(UsageError, match="shape"):
        smape(y, y.T)
    with pytest.raises(DataError, match="does not fit"):
        r2_oos(np.ones(3), np.ones(3), np.ones(2))
    with pytest.raises(DataError, match="one way"):
        direction_macro_f1(np.ones(3), np.ones(3))
