"""What a participant is shown of a result: nothing finer than its sampling error, and nothing of how bad it is."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym_verifier.disclosure.disclosure import coarsely, disclosed, toward

numbers = st.floats(-1e6, 1e6)


def result(relative: float, error: float | None, **changes: object) -> dict[str, Any]:
    return {
        "state": "scored",
        "reason": None,
        "season": "1",
        "total": 0.03,
        "total_standard_error": 0.002,
        "total_interval": [0.026, 0.034],
        "relative_total": relative,
        "relative_standard_error": error,
        "relative_interval": [0.7, 0.9],
        "relative_sample": {"logs": [-0.3141592, -0.2718281], "scale": 1.0123456, "freedom": 9.0, "units": 30},
        "metrics": {"mse": 0.00123456, "mae": 0.0312345},
        "standard_errors": {"mse": 0.0001234, "mae": 0.0012345},
        "baseline_total": 0.0412345678,
        "baseline_metrics": {"mse": 0.0022345678, "mae": 0.0412345678},
        "salt": "a" * 32,
        **changes,
    }


@given(numbers, numbers, st.floats(1e-6, 1e6))
def test_toward_never_passes_the_anchor_and_is_within_a_step(value: float, anchor: float, width: float) -> None:
    shown = toward(value, anchor, width)
    assert min(value, anchor) - 1e-6 <= shown <= max(value, anchor) + 1e-6
    assert abs(shown - value) <= width * (1 + 1e-9) + 1e-6


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan, math.inf])
def test_without_a_width_there_is_the_anchor_alone(width: float) -> None:
    assert toward(5.0, 1.0, width) == 1.0


@given(st.floats(1.0, 100.0), st.floats(1e-4, 1.0))
def test_whatever_is_not_better_than_the_baseline_looks_the_same(relative: float, error: float) -> None:
    shown = disclosed(result(relative, error), "rounded")
    level = disclosed(result(1.0, 0.05), "rounded")
    assert shown == level, "and so does how surely it is worse"
    assert shown["relative_total"] == 1.0
    assert shown["metrics"] == shown["baseline_metrics"]
    assert shown["total"] == shown["baseline_total"]


@given(st.floats(0.01, 1.0), st.floats(1e-4, 1.0))
def test_a_number_better_than_the_baseline_is_one_of_few(relative: float, error: float) -> None:
    shown = disclosed(result(relative, error), "rounded")
    width = 2.0 * coarsely(error)
    steps = -math.log(shown["relative_total"]) / width
    assert steps == pytest.approx(round(steps), abs=1e-6)
    assert relative <= shown["relative_total"] * (1 + 1e-9), "moved towards the baseline, never past it"
    if not steps:
        return
    low, high = shown["relative_interval"]
    assert low <= relative * 1.01 <= high * 1.02


def test_metrics_are_shown_only_beside_a_score_that_is_told_apart() -> None:
    told = disclosed(result(0.7, 0.05), "rounded")
    assert told["metrics"]["mse"] == pytest.approx(0.00223 - 3 * 2 * 0.00015)
    assert told["metrics"]["mae"] == pytest.approx(0.0412 - 3 * 2 * 0.0015)
    assert told["total"] == pytest.approx(0.0412 - 2 * 2 * 0.002)
    not_told = disclosed(result(0.95, 0.05), "rounded")
    assert not_told["metrics"] == not_told["baseline_metrics"]
    assert not_told["standard_errors"] == {}


def test_an_error_of_arithmetic_alone_shows_no_digits() -> None:
    """Losses proportional to the baseline's, window by window, have no sampling error; the factor would be told to its
    last digit."""
    exact = result(0.7123456789, 2.5e-16, standard_errors={"mse": 1e-19, "mae": 1e-19}, total_standard_error=1e-19)
    shown = disclosed(exact, "rounded")
    assert -math.log(shown["relative_total"]) / 2e-4 == pytest.approx(
        round(-math.log(shown["relative_total"]) / 2e-4), abs=1e-6
    )
    assert shown["metrics"]["mse"] != exact["metrics"]["mse"]
    assert shown["total"] != exact["total"]


def test_a_score_without_an_error_is_shown_as_the_baseline() -> None:
    assert disclosed(result(0.5, None), "rounded")["relative_total"] == 1.0


@pytest.mark.parametrize("disclosure", ["rounded", "held"])
def test_no_exact_number_is_left(disclosure: Any) -> None:
    exact = result(0.7123456789, 0.0512345)
    text = repr(disclosed(exact, disclosure))
    for number in ("0.7123456", "0.0512345", "0.00123456", "0.0312345", "0.0412345", "0.0022345", "a" * 32, "0.026"):
        assert number not in text
    # Not a number of what its replicates say of the labels, one by one.
    assert disclosed(exact, disclosure)["relative_sample"] is None
    assert not any(number in text for number in ("0.3141592", "0.2718281", "1.0123456"))


def test_what_is_held_says_so_and_nothing_else() -> None:
    shown = disclosed(result(0.7, 0.05), "held")
    assert shown["state"] == "held"
    assert "season" in str(shown["reason"])
    assert shown["total"] is None
    assert shown["relative_total"] is None
    assert shown["metrics"] == {}


def test_everything_is_everything() -> None:
    exact = result(0.7, 0.05)
    assert disclosed(exact, "full") is exact


def test_a_rejected_one_keeps_its_reason() -> None:
    rejected = result(
        0.7, 0.05, state="rejected", reason="nothing was submitted", total=None, relative_total=None, metrics={}
    )
    shown = disclosed(rejected, "rounded")
    assert (shown["state"], shown["reason"], shown["total"]) == ("rejected", "nothing was submitted", None)


@given(st.floats(1e-9, 1e9))
def test_errors_are_rounded_up_to_few_sizes(error: float) -> None:
    shown = coarsely(error)
    assert error * (1 - 1e-9) <= shown <= 1.67 * error
    assert coarsely(shown) == pytest.approx(shown)
