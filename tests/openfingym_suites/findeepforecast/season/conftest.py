"""A store with small worlds in it, and a verifier that looks there; both for the tests of one file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from openfingym.rounds.ledger import LedgerClient
from openfingym.vault import Vault
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.openfingym_suites.findeepforecast.season import small_world


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENFINGYM_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def smooth(home: Path) -> Vault:
    """The small world in which everything comes as calendars say."""
    return small_world.write()


@pytest.fixture(scope="module")
def rough(home: Path) -> Vault:
    """The same until 31 October 2025; then reports are moved, come early or never, and figures are restated."""

    def edit(tables: small_world.Frames) -> None:
        later = datetime(2025, 11, 3, tzinfo=UTC)  # after the first deadline
        small_world.move(tables, "US0", small_world.LATEST, 1, later)
        small_world.move(tables, "US5", small_world.LATEST, -3, datetime(2025, 10, 31, tzinfo=UTC))
        small_world.forget(tables, "JP0", small_world.LATEST)
        small_world.restate(tables, "US:CPI", date(2025, 10, 31), datetime(2025, 12, 10, tzinfo=UTC), 1.5)

    return small_world.write(edit=edit)


@pytest.fixture(scope="module")
def verifier(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedVerifier]:
    with EmbeddedVerifier.start([], tmp_path_factory.mktemp("ledger")) as running:
        yield running


@pytest.fixture
def ledger(verifier: EmbeddedVerifier) -> Iterator[LedgerClient]:
    with VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as client:
        yield LedgerClient(client)
