"""Generated windows without skill: from mean and deviation alone, as the Gaussian baseline, or copied from training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Reader
    from openfingym.task.contracts import Contract

SAMPLE = 20_000
"""Number of training windows, evenly spread, from which moments are computed and windows are drawn."""
JITTER = 0.05
"""Standard deviation of the noise on copies, in standard deviations of training."""


def skillless(
    contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Submissions without skill, by name; see :mod:`openfingym.kinds.skillless`."""
    targets = read("train_targets")
    train = np.asarray(targets[:: max(len(targets) // SAMPLE, 1)], dtype=np.float64)
    answers = _gaussian(train, shape, generator) | _handed_back(train, shape, generator)
    return {
        name: np.ascontiguousarray(np.clip(values, contract.low, contract.high)) for name, values in answers.items()
    }


def _gaussian(
    train: NDArray[np.float64], shape: tuple[int, ...], generator: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Windows drawn from mean and deviation alone, of the values or of their increments."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    normal = generator.standard_normal(shape)
    single = generator.standard_normal(shape[-2:])
    steps = np.diff(train, axis=1)
    step, spread = steps.mean(axis=0), steps.std(axis=0)

    def walks(width: float) -> NDArray[np.float64]:
        """Random walks with the drift of training and a multiple of its spread."""
        # A first value, then increments, which are added up along the steps (axis -2).
        first = mean[:1] + width * deviation[:1] * normal[..., :1, :]
        return np.concatenate([first, step + width * spread * normal[..., 1:, :]], axis=-2).cumsum(axis=-2)

    return {
        "other random walks": walks(1.0),
        "narrow random walks": walks(0.5),
        "wide random walks": walks(2.0),
        "other Gaussian draws": mean + deviation * normal,
        "narrow Gaussian draws": mean + 0.5 * deviation * normal,
        "wide Gaussian draws": mean + 2.0 * deviation * normal,
        # Uniform between plus and minus the root of 3 has a variance of 1.
        "uniform draws": mean + deviation * generator.uniform(-(3.0**0.5), 3.0**0.5, shape),
        "two values": mean + deviation * generator.choice([-1.0, 1.0], shape),
        "tiny noise": mean + 1e-9 * deviation * normal,
        "the mean path": np.broadcast_to(mean, shape),
        "one draw for all": np.broadcast_to(mean + deviation * single, shape),
        "zero": np.zeros(shape),
    }


def _handed_back(
    train: NDArray[np.float64], shape: tuple[int, ...], generator: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Training windows, as they are or changed by simple means."""
    count = int(np.prod(shape[:-2]))
    # Each window as often as any other, give or take one, in random order.
    windows = train[generator.permutation(np.resize(np.arange(len(train)), count))]
    others = train[generator.integers(len(train), size=count)]
    deviation = train.std(axis=0)
    half = max(shape[-2] // 2, 1)
    own_mean = windows.mean(axis=1, keepdims=True)
    copies = {
        "training windows": windows,
        "training windows with noise": windows + JITTER * deviation * generator.standard_normal(windows.shape),
        "mirrored at the mean path": 2.0 * train.mean(axis=0) - windows,
        "mirrored at their own mean": 2.0 * own_mean - windows,
        "reversed in time": windows[:, ::-1],
        "spliced": np.concatenate([windows[:, :half], others[:, half:]], axis=1),
        "averaged in pairs": (windows + others) / 2.0,
    }
    return {name: values.reshape(shape) for name, values in copies.items()}
