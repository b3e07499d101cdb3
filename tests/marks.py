"""Marks that several files of tests have."""

from __future__ import annotations

import pytest

SOCKETS_DROPPED = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning")
]
"""Of tests that end a verifier: httpcore leaves a unix socket that could not be connected to the garbage collector."""
