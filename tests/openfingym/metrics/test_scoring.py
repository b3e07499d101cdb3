"""The weighted total, the bank it draws from, and the naive forecast."""

import math

import empyrical
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

import openfingym.metrics
from openfingym.errors import DataError, SubmissionError, UsageError
from openfingym.metrics import LOSSES, Comparison, Realised, evaluate, naive_forecast
from openfingym.task import Scoring, WeightedMetric

PAPER = {"mae": 0.35, "rmse": 0.25, "delta_sharpe": 0.20, "delta_var": 0.10, "delta_es": 0.10}
SEMANTICS = ("log_return", "price_level", "yield_level")


def scoring(weights=None, **parameters):
    weights = weights or PAPER
    return Scoring(metrics=tuple(WeightedMetric(name=n, weight=w) for n, w in weights.items()), **parameters)


def returns_case(seed=0, shape=(40, 5, 3)):
    rng = np.random.default_rng(seed)
    return 0.01 * rng.standard_normal(shape), 0.01 * rng.standard_normal(shape), np.zeros((shape[0], shape[2]))


def test_the_total_of_the_paper_from_independent_computations():
    y, p, last = returns_case()
    score = evaluate(scoring(periods_per_year=252.0), y, p, last, "log_return")

    def gap(statistic):
        return np.mean([abs(statistic(p[:, :, c].ravel()) - statistic(y[:, :, c].ravel())) for c in range(3)])

    expected = {
        "mae": mean_absolute_error(y.ravel(), p.ravel()),
        "rmse": root_mean_squared_error(y.ravel(), p.ravel()),
        "delta_sharpe": gap(lambda r: empyrical.sharpe_ratio(r, annualization=252)),
        "delta_var": gap(lambda r: empyrical.value_at_risk(r, 0.05)),
        "delta_es": gap(lambda r: empyrical.conditional_value_at_risk(r, 0.05)),
    }
    assert score.metrics == pytest.approx(expected, rel=1e-10)
    assert list(score.metrics) == list(PAPER)
    assert score.total == pytest.approx(sum(PAPER[name] * value for name, value in expected.items()), rel=1e-12)


def test_prices_are_scored_on_returns_along_the_path():
    rng = np.random.default_rng(3)
    last = 100.0 * np.exp(0.1 * rng.standard_normal((30, 2)))
    y, p = (last[:, None, :] * np.exp(np.cumsum(0.01 * rng.standard_normal((30, 4, 2)), axis=1)) for _ in range(2))
    score = evaluate(scoring({"delta_var": 1.0}, tail_level=0.1), y, p, last, "price_level")

    def simple(path, c):
        whole = np.concatenate([last[:, None, c], path[:, :, c]], axis=1)
        return (np.diff(whole, axis=1) / whole[:, :-1]).ravel()

    expected = np.mean([abs(np.quantile(simple(p, c), 0.1) - np.quantile(simple(y, c), 0.1)) for c in range(2)])
    assert score.total == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(seed=st.integers(0, 10_000))
def test_the_truth_scores_zero_and_nothing_scores_below(semantics, seed):
    rng = np.random.default_rng(seed)
    y, p = rng.uniform(0.5, 2.0, (2, 6, 3, 2))
    last = rng.uniform(0.5, 2.0, (6, 2))
    weights = scoring({name: 1 / len(LOSSES) for name in LOSSES})
    best = evaluate(weights, y, y, last, semantics)
    assert best.total == 0.0
    assert set(best.metrics.values()) == {0.0}
    other = evaluate(weights, y, p, last, semantics)
    assert other.total > 0.0
    assert min(other.metrics.values()) >= 0.0


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(seed=st.integers(0, 10_000))
def test_order_of_windows_does_not_matter(semantics, seed):
    rng = np.random.default_rng(seed)
    y, p = rng.uniform(0.5, 2.0, (2, 8, 3, 2))
    last = rng.uniform(0.5, 2.0, (8, 2))
    order = rng.permutation(8)
    one = evaluate(scoring(), y, p, last, semantics)
    other = evaluate(scoring(), y[order], p[order], last[order], semantics)
    assert one.metrics == pytest.approx(other.metrics, rel=1e-9, abs=1e-12)


def test_more_noise_scores_worse_on_average():
    truth, noise, last = returns_case(shape=(400, 5, 3))
    totals = [evaluate(scoring(), truth, truth + k * noise, last, "log_return").total for k in (0.1, 0.5, 1.0, 2.0, 4.0)]
    assert totals == sorted(totals)


def test_a_flat_forecast_has_a_finite_score_and_zero_risk():
    y, _, last = returns_case()
    score = evaluate(scoring(), y, np.zeros_like(y), last, "log_return")
    assert math.isfinite(score.total)
    truth = np.abs([empyrical.value_at_risk(y[:, :, c].ravel(), 0.05) for c in range(3)])
    assert score.metrics["delta_var"] == pytest.approx(truth.mean())


def test_integers_and_float32_are_scored_as_float64():
    y = np.arange(6.0).reshape(1, 3, 2)
    last = np.zeros((1, 2))
    for dtype in (np.float32, np.int16, np.uint8):
        assert evaluate(scoring({"mse": 1.0}), y, y.astype(dtype), last, "yield_level").total == 0.0


@pytest.mark.parametrize(
    ("change", "problem", "words"),
    [
        (lambda p: p[:-1], "wrong-shape", r"\(39, 5, 3\), expected \(40, 5, 3\)"),
        (lambda p: p.astype(complex), "wrong-dtype", "complex128"),
        (lambda p: p.astype(object), "wrong-dtype", "object"),
        (lambda p: p > 0, "wrong-dtype", "bool"),
        (lambda p: p.tolist(), "wrong-dtype", "list"),
        (lambda p: np.where(np.arange(3) == 1, np.nan, p), "not-finite", r"predictions\[0, 0, 1\]"),
        (lambda p: np.full_like(p, -np.inf), "not-finite", r"predictions\[0, 0, 0\]"),
        (lambda p: np.full_like(p, 1e200), "out-of-range", "rmse cannot be computed"),
    ],
)
def test_a_bad_prediction_is_the_agents_fault(change, problem, words):
    y, p, last = returns_case()
    with pytest.raises(SubmissionError, match=words) as caught:
        evaluate(scoring(), y, change(p), last, "log_return")
    assert caught.value.problem == problem


@pytest.mark.parametrize("price", [0.0, -1.0])
def test_a_price_that_is_not_positive_is_the_agents_fault(price):
    y, last = np.ones((2, 2, 1)), np.ones((2, 1))
    with pytest.raises(SubmissionError, match=r"predicted values.*positive") as caught:
        evaluate(scoring(), y, np.full_like(y, price), last, "price_level")
    assert caught.value.problem == "out-of-range"
    assert evaluate(scoring({"mae": 1.0}), y, np.full_like(y, price), last, "price_level").total == 1.0 - price


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y, last: (y[0], last), "must be"),
        (lambda y, last: (y[:0], last[:0]), "not empty"),
        (lambda y, last: (y, last[:, :1]), r"last values must have shape \(40, 3\)"),
        (lambda y, last: (np.full_like(y, np.nan), last), "realised values must be finite"),
        (lambda y, last: (y.astype(np.float32), last), "float32"),
        (lambda y, last: (y, np.full_like(last, np.inf)), "last values must be finite"),
        (lambda y, last: (y - 1.0, last + 1.0), "realised values: returns of a price"),
        (lambda y, last: (np.abs(y) + 1.0, last), "realised values: returns of a price"),
    ],
)
def test_a_bad_truth_is_ours(change, words):
    y, p, last = returns_case()
    truth, last = change(y, last)
    with pytest.raises(DataError, match=words):
        evaluate(scoring(), truth, p, last, "price_level")


def test_a_loss_that_is_not_known():
    y, p, last = returns_case()
    table = Scoring.model_construct(
        metrics=(WeightedMetric.model_construct(name="mape", weight=1.0),), periods_per_year=1.0, tail_level=0.05
    )
    with pytest.raises(UsageError, match="unknown metric 'mape'; known: mse"):
        evaluate(table, y, p, last, "log_return")


def test_inputs_are_left_alone():
    y, p, last = returns_case()
    for array in (y, p, last):
        array.flags.writeable = False
    evaluate(scoring(), y, p, last, "log_return")


def test_every_loss_says_what_it_is():
    y, p, last = returns_case()
    for name, loss in LOSSES.items():
        assert loss.name == name
        assert loss.direction == "lower"
        assert loss.description
        assert "2606.26350" in loss.source
        assert set(loss.needs) <= {*Comparison.__dataclass_fields__, *Realised.__dataclass_fields__}
        value = loss.function(Comparison(Realised(y, last, "log_return"), p))
        assert loss.range[0] < value < loss.range[1]
        assert loss.function(Comparison(Realised(y, last, "log_return"), y)) == loss.range[0]
    with pytest.raises(TypeError):
        LOSSES["mse"] = None


def test_public_names_are_sorted_and_there():
    names = openfingym.metrics.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert all(hasattr(openfingym.metrics, name) for name in names)


def test_naive_forecast_repeats_the_last_level_and_predicts_no_return():
    inputs = np.arange(24.0).reshape(2, 4, 3)
    assert naive_forecast(inputs, 2, "log_return").tolist() == np.zeros((2, 2, 3)).tolist()
    for semantics in ("price_level", "yield_level"):
        forecast = naive_forecast(inputs, 2, semantics)
        assert forecast.tolist() == [[inputs[w, -1].tolist()] * 2 for w in range(2)]
        assert forecast.flags.c_contiguous
        assert forecast.flags.writeable


@pytest.mark.parametrize(
    ("inputs", "horizon", "semantics"),
    [
        (np.zeros((2, 3)), 1, "log_return"),
        (np.zeros((2, 0, 3)), 1, "price_level"),
        (np.zeros((2, 1, 3)), 0, "log_return"),
        (np.zeros((2, 1, 3)), 1, "spread"),
    ],
)
def test_naive_forecast_of_nonsense(inputs, horizon, semantics):
    with pytest.raises(UsageError):
        naive_forecast(inputs, horizon, semantics)
