"""Questions of a user's own file as a suite: read, stored, and asked as those of any other suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym_suites.imported.suite import ImportedSuite

    SUITE: ImportedSuite

__all__ = ["SUITE"]

__getattr__, __dir__ = names_of(__name__, {"SUITE": "suite"})
