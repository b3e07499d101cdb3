"""What collects, and those that come with the library."""

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
"""Entry points of installed distributions: named as the collector, with a class that is made without arguments."""


class Collector(Protocol):
    """Brings what became known, each with the time from which it was known, into a vault."""

    name: str

    def collect(self, folder: str | Path | None = None) -> Vault:
        """Collect.

        Args:
            folder: where the vault shall be; it must not exist. None for the store.

        Raises:
            DataError: a source says something that cannot be understood, or cannot be reached.
            StoreError: the vault cannot be written.
        """


class SimulatedCollector:
    """Collects in the simulated world.

    Args:
        size: how large it is.
        seed: the world.
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

    Raises:
        UsageError: there is none, or the distribution that brings it is broken.
    """
    if name in _OWN:
        return _OWN[name]()
    for entry in entry_points(ENTRY_POINT_GROUP):
        if entry.name == name:
            try:
                found: Collector = entry.load()()
            except Exception as error:  # whatever a stranger's module may raise
                raise UsageError(f"the collector {name!r} ({entry.value}) cannot be loaded: {error}") from error
            return found
    raise UsageError(f"no collector is named {name!r}; there are {', '.join(known_collectors())}")
