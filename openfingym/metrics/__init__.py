"""Metrics: every one by name, the score of an answer to a task, and the totals that are made of metrics.

    from openfingym.metrics import METRICS, Truth, score

Importing this package does nothing but make the names below available; each is loaded when it is
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.metrics.admission import admit
    from openfingym.metrics.aggregation import paper_total, relative_total
    from openfingym.metrics.arrays import number, pair
    from openfingym.metrics.copying import detect_copies
    from openfingym.metrics.naive import naive_forecast
    from openfingym.metrics.record import Metric
    from openfingym.metrics.registry import METRICS, find_metric
    from openfingym.metrics.scoring import Score, Truth, relative, score

__all__ = [
    "METRICS",
    "Metric",
    "Score",
    "Truth",
    "admit",
    "detect_copies",
    "find_metric",
    "naive_forecast",
    "number",
    "pair",
    "paper_total",
    "relative",
    "relative_total",
    "score",
]

_HOMES = {
    "METRICS": "registry",
    "Metric": "record",
    "Score": "scoring",
    "Truth": "scoring",
    "admit": "admission",
    "detect_copies": "copying",
    "find_metric": "registry",
    "naive_forecast": "naive",
    "number": "arrays",
    "pair": "arrays",
    "paper_total": "aggregation",
    "relative": "scoring",
    "relative_total": "aggregation",
    "score": "scoring",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
