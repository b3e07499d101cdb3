"""Curves with an interval: by country and month, and what a bound must be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from openfingym.data.curves import simulated_curves
from openfingym.errors import SubmissionError
from openfingym.kinds.curves import kind as curves
from openfingym.metrics.interval import TARGET
from openfingym.task.model import parse_task_file
from tests.openfingym.kinds.materials import assert_refused, changed_by_scrambling, made, ranks, read_of


@pytest.fixture
def task(make):
    return make("curves")


def test_windows_are_those_of_one_country(task) -> None:
    material, source = made(task), simulated_curves()
    countries = len(source.countries)
    assert material.shape == (material.n_public + material.n_private, 3, 150)
    assert material.submission_axes == ("window", "bound", "maturity")
    assert material.hidden["targets"].shape == (material.shape[0], 150)
    assert material.n_public % countries == material.n_private % countries == 0
    for window in (0, 1, countries, material.shape[0] - 1):
        country = material.hidden["test_series"][window]
        months = np.searchsorted(source.times.astype("datetime64[ns]"), material.hidden["test_times"][window])
        assert np.array_equal(np.diff(months), np.ones(10))
        assert np.array_equal(material.hidden["test_inputs"][window], source.values[months[:10], country])
        assert np.array_equal(material.hidden["targets"][window], source.values[months[10], country])
    assert material.facts["series"] == list(source.countries)


def test_no_public_byte_depends_on_a_hidden_value_and_the_truth_is_best(task) -> None:
    assert changed_by_scrambling(task) == set()
    material = made(task)
    wide = np.stack([np.full((material.shape[0], 150), level) for level in (-4.0, 10.0, 29.0)], axis=1)
    found = ranks(task, material, wide=wide)
    assert found["oracle"] < found["baseline"] == 1.0 < found["wide"]


def test_the_baseline_interval_covers_about_what_it_says(task) -> None:
    material = made(task)
    naive = curves.KIND.naive(task.spec.contract, read_of(material), material.shape)
    targets = material.hidden["targets"]
    covered = float(((naive[:, 0] <= targets) & (targets <= naive[:, 2])).mean())
    assert 0.85 < covered < 0.99
    assert np.array_equal(naive[:, 1], material.hidden["test_inputs"][:, -1])


@pytest.mark.parametrize(("bounds", "words"), [((0, 1), "lower is above central"), ((1, 2), "central is above upper")])
def test_crossed_bounds_are_refused_by_position(task, bounds, words) -> None:
    material = made(task)
    public, _ = curves.KIND.folds(
        task.spec, read_of(material), material.hidden, (material.n_public, material.n_private), 0
    )
    values = curves.KIND.naive(task.spec.contract, read_of(material), material.shape)
    curves.KIND.check(task.spec.contract, public, values)
    values[5, list(bounds), 7] = values[5, list(reversed(bounds)), 7] + [0.5, 0.0]
    with pytest.raises(SubmissionError, match=f"window 5, maturity 7: {words}") as refused:
        curves.KIND.check(task.spec.contract, public, values)
    assert refused.value.problem == "out-of-range"


def test_a_planted_leak_is_noticed(task, monkeypatch) -> None:
    honest = curves.KIND.shape

    def careless(task, source):
        material = honest(task, source)
        return replace(
            material,
            public={
                **material.public,
                "test_inputs": material.hidden["test_inputs"] + material.hidden["targets"].mean(),
            },
        )

    monkeypatch.setattr(curves.KIND, "shape", careless)
    assert changed_by_scrambling(task) == {"test_inputs"}


def test_a_coverage_that_is_not_scored_is_refused(task, tmp_path: Path) -> None:
    stated = "[metadata.openfingym.contract]\n"
    assert_refused(task, tmp_path, (stated, f"{stated}coverage = 0.9\n"), r"coverage: .*found 0\.9.*coverage of 0\.95")
    text = task.config_path.read_text().replace(stated, f"{stated}coverage = 0.95\n")
    assert parse_task_file(text, tmp_path).metadata.openfingym.contract.coverage == TARGET
