"""Every measure that a protocol may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from openfingym.metrics.autocorrelation import autocorrelation_lag, autocorrelation_non_stationary
from openfingym.metrics.correlation import cross_correlation, cross_correlation_lag
from openfingym.metrics.neighbours import onnd
from openfingym.metrics.signature import sig_w1
from openfingym.metrics.signature_kernel import mmd_squared
from openfingym.published import networks, paths, tail

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.published.sample import Sample

Measure = Callable[..., "float | NDArray[np.float64]"]
"""A function of a sample and of named options. It returns a number, or an array with a number for each column (such as
a strategy), over which the protocol averages."""


def _of_paths(metric: Callable[..., float]) -> Measure:
    """A metric of the library that computes the same as the paper's code, as a measure.

    The measure leaves out the first ``first`` steps of every window.
    """

    def measure(sample: Sample, first: int = 0, **options: Any) -> float:
        return metric(sample.real[:, first:], sample.fake[:, first:], **options)

    return measure


def signature_mmd(sample: Sample, depth: int, windows: int) -> float:
    """Unbiased squared MMD of the exact signature kernel, which PCF-GAN approximates at random, on the first windows
    drawn.
    """
    return mmd_squared(sample.real[:windows], sample.fake[:windows], depth, "compat")


def nearest_generated(sample: Sample, windows: int) -> float:
    """Mean distance from a real window to the nearest generated one, on the first windows drawn."""
    return onnd(sample.real[:windows], sample.fake[:windows])


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "best_epoch_accuracy": networks.best_epoch_accuracy,
        "best_epoch_error": networks.best_epoch_error,
        "iterated_accuracy": networks.iterated_accuracy,
        "iterated_error": networks.iterated_error,
        "signature_mmd": signature_mmd,
        "autocorrelation_lag": _of_paths(autocorrelation_lag),
        "cross_correlation_lag": _of_paths(cross_correlation_lag),
        "step_autocorrelation": _of_paths(autocorrelation_non_stationary),
        "cross_correlation": _of_paths(cross_correlation),
        "signature_w1": _of_paths(sig_w1),
        "nearest_generated": nearest_generated,
        "histogram_gap": paths.histogram_gap,
        "conditional_mean_gap": paths.conditional_mean_gap,
        "put_gap": paths.put_gap,
        "tail_error": tail.tail_error,
        "coverage_rejection": tail.coverage_rejection,
        "score_rejection": tail.score_rejection,
        "correlation_of_totals": tail.correlation_of_totals,
        "path_autocorrelation": tail.path_autocorrelation,
    }
)
"""Measures by the name that a protocol's file uses."""
