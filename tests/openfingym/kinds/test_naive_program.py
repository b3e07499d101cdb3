"""The baseline that a score is divided by is what the naive program submits, through the real interface."""

from __future__ import annotations

import numpy as np
import pytest

from openfingym.agents import resolve
from openfingym.kinds import kind_of
from openfingym.rollouts.launcher import Launcher
from tests.openfingym.kinds.materials import walk

PANEL = {"columns": {"alpha": walk(1, 1200), "beta": walk(2, 1200)}}
LEVEL = {**PANEL, "value_semantics": '"price_level"', "low": "-1e9", "high": "1e9"}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("forecast", PANEL),
        ("forecast", {**LEVEL, "targets": '["beta"]', "horizons": "[2, 5]"}),
        ("forecast", {**LEVEL, "horizon": "1", "pooled": "true", "scaling": '"mean"'}),
        ("forecast", {**PANEL, "value_semantics": '"realised_vol"', "low": "0.0", "lookback": "5"}),
        ("curves", {}),
        ("rows", {}),
    ],
    ids=["returns", "some targets and steps", "pooled", "volatilities", "curves", "rows"],
)
def test_the_naive_program_submits_the_baseline(kind, options, make, tmp_path) -> None:
    task = make(kind, **options)
    with Launcher.for_tasks([task], backend="inline") as launcher:
        (package,) = launcher.packages
        result = launcher.run(package, resolve("naive"), out=tmp_path / "runs")
    assert result.state == "scored", result.reason
    assert result.path is not None
    expected = kind_of(task).naive(task.spec.contract, package.shown_array, package.manifest.submission_shape)
    # What was not answered, as the windows to practise on, stands at the baseline.
    assert np.array_equal(np.load(result.path / "submissions" / "1.npy"), expected)
    assert result.relative_total == pytest.approx(1.0)


@pytest.mark.parametrize(("kind", "options"), [("generation", {}), ("nodes", {}), ("graphs", {})])
def test_where_the_baseline_is_drawn_the_program_is_about_as_good(kind, options, make) -> None:
    task = make(kind, **options)
    with Launcher.for_tasks([task], backend="inline") as launcher:
        result = launcher.run(launcher.packages[0], resolve("naive"))
    assert result.state == "scored", result.reason
    assert 0.5 < result.relative_total < 2.0
