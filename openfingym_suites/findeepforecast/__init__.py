"""FinDeepForecast: questions that are generated every week about what is not known yet, and resolved when it is.

Source: FinDeepForecast: A Live Multi-Agent System for Benchmarking Deep Research Agents in Financial Forecasting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.collection.collector import Collector, find_collector
    from openfingym_suites.findeepforecast.collection.sec import SecCollector
    from openfingym_suites.findeepforecast.suite import FindeepforecastSuite
    from openfingym_suites.findeepforecast.taxonomy.loading import read_groundings, read_taxonomy
    from openfingym_suites.findeepforecast.truth.verdicts import VerdictQueue, agreement

    SUITE: FindeepforecastSuite

__all__ = [
    "SUITE",
    "Collector",
    "SecCollector",
    "VerdictQueue",
    "agreement",
    "find_collector",
    "read_groundings",
    "read_taxonomy",
]

_HOMES = {
    "SUITE": "suite",
    "Collector": "collection.collector",
    "SecCollector": "collection.sec",
    "VerdictQueue": "truth.verdicts",
    "agreement": "truth.verdicts",
    "find_collector": "collection.collector",
    "read_groundings": "taxonomy.loading",
    "read_taxonomy": "taxonomy.loading",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
