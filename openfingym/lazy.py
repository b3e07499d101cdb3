"""Names of a package that are loaded when they are first used, so that importing the package costs nothing.

A package with such names states them twice more: under ``TYPE_CHECKING``, where type checkers and editors find them,
and in ``__all__``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def names_of(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: full name of the package.
        homes: for each name, the module that it is loaded from, relative to the package: ``orders`` is a module below
            it, ``.data.bars`` one of its parent.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{homes[name]}", package), name)
        # An ordinary attribute from now on, so that this function is called once for each name.
        setattr(sys.modules[package], name, value)
        return value

    def known() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return load, known
