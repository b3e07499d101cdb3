"""The worlds that suites ask about, as ``openfingym vault`` makes them: simulated, or pulled from who publishes them.

A distribution brings a world by an entry point of the group ``openfingym.worlds``, which has the name of the world and
whose object is an instance of :class:`World`. Its module is loaded to say what the world is, so it should import what
is heavy in its methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from openfingym.errors import UsageError
from openfingym.plugins import Plugins

if TYPE_CHECKING:
    from openfingym.vault import Vault

ENTRY_POINT_GROUP = "openfingym.worlds"
_PLUGINS = Plugins("world", ENTRY_POINT_GROUP, {})


@dataclass(frozen=True)
class PullOrder:
    """The months of a publisher's data that are wanted, and how they are pulled."""

    first: str
    """The first month, such as ``2023-01``."""
    last: str
    """The last month, included."""
    folder: Path | None = None
    """Folder that the vault is written to; None for the store."""
    work: Path | None = None
    """Folder for what a pull needs to go on; None for one below the store."""
    base_url: str | None = None
    """Address to ask instead of the publisher's; None for the publisher's."""
    texts: Path | None = None
    """Folder with the texts of documents; None without one."""
    fetch: bool = False
    """Whether the documents' pages are fetched by their addresses."""
    most_pages: int | None = None
    """The most pages to fetch this time; None for all."""
    threshold: int | None = None
    """What an entry must exceed to be kept, in the world's own measure; None for its default."""


@dataclass(frozen=True)
class Pulled:
    """The result of a pull."""

    vault: Vault
    """The vault that was written."""
    lines: Sequence[str] = ()
    """What there is to say of it beyond its folder and its digest, a line each."""
    document: Mapping[str, object] = field(default_factory=dict)
    """The same as JSON."""


class World:
    """A world that a suite asks about. A subclass overrides what its world can do."""

    about: ClassVar[str]
    """What it holds, in a few words, such as ``countries with events and news``."""
    simulates: ClassVar[bool] = False
    """Whether :meth:`simulate` makes a vault of it."""
    pulls: ClassVar[bool] = False
    """Whether :meth:`pull` makes a vault of it."""
    made_when_named: ClassVar[bool] = False
    """Whether ``openfingym vault info NAME`` simulates it where the store does not have it."""

    def simulate(
        self,
        seed: int,  # noqa: ARG002 - a world that is simulated overrides this
        days: int | None,  # noqa: ARG002 - as above
        folder: Path | None,  # noqa: ARG002 - as above
    ) -> Vault:
        """Make the vault of the simulated world; the same seed and days give the same digest.

        Args:
            seed: the number from which every random draw of the world follows.
            days: how long the world is; None for its usual length.
            folder: folder that the vault is written to; None for the store, where it is made once.

        Raises:
            UsageError: the world is not simulated, or has no other length.
            StoreError: it cannot be written there.
        """
        raise UsageError(f"the world of {type(self).__name__} is not simulated")

    def pull(
        self,
        order: PullOrder,  # noqa: ARG002 - a world that somebody publishes overrides this
        say: Callable[[str], None],  # noqa: ARG002 - as above
    ) -> Pulled:
        """Pull months of a publisher's data into a vault.

        Args:
            order: what to pull, and how.
            say: called with a line for people about each step.

        Raises:
            UsageError: nobody publishes the world, or the order cannot be followed.
            OfflineError: the publisher cannot be reached.
        """
        raise UsageError(f"nobody publishes the world of {type(self).__name__}")


def known_worlds() -> tuple[str, ...]:
    """The names of all worlds."""
    return _PLUGINS.names()


def find_world(name: str) -> World:
    """The world with a name.

    Raises:
        UsageError: there is no such world, there are two, or it cannot be loaded.
    """
    world = _PLUGINS.load(name)
    if not isinstance(world, World):
        raise UsageError(
            f"the world {name!r}: expected an instance of a subclass of openfingym.suites.World, found {world!r}"
        )
    return world
