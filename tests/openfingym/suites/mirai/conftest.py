"""One simulated world for the tests of the suite's data: seven months, most of them before its test month."""

from __future__ import annotations

import pytest

from openfingym.suites.mirai.simulated import write_simulated
from openfingym.suites.mirai.world import WorldSize
from openfingym.vault import Vault


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return write_simulated(tmp_path_factory.mktemp("world") / "vault", WorldSize(days=212), seed=5)
