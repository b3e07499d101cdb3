"""Vaults: what became known, and when; a view of one as of a time answers as if nothing came later.

::

    from openfingym.vault import Vault

    vault = Vault.open("vaults/world")
    view = vault.as_of("2016-09-01T00:00:00+00:00")
    view.latest("vintages", series="PAYEMS", reference_date="2016-07-01")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.vault.conditions import Between
    from openfingym.vault.spec import Source, TableSpec
    from openfingym.vault.vault import Vault
    from openfingym.vault.view import Hit, View
    from openfingym.vault.writer import VaultWriter

__all__ = ["Between", "Hit", "Source", "TableSpec", "Vault", "VaultWriter", "View"]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "Between": "conditions",
        "Hit": "view",
        "Source": "spec",
        "TableSpec": "spec",
        "Vault": "vault",
        "VaultWriter": "writer",
        "View": "view",
    },
)
