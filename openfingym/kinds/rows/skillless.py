"""Predictions for rows of features that take no account of the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.skillless.departures import departures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Reader
    from openfingym.task.contracts import Contract


def skillless(
    contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Submissions without skill, by name; see :mod:`openfingym.kinds.skillless`."""
    # The baseline predicts 0, so that targets are departures from it.
    past = np.asarray(read("train_targets"), dtype=np.float64)
    answers = dict(departures(past, shape, generator))
    scale = float(past.std()) * 1e-3
    series = np.asarray(read("test_series"))
    # One random order of the series, the same at all times: portfolios can be formed by it, though it says nothing.
    order = generator.permutation(int(series.max()) + 1).astype(np.float64)
    answers["a fixed order of the series"] = scale * order[series]
    return {
        name: np.ascontiguousarray(np.clip(np.broadcast_to(values, shape), contract.low, contract.high))
        for name, values in answers.items()
    }
