"""Names of a package that are loaded when they are first used, so that importing the package costs nothing.

A package that has them states the same names twice more: under ``TYPE_CHECKING``, where type checkers and editors find
them, and in ``__all__``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """What a package's ``__getattr__`` is.

    Args:
        package: its full name.
        homes: the module below the package that each name is loaded from.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
