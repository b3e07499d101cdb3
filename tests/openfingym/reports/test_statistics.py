"""Intervals, tests, Holm and pass@k, against other libraries, closed forms and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from openfingym.errors import UsageError
from openfingym.reports.statistics import (
    FEWEST_UNITS,
    POWER,
    Estimate,
    Figure,
    Part,
    detectable_in_errors,
    estimate_of,
    holm,
    inference_of,
    pass_at_k,
    power,
    quantile,
)


def of_datasets(values, datasets=None):
    """What is known of a mean over tasks, each on a dataset of its own unless they are given."""
    return inference_of(list(values), list(range(len(values))) if datasets is None else datasets, nothing_known)


def nothing_known():
    return [Figure(0.0, None, ())]


def of_items(*figures, datasets=None):
    return inference_of(
        [figure.value for figure in figures], datasets or list(range(len(figures))), lambda: list(figures)
    )


@pytest.mark.parametrize("count", [6, 10, 48])
def test_over_datasets_of_one_task_each_it_is_students_t(count):
    values = np.random.default_rng(count).normal(0.3, 1.0, count)
    found, theirs = of_datasets(values), stats.ttest_1samp(values, 0.0)
    ends = theirs.confidence_interval(0.95)
    assert (found.value - found.half, found.value + found.half) == pytest.approx((ends.low, ends.high))
    assert (found.p_value, found.freedom) == (pytest.approx(theirs.pvalue), pytest.approx(count - 1))
    assert (found.over, found.datasets) == ("task", count)


@pytest.mark.parametrize("sizes", [[2] * 6, [7, 8, 7, 1, 1, 1, 1], [1] * 9 + [20]])
def test_over_datasets_of_unlike_numbers_of_tasks_variance_and_freedom_are_those_of_a_quadratic_form(sizes):
    """For normal means of datasets: E and Var of the estimated variance, drawn a hundred thousand times."""
    generator = np.random.default_rng(0)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    weights = np.array(sizes) / sum(sizes)
    means = generator.standard_normal((100_000, len(sizes)))
    deviations = means - (means @ weights)[:, None]
    drawn = (weights**2 / (1.0 - 2.0 * weights + (weights**2).sum()) * deviations**2).sum(axis=1)
    found = of_datasets(means[0][codes], codes.tolist())
    assert found.error**2 == pytest.approx(drawn[0])
    assert drawn.mean() == pytest.approx((weights**2).sum(), rel=0.02)
    assert found.freedom == pytest.approx(2.0 * drawn.mean() ** 2 / drawn.var(), rel=0.05)


@pytest.mark.parametrize("sizes", [[1] * 6, [7, 8, 7, 1, 1, 1, 1]])
def test_equal_means_are_told_apart_as_rarely_as_it_says(sizes):
    generator, told, covered, repeats = np.random.default_rng(len(sizes)), 0, 0, 1500
    codes = np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(repeats):
        # Tasks of a dataset share most of their luck.
        values = generator.standard_normal(len(sizes))[codes] + 0.3 * generator.standard_normal(len(codes))
        found = of_datasets(values, codes.tolist())
        told += found.p_value <= 0.05
        covered += abs(found.value) <= found.half
    assert told / repeats <= 0.06
    assert 0.935 <= covered / repeats <= 0.985


def test_five_datasets_stand_for_no_other_however_many_tasks_they_have():
    assert of_datasets([0.1] * 5) is None
    assert of_datasets([0.1] * 24, [n % 5 for n in range(24)]) is None
    assert of_datasets([0.1] * 24, [n % 6 for n in range(24)]).over == "task"
    assert inference_of([], [], nothing_known) is None


def test_no_p_value_over_datasets_is_below_that_of_the_sign_test():
    assert of_datasets([0.1] * FEWEST_UNITS).p_value == 2.0 / 2**FEWEST_UNITS < 0.05
    assert of_datasets([0.1, 0.100001] * 5).p_value == 2.0**-9
    assert of_datasets([0.0] * 8).p_value == of_datasets([1e-12] * 8).p_value == 1.0


def test_parts_of_known_freedom_are_added_as_welch_does():
    generator = np.random.default_rng(4)
    one, other = 3.0 * generator.standard_normal(15), generator.standard_normal(8) + 1.0
    theirs = stats.ttest_ind(one, other, equal_var=False)
    parts = tuple(Part.known(part.std(ddof=1) / math.sqrt(len(part)), len(part) - 1.0) for part in (one, other))
    found = of_items(Figure(one.mean() - other.mean(), Part(0.0, math.inf, 0.0), parts))
    ends = theirs.confidence_interval(0.95)
    assert (found.value - found.half, found.value + found.half) == pytest.approx((ends.low, ends.high))
    assert (found.p_value, found.over) == (pytest.approx(theirs.pvalue), "item")


def test_parts_known_by_their_intervals_alone_are_added_by_their_squares():
    found = of_items(*(Figure(0.1, Part.of_interval(half), ()) for half in (0.3, 0.4)))
    # The mean of two: half of the root of 0.09 + 0.16.
    assert found.half == pytest.approx(0.25)
    single = of_items(Figure(0.3, Part.of_interval(0.3), ()))
    # At the end of the interval the p-value is 5 %, and beyond falls as slowly as with two degrees of freedom.
    assert single.p_value == pytest.approx(0.05)
    far = of_items(Figure(0.6, Part.of_interval(0.3), ()))
    assert far.p_value == pytest.approx(2.0 * stats.t.sf(2.0 * stats.t.ppf(0.975, 2.0), 2.0))


@pytest.mark.parametrize("freedoms", [(3.0,) * 5, (2.0, 30.0), (5.0, 5.0, 2.0)])
def test_an_interval_over_items_holds_the_truth_as_often_as_it_says(freedoms):
    generator, held, repeats = np.random.default_rng(7), {"known": 0, "unknown": 0}, 2000
    for _ in range(repeats):
        draws = [(generator.standard_normal(), math.sqrt(generator.chisquare(df) / df)) for df in freedoms]
        for how, part in (
            ("known", Part.known),
            ("unknown", lambda error, df: Part.of_interval(Part.known(error, df).half)),
        ):
            found = of_items(
                *(Figure(value, part(error, df), ()) for (value, error), df in zip(draws, freedoms, strict=True))
            )
            held[how] += abs(found.value) <= found.half
    assert held["known"] / repeats >= 0.935
    assert held["unknown"] / repeats >= 0.945


def test_the_items_of_one_dataset_go_together_and_those_of_others_do_not():
    figures = [Figure(0.1, Part.known(0.3, 10.0), ()) for _ in range(4)]
    assert of_items(*figures, datasets=[3, 3, 3, 3]).error == pytest.approx(0.3)
    assert of_items(*figures).error == pytest.approx(0.15, rel=0.01)
    assert of_items(*figures, datasets=[0, 0, 1, 1]).error == pytest.approx(0.3 / math.sqrt(2.0), rel=0.01)
    assert of_items(*figures, Figure(0.1, None, ())) is None
    # As little is known of both together as of the one of which less is known.
    unlike = Part.known(0.1, 30.0).together(Part.known(0.3, 3.0))
    assert (unlike.error, unlike.freedom) == (pytest.approx(0.4), 3.0)
    assert unlike.half == pytest.approx(0.1 * quantile(30.0) + 0.3 * quantile(3.0))


def test_what_is_known_exactly_has_an_interval_of_no_width():
    exact = of_items(Figure(0.2, Part(0.0, math.inf, 0.0), ()))
    assert (exact.half, exact.p_value) == (0.0, 0.0)
    assert of_items(Figure(0.0, Part(0.0, math.inf, 0.0), ())).p_value == 1.0
    assert of_items(Figure(1e-300, Part.known(1e-300, 5.0), ())).half > 0.0
    # A part that is next to nothing beside another one neither matters nor overflows.
    both = of_items(Figure(0.2, Part.known(1e-300, 3.0), (Part.known(0.1, 5.0),)))
    assert (both.half, both.freedom) == (pytest.approx(0.1 * quantile(5.0)), pytest.approx(5.0))


@pytest.mark.parametrize("freedom", [2.0, 5.0, 23.0, math.inf])
def test_the_detectable_difference_is_found_as_often_as_it_says(freedom):
    generator, count = np.random.default_rng(1), 20_000
    scale = np.ones(count) if math.isinf(freedom) else np.sqrt(generator.chisquare(freedom, count) / freedom)
    # What the median report says it tells; then as many tests of that difference.
    mean = detectable_in_errors(freedom) * np.median(scale)
    found = (mean + generator.standard_normal(count)) / generator.permutation(scale) > quantile(freedom)
    assert found.mean() == pytest.approx(POWER, abs=0.015)
    assert power(mean, freedom) == pytest.approx(POWER, abs=0.01)
    assert of_items(Figure(0.0, Part.known(0.1, 5.0), ())).detectable == pytest.approx(0.1 * detectable_in_errors(5.0))


def test_an_estimate_is_its_mean_with_its_interval():
    known = of_datasets([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    found = estimate_of([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], known)
    assert found == Estimate(pytest.approx(0.35), known.value - known.half, known.value + known.half, 6, "task")
    assert estimate_of([0.1, 0.3], None) == Estimate(pytest.approx(0.2), None, None, 2, None)
    assert estimate_of([], None) == Estimate(None, None, None, 0, None)
    assert (found.enough, estimate_of([0.1], None).enough) == (True, False)


def test_a_falling_function_swaps_the_ends():
    values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    found = estimate_of(values, of_datasets(values))
    mapped = found.map(lambda value: -2.0 * value)
    assert (mapped.value, mapped.low, mapped.high) == (-2.0 * found.value, -2.0 * found.high, -2.0 * found.low)
    assert Estimate(1.0, None, None, 1, None).map(math.exp) == Estimate(math.e, None, None, 1, None)


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
