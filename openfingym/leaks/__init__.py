"""Searching the public half of a task for what its hidden half holds.

:func:`find_leaks` looks for the hidden values themselves in every file, whatever the encoding;
:func:`suspicious_features` looks for public inputs that know more about hidden targets than
inputs know about training targets.
"""

from __future__ import annotations

from openfingym.leaks.findings import Found, Leak
from openfingym.leaks.search import LeakSearch, find_leak, find_leaks
from openfingym.leaks.suspicion import Suspicion, suspicious_features

__all__ = ["Found", "Leak", "LeakSearch", "Suspicion", "find_leak", "find_leaks", "suspicious_features"]
