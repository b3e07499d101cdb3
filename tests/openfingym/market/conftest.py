"""A tape that several files of tests read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.openfingym.market.tapes import short_tape


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short tape, which no test may change."""
    return short_tape(tmp_path_factory.mktemp("tapes") / "short.tape")
