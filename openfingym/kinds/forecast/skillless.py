"""Forecasts of a panel without skill: around the baseline, or in disregard of the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.skillless.departures import departures
from openfingym.metrics.naive import naive_forecast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.forecast.contract import ForecastContract
    from openfingym.kinds.material import Array, Reader


def skillless(
    contract: ForecastContract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Submissions without skill, by name; see :mod:`openfingym.kinds.skillless`."""
    columns = read("target_columns") if contract.targets else slice(None)

    def baseline(inputs: Array) -> NDArray[np.float64]:
        last = np.asarray(inputs[:, -1:, :], dtype=np.float64)
        return naive_forecast(last[:, :, columns], shape[1], contract.value_semantics)

    targets = np.asarray(read("train_targets"), dtype=np.float64)
    naive = baseline(read("test_inputs"))
    past = targets - baseline(read("train_inputs"))
    answers = {name: naive + departure for name, departure in departures(past, shape, generator)}
    if contract.value_semantics != "log_return":
        # The baseline of returns is zero, and departures from it are these very answers.
        answers["zero"] = np.zeros(shape)
        answers["training mean"] = np.broadcast_to(targets.mean(axis=0), shape)
        answers["random past level"] = targets[generator.integers(len(targets), size=shape[0])]
    return {
        name: np.ascontiguousarray(np.clip(values, contract.low, contract.high)) for name, values in answers.items()
    }
