"""Yield curves with intervals, without skill: the last curve with other widths, or curves that ignore the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.skillless.departures import LARGE, TINY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.curves.contract import CurvesContract
    from openfingym.kinds.material import Reader


def skillless(
    contract: CurvesContract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Submissions without skill, by name; see :mod:`openfingym.kinds.skillless`."""
    targets = np.asarray(read("train_targets"), dtype=np.float64)
    past = targets - np.asarray(read("train_inputs"), dtype=np.float64)[:, -1]
    last = np.asarray(read("test_inputs"), dtype=np.float64)[:, -1]
    # Probability on either side of the interval.
    outside = (1.0 - contract.coverage) / 2.0
    low, high = np.quantile(past, (outside, 1.0 - outside), axis=0)
    mean, deviation = past.mean(axis=0), past.std(axis=0)
    level, spread = targets.mean(axis=0), targets.std(axis=0)
    noise = generator.standard_normal(last.shape) * deviation
    drawn = generator.uniform(size=last.shape) < contract.coverage
    everything = contract.high - contract.low
    answers = {
        "no width": (last, last, last),
        "tiny width": (last - TINY * deviation, last, last + TINY * deviation),
        "the whole range": (last - everything, last, last + everything),
        "training quantiles of changes": (last + low, last, last + high),
        "drift and training quantiles": (last + low, last + mean, last + high),
        "half of them": (last + low / 2.0, last, last + high / 2.0),
        "twice them": (last + 2.0 * low, last, last + 2.0 * high),
        # Covers the share of cells that an interval should cover, without knowing anything of any of them.
        "the whole range in 95 % of cells": (last - everything * drawn, last, last + everything * drawn),
        "noise of training volatility": (last + noise + low, last + noise, last + noise + high),
        "large": (last, last + LARGE * deviation, last + 2.0 * LARGE * deviation),
        "training mean": (level - 2.0 * spread, level, level + 2.0 * spread),
        "zero": (np.zeros_like(last), np.zeros_like(last), np.zeros_like(last)),
    }
    return {name: _stacked(contract, bounds, shape) for name, bounds in answers.items()}


def _stacked(
    contract: CurvesContract, bounds: tuple[NDArray[np.float64], ...], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Lower bound, forecast and upper bound as a submission, in ascending order and within the admissible range."""
    whole = np.stack([np.broadcast_to(bound, (shape[0], shape[2])) for bound in bounds], axis=1)
    return np.sort(np.clip(whole, contract.low, contract.high), axis=1)
