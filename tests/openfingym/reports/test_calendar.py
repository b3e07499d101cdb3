"""How the errors of tasks on one series go together, against closed forms and the law of large numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from openfingym.metrics.unit_calendar import Influence
from openfingym.reports.calendar import Dated, joint_error
from openfingym.reports.statistics import Figure, Part, over_items

DAY = 86_400.0


def influence(values, *, start=0.0, length=5.0, block=3, explained=1.0):
    """What consecutive stretches of some days add, the first from a day on."""
    values = np.asarray(values) - np.mean(values)
    begins = (start + length * np.arange(len(values))) * DAY
    return Influence(begins, begins + length * DAY, values, explained, block * length * DAY)


def dated(values, error=1.0, freedom=9.0, **changes):
    return Dated(error, freedom, influence(values, **changes))


VALUES = np.random.default_rng(0).standard_normal((40, 60))


def test_figures_alike_go_together_wholly_and_opposite_ones_do_not_cancel():
    error, freedom = joint_error([dated(VALUES[0], error) for error in (1.0, 2.0, 0.5)])
    assert (error, freedom) == (pytest.approx(3.5), 9.0)
    # A folder may be a stranger's: with forged units that cancel, any difference would be certain.
    assert joint_error([dated(VALUES[0], 3.0), dated(-VALUES[0], 4.0)])[0] == pytest.approx(5.0)
    assert joint_error([dated(VALUES[0], 3.0)]) == (pytest.approx(3.0), 9.0)


def test_figures_of_other_times_are_independent():
    apart = [dated(VALUES[n], start=400.0 * n) for n in range(3)]
    assert joint_error(apart)[0] == pytest.approx(math.sqrt(3.0))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_over_the_same_times_their_errors_go_together_as_what_their_units_add(correlation):
    generator = np.random.default_rng(1)
    squares = []
    for _ in range(150):
        common = generator.standard_normal(60)
        own = generator.standard_normal((2, 60))
        both = math.sqrt(correlation) * common + math.sqrt(1.0 - correlation) * own
        squares.append(joint_error([dated(values) for values in both])[0] ** 2)
    # Correlations below 0 count as 0, which at 20 blocks adds 0.4 of their deviation, 1 / sqrt(20).
    assert np.mean(squares) == pytest.approx(2.0 + 2.0 * correlation, abs=0.17 if correlation else 0.3)
    assert min(squares) >= 2.0 - 1e-9


def test_what_is_no_sum_over_units_goes_together_wholly():
    some = [dated(VALUES[n], start=400.0 * n, explained=0.9) for n in range(4)]
    assert joint_error(some)[0] == pytest.approx(math.sqrt(4 * 0.9 + (4 * math.sqrt(0.1)) ** 2))
    assert joint_error([*some, dated(VALUES[5], explained=0.5)]) is None


def test_few_blocks_or_units_without_effect_say_nothing_of_how_figures_go_together():
    assert joint_error([dated(VALUES[0, :6]), dated(VALUES[1, :6])]) is None
    assert joint_error([dated(VALUES[0]), dated(np.zeros(60))]) is None
    assert joint_error([dated(VALUES[0]), dated(VALUES[1], start=1e9)]) is None, "thousands of years apart"
    # Most of the first is before the second, whose error decides: it has as few blocks as if it were alone.
    long, short = dated(VALUES[0], 0.01, 99.0), dated(VALUES[1, :30], 1.0, 99.0, start=150.0)
    assert joint_error([long, short])[1] == pytest.approx(30 / 3 - 1, abs=0.4)


def test_correlations_are_taken_over_the_longest_block_of_any_task():
    short, long = (dated(VALUES[0], block=length) for length in (3, 6))
    alike = VALUES[0] + VALUES[1]
    other = dated(alike, block=6)
    assert joint_error([short, other]) == joint_error([other, short]) == joint_error([long, other])
    assert joint_error([short, other]) != joint_error([short, dated(alike)])


@pytest.mark.parametrize("place", [0, -1])
def test_the_first_and_the_last_items_count_as_those_between(place):
    both = 0.1 * VALUES[:2]
    both[:, place] = 9.0
    assert joint_error([dated(values) for values in both])[0] == pytest.approx(2.0, rel=0.02)


def test_tasks_are_of_one_series_up_to_two_thousand_blocks_and_from_two_degrees_of_freedom_on():
    # Sixty stretches of five days from each start on, in blocks of fifteen days.
    last = 2_000 * 15.0 - 60 * 5.0
    assert joint_error([dated(VALUES[0]), dated(VALUES[1], start=last)]) is not None
    assert joint_error([dated(VALUES[0]), dated(VALUES[1], start=last + 1.0)]) is None
    assert joint_error([dated(VALUES[0], freedom=2.0), dated(VALUES[1])])[1] == 2.0
    assert joint_error([dated(VALUES[0], freedom=1.99), dated(VALUES[1])]) is None


def test_in_a_mean_over_tasks_those_without_a_calendar_go_together_wholly_with_the_others():
    def figure(error, known=None):
        return Figure(0.0, Part.known(error, 9.0), (), known)

    apart = [figure(1.0, influence(VALUES[n], start=400.0 * n)) for n in range(2)]
    assert over_items(apart, [0, 0]).error == pytest.approx(math.sqrt(2.0) / 2.0)
    assert over_items([*apart, figure(1.0)], [0, 0, 0]).error == pytest.approx((math.sqrt(2.0) + 1.0) / 3.0)
    assert over_items([*apart, figure(1.0)], [0, 0, 1]).error == pytest.approx(math.sqrt(3.0) / 3.0)
    assert over_items([apart[0], figure(1.0)], [0, 0]).error == pytest.approx(1.0), "one alone has nothing to align"
