"""Finding a suite by name: those of the library, those of installed distributions, and those of this process.

A distribution brings a suite by an entry point of the group ``openfingym.suites``, which has the name of the suite and
whose object is an instance of :class:`~openfingym.suites.suite.Suite`. A suite of the library is ``SUITE`` in its
package, ``openfingym.suites.NAME``.
"""

from __future__ import annotations

from typing import cast

from openfingym.errors import UsageError
from openfingym.plugins import Plugins
from openfingym.suites.suite import Suite

ENTRY_POINT_GROUP = "openfingym.suites"
OWN: tuple[str, ...] = ("mirai", "finsearch", "findeepforecast", "imported")
"""Suites of the library, by the names of their packages in ``openfingym.suites``."""
_PLUGINS = Plugins("suite", ENTRY_POINT_GROUP, {name: f"openfingym.suites.{name}:SUITE" for name in OWN})

_registered: dict[str, Suite] = {}


def known_suites() -> tuple[str, ...]:
    """The names of all suites: of the library, of this process, and of installed distributions."""
    return tuple(dict.fromkeys([*OWN, *_registered, *_PLUGINS.names()]))


def find_suite(name: str) -> Suite:
    """The suite with a name.

    Raises:
        UsageError: there is no such suite, there are two, or it cannot be loaded.
    """
    if name in _registered:
        return _registered[name]
    if name not in _PLUGINS.names():
        raise UsageError(f"no suite is named {name[:60]!r}; known: {', '.join(known_suites())}")
    return register_suite(cast("Suite", _PLUGINS.load(name)))


def register_suite(suite: Suite) -> Suite:
    """Make a suite known in this process. A verifier is another process, which knows installed suites alone.

    Raises:
        UsageError: it is no instance of a suite, or another suite has its name.
    """
    if not isinstance(suite, Suite):
        raise UsageError(f"expected an instance of a subclass of openfingym.suites.suite.Suite, found {suite!r}")
    # setdefault() is atomic: of two threads that register suites of one name at once, the second is refused.
    if _registered.setdefault(suite.name, suite) is not suite:
        raise UsageError(f"there is a suite {suite.name!r} already; choose another name")
    return suite
