"""Access to verifiers: where they are, a client, and scoring without one."""

from __future__ import annotations

from openfingym.verifiers.address import VerifierAddress
from openfingym.verifiers.finding import find_verifiers

__all__ = ["VerifierAddress", "find_verifiers"]
