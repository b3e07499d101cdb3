"""The world that is searched: real figures and texts, and a simulated market beside them that says so.

Real rows are those of the bundled vault, under the same names of tables and columns. Companies, exchanges' prices,
indices, futures and pages of the simulated part do not exist, whatever their names remind of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym_suites.finsearch.world.building import finsearch_vault, write_finsearch
    from openfingym_suites.finsearch.world.roster import MarketSize

__all__ = ["MarketSize", "finsearch_vault", "write_finsearch"]

__getattr__, __dir__ = names_of(
    __name__, {"MarketSize": "roster", "finsearch_vault": "building", "write_finsearch": "building"}
)
