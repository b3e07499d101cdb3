"""Intervals, the paired test, Holm and pass@k, against other libraries, closed forms and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from openfingym.errors import UsageError
from openfingym.reports import statistics
from openfingym.reports.statistics import (
    FEWEST_UNITS,
    PATTERNS,
    Estimate,
    expanded_tail,
    holm,
    mean_estimate,
    pass_at_k,
    sign_flip_p,
)


def of_tasks(values, seed=0):
    """The estimate from one run a task."""
    return mean_estimate([[value] for value in values], seed)


@pytest.mark.parametrize("count", [6, 20, 199, 201, 1000])
def test_the_interval_is_scipys_percentile_interval_at_the_expanded_level(count):
    values = np.random.default_rng(count).gamma(2.0, size=count)
    found = of_tasks(values, seed=1)
    options = {"n_resamples": 10_000, "method": "percentile", "batch": 500, "random_state": np.random.default_rng(2)}
    theirs = stats.bootstrap(
        (values,), np.mean, confidence_level=1.0 - 2.0 * expanded_tail([values]), **options
    ).confidence_interval
    assert found.value == pytest.approx(values.mean())
    width = theirs.high - theirs.low
    assert found.low == pytest.approx(theirs.low, abs=0.06 * width)
    assert found.high == pytest.approx(theirs.high, abs=0.06 * width)


def test_the_expanded_interval_of_a_normal_law_is_students():
    # Percentiles of a normal bootstrap law, whose deviation is sqrt((n - 1) / n) s / sqrt(n), at the expanded tail.
    for count in (6, 10, 48):
        half = -stats.norm.ppf(expanded_tail([np.arange(count)])) * math.sqrt((count - 1) / count)
        assert half == pytest.approx(stats.t.ppf(0.975, count - 1), rel=1e-9)


@pytest.mark.parametrize(
    ("tasks", "seeds", "between", "within"), [(6, 1, 0.2, 0.3), (8, 3, 0.0, 0.5), (8, 3, 0.5, 0.1), (40, 2, 0.2, 0.3)]
)
def test_the_interval_covers_the_truth_as_often_as_it_says(tasks, seeds, between, within):
    generator, covered, repeats = np.random.default_rng(tasks), 0, 600
    for _ in range(repeats):
        runs = between * generator.standard_normal((tasks, 1)) + within * generator.standard_normal((tasks, seeds))
        found = mean_estimate(runs, seed=0)
        covered += found.low <= 0.0 <= found.high
    # Three standard errors of a share of 600 around 95 %, and two points that a bootstrap of six may lack.
    assert 0.90 <= covered / repeats <= 0.98


@pytest.mark.parametrize(
    ("sizes", "spreads"), [([6], [1.0]), ([10] * 5, [1.0] * 5), ([6, 9, 20], [3.0, 1.0, 1.0]), ([10, 10], [1.0, 0.0])]
)
def test_the_interval_over_the_runs_of_few_tasks_covers_their_mean_as_often_as_it_says(sizes, spreads):
    generator, covered, repeats = np.random.default_rng(len(sizes)), 0, 600
    for _ in range(repeats):
        # The tasks are these; what they differ by is no noise.
        runs = [
            task + spread * generator.standard_normal(size)
            for task, (size, spread) in enumerate(zip(sizes, spreads, strict=True))
        ]
        found = mean_estimate(runs, seed=0)
        covered += found.low <= (len(sizes) - 1) / 2 <= found.high
    assert 0.90 <= covered / repeats <= 0.98


def test_the_interval_over_runs_of_normal_laws_is_welchs():
    # Of two means the half-width is that of Welch's interval of their difference, halved.
    generator = np.random.default_rng(4)
    runs = [3.0 * generator.standard_normal(150), generator.standard_normal(60)]
    found = mean_estimate(runs, seed=0)
    theirs = stats.ttest_ind(*runs, equal_var=False).confidence_interval(0.95)
    assert found.high - found.low == pytest.approx((theirs.high - theirs.low) / 2.0, rel=0.04)
    assert found.value == pytest.approx((runs[0].mean() + runs[1].mean()) / 2.0)


def test_the_runs_of_unlike_tasks_are_drawn_apart():
    # Drawn alike, the noise of a task and of its mirror would cancel in every replicate.
    noise = np.random.default_rng(0).standard_normal(20)
    found = mean_estimate([noise, -noise], seed=0)
    assert found.high - found.low > 0.5 * noise.std() / math.sqrt(20)


def test_too_few_tasks_and_runs_have_a_value_and_no_interval():
    few, runs = [[0.1] * 5] * 5, [[0.1] * 6] * 5
    assert mean_estimate([], seed=0) == Estimate(None, None, None, 0, None)
    assert mean_estimate(few, seed=0) == Estimate(pytest.approx(0.1), None, None, 5, None)
    assert mean_estimate([*runs[1:], few[0]], seed=0).over is None
    assert (mean_estimate(runs, seed=0).over, mean_estimate([*few, [0.1]], seed=0).over) == ("run", "task")


def test_equal_values_have_an_interval_of_no_width():
    for runs in ([[0.1]] * 7, [[0.1] * 7] * 3):
        found = mean_estimate(runs, seed=0)
        assert found.low <= found.value <= found.high
        assert found.high - found.low < 1e-12


def test_a_falling_function_swaps_the_ends():
    found = of_tasks(np.arange(8.0))
    mapped = found.map(lambda value: -2.0 * value)
    assert (mapped.value, mapped.low, mapped.high) == (-2.0 * found.value, -2.0 * found.high, -2.0 * found.low)
    assert Estimate(1.0, None, None, 1, None).map(math.exp) == Estimate(math.e, None, None, 1, None)


def test_an_interval_depends_on_its_values_and_the_seed_alone():
    values = np.random.default_rng(0).normal(size=30)
    first = of_tasks(values, seed=3)
    of_tasks(values[:20], seed=3)
    assert of_tasks(values, seed=3) == first
    assert of_tasks(values, seed=4) != first
    statistics._weights.cache_clear()
    assert of_tasks(values, seed=3) == first


@pytest.mark.parametrize("count", [6, 9, 13])
def test_the_exact_test_is_scipys(count):
    differences = np.random.default_rng(count).normal(0.4, 1.0, (5, count))
    options = {"permutation_type": "samples", "n_resamples": np.inf, "vectorized": True}
    theirs = [stats.permutation_test((row,), np.mean, **options).pvalue for row in differences]
    assert sign_flip_p(differences, seed=0) == pytest.approx(theirs, abs=1e-12)


def test_the_random_test_is_scipys_within_its_noise():
    differences = np.random.default_rng(0).normal(0.25, 1.0, (4, 40))
    options = {"permutation_type": "samples", "n_resamples": 50_000, "batch": 5_000, "vectorized": True}
    theirs = [
        stats.permutation_test((row,), np.mean, **options, random_state=np.random.default_rng(1)).pvalue
        for row in differences
    ]
    assert sign_flip_p(differences, seed=0) == pytest.approx(theirs, abs=0.012)


def test_the_smallest_p_value_is_one_pattern_and_its_mirror():
    ones = np.ones((1, FEWEST_UNITS))
    assert sign_flip_p(ones, seed=0).tolist() == [2.0 / 2**FEWEST_UNITS]
    assert sign_flip_p(ones, seed=0)[0] < 0.05
    assert sign_flip_p(np.ones((1, FEWEST_UNITS - 1)), seed=0)[0] > 0.05
    assert sign_flip_p(np.full((1, 60), 0.1), seed=0).tolist() == [1.0 / PATTERNS]


def test_no_difference_is_no_evidence_and_tasks_in_common_to_others_change_nothing():
    assert sign_flip_p(np.zeros((2, 8)), seed=0).tolist() == [1.0, 1.0]
    differences = np.random.default_rng(0).normal(size=(1, 8))
    padded = np.hstack([differences, np.zeros((1, 5))])
    assert sign_flip_p(padded, seed=0) == pytest.approx(sign_flip_p(differences, seed=0))


def test_the_test_is_wrong_as_rarely_as_it_says():
    differences = np.random.default_rng(5).standard_t(3, (2000, 12))
    rejected = (sign_flip_p(differences, seed=0) <= 0.05).mean()
    assert rejected == pytest.approx(0.05, abs=0.015)


def test_many_comparisons_are_done_in_pieces(monkeypatch):
    differences = np.random.default_rng(1).normal(0.2, 1.0, (30, 20))
    whole = sign_flip_p(differences, seed=0)
    monkeypatch.setattr(statistics, "CHUNK", 1000)
    assert sign_flip_p(differences, seed=0).tolist() == whole.tolist()


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7))
@settings(max_examples=100)
def test_holm_is_the_closed_bonferroni_test(p_values):
    # A hypothesis is rejected if every intersection it is part of is, each by Bonferroni's test.
    count = len(p_values)
    subsets = [chosen for size in range(1, count + 1) for chosen in itertools.combinations(range(count), size)]
    closed = [max(min(1.0, len(s) * min(p_values[n] for n in s)) for s in subsets if one in s) for one in range(count)]
    assert holm(p_values) == pytest.approx(closed)


def test_holm_of_known_values():
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")
    assert holm([0.05, 0.01, 0.03, 0.02, 0.04]) == pytest.approx([0.09, 0.05, 0.09, 0.08, 0.09])


def test_holm_of_nothing_is_nothing():
    assert holm([]) == []


@pytest.mark.parametrize(("runs", "passed", "k"), [(5, 2, 3), (6, 0, 2), (6, 6, 6), (7, 1, 1), (7, 3, 7)])
def test_pass_at_k_is_the_share_of_draws_with_a_success(runs, passed, k):
    draws = list(itertools.combinations([True] * passed + [False] * (runs - passed), k))
    assert pass_at_k(runs, passed, k) == pytest.approx(sum(map(any, draws)) / len(draws))


@given(st.integers(1, 200), st.data())
@settings(max_examples=100)
def test_pass_at_k_is_the_papers_program(runs, data):
    passed, k = data.draw(st.integers(0, runs)), data.draw(st.integers(1, runs))
    # Chen et al. (2021), figure 3.
    theirs = 1.0 if runs - passed < k else 1.0 - float(np.prod(1.0 - k / np.arange(runs - passed + 1, runs + 1)))
    assert pass_at_k(runs, passed, k) == pytest.approx(theirs)


@pytest.mark.parametrize(("runs", "passed", "k"), [(3, 1, 0), (3, 1, 4), (3, 4, 1), (3, -1, 1)])
def test_pass_at_k_of_impossible_counts_is_refused(runs, passed, k):
    with pytest.raises(UsageError, match="pass@k"):
        pass_at_k(runs, passed, k)
