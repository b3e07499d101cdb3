"""The providers that a verifier asks, each made when it is first needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from openfingym.questions.provider import RECORDED
from openfingym.questions.providers import find_provider
from openfingym_verifier.questions.recorded import RecordedTruths

if TYPE_CHECKING:
    from openfingym.questions import Provider
    from openfingym_verifier.ledger.ledger import Ledger


class Providers:
    """Providers by name. Safe to share between threads."""

    def __init__(self, ledger: Ledger, secret: bytes) -> None:
        """Make simulated providers from ``secret``, so that nobody else can compute their truths; the one that is named
        ``recorded`` reads ``ledger``.
        """
        self._secret = secret
        self._known: dict[str, Provider] = {RECORDED: RecordedTruths(ledger)}
        self._lock = threading.Lock()

    def get(self, name: str) -> Provider:
        """A provider, the same one each time.

        Raises:
            UsageError: there is no provider of that name, or it cannot be loaded.
        """
        # Under the lock, so that two threads do not make two of them, with a connection each.
        with self._lock:
            if name not in self._known:
                self._known[name] = find_provider(name, self._secret)
            return self._known[name]

    def add(self, provider: Provider) -> None:
        """Know a provider that was made elsewhere, by its own name."""
        with self._lock:
            self._known[provider.name] = provider

    def close(self) -> None:
        """Let go of their connections."""
        with self._lock:
            for provider in self._known.values():
                provider.close()
