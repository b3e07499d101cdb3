"""The packages that a program may import if it runs on this machine's own Python: in the sandbox, and inline."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import platform
import re
import sys
from collections.abc import Container
from typing import Final

from openfingym.digests import sha256_of_text
from openfingym.machine import Libraries

LIBRARIES: Final = {
    "numpy": "NumPy",
    "pandas": "pandas",
    "scipy": "SciPy",
    "scikit-learn": "scikit-learn",
    "statsmodels": "statsmodels",
    "lightgbm": "LightGBM",
    "arch": "arch",
}
"""Distributions that a program may import if they are installed, together with all that they require; each with the
name that people know it by."""

_OF_THE_SYSTEM: Final = {"lightgbm": "libgomp.so.1"}
"""Shared libraries that distributions need and do not bring along."""
_OURS: Final = "openfingym"
"""Our own distribution, which is never shown: it holds the real series of the test period."""


@functools.cache
def distributions() -> dict[str, importlib.metadata.Distribution]:
    """The listed distributions that are installed, and all that they require, by normalized name."""
    installed: dict[str, importlib.metadata.Distribution] = {}
    waiting = list(LIBRARIES)
    while waiting:
        name = normalized(waiting.pop())
        if name in installed or name == _OURS:
            continue
        try:
            installed[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for requirement in installed[name].requires or ():
            needed, _semicolon, marker = requirement.partition(";")
            # What belongs to an extra is optional, and nobody here asks for one.
            if "extra" not in marker:
                waiting.append(needed)
    return installed


def libraries() -> Libraries:
    """Which of the listed libraries a program can import on this machine's own Python."""
    return libraries_among([name for name in distributions() if _loads(name)])


def _loads(name: str) -> bool:
    """Whether this machine has the library of the system that a distribution needs, which slim images lack."""
    from openfingym_runtime import elf

    needed = _OF_THE_SYSTEM.get(name)
    return needed is None or sys.platform != "linux" or elf.find_library(needed, ()) is not None


def libraries_among(names: Container[str]) -> Libraries:
    """Which of the listed libraries are among some distributions.

    Args:
        names: normalized names of the distributions.
    """
    return Libraries(
        tuple(known for name, known in LIBRARIES.items() if name in names),
        tuple(known for name, known in LIBRARIES.items() if name not in names),
    )


def normalized(requirement: str) -> str:
    """The name of a distribution in a requirement such as ``scikit_learn==1.9``, as PEP 503 normalizes it."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement.strip())
    return re.sub(r"[-_.]+", "-", match[0] if match else "").lower()


@functools.cache
def environment() -> dict[str, object]:
    """Python, machine and packages with their versions; see :meth:`openfingym_runtime.job.Backend.environment`."""
    facts = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: distribution.version for name, distribution in sorted(distributions().items())},
    }
    return {**facts, "digest": sha256_of_text(json.dumps(facts, sort_keys=True))}
