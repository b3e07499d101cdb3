"""Entry points of installed distributions, through which other people's packages add tasks, kinds, agents and more."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

from openfingym.errors import UsageError

Place = tuple[str, int, int]
"""A folder where distributions may be installed: its path, its inode, and its last change in nanoseconds."""
KEPT = 64
"""Groups that are remembered, each for one state of all folders."""


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, as they are installed at this moment.

    To look through a few hundred distributions takes a hundredth of a second. So it is done again only if a folder of
    the path was changed, which happens whenever a distribution is installed or removed.
    """
    return _read(group, tuple(_places()))


class Plugins:
    """The things of one sort that are found by name: the library's own, and those of installed distributions.

    None is loaded before it is asked for. A name that two of them claim is refused when it is asked for, and hides no
    other.

    Args:
        what: what one of them is called in messages, such as ``logger``.
        group: group of the entry points by which distributions bring theirs.
        own: where each of the library's own is, as ``module:object``, by name.
    """

    def __init__(self, what: str, group: str, own: Mapping[str, str]) -> None:
        self.what, self.group = what, group
        self._own = {name: EntryPoint(name, place, group) for name, place in own.items()}

    def names(self) -> tuple[str, ...]:
        """All names, the library's own first and the others in order of the alphabet."""
        return tuple(dict.fromkeys([*self._own, *sorted(entry.name for entry in entry_points(self.group))]))

    def entry(self, name: str) -> EntryPoint | None:
        """The entry point of a name; None if there is none.

        Raises:
            UsageError: two of them have this name; the message names the distribution.
        """
        entry = self._own.get(name)
        for claim in entry_points(self.group):
            if claim.name != name:
                continue
            # The same entry point is met twice where a distribution is on the path twice.
            if entry is not None and claim.value != entry.value:
                raise UsageError(
                    f"the {self.what} {name!r} of {source_of(claim)} has the name of another {self.what}; uninstall "
                    "one of the two"
                )
            entry = entry or claim
        return entry

    def load(self, name: str) -> object:
        """Load the object of a name.

        Raises:
            UsageError: there is none of this name, there are two, or it cannot be loaded; the message names the
                distribution.
        """
        entry = self.entry(name)
        if entry is None:
            # As in a checkout that was updated, whose entry points are those of the time when it was installed.
            none = f"none, since no installed package brings any ({self.group}); install openfingym again"
            known = ", ".join(self.names()) or none
            raise UsageError(f"there is no {self.what} {name[:60]!r}; known: {known}")
        try:
            return entry.load()
        except (Exception, SystemExit) as error:  # the module of another distribution may raise anything
            raise UsageError(f"the {self.what} {name!r} of {source_of(entry)} cannot be loaded: {error}") from error

    def make(self, name: str) -> object:
        """Load the class or the function of a name, and call it without arguments.

        Raises:
            UsageError: it cannot be loaded, as in :meth:`load`, or called; the message names the distribution.
        """
        make = self.load(name)
        if not callable(make):
            raise UsageError(
                f"the {self.what} {name!r}: expected a class or a function that makes one, found {type(make).__name__}"
            )
        try:
            return make()
        except (Exception, SystemExit) as error:  # the code of another distribution may raise anything
            raise UsageError(f"the {self.what} {name!r} cannot be made: {error}") from error


def source_of(entry: EntryPoint) -> str:
    """The distribution and the place of an entry point, for messages; the place alone for the library's own."""
    return f"{entry.dist.name} ({entry.value})" if entry.dist is not None else entry.value


def _places() -> list[Place]:
    places = []
    for path in sys.path:
        try:
            status = Path(path).stat()
        except OSError:
            continue
        places.append((path, status.st_ino, status.st_mtime_ns))
    return places


# The folders' state is part of the key alone.
@lru_cache(maxsize=KEPT)
def _read(group: str, _installed: tuple[Place, ...]) -> tuple[EntryPoint, ...]:
    return tuple(metadata.entry_points(group=group))


def is_own(thing: object) -> bool:
    """Whether the class of an object is of the library's own distribution, and not of another package or a script.

    A class of another package that inherits one of the library's may do anything, and has its own module.
    """
    return type(thing).__module__.partition(".")[0] in own_packages()


@lru_cache(maxsize=1)
def own_packages() -> frozenset[str]:
    """Import packages of the library's own distribution: this one, and those that its entry points lead into."""
    here = __name__.partition(".")[0]
    try:
        entries = metadata.distribution(here).entry_points
    except metadata.PackageNotFoundError:  # run from its source, without being installed
        return frozenset({here})
    return frozenset({here, *(entry.module.partition(".")[0] for entry in entries)})
