"""The kind ``rows``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.kinds.rows.kind import KIND

__all__ = ["KIND"]

__getattr__, __dir__ = names_of(__name__, {"KIND": "kind"})
