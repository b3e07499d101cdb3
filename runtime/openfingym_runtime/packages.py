"""The packages that a program may import if it runs on this machine's own Python: in the sandbox, and inline."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import platform
import re
from typing import Final

from openfingym.digests import sha256_of_text

DISTRIBUTIONS: Final = ("numpy", "scipy", "pandas", "scikit-learn", "statsmodels", "lightgbm", "arch")
"""Distributions that a program may import if they are installed, together with all that they require."""

_OURS: Final = "openfingym"
"""Our own distribution, which is never shown: it holds the real series of the test period."""


@functools.cache
def distributions() -> dict[str, importlib.metadata.Distribution]:
    """The listed distributions that are installed, and all that they require, by normalized name."""
    installed: dict[str, importlib.metadata.Distribution] = {}
    waiting = list(DISTRIBUTIONS)
    while waiting:
        # Normalized as PEP 503 has it: requirements spell the name of one distribution in several ways.
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in installed or name == _OURS:
            continue
        try:
            installed[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for requirement in installed[name].requires or ():
            needed, _semicolon, marker = requirement.partition(";")
            match = re.match(r"[A-Za-z0-9._-]+", needed)
            # What belongs to an extra is optional, and nobody here asks for one.
            if match is not None and "extra" not in marker:
                waiting.append(match[0])
    return installed


@functools.cache
def environment() -> dict[str, object]:
    """Python, machine and packages with their versions; see :meth:`openfingym_runtime.job.Backend.environment`."""
    facts = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: distribution.version for name, distribution in sorted(distributions().items())},
    }
    return {**facts, "digest": sha256_of_text(json.dumps(facts, sort_keys=True))}
