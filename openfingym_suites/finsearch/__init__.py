"""FinSearchComp: dated questions about companies, markets and economies, with tools that know nothing later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym_suites.finsearch.suite import FinsearchSuite
    from openfingym_suites.finsearch.tools import FinanceTools
    from openfingym_suites.finsearch.world.building import finsearch_vault

    SUITE: FinsearchSuite

__all__ = [
    "SUITE",
    "FinanceTools",
    "finsearch_vault",
]

_HOMES = {
    "SUITE": "suite",
    "FinanceTools": "tools",
    "finsearch_vault": "world.building",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
