"""The runs of a row on a task as one figure, and the samples beside them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from openfingym.metrics.relative_sample import RelativeSample
from openfingym.reports.cells import log_penalized
from openfingym.reports.repeats import Samples, by_seed, difference_of, figure_of, half_width, stored_sample
from openfingym.results import read_run
from openfingym.results.run_folder import VERIFIED
from tests.openfingym.reports.made import failed, scored, write

SAMPLE = RelativeSample(np.random.default_rng(0).normal(0.0, 0.1, 200), 1.1, 9.0, 30)
HALF = stats.t.ppf(0.975, 9.0) * SAMPLE.error


def certain(loss, half=HALF, **changes):
    return scored(loss, relative_interval=(loss * math.exp(-half), loss * math.exp(half)), **changes)


@pytest.fixture
def folder(tmp_path):
    (path,) = write(tmp_path, certain(0.5))
    return path


def kept(folder, document):
    (folder / VERIFIED).write_text(document if isinstance(document, str) else json.dumps(document))
    return stored_sample(read_run(folder))


def test_a_sample_is_read_beside_its_result(folder):
    assert stored_sample(read_run(folder)) is None
    found = kept(folder, {"relative_sample": SAMPLE.to_dict()})
    assert found is not None
    assert found.values == pytest.approx(SAMPLE.values, abs=1e-9)
    assert (found.scale, found.freedom, found.units) == (1.1, 9.0, 30)
    assert stored_sample(certain(0.5)) is None, "a run without a folder"


@pytest.mark.parametrize(
    "document", ["", "no json", "[]", "{}", {"relative_sample": None}, {"relative_sample": {"logs": [0.1, 0.2]}}]
)
def test_what_is_no_sample_is_none(folder, document):
    assert kept(folder, document) is None


@pytest.mark.parametrize("change", [{"scale": 0.11}, {"scale": 1.2}, {"freedom": 2.0}, {"logs": [0.0] * 200}])
def test_a_sample_that_does_not_give_the_interval_of_its_result_does_not_count(folder, change):
    """A folder may be a stranger's: with a forged sample, any difference would be certain."""
    assert kept(folder, {"relative_sample": {**SAMPLE.to_dict(), **change}}) is None


def test_a_failure_counts_the_same_on_all_items():
    a = [certain(0.5, seed=0, agent="a"), failed("rejected", seed=1, agent="a")]
    b = [certain(1.0, 0.0, seed=seed, agent="b") for seed in (0, 1)]
    still = RelativeSample(np.zeros(200), 1.1, 9.0, 30)
    samples = Samples(lambda run: SAMPLE if run.agent == "a" else still)
    found = difference_of(by_seed(a), by_seed(b), log_penalized, samples)
    # One of two runs moves with the items, so half of its error is left; the rest is what the two repeats differ by.
    assert found.shared.error == pytest.approx(0.5 * SAMPLE.error)
    (repeats,) = found.own
    assert repeats.error == pytest.approx(0.5 * math.log(200.0))
    assert repeats.freedom == 1.0


def test_one_answer_under_two_names_differs_by_nothing():
    a, b = (by_seed([certain(0.5, agent=agent)]) for agent in "ab")
    found = difference_of(a, b, log_penalized, Samples(lambda run: SAMPLE))
    assert (found.value, found.shared.error, found.shared.half, found.influence) == (0.0, 0.0, 0.0, None)
    # Of intervals alone it is not known that the two go wrong together.
    assert difference_of(a, b, log_penalized, Samples(lambda run: None)).shared.half == pytest.approx(2.0 * HALF)


@pytest.mark.parametrize("jitter", [0.0, 1e-4])
def test_the_sample_of_another_run_makes_no_difference_certain(jitter):
    """It has the width of the interval, and the two differ by nothing on all replicates, but not in what they state."""
    copied = RelativeSample(SAMPLE.values + jitter * np.random.default_rng(1).standard_normal(200), 1.1, 9.0, 30)
    a, b = by_seed([certain(0.95, agent="a")]), by_seed([certain(1.0, agent="b")])
    samples = Samples(lambda run: copied if run.agent == "a" else SAMPLE)
    found = difference_of(a, b, log_penalized, samples)
    assert found.shared.half == pytest.approx(2.0 * HALF)
    assert samples.items(a, b) is None
    # That of the run itself is as far off as the run is.
    own = RelativeSample(copied.values + math.log(0.95), 1.1, 9.0, 30)
    samples = Samples(lambda run: own if run.agent == "a" else SAMPLE)
    assert difference_of(a, b, log_penalized, samples).shared.half < 0.01
    assert samples.items(a, b) == 30


def test_copies_of_a_run_as_if_on_tapes_of_their_own_are_one_observation():
    copies = figure_of(by_seed([certain(0.5, seed=seed, tape="fresh") for seed in range(6)]), log_penalized)
    assert copies.shared.half == pytest.approx(HALF)
    # Where no item matters, as to the baseline's own answer, nothing is left to be wrong by.
    naive = figure_of(by_seed([certain(1.0, 0.0, seed=seed, tape="fresh") for seed in range(6)]), log_penalized)
    assert (naive.shared.half, naive.own) == (0.0, ())


def test_attempts_at_one_seed_are_repeats_and_within_many_seeds_they_are_not():
    one = figure_of(by_seed([certain(0.5, attempt=0), certain(0.6, attempt=1)]), log_penalized)
    (part,) = one.own
    assert (part.error, part.freedom) == (pytest.approx(0.5 * math.log(1.2)), 1.0)
    many = [certain(loss, seed=seed, attempt=n) for seed in range(3) for n, loss in enumerate((0.5, 0.6))]
    # Each seed has the same mean, and that of three equal seeds is certain.
    assert figure_of(by_seed(many), log_penalized).own == ()


def test_an_interval_that_is_cut_off_at_one_end_counts_by_the_other():
    found = figure_of(by_seed([scored(0.012, relative_interval=(0.01, 0.024))]), log_penalized)
    assert found.shared.half == pytest.approx(math.log(2.0))
    found = figure_of(by_seed([scored(80.0, relative_interval=(40.0, 100.0))]), log_penalized)
    assert found.shared.half == pytest.approx(math.log(2.0))
    assert figure_of(by_seed([scored(0.5, relative_interval=(0.0, 0.9))]), log_penalized).shared is None
    assert figure_of(by_seed([scored(0.5), certain(0.5, seed=1)]), log_penalized).shared is None
    assert half_width(None, (0.5, 0.9)) is None
