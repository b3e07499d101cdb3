"""How many problems a season has of each quadrant in each market (FinDeepForecast, table 17)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from openfingym_suites.findeepforecast.generation.protocols import Stratum
from openfingym_suites.findeepforecast.problem import ECONOMIES

QUADRANTS = ("recurrent macro", "recurrent corporate", "non-recurrent macro", "non-recurrent corporate")
"""The four quadrants, in the order of the paper's tables."""
_COUNTS = {
    "recurrent macro": (30, 40, 39, 39, 40, 38, 40, 30),
    "recurrent corporate": (413, 68, 37, 141, 25, 1, 24, 14),
    "non-recurrent macro": (16,) * 8,
    "non-recurrent corporate": (57, 25, 26, 30, 30, 29, 30, 20),
}
TABLE_17: Mapping[Stratum, int] = MappingProxyType(
    {
        Stratum(quadrant, market): count
        for quadrant, counts in _COUNTS.items()
        for market, count in zip(ECONOMIES, counts, strict=True)
    }
)
"""How many problems of each stratum the paper's ten weeks have: 1,394 in all."""
