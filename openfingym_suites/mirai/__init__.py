"""MIRAI: forecasting which relations there will be between two countries, from events and news."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym_suites.mirai.baselines.articles import fit_articles
    from openfingym_suites.mirai.baselines.features import fit_features
    from openfingym_suites.mirai.baselines.past import frequency, recurrency
    from openfingym_suites.mirai.baselines.regcn import fit_regcn
    from openfingym_suites.mirai.paper_tables import write_paper_tables
    from openfingym_suites.mirai.simulated import simulated_vault
    from openfingym_suites.mirai.splits import as_of, relation_queries
    from openfingym_suites.mirai.suite import MiraiSuite
    from openfingym_suites.mirai.tools import Tools

    SUITE: MiraiSuite

__all__ = [
    "SUITE",
    "Tools",
    "as_of",
    "fit_articles",
    "fit_features",
    "fit_regcn",
    "frequency",
    "recurrency",
    "relation_queries",
    "simulated_vault",
    "write_paper_tables",
]

_HOMES = {
    "SUITE": "suite",
    "Tools": "tools",
    "as_of": "splits",
    "fit_articles": "baselines.articles",
    "fit_features": "baselines.features",
    "fit_regcn": "baselines.regcn",
    "frequency": "baselines.past",
    "recurrency": "baselines.past",
    "relation_queries": "splits",
    "simulated_vault": "simulated",
    "write_paper_tables": "paper_tables",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
