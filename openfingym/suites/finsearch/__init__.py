"""FinSearchComp: dated questions about companies, markets and economies, with tools that know nothing later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.suites.finsearch.suite import FinsearchSuite

    SUITE: FinsearchSuite

__all__ = ["SUITE"]

__getattr__, __dir__ = names_of(__name__, {"SUITE": "suite"})
