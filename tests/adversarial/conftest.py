"""What tests of attacks share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from openfingym.catalog import task_folders
from openfingym.packages.package import BuiltPackage
from tests.verifier.conftest import seal


@pytest.fixture(scope="session")
def few_windows(store_home: Path, tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    """``treasury-forecast`` with hidden windows of which one begins each fifth week, twenty a fold: figures of attacks
    hold for a number of hidden values, and every window more is that many more rollouts."""
    folder = tmp_path_factory.mktemp("few")
    task = Path(shutil.copytree(task_folders()["treasury-forecast"], folder / "treasury-forecast"))
    config = task / "task.toml"
    before = "train_stride = 1\n"
    text = config.read_text()
    assert text.count(before) == 1
    config.chmod(0o644)
    config.write_text(text.replace(before, f"{before}hidden_stride = 25\n"))
    return seal(folder, task)
