"""The score of an answer: independent computations, whose fault an error is, and the two totals."""

import math
import pickle
import subprocess
import sys

import empyrical
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

import openfingym.metrics
from openfingym.errors import DataError, SubmissionError, UsageError
from openfingym.metrics import METRICS, Truth, naive_forecast, relative, relative_total, score
from openfingym.metrics.comparison import ForecastComparison
from tests.openfingym.metrics.rules import Entry, Rules

PAPER = {"mae": 0.35, "rmse": 0.25, "delta_sharpe": 0.20, "delta_var": 0.10, "delta_es": 0.10}
SEMANTICS = ("log_return", "price_level", "yield_level")
SHARED = [name for name, metric in METRICS.items() if metric.shared]


def table(weights=None, **parameters):
    return Rules(tuple(Entry(name, weight) for name, weight in (weights or PAPER).items()), **parameters)


def truth_of(y, last, semantics, rules=None):
    rules = rules or table()
    options = {"semantics": semantics, "periods_per_year": rules.periods_per_year, "tail_level": rules.tail_level}
    return Truth({"y_true": y, "last_value": last}, options)


def forecast_score(rules, y, p, last, semantics):
    return score(rules, truth_of(y, last, semantics, rules), {"y_pred": p})


def returns_case(seed=0, shape=(40, 5, 3)):
    rng = np.random.default_rng(seed)
    return 0.01 * rng.standard_normal(shape), 0.01 * rng.standard_normal(shape), np.zeros((shape[0], shape[2]))


def test_the_total_of_the_paper_from_independent_computations():
    y, p, last = returns_case()
    got = forecast_score(table(periods_per_year=252.0), y, p, last, "log_return")

    def gap(statistic):
        return np.mean([abs(statistic(p[:, :, c].ravel()) - statistic(y[:, :, c].ravel())) for c in range(3)])

    expected = {
        "mae": mean_absolute_error(y.ravel(), p.ravel()),
        "rmse": root_mean_squared_error(y.ravel(), p.ravel()),
        "delta_sharpe": gap(lambda r: empyrical.sharpe_ratio(r, annualization=252)),
        "delta_var": gap(lambda r: empyrical.value_at_risk(r, 0.05)),
        "delta_es": gap(lambda r: empyrical.conditional_value_at_risk(r, 0.05)),
    }
    assert got.metrics == pytest.approx(expected, rel=1e-10)
    assert list(got.metrics) == list(PAPER)
    assert got.total == pytest.approx(sum(PAPER[name] * value for name, value in expected.items()), rel=1e-12)


def test_prices_are_scored_on_returns_along_the_path():
    rng = np.random.default_rng(3)
    last = 100.0 * np.exp(0.1 * rng.standard_normal((30, 2)))
    y, p = (last[:, None, :] * np.exp(np.cumsum(0.01 * rng.standard_normal((30, 4, 2)), axis=1)) for _ in range(2))
    got = forecast_score(table({"delta_var": 1.0}, tail_level=0.1), y, p, last, "price_level")

    def simple(path, c):
        whole = np.concatenate([last[:, None, c], path[:, :, c]], axis=1)
        return (np.diff(whole, axis=1) / whole[:, :-1]).ravel()

    expected = np.mean([abs(np.quantile(simple(p, c), 0.1) - np.quantile(simple(y, c), 0.1)) for c in range(2)])
    assert got.total == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("semantics", SEMANTICS)
@given(seed=st.integers(0, 10_000))
def test_what_is_shared_is_the_metric_itself(name, semantics, seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 7, 3))
    y, p = rng.uniform(0.5, 2.0, (2, *shape))
    truth = truth_of(
        y, rng.uniform(0.5, 2.0, (shape[0], shape[2])), semantics, table(periods_per_year=12.0, tail_level=0.2)
    )
    alone = METRICS[name].compute({**truth.arrays, "y_pred": p}, 0, truth.options)
    assert METRICS[name].shared(ForecastComparison(truth, p)) == alone
    assert score(table({name: 1.0}, periods_per_year=12.0, tail_level=0.2), truth, {"y_pred": p}).total == alone


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(seed=st.integers(0, 10_000))
def test_the_truth_scores_zero_and_nothing_scores_below(semantics, seed):
    rng = np.random.default_rng(seed)
    y, p = rng.uniform(0.5, 2.0, (2, 6, 3, 2))
    last = rng.uniform(0.5, 2.0, (6, 2))
    weights = table(dict.fromkeys([*SHARED, "mape", "smape"], 0.1))
    best = forecast_score(weights, y, y, last, semantics)
    assert best.total == 0.0
    assert set(best.metrics.values()) == {0.0}
    other = forecast_score(weights, y, p, last, semantics)
    assert other.total > 0.0
    assert min(other.metrics.values()) >= 0.0


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(seed=st.integers(0, 10_000))
def test_order_of_windows_does_not_matter(semantics, seed):
    rng = np.random.default_rng(seed)
    y, p = rng.uniform(0.5, 2.0, (2, 8, 3, 2))
    last = rng.uniform(0.5, 2.0, (8, 2))
    order = rng.permutation(8)
    one = forecast_score(table(), y, p, last, semantics)
    other = forecast_score(table(), y[order], p[order], last[order], semantics)
    assert one.metrics == pytest.approx(other.metrics, rel=1e-9, abs=1e-12)


def test_more_noise_scores_worse_on_average():
    truth, noise, last = returns_case(shape=(400, 5, 3))
    totals = [
        forecast_score(table(), truth, truth + k * noise, last, "log_return").total for k in (0.1, 0.5, 1.0, 2.0, 4.0)
    ]
    assert totals == sorted(totals)


def test_a_flat_forecast_has_a_finite_score_and_zero_risk():
    y, _, last = returns_case()
    got = forecast_score(table(), y, np.zeros_like(y), last, "log_return")
    assert math.isfinite(got.total)
    truth = np.abs([empyrical.value_at_risk(y[:, :, c].ravel(), 0.05) for c in range(3)])
    assert got.metrics["delta_var"] == pytest.approx(truth.mean())


def test_integers_and_float32_are_scored_as_float64():
    y = np.arange(6.0).reshape(1, 3, 2)
    last = np.zeros((1, 2))
    for dtype in (np.float32, np.int16, np.uint8):
        assert forecast_score(table({"mse": 1.0}), y, y.astype(dtype), last, "yield_level").total == 0.0


def test_every_kind_of_answer_from_one_call():
    rng = np.random.default_rng(1)
    period = np.repeat(np.arange(24), 20)
    y, f = rng.standard_normal((2, period.size))
    options = {"periods_per_year": 12.0}
    rows = Truth({"y_true": y, "period": period, "benchmark": 0.1}, options)
    names = ("r2_oos", "dm_zero", "long_short_sharpe", "directional_accuracy", "mae")
    got = score(table(dict.fromkeys(names, 1.0), periods_per_year=12.0), rows, {"y_pred": f})
    assert got.metrics == {n: METRICS[n].compute({**rows.arrays, "y_pred": f}, 0, options) for n in names}
    terms = {n: got.metrics[n] for n in names}
    expected = (
        (1 - terms["r2_oos"])
        - max(terms["dm_zero"], -5)
        - terms["long_short_sharpe"]
        + (1 - terms["directional_accuracy"])
        + terms["mae"]
    )
    assert got.total == pytest.approx(expected)

    curves = score(
        table({"coverage_gap": 0.5, "mse": 0.5}), Truth({"y_true": y}), {"lower": y - 1, "y_pred": y, "upper": y + 1}
    )
    assert curves.metrics == {"coverage_gap": pytest.approx(0.05), "mse": 0.0}

    nodes = score(table({"auroc": 1.0}), Truth({"labels": (y > 0).astype(int)}), {"scores": y})
    assert nodes.metrics == {"auroc": 1.0}
    assert nodes.total == 0.0


def test_panel_metrics_score_windows_whose_rows_are_periods():
    y, f = np.random.default_rng(1).standard_normal((2, 30, 1, 25))
    period = np.arange(30)
    windows = score(table({"dm_zero": 1.0}), Truth({"y_true": y, "period": period}), {"y_pred": f})
    rows = score(
        table({"dm_zero": 1.0}), Truth({"y_true": y.ravel(), "period": np.repeat(period, 25)}), {"y_pred": f.ravel()}
    )
    assert windows == rows


def test_on_future_the_context_is_left_out():
    rng = np.random.default_rng(2)
    real, futures = rng.standard_normal((60, 8, 2)), rng.standard_normal((60, 4, 3, 2))
    whole = np.concatenate((np.repeat(real[:, None, :5], 4, axis=1), futures), axis=2).reshape(-1, 8, 2)
    truth = Truth({"real": real, "future.real": real[:, 5:]}, seed=5)
    answer = {"fake": whole, "future.fake": futures.reshape(-1, 3, 2), "futures": futures}
    rules = Rules(
        (
            Entry("correlation_l1", on="path"),
            Entry("marginal_total_variation", on="future"),
            Entry("american_put_error", on="future"),
        )
    )
    got = score(rules, truth, answer)
    assert got.metrics == {
        "correlation_l1": METRICS["correlation_l1"].compute({"real": real, "fake": whole}),
        "marginal_total_variation": METRICS["marginal_total_variation"].compute(
            {"real": real[:, 5:], "fake": answer["future.fake"]}
        ),
        "american_put_error": METRICS["american_put_error"].compute({"real": real[:, 5:], "futures": futures}),
    }
    with pytest.raises(DataError, match="of futures alone"):
        score(Rules((Entry("marginal", on="future"),)), Truth({"real": real}), {"fake": whole})
    with pytest.raises(SubmissionError, match=r"fake have shape .* ending with \(3, 2\)"):
        score(rules, truth, {**answer, "future.fake": whole})


def test_the_seed_of_the_truth_reaches_a_stochastic_metric():
    rng = np.random.default_rng(2)
    real, fake = rng.standard_normal((60, 8, 2)), 0.9 * rng.standard_normal((60, 8, 2))
    got = {
        seed: score(table({"kupiec_rejection": 1.0}), Truth({"real": real}, seed=seed), {"fake": fake}).total
        for seed in (1, 2)
    }
    assert got[1] != got[2]
    assert got[2] == METRICS["kupiec_rejection"].compute({"real": real, "fake": fake}, 2)


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
        forecast_score(table(), y, change(p), last, "log_return")
    assert caught.value.problem == problem


@pytest.mark.parametrize(
    ("names", "truth", "answer", "problem"),
    [
        ("mpiw", {"y_true": np.zeros(3)}, {"lower": np.ones(3), "upper": np.zeros(3)}, "out-of-range"),
        ("mpiw", {"y_true": np.zeros(3)}, {"lower": np.zeros(3)}, "malformed-submission"),
        ("mpiw", {"y_true": np.zeros(3)}, {"lower": np.zeros(3), "upper": np.zeros(2)}, "wrong-shape"),
        ("auroc", {"labels": np.array([0, 1])}, {"scores": np.zeros((2, 1))}, "wrong-shape"),
        ("marginal", {"real": np.eye(6).reshape(3, 6, 2)}, {"fake": np.zeros((3, 6))}, "wrong-shape"),
        ("marginal", {"real": np.eye(6).reshape(3, 6, 2)}, {"fake": np.zeros((3, 6, 1))}, "wrong-shape"),
        ("disc_fast", {"real": np.ones((30, 6, 2))}, {"fake": np.zeros((3, 6, 2))}, "out-of-range"),
        ("mse", {"y_true": np.zeros(3)}, {}, "malformed-submission"),
    ],
)
def test_any_other_bad_answer_is_the_agents_fault_too(names, truth, answer, problem):
    with pytest.raises(SubmissionError) as caught:
        score(table({names: 1.0}), Truth({k: v if k == "labels" else v[: len(v)] for k, v in truth.items()}), answer)
    assert caught.value.problem == problem


@pytest.mark.parametrize("price", [0.0, -1.0])
def test_a_price_that_is_not_positive_is_the_agents_fault(price):
    y, last = np.ones((2, 2, 1)), np.ones((2, 1))
    with pytest.raises(SubmissionError, match=r"predicted values.*positive") as caught:
        forecast_score(table(), y, np.full_like(y, price), last, "price_level")
    assert caught.value.problem == "out-of-range"
    assert forecast_score(table({"mae": 1.0}), y, np.full_like(y, price), last, "price_level").total == 1.0 - price


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y, last: (y[0], last), "predictions|must be"),
        (lambda y, last: (y[:0], last[:0]), "empty"),
        (lambda y, last: (y, last[:, :1]), r"last values must have shape \(40, 3\)"),
        (lambda y, last: (np.full_like(y, np.nan), last), r"y_true\[0, 0, 0\] is not a finite"),
        (lambda y, last: (y, np.full_like(last, np.inf)), r"last_value\[0, 0\] is not a finite"),
        (lambda y, last: (y - 1.0, last + 1.0), "realised values: returns of a price"),
        (lambda y, last: (np.abs(y) + 1.0, last), "realised values: returns of a price"),
    ],
)
def test_a_bad_truth_is_ours(change, words):
    y, p, last = returns_case()
    truth, last = change(y, last)
    prediction = p if truth.shape != y[0].shape else p[0]
    with pytest.raises(DataError, match=words):
        forecast_score(table(), truth, prediction, last, "price_level")


def test_a_truth_that_lacks_something_is_ours():
    y, p, last = returns_case()
    with pytest.raises(DataError, match="mape needs y_true, which the truth lacks"):
        score(table({"mape": 1.0}), Truth({}), {"y_pred": p})
    with pytest.raises(DataError, match="no last_value"):
        score(table({"delta_es": 1.0}), Truth({"y_true": y}, {"tail_level": 0.05}), {"y_pred": p})
    with pytest.raises(DataError, match="'semantics' is missing"):
        score(table({"delta_es": 1.0}), Truth({"y_true": y, "last_value": last}, {"tail_level": 0.05}), {"y_pred": p})
    with pytest.raises(DataError, match="'realised_vol' values have no returns"):
        forecast_score(table(), np.abs(y) + 1, p, last, "realised_vol")
    with pytest.raises(DataError, match="one way only"):
        score(table({"direction_macro_f1": 1.0}), Truth({"y_true": np.ones(3)}), {"y_pred": np.ones(3)})


def test_a_table_that_makes_no_sense():
    y, p, last = returns_case()
    truth = truth_of(y, last, "log_return")
    with pytest.raises(UsageError, match="unknown metric 'smapes'; did you mean smape"):
        score(table({"smapes": 1.0}), truth, {"y_pred": p})
    with pytest.raises(UsageError, match="names mae twice"):
        score(Rules((Entry("mae"), Entry("mae"))), truth, {"y_pred": p})
    with pytest.raises(UsageError, match=r"periods_per_year = 252.0, the truth's options have 1.0"):
        score(table(periods_per_year=252.0), truth, {"y_pred": p})


def test_inputs_are_left_alone():
    arrays = returns_case()
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    forecast_score(table(), *arrays, "log_return")
    assert all(map(np.array_equal, arrays, before))


def test_a_truth_travels_to_another_process_without_what_it_has_computed():
    y, p, last = returns_case()
    truth = truth_of(y, last, "log_return")
    fresh = len(pickle.dumps(truth))
    expected = score(table(), truth, {"y_pred": p})
    assert len(pickle.dumps(truth)) == fresh
    again = pickle.loads(pickle.dumps(truth))
    assert again.seed == truth.seed
    assert score(table(), again, {"y_pred": p}) == expected


def test_the_relative_total_follows_the_table():
    rules = Rules(
        (
            Entry("mae", 0.5),
            Entry("r2", 0.25, 3.0),
            Entry("dm_zero", 0.25),
            Entry("delta_es", 0.1),
            Entry("log_growth", 0.0, 1.0),
        )
    )
    values = {"mae": 1.0, "r2": 0.5, "dm_zero": 99.0, "delta_es": 0.0, "log_growth": 1.0, "more": 7.0}
    baseline = {"mae": 2.0, "r2": 0.0, "dm_zero": 0.0, "delta_es": 1.0, "log_growth": 0.0}
    expected = math.exp((0.5 * math.log(0.5) + 3.0 * math.log(0.5) + 1.0 * -1.0) / 4.5)
    assert relative(rules, values, baseline) == pytest.approx(expected)
    assert relative(rules, baseline, baseline) == 1.0
    chosen = {"mae": 0.5, "r2": 3.0, "log_growth": 1.0}
    assert relative(rules, values, baseline) == relative_total(
        {n: values[n] for n in chosen}, {n: baseline[n] for n in chosen}, chosen
    )
    with pytest.raises(UsageError, match="without r2"):
        relative(rules, {"mae": 1.0, "dm_zero": 0.0, "delta_es": 0.0, "log_growth": 0.0}, baseline)
    with pytest.raises(UsageError, match="none of dm_zero, delta_var may rank"):
        relative(
            Rules((Entry("dm_zero"), Entry("delta_var"))),
            dict.fromkeys(("dm_zero", "delta_var"), 1.0),
            dict.fromkeys(("dm_zero", "delta_var"), 1.0),
        )
    with pytest.raises(UsageError, match=r"delta_var is not proper.*relative_weight must be 0, found 2"):
        relative(
            Rules((Entry("mae"), Entry("delta_var", 0.0, 2.0))),
            {"mae": 1.0, "delta_var": 1.0},
            {"mae": 1.0, "delta_var": 1.0},
        )
    with pytest.raises(UsageError, match="dm_zero is a diagnostic"):
        relative(
            Rules((Entry("mae"), Entry("dm_zero", 0.0, 2.0))),
            {"mae": 1.0, "dm_zero": 1.0},
            {"mae": 1.0, "dm_zero": 1.0},
        )


def test_public_names_are_sorted_there_and_loaded_when_used():
    names = openfingym.metrics.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert dir(openfingym.metrics) == sorted(names)
    for name in names:
        assert getattr(openfingym.metrics, name).__class__
    assert callable(openfingym.metrics.relative)
    program = "import sys, openfingym.metrics; assert not {'numpy', 'scipy', 'sklearn'} & set(sys.modules), 'eager'"
    subprocess.run([sys.executable, "-c", program], check=True)
    program = (
        "import sys; from openfingym.metrics import score; assert not {'scipy', 'sklearn', 'numba', 'torch'} & "
        "set(sys.modules), 'heavy'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_naive_forecast_repeats_the_last_level_and_predicts_no_return():
    inputs = np.arange(24.0).reshape(2, 4, 3)
    assert naive_forecast(inputs, 2, "log_return").tolist() == np.zeros((2, 2, 3)).tolist()
    for semantics in ("price_level", "yield_level", "realised_vol", "mixed"):
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
