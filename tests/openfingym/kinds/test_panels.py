"""The period and the measure of the panel a task is built from."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from openfingym.catalog import load_task, task_folders
from openfingym.data import load_panel
from openfingym.errors import DataError, TaskError
from openfingym.kinds import kind_of
from openfingym.kinds.material import Material
from openfingym.kinds.panels import panel_of
from openfingym.task import Task

Edited = Callable[..., Task]


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    """A built-in task with some of its text replaced."""

    def edit(name: str, *changes: tuple[str, str]) -> Task:
        folder = tmp_path / name
        shutil.copytree(task_folders()[name], folder)
        path = folder / "task.toml"
        text = path.read_text()
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        path.write_text(text)
        return load_task(folder)

    return edit


def material(task: Task) -> Material:
    kind = kind_of(task)
    return kind.shape(task, kind.load(task))


def test_a_period_keeps_its_first_and_last_day(edited: Edited) -> None:
    task = edited("treasury-forecast-v4", ("first = 2009-01-01", "first = 2010-01-04\nlast = 2018-12-31"))
    panel, whole = panel_of(task), load_panel("ust-par-yields", task.spec.dataset.channels)
    days = whole.times.astype("datetime64[D]")
    inside = (days >= np.datetime64("2010-01-04")) & (days <= np.datetime64("2018-12-31"))
    assert np.array_equal(panel.times, whole.times[inside])
    assert np.array_equal(panel.values, whole.values[inside])
    assert (str(panel.times[0])[:10], str(panel.times[-1])[:10]) == ("2010-01-04", "2018-12-31")
    assert not panel.values.flags.writeable
    assert not panel.times.flags.writeable


def test_nothing_outside_the_period_is_in_any_array() -> None:
    built = material(load_task("treasury-forecast-v4"))
    arrays = {**built.public, **built.hidden}
    first = min(np.asarray(arrays[name]).min() for name in ("train_times", "test_times"))
    assert first >= np.datetime64("2009-01-01")


def test_the_digest_and_the_recipe_follow_the_period(edited: Edited) -> None:
    part = material(load_task("treasury-forecast-v4"))
    whole = material(edited("treasury-forecast-v4", ("first = 2009-01-01\n", "")))
    assert part.dataset_digest != whole.dataset_digest
    days = load_panel("ust-par-yields").times.astype("datetime64[D]")
    after = int((days >= np.datetime64("2009-01-01")).sum())
    assert f"{after} of its 3391 rows, from 2009-01-02 to 2019-08-26" in part.recipe[0]
    assert "3391 rows, from 2006-02-09 to 2019-08-26" in whole.recipe[0]


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        (
            "first = 2030-01-01",
            (
                "dataset.first: no row of 'ust-par-yields' is in 2030-01-01 to the last; its rows are from 2006-02-09 "
                "to "
                "2019-08-26"
            ),
        ),
        ("last = 1999-01-01", "dataset.last: no row of 'ust-par-yields' is in the first row to 1999-01-01"),
    ],
)
def test_a_period_without_rows_is_refused(edited: Edited, period: str, expected: str) -> None:
    with pytest.raises(TaskError) as caught:
        panel_of(edited("treasury-forecast-v4", ("first = 2009-01-01", period)))
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        (
            "treasury-forecast-v4",
            "first = 2009-01-01",
            "first = 2010-01-01\nlast = 2009-01-01",
            "first (2010-01-01) must not be after last",
        ),
        ("treasury-forecast-v4", "first = 2009-01-01", 'first = "2009-01-01"', "dataset.first"),
        ("treasury-forecast-v4", "first = 2009-01-01", "first = 2009-01-01T12:00:00", "dataset.first"),
        (
            "yield-curve-forecast",
            'name = "sim-eiopa-curves"',
            'name = "sim-eiopa-curves"\nfirst = 2000-01-01',
            "which a curves task has none of",
        ),
    ],
)
def test_a_mistaken_period_is_refused(edited: Edited, name: str, old: str, new: str, expected: str) -> None:
    with pytest.raises(TaskError) as caught:
        edited(name, (old, new))
    assert expected in str(caught.value)


def test_a_period_of_pulled_data_is_asked_of_the_pull(edited: Edited) -> None:
    """Nothing has been pulled here, so the answer is the command that would; it names the period."""
    task = edited(
        "equity-forecast-v1",
        (
            "[metadata.openfingym.dataset.pulled]",
            "first = 2005-01-03\nlast = 2020-12-31\n\n[metadata.openfingym.dataset.pulled]",
        ),
    )
    assert (task.spec.dataset.first, task.spec.dataset.last) == (date(2005, 1, 3), date(2020, 12, 31))
    with pytest.raises(DataError, match=r"--symbols XOM,CVX,COP,SLB,OXY --start 2005-01-03 --end 2020-12-31"):
        panel_of(replace(task, real=True))


def test_targets_of_a_mixed_panel_may_be_prices() -> None:
    task = load_task("lob-forecast")
    built, panel = material(task), load_panel("sim-lob-bars")
    columns = [panel.channels.index(name) for name in built.labels]
    rows = np.searchsorted(panel.times, np.asarray(built.hidden["test_times"])[:, -3:])
    assert np.array_equal(built.hidden["targets"], panel.values[rows][:, :, columns])
    volume = panel.channels.index("volume")
    train = np.log1p(panel.values[: int(0.4 * len(panel.values)), volume])
    rows = np.searchsorted(panel.times, np.asarray(built.hidden["test_times"])[:, :72])
    standard = (np.log1p(panel.values[rows][:, :, volume]) - train.mean()) / train.std()
    assert np.asarray(built.hidden["test_inputs"])[:, :, volume] == pytest.approx(standard, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (('"close", "vwap"]\nvalue', '"close", "imbalance"]\nvalue'), "imbalance"),
        (('scaled = ["volume",', 'scaled = ["open", "volume",'), "open"),
    ],
)
def test_targets_that_are_no_prices_are_refused(edited: Edited, change: tuple[str, str], named: str) -> None:
    with pytest.raises(
        TaskError,
        match=rf"contract\.value_semantics: price_level needs targets above 0 everywhere, as scaled; {named} is not",
    ):
        material(edited("lob-forecast", change))


def test_prices_may_be_standardised_where_no_metric_forms_returns(edited: Edited) -> None:
    built = material(edited("exchange-rate-forecast", ('scaling = "mean"', 'scaling = "standard"')))
    assert (built.hidden["targets"] < 0.0).any()
