"""A command line of one's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.openfingym.rollouts.driving import Cli


@pytest.fixture
def cli(store_home: Path) -> Iterator[Cli]:
    command = Cli(store_home)
    yield command
    command.end()
    shutil.rmtree(command.temporary)
