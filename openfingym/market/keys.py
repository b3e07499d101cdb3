"""Keys of a venue: from the environment or the keyring alone, and never shown."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from openfingym.errors import UsageError


@dataclass(frozen=True)
class Keys:
    """The name of an account's key and its secret. Neither is ever in its ``repr``."""

    key: str = field(repr=False)
    secret: str = field(repr=False)

    @classmethod
    def of(cls, venue: str) -> Keys:
        """The keys of a venue: ``ALPACA_KEY`` and ``ALPACA_SECRET`` of the environment for ``alpaca``, or else the
        entries ``key`` and ``secret`` of the keyring's service ``openfingym-alpaca``, where a keyring is installed.

        Raises:
            UsageError: neither has both.
        """
        names = f"{venue.upper()}_KEY", f"{venue.upper()}_SECRET"
        found = [os.environ.get(name) or _from_keyring(venue, name.rpartition("_")[2].lower()) for name in names]
        if not found[0] or not found[1]:
            raise UsageError(
                f"no keys for {venue}: set {names[0]} and {names[1]} in the environment, or store key and secret in "
                f"the keyring under openfingym-{venue}"
            )
        return cls(found[0], found[1])


def _from_keyring(venue: str, entry: str) -> str | None:
    try:
        import keyring  # type: ignore[import-not-found,unused-ignore]
        import keyring.errors  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    try:
        found: str | None = keyring.get_password(f"openfingym-{venue}", entry)
    except keyring.errors.KeyringError:
        return None
    return found
