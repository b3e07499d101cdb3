"""Contract tests against trainers, each in an environment of its own: ``make trainers``. Elsewhere they are skipped."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest


def required(module: str) -> ModuleType:
    """A trainer's module, or a part of it; where it is not installed, the file that asks for it is skipped.

    In the trainer's own environment, where ``scripts/trainers.py`` says so, nothing is skipped.
    """
    if os.environ.get("OPENFINGYM_TRAINER"):
        return importlib.import_module(module)
    reason = f"{module} is not installed here; `make trainers` runs this in an environment of its own"
    found: ModuleType = pytest.importorskip(module, reason=reason)
    return found
