"""A thousand parties that pool what they are told gain nothing, and of blind entries none is called better; the figures
in docs/trust.md are those of `benchmarks/colluders.py`, with all tasks and seasons.
"""

from __future__ import annotations

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.reports.entries import p_value, p_value_of, verdicts_of
from openfingym.reports.statistics import benjamini_hochberg, holm
from openfingym_verifier.policy import LADDER_ANSWERS
from openfingym_verifier.scoring.truth import HiddenTask
from openfingym_verifier.scoring.truth import load_task as load_hidden
from tests.adversarial.colluders import PARTIES, Field, Season, climbed_by_exact_scores, collude, field_of
from tests.adversarial.sealed import Pilot, false_finds

MOST = 0.01


@pytest.fixture(scope="module")
def few(few_windows: BuiltPackage) -> HiddenTask:
    return load_hidden(few_windows)


@pytest.fixture(scope="module")
def field(few: HiddenTask) -> Field:
    return field_of(few)


@pytest.fixture(scope="module")
def treasury() -> HiddenTask:
    return load_hidden(build(load_task("treasury-forecast")))


@pytest.mark.parametrize("start", [None, 0.1])
@pytest.mark.parametrize("climbs", [LADDER_ANSWERS // 2, LADDER_ANSWERS])
def test_colluders_gain_nothing_from_a_ladder(few: HiddenTask, field: Field, start: float | None, climbs: int) -> None:
    numbers = None if start is None else field.honest(start)
    gains = []
    for seed in range(4):
        season = Season(few)
        best, begin = collude(field, season, seed, climbs=climbs, start=numbers)
        gains.append(field.gain(best) - field.gain(begin))
        assert season.rations.ladders.answers([few.name]) == LADDER_ANSWERS
    assert np.mean(gains) < MOST


def test_the_same_climb_reads_labels_where_scores_are_told(field: Field) -> None:
    """The bound is the ladder's doing, not a weakness of the attack."""
    assert climbed_by_exact_scores(field, 0, answers=600) > 0.1


def test_whoever_asks_after_the_last_answer_is_told_nothing(few: HiddenTask) -> None:
    season = Season(few)
    baseline = few.grader.baseline
    told = [season.ask(baseline) for _ in range(LADDER_ANSWERS + 3)]
    assert [one is None for one in told] == [False] * LADDER_ANSWERS + [True] * 3
    season.asked = 3 * PARTIES
    assert season.ask(baseline) is None


def test_of_blind_entries_none_is_called_better(treasury: HiddenTask) -> None:
    assert sum(false_finds(treasury, seed, entries=60) > 0 for seed in range(10)) <= 1


def test_the_power_that_is_left_is_the_one_that_is_stated(treasury: HiddenTask) -> None:
    """Of an honest entrant; shares of 120 seasons are known to a few points, those in docs/trust.md to two."""
    pilot = Pilot.of(treasury, range(120), 0.8)
    for entries, documented in ((1, 0.98), (10, 0.83), (100, 0.49), (1000, 0.18)):
        assert pilot.stated(entries) == pytest.approx(documented, abs=0.08)
        assert pilot.found(entries) == pytest.approx(documented, abs=0.13)


def test_p_values_are_adjusted_for_all_primary_entries() -> None:
    p_values = [0.001, 0.008, 0.012, 0.03, 0.2]
    assert holm(p_values) == pytest.approx([0.005, 0.032, 0.036, 0.06, 0.2])
    assert benjamini_hochberg(p_values) == pytest.approx([0.005, 0.02, 0.02, 0.0375, 0.2])
    assert benjamini_hochberg([]) == []
    assert [test.verdict for test in verdicts_of(p_values)] == ["better"] * 3 + ["not told apart"] * 2


def test_a_p_value_is_that_of_the_paired_interval_and_never_below_a_sign_tests() -> None:
    # Student's t of 2 at 19 degrees of freedom, two-sided, from a table: 0.060.
    assert p_value(float(np.exp(-0.04)), 0.02, 19.0, 20) == pytest.approx(0.0600, abs=1e-4)
    assert p_value(float(np.exp(-4.0)), 0.02, 19.0, 20) == 2.0**-19
    assert p_value(float(np.exp(-4.0)), 0.02, 5.0, 6) == 2.0**-5, "six windows tell nobody apart from fifty others"
    assert p_value(1.2, 0.001, 19.0, 20) == 1.0, "how surely something is worse is not said"
    result = {"relative_total": 0.9, "relative_standard_error": 0.02, "relative_sample": {"freedom": 19.0, "units": 20}}
    assert p_value_of(result) == p_value(0.9, 0.02, 19.0, 20)
    for missing in result:
        assert p_value_of({**result, missing: None}) == 1.0
