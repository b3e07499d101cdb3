"""Predictions at a moving origin that take no account of the bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.skillless.departures import departures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Reader
    from openfingym.kinds.rolling import RollingContract

CLOSE = 3
"""Position of the closing price in a bar."""


def skillless(
    contract: RollingContract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Submissions without skill, by name, as predictions made at each step would lead to them."""
    closes = np.asarray(read("train_bars"), dtype=np.float64)[:, :, CLOSE]
    # The baseline predicts a log return of 0, so that returns are departures from it.
    past = np.log(closes[contract.horizon :] / closes[: -contract.horizon])
    episodes, steps, width = shape
    return {
        name: np.clip(np.broadcast_to(values, (episodes * steps, width)), contract.low, contract.high).reshape(shape)
        for name, values in departures(past, (episodes * steps, width), generator)
    }
