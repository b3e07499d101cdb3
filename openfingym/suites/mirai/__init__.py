"""MIRAI: forecasting which relations there will be between two countries, from events and news."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.suites.mirai.suite import MiraiSuite

    SUITE: MiraiSuite

__all__ = ["SUITE"]

__getattr__, __dir__ = names_of(__name__, {"SUITE": "suite"})
