"""Rows of features by month."""

from __future__ import annotations

import numpy as np
import pytest

from openfingym.data.characteristics import simulated_characteristics
from openfingym.errors import TaskError
from openfingym.kinds.rows import kind as rows
from tests.openfingym.kinds.materials import changed_by_scrambling, made, ranks, read_of


@pytest.fixture
def task(make):
    return make("rows")


def test_months_in_three_blocks(task) -> None:
    material, source = made(task), simulated_characteristics()
    months, stocks = len(source.months), len(source.stocks)
    train, public = int(0.6 * months), int(0.2 * months)
    assert material.n_train == train * stocks
    assert material.n_public == (public - 1) * stocks
    assert material.n_private == (months - train - public - 1) * stocks
    assert material.shape == (material.n_public + material.n_private,)
    assert material.hidden["test_inputs"].shape == (*material.shape, 42)
    assert np.array_equal(material.hidden["targets"][:stocks], source.excess_return[train + 1])
    assert np.array_equal(material.hidden["test_inputs"][0], source.features[train + 1, 0])
    assert material.hidden["test_series"][: 2 * stocks].tolist() == 2 * list(range(stocks))
    assert material.public["train_times"].max() < material.hidden["test_times"].min()


def test_no_public_byte_depends_on_a_hidden_value_and_the_truth_is_best(task) -> None:
    assert changed_by_scrambling(task) == set()
    material = made(task)
    found = ranks(task, material, noise=np.random.default_rng(0).uniform(-1.0, 1.0, material.shape))
    assert found["oracle"] < found["baseline"] == 1.0 < found["noise"]


def test_portfolios_are_formed_month_by_month(task) -> None:
    material = made(task)
    public, private = rows.KIND.folds(
        task.spec, read_of(material), material.hidden, (material.n_public, material.n_private), 0
    )
    times = material.hidden["test_times"]
    for fold in (public, private):
        period = fold.truth.arrays["period"]
        assert len(np.unique(period)) == len(np.unique(times[fold.rows]))
        assert (np.unique(times[fold.rows], return_inverse=True)[1] == period - period.min()).all()


def test_blocks_that_are_too_short_are_refused(make) -> None:
    with pytest.raises(TaskError, match=r"split: \d+ months leave a block with fewer than two"):
        made(make("rows", train="0.99", public="0.005", private="0.005"))
