"""Token bucket and feedback as pure functions."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from openfingym.metrics import Score
from openfingym.task import Scoring, Verification, WeightedMetric
from openfingym_verifier.bucket import Bucket, Rate, take
from openfingym_verifier.feedback import coarse, feedback

losses = st.floats(min_value=0.0, max_value=1e300, allow_nan=False)


@given(losses, st.integers(1, 6), st.floats(1e-6, 1e6))
def test_coarse_never_exceeds_the_clip_and_is_near_the_loss(loss: float, digits: int, clip: float) -> None:
    shown = coarse(loss, digits, clip)
    assert 0.0 <= shown <= clip
    clipped = min(loss, clip)
    # Half a unit of the last digit, and a bit for the binary representation.
    assert abs(shown - clipped) <= clipped * (0.5 * 10.0 ** (1 - digits)) * (1 + 1e-9) + 5e-324


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 6))
def test_coarse_keeps_at_most_the_allowed_digits(loss: float, digits: int) -> None:
    mantissa = f"{coarse(loss, digits, math.inf):.17e}".partition("e")[0]
    assert float(f"{float(mantissa):.{digits - 1}f}") == float(f"{float(mantissa):.12f}")


@given(st.lists(losses, min_size=2, max_size=2), st.lists(losses, min_size=2, max_size=2))
def test_feedback_is_monotone(a: list[float], b: list[float]) -> None:
    pairs = [sorted(pair) for pair in zip(a, b, strict=True)]
    scoring = Scoring(metrics=(WeightedMetric(name="mae", weight=0.5), WeightedMetric(name="rmse", weight=0.5)))

    def total(values: list[float]) -> float:
        shown = feedback(Score(0.0, {"mae": values[0], "rmse": values[1]}), scoring, Verification())["total"]
        assert isinstance(shown, float)
        return shown

    assert total([low for low, _ in pairs]) <= total([high for _, high in pairs]) <= 5.0


def test_feedback_holds_nothing_that_the_shown_metrics_do_not() -> None:
    scoring = Scoring(metrics=(WeightedMetric(name="mae", weight=0.5), WeightedMetric(name="rmse", weight=0.5)))
    a = feedback(Score(0.123449, {"mae": 0.12344, "rmse": 0.12341}), scoring, Verification())
    b = feedback(Score(0.123351, {"mae": 0.12336, "rmse": 0.12342}), scoring, Verification())
    assert a == b == {"total": 0.123, "metrics": {"mae": 0.123, "rmse": 0.123}}


arrivals = st.lists(st.integers(0, 3 * 10**9), max_size=60)


@given(arrivals, st.floats(0.01, 50.0), st.integers(1, 20))
def test_bucket_never_grants_more_than_burst_plus_refill(gaps: list[int], per_second: float, burst: int) -> None:
    rate, start = Rate(per_second, burst), 10**18
    bucket, now, granted = Bucket(float(burst), start), start, 0
    for gap in gaps:
        now += gap
        bucket, wait_s = take(bucket, rate, now)
        granted += wait_s == 0.0
        assert 0.0 <= bucket.tokens <= burst
        assert granted <= burst + (now - start) / 1e9 * per_second + 1e-6


@given(st.floats(0.0, 0.999), st.floats(0.01, 50.0), st.integers(1, 20))
def test_waiting_as_long_as_told_is_enough(tokens: float, per_second: float, burst: int) -> None:
    rate, now = Rate(per_second, burst), 10**18
    bucket, wait_s = take(Bucket(tokens, now), rate, now)
    assert bucket == Bucket(tokens, now)
    assert take(bucket, rate, now + math.ceil(wait_s * 1e9) + 1000)[1] == 0.0


@given(st.integers(0, 10**12))
def test_a_clock_that_goes_back_gives_nothing(back_ns: int) -> None:
    rate, now = Rate(100.0, 5), 10**18
    bucket, _ = take(Bucket(1.0, now), rate, now)
    bucket, wait_s = take(bucket, rate, now - back_ns)
    assert wait_s > 0.0
    assert bucket.at_ns == now
