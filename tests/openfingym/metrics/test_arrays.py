"""Arrays that were found finite once are not searched again, and nothing made of them inherits that."""

import numpy as np
import pytest

from openfingym.errors import UsageError
from openfingym.metrics import METRICS, Truth
from openfingym.metrics.arrays import Checked, answer, checked
from openfingym.metrics.cases import CASES


def test_a_checked_array_is_an_ordinary_one_to_every_metric():
    for name in (
        "mae",
        "smape",
        "picp",
        "auroc",
        "marginal",
        "autocorrelation_non_stationary",
        "delta_es",
        "american_put_error",
    ):
        case = CASES[METRICS[name].problem](np.random.default_rng(0))
        plain = {**case.truth, **case.ladder[0]}
        marked = {key: checked(values) if values.dtype == np.float64 else values for key, values in plain.items()}
        result = METRICS[name].compute(marked, 0, case.options)
        assert type(result) is float
        assert result == METRICS[name].compute(plain, 0, case.options)


def test_what_is_computed_from_a_checked_array_is_searched():
    values = checked(np.array([1e200, 1.0]))
    with np.errstate(over="ignore"):
        square = values * values
    assert type(square) is np.ndarray
    assert type(answer("values", values)) is np.ndarray
    with pytest.raises(UsageError, match=r"square\[0\] is not a finite"):
        answer("square", square)


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(np.float64).max, reason="a long double is a float64 here")
def test_a_number_beyond_float64_is_refused():
    values = np.array([1.0, np.finfo(np.longdouble).max], dtype=np.longdouble)
    with pytest.raises(UsageError, match=r"values\[1\] is not a finite"):
        answer("values", values)


def test_a_truth_marks_only_what_is_finite_float64():
    truth = Truth({"y_true": np.ones(3), "labels": np.ones(3, dtype=int), "real": np.array([np.nan]), "benchmark": 0.1})
    assert {name for name, values in truth.views.items() if isinstance(values, Checked)} == {"y_true"}
    assert truth.views is truth.views
