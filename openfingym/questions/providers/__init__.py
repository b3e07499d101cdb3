"""The registry of providers of truth: the library's own, one file each, and those of installed distributions.

A distribution brings a provider by an entry point of the group ``openfingym.providers``, named as the provider, whose
object is called with a secret key and returns a :class:`~openfingym.questions.provider.Provider`; the library's own are
found in the same way, as ``provider`` of their modules. None is loaded before it is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from openfingym.plugins import Plugins

if TYPE_CHECKING:
    from openfingym.questions.provider import Provider

ENTRY_POINT_GROUP = "openfingym.providers"
OWN = ("manual", "simulated", "polymarket", "kalshi", "manifold", "price", "release")
"""Providers of the library, by the names of their modules here."""
Factory = Callable[[bytes], "Provider"]
"""Makes a provider from a secret key, which only simulated providers use."""
_PLUGINS = Plugins("provider", ENTRY_POINT_GROUP, {name: f"{__name__}.{name}:provider" for name in OWN})


class _Providers(Mapping[str, Factory]):
    """Every known provider by name, whose module is loaded when it is looked up."""

    def __getitem__(self, name: str) -> Factory:
        if name not in _PLUGINS.names():
            raise KeyError(name)
        return cast("Factory", _PLUGINS.load(name))

    def __iter__(self) -> Iterator[str]:
        return iter(_PLUGINS.names())

    def __len__(self) -> int:
        return len(_PLUGINS.names())


PROVIDERS: Mapping[str, Factory] = _Providers()
"""Every known provider by name, the library's own first."""


def find_provider(name: str, secret: bytes = b"") -> Provider:
    """A new provider, which the caller closes.

    Args:
        name: name of the provider in :data:`PROVIDERS`.
        secret: key from which simulated providers make up their truths, so that nobody without it can compute them; the
            same key gives the same truths. Other providers do not use it.

    Raises:
        UsageError: there is no provider of that name, there are two, or it cannot be loaded.
    """
    return cast("Factory", _PLUGINS.load(name))(secret)
