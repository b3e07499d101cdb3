"""Finding a vault by its digest, and opening the world that it holds as of a time."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from datetime import datetime
from typing import cast

from openfingym.errors import StoreError, UsageError
from openfingym.vault import Vault
from openfingym_suites.findeepforecast.world.known import KnownWorld

SIMULATED, RECORDED = "findeepforecast", "bundled"
"""Names of the vaults that are worlds: a made-up one, and the real past that comes with the library."""
_WORLD = "openfingym_suites.findeepforecast.world."
_CLASSES = {
    SIMULATED: (f"{_WORLD}simulated", "SimulatedWorld"),
    RECORDED: (f"{_WORLD}recorded", "RecordedWorld"),
}
DIGITS = 12
"""The fewest hexadecimal digits of a digest by which a name may state one vault."""


def vault_name(vault: Vault) -> str:
    """The name by which exactly this vault is found again, such as ``findeepforecast@1f2e...``."""
    return f"{vault.name}@{vault.digest}"


def is_simulated(name: str) -> bool:
    """Whether the world of a vault is simulated.

    Args:
        name: name of the vault, as for :func:`find_vault`.

    Raises:
        UsageError: no vault of this name is a world.
    """
    kind, _, digest = name.partition("@")
    if kind not in _CLASSES or (digest and (len(digest) < DIGITS or set(digest) - set("0123456789abcdef"))):
        raise UsageError(
            f"{name[:80]!r} is no vault of a world; expected {' or '.join(_CLASSES)}, or one of these with @ and at "
            f"least {DIGITS} digits of its digest"
        )
    return kind == SIMULATED


# Kept, so that all who ask for a name get one object: what worlds read of a vault is kept with the object.
@functools.lru_cache(maxsize=4)
def find_vault(name: str) -> Vault:
    """The vault of a name: opened from the store, or made there if this version of the library makes it.

    Args:
        name: ``findeepforecast`` or ``bundled`` for the vault that this version makes, or one of these with ``@`` and
            the digest of a vault or the first digits of it.

    Raises:
        UsageError: no vault of the name is a world; or it is another version's, and this machine does not have it.
        StoreError: the store cannot be read or written.
    """
    simulated = is_simulated(name)
    kind, _, digest = name.partition("@")
    if digest:
        try:
            vault = Vault.open(f"{kind}@{digest[:DIGITS]}")
        except (UsageError, StoreError):
            # Not in the store, but it may be the one that this version makes.
            vault = _own(simulated)
    else:
        vault = _own(simulated)
    # The store knows vaults by their first digits alone; the rest of the digest must be right too.
    if not vault.digest.startswith(digest):
        raise UsageError(
            f"the vault {kind}@{digest[:DIGITS]} is not in the store, and this version of openfingym makes "
            f"{kind}@{vault.digest[:DIGITS]}, which is another world; go on with the version that made it, or begin a "
            "series of another name"
        )
    return vault


def open_world(vault: Vault, as_of: datetime) -> KnownWorld:
    """The world of a vault as of a time.

    Args:
        vault: a vault that holds a world, by its name.
        as_of: the time as of which the world is seen, with a time zone.

    Raises:
        UsageError: no vault of this name is a world.
    """
    # Refuses a vault that is no world.
    is_simulated(vault.name)
    module, name = _CLASSES[vault.name]
    make = cast("Callable[[Vault, datetime], KnownWorld]", getattr(importlib.import_module(module), name))
    return make(vault, as_of)


def _own(simulated: bool) -> Vault:
    """The vault that this version of the library makes."""
    if simulated:
        building = importlib.import_module(f"{_WORLD}building")
        return cast("Vault", building.findeepforecast_vault())
    from openfingym.vault.bundled import bundled_vault

    return bundled_vault()
