"""The paper's totals, and the scale-free one."""

import math

import pytest

from openfingym.errors import UsageError
from openfingym.metrics.aggregation import FAMILIES, loss_term, paper_total, relative_loss, relative_total
from openfingym.metrics.registry import METRICS


@pytest.mark.parametrize("name", FAMILIES)
def test_families_name_known_metrics_and_weights_add_to_one(name):
    family = FAMILIES[name]
    assert set(family.weights) <= set(METRICS)
    assert sum(family.weights.values()) == pytest.approx(1.0 if family.weights else 0.0)


@pytest.mark.parametrize(
    ("family", "values", "expected"),
    [
        ("F1", {"mae": 1, "rmse": 2, "delta_sharpe": 3, "delta_var": 4, "delta_es": 5}, 0.35 + 0.5 + 0.6 + 0.4 + 0.5),
        ("F2", {"mse": 1, "rmse": 2, "mae": 6}, 3.0),
        ("F3", {"rmse": 2, "mae": 1}, 1.5),
        ("F4", {"mafe": 0.7}, 0.7),
        ("F5", {"nrmse": 0.7}, 0.7),
        (
            "F6",
            {"mse": 1, "r2_zero": 0.2, "dm_zero": 9, "long_short_sharpe": 1.5},
            0.35 + 0.25 * 0.8 - 0.2 * 5 - 0.2 * 1.5,
        ),
        ("F8", {"relative_mse": 1, "relative_mae": 2, "coverage_gap": 0.5, "nmpiw": 0.5}, 1.0),
        ("F9", {"marginal": 1.0, "correlation_l1": 2.0}, 1.5),
        ("F10", {"marginal": 1.0, "correlation_l1": 2.0}, 3.0),
    ],
)
def test_totals_of_the_paper_by_hand(family, values, expected):
    assert paper_total(family, values) == pytest.approx(expected)


def test_f7_by_hand():
    values = {
        "r2_oos": -0.1, "directional_accuracy": 0.6, "direction_macro_f1": 0.5,
        "long_short_sharpe": 2.0, "long_short_drawdown": 0.3, "long_short_worst_period": 0.1,
    }  # fmt: skip
    expected = 0.3 * 1.1 + 0.2 * 0.4 + 0.15 * 0.5 - 0.2 * 2.0 + 0.1 * 0.3 + 0.05 * 0.1
    assert paper_total("F7", values) == pytest.approx(expected)


def test_one_term_can_drown_the_papers_total_but_not_the_relative_one():
    baseline = {"covariance_paths": 98.0, "marginal": 1.0, "onnd": 1.0}
    better = {"covariance_paths": 98.0, "marginal": 0.5, "onnd": 0.5}
    assert paper_total("F9", better) / paper_total("F9", baseline) > 0.98
    assert relative_total(better, baseline) == pytest.approx(0.25 ** (1 / 3))
    rescaled = {name: 1000 * value for name, value in better.items()}
    assert relative_total(rescaled, {n: 1000 * v for n, v in baseline.items()}) == pytest.approx(
        relative_total(better, baseline)
    )


def test_the_baseline_is_one_and_halving_every_loss_is_a_half():
    baseline = {"mae": 2.0, "delta_es": 0.1, "r2": 0.2, "auroc": 0.6, "long_short_sharpe": 0.5}
    assert relative_total(baseline, baseline) == 1.0
    half = {"mae": 1.0, "delta_es": 0.05, "r2": 0.6, "auroc": 0.8, "long_short_sharpe": 0.5 + math.log(2)}
    assert relative_total(half, baseline) == pytest.approx(0.5)
    weights = {"mae": 3.0, "delta_es": 0.0, "r2": 0.0, "auroc": 0.0, "long_short_sharpe": 1.0}
    assert relative_total({**half, "long_short_sharpe": 0.5}, baseline, weights) == pytest.approx(0.5**0.75)


def test_zero_and_sign():
    assert relative_total({"mae": 0.0}, {"mae": 0.0}) == 1.0
    assert relative_total({"mae": 1e-30}, {"mae": 0.0}) == pytest.approx(100.0)
    assert relative_total({"mae": 0.0}, {"mae": 3.0}) == pytest.approx(0.01)
    assert relative_total({"mae": 0.0, "rmse": 1.0}, {"mae": 1.0, "rmse": 1.0}) == pytest.approx(0.1)
    assert relative_loss("long_short_sharpe", -3.0) == pytest.approx(math.exp(3.0))
    assert relative_loss("long_short_sharpe", 99.0) == pytest.approx(math.exp(-10.0))
    assert relative_loss("r2", -4.0) == 5.0
    assert loss_term("cwc", 1e20) == 5.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: paper_total("F11", {}),
        lambda: paper_total("F9", {}),
        lambda: paper_total("F3", {"rmse": 1.0}),
        lambda: paper_total("F3", {"rmse": 1.0, "mae": math.nan}),
        lambda: paper_total("F9", {"horoscope": 1.0}),
        lambda: relative_total({"mae": 1.0}, {"rmse": 1.0}),
        lambda: relative_total({"mae": math.inf}, {"mae": 1.0}),
        lambda: relative_total({"mae": 1.0}, {"mae": 1.0}, {"mae": 0.0}),
        lambda: relative_total({"mae": 1.0}, {"mae": 1.0}, {"mae": -1.0}),
        lambda: relative_total({}, {}),
    ],
)
def test_what_is_no_total(call):
    with pytest.raises(UsageError):
        call()
