"""The packages a program may import where it runs on this machine's own Python: in the sandbox, and inline."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import platform
import re
from typing import Final

from openfingym.digests import sha256_of_text

DISTRIBUTIONS: Final = ("numpy", "scipy", "pandas", "scikit-learn", "statsmodels", "lightgbm", "arch")
"""What a program may import, where it is installed, with everything these need."""

_OURS: Final = "openfingym"


@functools.cache
def distributions() -> dict[str, importlib.metadata.Distribution]:
    """The listed distributions that are installed, and what they need, by normalised name; looked up once a process."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = list(DISTRIBUTIONS)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found or name == _OURS:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for requirement in found[name].requires or ():
            needed, _semicolon, marker = requirement.partition(";")
            match = re.match(r"[A-Za-z0-9._-]+", needed)
            if match is not None and "extra" not in marker:
                waiting.append(match[0])
    return found


@functools.cache
def environment() -> dict[str, object]:
    """Python, machine and packages with their versions; see :class:`openfingym_runtime.job.Backend`."""
    found = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: distribution.version for name, distribution in sorted(distributions().items())},
    }
    return {**found, "digest": sha256_of_text(json.dumps(found, sort_keys=True))}
