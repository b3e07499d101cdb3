"""A command line, and a disk, of one's own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.openfingym.rollouts.driving import Cli
from tests.warm_verifiers import WarmVerifiers


@pytest.fixture
def cli(store_home: Path, warm_verifiers: WarmVerifiers) -> Iterator[Cli]:
    command = Cli(store_home, warm_verifiers)
    yield command
    command.end()
    shutil.rmtree(command.temporary)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)
