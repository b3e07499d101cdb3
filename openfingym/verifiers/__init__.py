"""Access to verifiers: finding them, asking them, checking their receipts, and scoring files without one."""

from __future__ import annotations

from openfingym.verifiers.address import VerifierAddress
from openfingym.verifiers.finding import find_verifiers

__all__ = ["VerifierAddress", "find_verifiers"]
