"""Keys of a venue: from the environment or the keyring alone, and never shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from openfingym.errors import UsageError

NAMES: Mapping[str, tuple[str, str]] = {
    "alpaca": ("APCA_API_KEY_ID", "APCA_API_SECRET_KEY"),  # as Alpaca's own clients name them
    "binance": ("BINANCE_API_KEY", "BINANCE_API_SECRET"),
}
"""Environment variables of each venue's API key and secret."""


@dataclass(frozen=True)
class Keys:
    """An account's API key and its secret. Neither is ever in the ``repr``."""

    key: str = field(repr=False)
    """The key, which requests state in a header field."""
    secret: str = field(repr=False)
    """The secret that belongs to it."""

    @classmethod
    def of(cls, venue: str) -> Keys:
        """The keys of a venue, from the variables of :data:`NAMES` in the environment, or else from the entries of
        those names in the keyring's service ``openfingym-VENUE``, where a keyring is installed.

        Raises:
            UsageError: key or secret is in neither place; the message names what is missing.
        """
        names = NAMES[venue]
        values = [os.environ.get(name) or _from_keyring(venue, name) for name in names]
        missing = [name for name, value in zip(names, values, strict=True) if not value]
        if missing:
            raise UsageError(
                f"{venue} needs keys, and {' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} set neither in "
                f"the environment nor in the keyring (service openfingym-{venue}): set {' and '.join(missing)}"
            )
        return cls(*(value for value in values if value))


def _from_keyring(venue: str, entry: str) -> str | None:
    try:
        import keyring  # type: ignore[import-not-found,unused-ignore]
        import keyring.errors  # type: ignore[import-not-found,unused-ignore]
    except ImportError:  # the package is optional
        return None
    try:
        password: str | None = keyring.get_password(f"openfingym-{venue}", entry)
    except keyring.errors.KeyringError:  # as on a server, which has no desktop to unlock one
        return None
    return password
