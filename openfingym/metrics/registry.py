"""Every metric by name: ours, and those of installed packages that passed admission.

The losses of a forecast that a task's scoring table may name today are in
:data:`openfingym.metrics.bank.LOSSES`; this registry is the whole bank, for every kind of answer.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import UsageError
from openfingym.metrics import (
    autocorrelation,
    classification,
    copying,
    correlation,
    interval,
    marginal,
    neighbours,
    option,
    portfolios,
    posthoc,
    probabilistic,
    relative,
    signature,
    signature_kernel,
    significance,
    strategy,
    tail,
)
from openfingym.metrics.arrays import Numbers, pair
from openfingym.metrics.bank import LOSSES
from openfingym.metrics.point import mae, mse, rmse
from openfingym.metrics.record import Metric

ENTRY_POINTS = "openfingym.metrics"
"""Entry-point group under which a package offers a :class:`Metric`."""


def _refusing_both(function: Callable[[NDArray[np.float64], NDArray[np.float64]], float]) -> Callable[[Numbers, Numbers], float]:
    """A point error that tells a fault of the truth from one of the prediction, as the rest of the bank does."""
    return lambda y_true, y_pred: function(*pair(y_true, y_pred))


_POINT = tuple(
    Metric(name, _refusing_both(function), "point", LOSSES[name].description, LOSSES[name].unit, LOSSES[name].source)
    for name, function in (("mse", mse), ("rmse", rmse), ("mae", mae))
)
_MODULES = (
    relative,
    significance,
    strategy,
    interval,
    probabilistic,
    tail,
    portfolios,
    marginal,
    autocorrelation,
    correlation,
    signature,
    signature_kernel,
    neighbours,
    option,
    posthoc,
    copying,
    classification,
)

METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for metric in (*_POINT, *(metric for module in _MODULES for metric in module.METRICS))}
)
"""The metrics that come with this library."""


def find_metric(name: str) -> Metric:
    """A metric by name, ours first.

    Raises:
        UsageError: nobody offers it (suggests near misses), or the one offered was not admitted.
    """
    if name in METRICS:
        return METRICS[name]
    offered = third_party_metrics()
    if name in offered:
        return offered[name]
    near = difflib.get_close_matches(name, [*METRICS, *offered], n=3)
    raise UsageError(f"unknown metric {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))


@cache
def third_party_metrics() -> Mapping[str, Metric]:
    """Metrics that installed packages offer, each through the admission suite.

    Raises:
        UsageError: one cannot be loaded, takes a name already taken, or was not admitted.
    """
    from openfingym.metrics.admission import admit

    found: dict[str, Metric] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            offered = entry.load()
        except Exception as error:
            raise UsageError(f"the metric {entry.name!r} of {entry.value} cannot be loaded: {error!r}") from error
        metric = admit(offered)
        if metric.name in METRICS or metric.name in LOSSES or metric.name in found:
            raise UsageError(f"the metric {entry.name!r} of {entry.value} takes a name that is taken: {metric.name!r}")
        found[metric.name] = metric
    return MappingProxyType(found)
