"""Every metric by name: ours, and those of installed packages that passed admission."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from openfingym.errors import UsageError
from openfingym.metrics import (
    autocorrelation,
    classification,
    codes,
    copying,
    correlation,
    forecast,
    interval,
    marginal,
    neighbours,
    option,
    point,
    portfolios,
    posthoc,
    probabilistic,
    recurrent,
    scaled,
    signature,
    signature_kernel,
    significance,
    strategy,
    tail,
    tail_score,
    threshold_strategies,
    trading,
    words,
)
from openfingym.metrics.record import Metric
from openfingym.plugins import entry_points

ENTRY_POINTS = "openfingym.metrics"
"""Entry-point group under which a package offers a :class:`Metric`."""

_MODULES = (
    point,
    scaled,
    forecast,
    significance,
    strategy,
    interval,
    probabilistic,
    tail,
    portfolios,
    threshold_strategies,
    tail_score,
    marginal,
    autocorrelation,
    correlation,
    signature,
    signature_kernel,
    neighbours,
    option,
    posthoc,
    recurrent,
    copying,
    classification,
    codes,
    words,
    trading,
)

METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for module in _MODULES for metric in module.METRICS}
)
"""The metrics that come with this library."""


def find_metric(name: str) -> Metric:
    """A metric by name: one of this library, or else of an installed package.

    Raises:
        UsageError: no metric has this name (near misses are suggested), or one that a package offers was not admitted.
    """
    if name in METRICS:
        return METRICS[name]
    offered = third_party_metrics()
    if name in offered:
        return offered[name]
    near = difflib.get_close_matches(name, [*METRICS, *offered], n=3)
    raise UsageError(f"unknown metric {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))


# Admission tries a metric on many cases, so once in a process must do.
@cache
def third_party_metrics() -> Mapping[str, Metric]:
    """The metrics that installed packages offer, by name, after each has passed the admission suite.

    Raises:
        UsageError: a metric cannot be loaded, has a name that is taken, or was not admitted.
    """
    from openfingym.metrics.admission import admit

    admitted: dict[str, Metric] = {}
    for entry in entry_points(ENTRY_POINTS):
        try:
            offered = entry.load()
        except Exception as error:  # importing a foreign package may raise anything
            raise UsageError(f"the metric {entry.name!r} of {entry.value} cannot be loaded: {error!r}") from error
        metric = admit(offered)
        if metric.name in METRICS or metric.name in admitted:
            raise UsageError(f"the metric {entry.name!r} of {entry.value} takes a name that is taken: {metric.name!r}")
        admitted[metric.name] = metric
    return MappingProxyType(admitted)
