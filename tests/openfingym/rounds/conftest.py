"""A verifier for the rounds of a module, and a store of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym.rounds.ledger import LedgerClient
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedVerifier]:
    with EmbeddedVerifier.start([], tmp_path_factory.mktemp("ledger")) as running:
        yield running


@pytest.fixture
def ledger(verifier: EmbeddedVerifier) -> Iterator[LedgerClient]:
    with VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as client:
        yield LedgerClient(client)


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("OPENFINGYM_HOME", str(home))
    return home
