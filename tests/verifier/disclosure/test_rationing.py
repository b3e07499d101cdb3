"""Token bucket and feedback as pure functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.metrics import Score, Truth, score
from openfingym.task.model import Verification
from openfingym.task.scoring import Scoring, WeightedMetric
from openfingym_verifier.bucket import Bucket, Rate, take
from openfingym_verifier.disclosure.feedback import WITHHELD, coarse, feedback

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
    scoring = Scoring(
        baseline="naive", metrics=(WeightedMetric(name="mae", weight=0.5), WeightedMetric(name="rmse", weight=0.5))
    )

    def total(values: list[float]) -> float:
        shown = feedback(Score(0.0, {"mae": values[0], "rmse": values[1]}), scoring, Verification())["total"]
        assert isinstance(shown, float)
        return shown

    assert total([low for low, _ in pairs]) <= total([high for _, high in pairs]) <= 5.0


hidden = st.floats(0.12251, 0.12349)
"""Values that are all shown as 0.123."""


@given(hidden, hidden, losses)
def test_feedback_holds_nothing_that_the_shown_metrics_do_not(mae: float, rmse: float, total: float) -> None:
    # Metrics of other sizes than the total: what is rounded away of them may show in its third digit.
    scoring = Scoring(
        baseline="naive", metrics=(WeightedMetric(name="mae", weight=0.9), WeightedMetric(name="rmse", weight=0.1))
    )
    shown = feedback(Score(total, {"mae": mae, "rmse": rmse / 100}), scoring, Verification())
    assert shown == {"total": 0.111, "metrics": {"mae": 0.123, "rmse": 0.00123}}
    assert {**shown, **WITHHELD} == {"total": None, "metrics": {}}, "what is withheld has the same form"


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


def recovered(n: int, rate: float, seed: int) -> float:
    """Share of public labels that the best group test known to us gets right beyond always guessing the commoner one.

    A budget of five submissions, AUROC shown to three digits. A submission gives each of two groups of nodes a
    level of its own, so that the feedback, a weighted sum of the positives in each, tells both counts apart
    where three digits suffice. The thief then calls each group by its majority. The number of positives is a gift.
    """
    generator = np.random.default_rng(seed)
    labels = (generator.permutation(n) < rate * n).astype(np.int64)
    positives = int(labels.sum())
    scoring = Scoring(baseline="random", metrics=(WeightedMetric(name="auroc", weight=1.0),))
    truth, size, guess = Truth({"labels": labels}), n // 10, np.full(n, int(rate > 0.5))
    common = max(rate, 1.0 - rate)
    for i in range(5):
        groups = [slice(2 * i * size, (2 * i + 1) * size), slice((2 * i + 1) * size, (2 * i + 2) * size)]
        values = np.zeros(n)
        values[groups[0]], values[groups[1]] = 1.0, 2.0
        told = feedback(score(scoring, truth, {"scores": values}), scoring, Verification())
        shown = told["metrics"]["auroc"]  # type: ignore[index]
        counts = likeliest_counts(n, positives, size, shown)
        for group, count in zip(groups, counts, strict=True):
            guess[group] = int(count > size / 2) if rate <= 0.5 else int(count >= size / 2)
    return float((guess == labels).mean()) - common


def likeliest_counts(n: int, positives: int, size: int, shown: float) -> tuple[int, int]:
    """Positives in the group of the second and of the first level, nearest to what is usual among all that explain the
    feedback."""
    a, b = np.meshgrid(np.arange(size + 1), np.arange(size + 1), indexing="ij")
    rest = n - 2 * size
    negatives = np.stack([rest - (positives - a - b), size - a, size - b])
    wins = (
        (positives - a - b) * negatives[0] / 2
        + a * (negatives[0] + negatives[1] / 2)
        + b * (negatives[0] + negatives[1] + negatives[2] / 2)
    )
    error = np.abs(wins / (positives * (n - positives)) - shown)
    usual = size * positives / n
    distance = np.where(error <= error.min() + 5e-4, (a - usual) ** 2 + (b - usual) ** 2, np.inf)
    first, second = np.unravel_index(int(distance.argmin()), distance.shape)
    return int(first), int(second)


# What information theory allows anybody: five numbers of at most 1,000 values each are 50 bits, and by Pinsker's
# inequality the mean advantage over guessing is at most sqrt(bits * ln 2 / (2 n)).
@pytest.mark.parametrize(("n", "rate", "bound"), [(200, 0.5, 0.10), (2000, 0.5, 0.03), (2000, 0.07, 0.005)])
def test_five_rounded_aurocs_give_few_labels_away(n: int, rate: float, bound: float) -> None:
    gains = [recovered(n, rate, seed) for seed in range(20)]
    assert np.mean(gains) <= bound <= math.sqrt(5 * math.log2(1000) * math.log(2) / (2 * n))
    if n == 200:
        assert np.mean(gains) > 0.02, "the attack works as far as it can"


def test_with_exact_feedback_the_same_attack_on_single_nodes_would_succeed() -> None:
    """Not the metric but rationing protects the labels: with all digits and n submissions every label is read."""
    generator = np.random.default_rng(0)
    labels = (generator.uniform(size=60) < 0.3).astype(np.int64)
    scoring = Scoring(baseline="random", metrics=(WeightedMetric(name="auroc", weight=1.0),))
    read = [
        score(scoring, Truth({"labels": labels}), {"scores": np.eye(60)[i]}).metrics["auroc"] > 0.5 for i in range(60)
    ]
    np.testing.assert_array_equal(read, labels == 1)
