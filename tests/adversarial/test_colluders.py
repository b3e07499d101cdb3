"""A thousand parties that pool what they are told gain nothing, and of blind entries none is called better; the figures
in docs/trust.md are those of `benchmarks/colluders.py`, with all tasks and seasons.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.reports.entries import p_value, p_value_of, verdicts_of
from openfingym.reports.statistics import benjamini_hochberg, holm
from openfingym_verifier.disclosure.ladder import surely_reached
from openfingym_verifier.policy import LADDER_ANSWERS
from openfingym_verifier.scoring.truth import HiddenTask
from openfingym_verifier.scoring.truth import load_task as load_hidden
from tests.adversarial.colluders import PARTIES, Field, Season, climbed_by_exact_scores, collude, field_of
from tests.adversarial.sealed import Pilot, false_finds, season_of

MOST = 0.01
REST = pytest.mark.rest


@pytest.fixture(scope="module")
def few(few_windows: BuiltPackage) -> HiddenTask:
    return load_hidden(few_windows)


@pytest.fixture(scope="module")
def field(few: HiddenTask) -> Field:
    return field_of(few)


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


KINDS = ["treasury-forecast", "equity-trading", "amazon-fraud", pytest.param("mirai-relation-forecast", marks=REST)]
"""A task of each kind; the simulated world of the last one takes a quarter of a minute to build."""


@functools.cache
def _hidden(name: str) -> HiddenTask:
    return load_hidden(build(load_task(name)))


@pytest.mark.parametrize("name", KINDS)
def test_results_of_many_entries_are_those_of_the_verifier(name: str) -> None:
    """All figures of these simulations are: the relative total, its p-value, and what a ladder is told."""
    task, rng = _hidden(name), np.random.default_rng(0)
    season = season_of(task).drawn(task, rng, 0.3)
    entries = np.concatenate([season.blind(rng, 4), season.honest])
    hidden = season.hidden_task
    baseline = hidden.grader.baseline_score()
    season.slow = False  # no entry is judged by a few replicates
    logs, p_values = season.tested(entries)
    for entry, log, found in zip(entries, logs, p_values, strict=True):
        score = hidden.grader.private_score(season.whole(entry))
        relative, error = hidden.relative_total(score, baseline), hidden.sampling_error(score, baseline)
        sample = error.relative_sample
        assert sample is not None
        assert error.relative_standard_error is not None
        assert np.log(relative) == pytest.approx(log, abs=1e-9)
        assert p_value(relative, error.relative_standard_error, sample.freedom, sample.units) == pytest.approx(
            found, abs=1e-9
        )
    given = season_of(task).given(task)
    score, baseline = (task.grader.private_score(values) for values in (given.whole(entries[-1]), task.grader.baseline))
    told = surely_reached(task.relative_total(score, baseline), task.sampling_error(score, baseline))
    assert given.surely(given.whole(entries[-1])) == pytest.approx(told, rel=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_of_blind_entries_none_is_called_better(name: str) -> None:
    seasons, entries = (10, 60) if name == "treasury-forecast" else (3, 40)
    assert sum(false_finds(_hidden(name), seed, entries=entries) > 0 for seed in range(seasons)) <= 1


def test_nodes_that_are_put_last_by_luck_are_no_skill() -> None:
    """Of nodes that are put last by chance, most are no anomalies, and each of these is a small gain. One party in ten
    meets no anomaly among thirty; no replicate of its fold then knows what one would cost, and the gain looked certain.
    """
    task = _hidden("amazon-fraud")
    labels, rows = np.asarray(task.grader.private.truth.arrays["labels"]), task.grader.private.rows
    values = task.grader.baseline.copy()
    last = np.flatnonzero(labels == 0)[:30]
    values[rows][last] = values.min() - np.arange(1.0, 31.0)
    score, baseline = task.grader.private_score(values), task.grader.baseline_score()
    relative, error = task.relative_total(score, baseline), task.sampling_error(score, baseline)
    assert relative < 1.0
    assert error.relative_interval is not None
    assert error.relative_interval[1] > 1.0


POWER = {
    "treasury-forecast": (0.8, ((1, 0.98), (10, 0.82), (100, 0.47), (1000, 0.18))),
    "equity-trading": (0.5, ((1, 0.93), (10, 0.74), (100, 0.48), (1000, 0.26))),
}
"""By task, what an honest party knows, and the power that docs/serving.md states among so many entries."""


@pytest.mark.parametrize("name", POWER)
def test_the_power_that_is_left_is_the_one_that_is_stated(name: str) -> None:
    """Of an honest entrant, in seasons that were not used to state it; 700 tell it to two points."""
    signal, stated = POWER[name]
    seasons = Pilot.of(_hidden(name), range(50_000, 50_700), signal)
    for entries, documented in stated:
        assert seasons.stated(entries) == pytest.approx(documented, abs=0.03)
        assert seasons.found(entries) == pytest.approx(documented, abs=0.03)


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
