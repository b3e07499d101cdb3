"""The registry of providers of truth: the library's own, one file each, and those of installed distributions.

A distribution brings a provider by an entry point of the group ``openfingym.providers``, named as the provider, whose
object is called with a secret key and returns a :class:`~openfingym.questions.provider.Provider`; the library's own are
found in the same way, as ``provider`` of their modules. None is loaded before it is looked up.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, cast

from openfingym.errors import UsageError
from openfingym.plugins import entry_points

if TYPE_CHECKING:
    from openfingym.questions.provider import Provider

ENTRY_POINT_GROUP = "openfingym.providers"
OWN = ("manual", "simulated", "polymarket", "kalshi", "manifold", "price", "release")
"""Providers of the library, by the names of their modules here."""
OF_SUITES = {
    "simulated-world": "openfingym.suites.findeepforecast.truth.provider:simulated",
    "recorded-world": "openfingym.suites.findeepforecast.truth.provider:recorded",
}
"""Providers of the library that know the truth from a suite's world, and the functions that make them."""
Factory = Callable[[bytes], "Provider"]
"""Makes a provider from a secret key, which only simulated providers use."""


class _Providers(Mapping[str, Factory]):
    """Every known provider by name, whose module is loaded when it is looked up."""

    def __getitem__(self, name: str) -> Factory:
        entry = _entries()[name]
        try:
            return cast("Factory", entry.load())
        # The module of another distribution may raise anything when it is imported.
        except Exception as error:
            raise UsageError(f"the provider {name!r} of {_source(entry)} cannot be loaded: {error}") from error

    def __iter__(self) -> Iterator[str]:
        return iter(_entries())

    def __len__(self) -> int:
        return len(_entries())


PROVIDERS: Mapping[str, Factory] = _Providers()
"""Every known provider by name, the library's own first."""


def find_provider(name: str, secret: bytes = b"") -> Provider:
    """A new provider, which the caller closes.

    Args:
        name: name of the provider in :data:`PROVIDERS`.
        secret: key from which simulated providers make up their truths, so that nobody without it can compute them; the
            same key gives the same truths. Other providers do not use it.

    Raises:
        UsageError: there is no provider of that name, or it cannot be loaded.
    """
    if name not in _entries():
        raise UsageError(f"there is no provider {name[:60]!r}; known: {', '.join(PROVIDERS)}")
    return PROVIDERS[name](secret)


@functools.cache
def _entries() -> Mapping[str, EntryPoint]:
    """Where each provider is. Looks through the installed distributions once, and loads no provider.

    Raises:
        UsageError: two distributions bring a provider of the same name, or one has a name that the library uses.
    """
    places = {name: f"{__name__}.{name}:provider" for name in OWN} | OF_SUITES
    entries = {name: EntryPoint(name, place, ENTRY_POINT_GROUP) for name, place in places.items()}
    for entry in entry_points(ENTRY_POINT_GROUP):
        # The same entry may be seen twice, where a distribution is on the path twice.
        if entries.setdefault(entry.name, entry).value != entry.value:
            raise UsageError(
                f"the provider {entry.name!r} of {_source(entry)} has the name of another one; uninstall one of the two"
            )
    return entries


def _source(entry: EntryPoint) -> str:
    return f"{entry.dist.name} ({entry.value})" if entry.dist is not None else entry.value
