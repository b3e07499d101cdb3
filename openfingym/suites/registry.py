"""Finding a suite by name: those of installed distributions, and those of this process.

A distribution brings a suite by an entry point of the group ``openfingym.suites``, which has the name of the suite and
whose object is an instance of :class:`~openfingym.suites.suite.Suite`. The library's own come in the same way.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, cast

from openfingym.errors import UsageError
from openfingym.plugins import Plugins
from openfingym.suites.suite import Suite

if TYPE_CHECKING:
    from openfingym.suites.example import Example

ENTRY_POINT_GROUP = "openfingym.suites"
_PLUGINS = Plugins("suite", ENTRY_POINT_GROUP, {})

_registered: dict[str, Suite] = {}


def known_suites() -> tuple[str, ...]:
    """The names of all suites: of installed distributions, and of this process."""
    return tuple(dict.fromkeys([*_PLUGINS.names(), *_registered]))


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


def find_example() -> Example | None:
    """The task to start from of the first suite that can be loaded and states one; None if none does."""
    for name in known_suites():
        # One that cannot be loaded says so to whoever asks for it, and is in nobody else's way.
        with contextlib.suppress(UsageError):
            if (example := find_suite(name).example) is not None:
                return example
    return None


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
