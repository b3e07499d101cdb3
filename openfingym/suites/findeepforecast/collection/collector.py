"""Collectors, which bring what became known into a vault: the protocol, and those that come with the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from openfingym.errors import UsageError
from openfingym.plugins import entry_points
from openfingym.suites.findeepforecast.world.building import findeepforecast_vault, write_findeepforecast
from openfingym.suites.findeepforecast.world.size import WorldSize
from openfingym.vault import Vault
from openfingym.vault.bundled import build, bundled_vault

ENTRY_POINT_GROUP = "openfingym.collectors"
"""Group of entry points of installed distributions: each has the collector's name, and leads to a class that is made
without arguments.
"""


class Collector(Protocol):
    """Brings rows and documents into a vault, each with the time from which it was known."""

    name: str

    def collect(self, folder: str | Path | None = None) -> Vault:
        """Collect, and open the vault.

        Args:
            folder: the folder to write the vault to, which must not exist; None for the store.

        Raises:
            DataError: a source cannot be reached, or answers in a form that cannot be understood.
            StoreError: the vault cannot be written.
        """


class SimulatedCollector:
    """Collects in the simulated world.

    Args:
        size: how large the world is; None for that of the season.
        seed: the number from which every random draw of the world follows.
    """

    name = "simulated"

    def __init__(self, size: WorldSize | None = None, seed: int = 0) -> None:
        self._size = size
        self._seed = seed

    def collect(self, folder: str | Path | None = None) -> Vault:
        """Make the world, or open it where it was made already."""
        if folder is None:
            return findeepforecast_vault(self._size, seed=self._seed)
        return write_findeepforecast(folder, self._size, seed=self._seed)


class BundledCollector:
    """Gives the recorded past that comes with the library."""

    name = "bundled"

    def collect(self, folder: str | Path | None = None) -> Vault:
        """Build it, or open it where it was built already."""
        return bundled_vault() if folder is None else build(Path(folder))


_OWN: dict[str, Callable[[], Collector]] = {
    SimulatedCollector.name: SimulatedCollector,
    BundledCollector.name: BundledCollector,
}


def known_collectors() -> tuple[str, ...]:
    """Names of the collectors that are made without arguments."""
    return (*_OWN, *sorted(entry.name for entry in entry_points(ENTRY_POINT_GROUP) if entry.name not in _OWN))


def find_collector(name: str) -> Collector:
    """The collector of a name.

    Args:
        name: name of a collector of the library, or of an entry point.

    Raises:
        UsageError: there is none of that name, or the distribution that brings it is broken.
    """
    # The library's own come first, so that no distribution takes one's place.
    if name in _OWN:
        return _OWN[name]()
    for entry in entry_points(ENTRY_POINT_GROUP):
        if entry.name == name:
            try:
                collector: Collector = entry.load()()
            except Exception as error:  # the module of another distribution may raise anything
                raise UsageError(f"the collector {name!r} ({entry.value}) cannot be loaded: {error}") from error
            return collector
    raise UsageError(f"no collector is named {name!r}; there are {', '.join(known_collectors())}")
