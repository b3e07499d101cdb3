"""FinDeepForecast: questions that are generated every week about what is not known yet, and resolved when it is.

Source: FinDeepForecast: A Live Multi-Agent System for Benchmarking Deep Research Agents in Financial Forecasting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.suites.findeepforecast.suite import FindeepforecastSuite

    SUITE: FindeepforecastSuite

__all__ = ["SUITE"]

__getattr__, __dir__ = names_of(__name__, {"SUITE": "suite"})
