"""Collectors, which bring what became known into a vault: the protocol, and those that come with the library."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, cast

from openfingym.plugins import Plugins
from openfingym.vault import Vault
from openfingym.vault.bundled import build, bundled_vault
from openfingym_suites.findeepforecast.world.building import findeepforecast_vault, write_findeepforecast
from openfingym_suites.findeepforecast.world.size import WorldSize

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


_PLUGINS = Plugins(
    "collector",
    ENTRY_POINT_GROUP,
    {
        SimulatedCollector.name: f"{__name__}:SimulatedCollector",
        BundledCollector.name: f"{__name__}:BundledCollector",
    },
)


def known_collectors() -> tuple[str, ...]:
    """Names of the collectors that are made without arguments."""
    return _PLUGINS.names()


def find_collector(name: str) -> Collector:
    """The collector of a name.

    Args:
        name: name of a collector of the library, or of an entry point.

    Raises:
        UsageError: there is none of that name, there are two, or the distribution that brings it is broken.
    """
    return cast("Collector", _PLUGINS.make(name))
