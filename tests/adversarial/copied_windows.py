"""Ways to hand training windows back in disguise.

Each transformation takes windows float64[k, t, d] and a generator, and returns as many windows. Where a disguise needs
a second window, it is another of those given. So transformations can be put one after the other (:func:`in_turn`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Windows = NDArray[np.float64]
Transformation = Callable[[Windows, np.random.Generator], Windows]


def in_turn(*steps: Transformation) -> Transformation:
    """Several transformations, the first one first."""

    def apply(windows: Windows, rng: np.random.Generator) -> Windows:
        for step in steps:
            windows = step(windows, rng)
        return windows

    return apply


def exact(windows: Windows, rng: np.random.Generator) -> Windows:
    """As they are."""
    return windows.copy()


def noisy(windows: Windows, rng: np.random.Generator) -> Windows:
    """Noise of a tenth of the deviation of each channel's steps."""
    return windows + 0.1 * _step_deviation(windows) * rng.standard_normal(windows.shape)


def mirrored_about_mean_path(windows: Windows, rng: np.random.Generator) -> Windows:
    """About the mean window, row by row."""
    return 2.0 * windows.mean(axis=0) - windows


def mirrored_about_mean(windows: Windows, rng: np.random.Generator) -> Windows:
    """About the mean of each channel over all windows and rows."""
    return 2.0 * windows.mean(axis=(0, 1)) - windows


def mirrored_about_start(windows: Windows, rng: np.random.Generator) -> Windows:
    """About the first row of each window."""
    return 2.0 * windows[:, :1] - windows


def mirrored_about_zero(windows: Windows, rng: np.random.Generator) -> Windows:
    """With the sign changed."""
    return -windows


def mirrored_about_own_mean(windows: Windows, rng: np.random.Generator) -> Windows:
    """About the mean of each window and channel."""
    return 2.0 * windows.mean(axis=1, keepdims=True) - windows


def mirrored_channels(windows: Windows, rng: np.random.Generator) -> Windows:
    """Each channel of each window is mirrored about the mean path, or not, by a coin."""
    mirrored = rng.random((len(windows), 1, windows.shape[2])) < 0.5
    return np.where(mirrored, mirrored_about_mean_path(windows, rng), windows)


def mirrored_second_half(windows: Windows, rng: np.random.Generator) -> Windows:
    """The second half mirrored about the mean path."""
    half = windows.shape[1] // 2
    return np.concatenate([windows[:, :half], mirrored_about_mean_path(windows, rng)[:, half:]], axis=1)


def mirrored_second_half_joined(windows: Windows, rng: np.random.Generator) -> Windows:
    """The second half mirrored about the last row of the first."""
    half = windows.shape[1] // 2
    return np.concatenate([windows[:, :half], 2.0 * windows[:, half - 1 : half] - windows[:, half:]], axis=1)


def spliced(windows: Windows, rng: np.random.Generator) -> Windows:
    """The first half of one window and the second half of another."""
    half = windows.shape[1] // 2
    return np.concatenate([windows[:, :half], _others(windows, rng)[:, half:]], axis=1)


def spliced_joined(windows: Windows, rng: np.random.Generator) -> Windows:
    """The second piece, from another window, is moved to go on where the first ends."""
    half = windows.shape[1] // 2
    other = _others(windows, rng)
    return np.concatenate(
        [windows[:, :half], other[:, half:] + windows[:, half - 1 : half] - other[:, half - 1 : half]], axis=1
    )


def backward(windows: Windows, rng: np.random.Generator) -> Windows:
    """The last row first."""
    return np.ascontiguousarray(windows[:, ::-1])


def shifted(windows: Windows, rng: np.random.Generator) -> Windows:
    """A tenth of a window later, one row at least; the last row stays in the rest."""
    by = max(1, windows.shape[1] // 10)
    return np.concatenate([windows[:, by:], np.repeat(windows[:, -1:], by, axis=1)], axis=1)


def scaled(windows: Windows, rng: np.random.Generator) -> Windows:
    """Everything 1.7 times as far from the mean path."""
    return _about_mean_path(windows, np.array(1.7))


def scaled_by_channel(windows: Windows, rng: np.random.Generator) -> Windows:
    """A factor of 0.5 to 2 for each channel."""
    return _about_mean_path(windows, 2.0 ** rng.uniform(-1.0, 1.0, windows.shape[2]))


def scaled_by_window(windows: Windows, rng: np.random.Generator) -> Windows:
    """A factor of 0.5 to 2 for each window."""
    return _about_mean_path(windows, 2.0 ** rng.uniform(-1.0, 1.0, (len(windows), 1, 1)))


def permuted_channels(windows: Windows, rng: np.random.Generator) -> Windows:
    """Standardised channels change places, the same way in all windows, none stays where it was."""
    order = np.roll(np.arange(windows.shape[2]), 1)
    mean, deviation = windows.mean(axis=0), _deviation(windows)
    return mean + deviation * ((windows - mean) / deviation)[:, :, order]


def rotated(windows: Windows, rng: np.random.Generator) -> Windows:
    """Standardised channels turned by one random rotation."""
    return _mapped(windows, np.linalg.qr(rng.standard_normal((windows.shape[2],) * 2))[0])


def rotated_by_window(windows: Windows, rng: np.random.Generator) -> Windows:
    """Decorrelated channels turned by a rotation of each window's own, which keeps the covariance of channels."""
    d, mean = windows.shape[2], windows.mean(axis=0)
    cells = (windows - mean).reshape(-1, d)
    values, vectors = np.linalg.eigh(np.cov(cells.T).reshape(d, d))
    root = np.sqrt(np.maximum(values, 1e-12 * values[-1]))
    turns = np.linalg.qr(rng.standard_normal((len(windows), d, d)))[0]
    return mean + np.matmul((windows - mean) @ (vectors / root), turns) @ (vectors * root).T


def linearly_mapped(windows: Windows, rng: np.random.Generator) -> Windows:
    """Standardised channels mixed by one random matrix."""
    d = windows.shape[2]
    return _mapped(windows, np.eye(d) + rng.standard_normal((d, d)) / np.sqrt(d))


def averaged(windows: Windows, rng: np.random.Generator) -> Windows:
    """The mean of two windows."""
    return 0.5 * (windows + _others(windows, rng))


def averaged_full(windows: Windows, rng: np.random.Generator) -> Windows:
    """The mean of two windows, its distance from the mean path enlarged so that the variance is that of a window."""
    return _about_mean_path(averaged(windows, rng), np.array(np.sqrt(2.0)))


def averaged_of_three(windows: Windows, rng: np.random.Generator) -> Windows:
    """As :func:`averaged_full`, of three."""
    mean = windows.mean(axis=0)
    return mean + (windows + _others(windows, rng) + _others(windows, rng) - 3.0 * mean) / np.sqrt(3.0)


def monotone(windows: Windows, rng: np.random.Generator) -> Windows:
    """Standardised values through a map that grows throughout but not evenly."""
    mean, deviation = windows.mean(axis=0), _deviation(windows)
    z = (windows - mean) / deviation
    return mean + deviation * (np.arcsinh(2.0 * z) / 1.5)


def warped(windows: Windows, rng: np.random.Generator) -> Windows:
    """Time runs faster first and slower later, or the reverse, by up to a twentieth of a window."""
    t = windows.shape[1]
    grid = np.linspace(0.0, 1.0, t)
    bend = rng.uniform(-0.05, 0.05, (len(windows), 1))
    places = np.clip((grid + bend * np.sin(np.pi * grid)) * (t - 1), 0.0, t - 1.0)
    below = np.minimum(places.astype(int), t - 2)
    part, rows = (places - below)[..., None], np.arange(len(windows))[:, None]
    return (1.0 - part) * windows[rows, below] + part * windows[rows, below + 1]


def trended(windows: Windows, rng: np.random.Generator) -> Windows:
    """A straight line added to each window and channel."""
    slope = _deviation(windows) * rng.standard_normal((len(windows), 1, windows.shape[2]))
    return windows + slope * np.linspace(-1.0, 1.0, windows.shape[1])[:, None]


def truncated(windows: Windows, rng: np.random.Generator) -> Windows:
    """The principal components of whole windows that hold nine tenths of their variance."""
    mean, deviation = windows.mean(axis=0), _deviation(windows)
    cells = ((windows - mean) / deviation).reshape(len(windows), -1)
    left, values, right = np.linalg.svd(cells, full_matrices=False)
    kept = 1 + int(np.searchsorted(np.cumsum(values**2) / (values**2).sum(), 0.9))
    return mean + deviation * ((left[:, :kept] * values[:kept]) @ right[:kept]).reshape(windows.shape)


SINGLE: Mapping[str, Transformation] = {
    f.__name__: f
    for f in (
        exact,
        noisy,
        mirrored_about_mean_path,
        mirrored_about_mean,
        mirrored_about_start,
        mirrored_about_zero,
        mirrored_about_own_mean,
        mirrored_channels,
        mirrored_second_half,
        mirrored_second_half_joined,
        spliced,
        spliced_joined,
        backward,
        shifted,
        scaled,
        scaled_by_channel,
        scaled_by_window,
        permuted_channels,
        rotated,
        linearly_mapped,
        averaged,
        averaged_full,
    )
}
"""One transformation at a time."""

_PAIRS = (
    (mirrored_about_mean_path, backward),
    (mirrored_about_mean_path, noisy),
    (mirrored_channels, noisy),
    (mirrored_channels, backward),
    (mirrored_channels, permuted_channels),
    (mirrored_channels, scaled_by_window),
    (spliced, mirrored_channels),
    (spliced, backward),
    (spliced_joined, scaled_by_channel),
    (spliced, noisy),
    (shifted, mirrored_about_mean_path),
    (shifted, backward),
    (permuted_channels, backward),
    (rotated, backward),
    (linearly_mapped, mirrored_about_mean_path),
    (averaged_full, backward),
    (averaged_full, mirrored_about_mean_path),
    (averaged_full, scaled_by_channel),
    (scaled_by_window, noisy),
)

COMBINED: Mapping[str, Transformation] = {f"{a.__name__}, {b.__name__}": in_turn(a, b) for a, b in _PAIRS}
"""Two, one after the other."""

UNUSUAL: Mapping[str, Transformation] = {
    f.__name__: f for f in (averaged_of_three, rotated_by_window, monotone, warped, trended, truncated)
}
"""Further disguises, not all of which are found everywhere; see docs/metrics.md."""

TRANSFORMATIONS: Mapping[str, Transformation] = {**SINGLE, **COMBINED, **UNUSUAL}
"""All of them, by name."""


def _others(windows: Windows, rng: np.random.Generator) -> Windows:
    """The same windows in another order, none in its place."""
    return np.roll(windows, int(rng.integers(1, len(windows))), axis=0)


def _deviation(windows: Windows) -> Windows:
    deviation = windows.std(axis=(0, 1))
    return np.where(deviation > 0.0, deviation, 1.0)


def _step_deviation(windows: Windows) -> Windows:
    """Of differences between rows for values that wander, of the values themselves where they do not."""
    steps = np.diff(windows, axis=1).std(axis=(0, 1))
    return np.minimum(steps, windows.std(axis=(0, 1)))


def _about_mean_path(windows: Windows, factor: Windows) -> Windows:
    mean = windows.mean(axis=0)
    return mean + factor * (windows - mean)


def _mapped(windows: Windows, matrix: Windows) -> Windows:
    mean, deviation = windows.mean(axis=0), _deviation(windows)
    return mean + deviation * (((windows - mean) / deviation) @ matrix)
