"""Forecasts that go where the next hidden window is shown to begin are remarked on, and honest ones are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from openfingym.instances import InstanceSource, build_instance
from openfingym.kinds import kind_of
from openfingym.kinds.interpolation import Ends
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.plausibility import warnings_for


@pytest.fixture(scope="module")
def ends(treasury: BuiltPackage) -> Ends:
    found = kind_of(treasury.task).ends(treasury.task.spec.contract, treasury.array)
    assert found is not None
    return found


def last(package: BuiltPackage) -> NDArray[np.float64]:
    """The baseline."""
    shape = package.manifest.submission_shape
    return np.repeat(np.asarray(package.array("test_inputs"))[:, -1:], shape[1], axis=1)


def ahead(package: BuiltPackage, forecast: NDArray[np.float64]) -> bool:
    return any(warning.startswith("ahead: ") for warning in warnings_for(package, forecast))


def usual(package: BuiltPackage) -> NDArray[np.float64]:
    """The usual step from row to row of each channel."""
    return np.diff(np.asarray(package.array("test_inputs")), axis=1).std(axis=(0, 1))


@pytest.mark.parametrize(("share", "noise"), [(1.0, 0.0), (1.0, 0.2), (0.3, 0.0)])
def test_a_line_to_the_next_window_is_remarked_on(
    treasury: BuiltPackage, ends: Ends, share: float, noise: float
) -> None:
    forecast = last(treasury)
    forecast[ends.windows] += share * (ends.lines - forecast[ends.windows])
    forecast += noise * usual(treasury) * np.random.default_rng(0).standard_normal(forecast.shape)
    assert ahead(treasury, forecast)


def test_honest_forecasts_are_not_and_no_forecast_is_too_good(treasury: BuiltPackage) -> None:
    inputs, targets, test = (
        np.asarray(treasury.array(name)) for name in ("train_inputs", "train_targets", "test_inputs")
    )
    base, generator = last(treasury), np.random.default_rng(0)
    x, y, now = (
        (part - of[:, -1:]).reshape(len(part), -1) for part, of in ((inputs, inputs), (targets, inputs), (test, test))
    )
    ridge = Ridge(10.0).fit(x, y).predict(now).reshape(base.shape)
    boosted = HistGradientBoostingRegressor(max_iter=20).fit(x[::5], y[::5].mean(axis=1)).predict(now)
    answers = {
        "naive": base,
        "noise": base + usual(treasury) * generator.standard_normal(base.shape),
        "ridge": base + ridge,
        "gradient boosting": base + boosted[:, None, None],
        "towards the mean": base + 0.3 * (test.mean(axis=1, keepdims=True) - base),
        "the hidden values": np.asarray(treasury.read_truth()["targets"]),
    }
    assert [name for name, values in answers.items() if ahead(treasury, values)] == []


def test_windows_that_lie_apart_show_no_ends(treasury: BuiltPackage, tmp_path: Path) -> None:
    one = build_instance(InstanceSource.of(treasury), "train", 3, tmp_path)
    assert kind_of(one.task).ends(one.task.spec.contract, one.array) is None
