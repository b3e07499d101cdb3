"""A suite from outside, installed for the processes of a test, and a task of it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

TASK = """
schema_version = "1.4"

[task]
name = "openfingym/jar-forecast"
version = "1.0.0"
description = "Forecast how full a jar is."
keywords = ["questions", "simulated"]

[metadata.openfingym]
format = 1
family = "questions"
asset_class = "synthetic"
frequency = "daily"
panel = "a jar"

[metadata.openfingym.dataset]
name = "jar-world"

[metadata.openfingym.contract]
kind = "qa"
suite = "jars"
steps = 5
unit = "share"
low = 0.0
high = 1.0

[metadata.openfingym.scoring]
baseline = "naive"

[[metadata.openfingym.scoring.metrics]]
name = "mse"
weight = 1.0

[metadata.openfingym.verification]
budget = 5

[metadata.openfingym.provenance]
paper = "none"
note = "SIMULATED."
"""


@pytest.fixture
def jar_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a task whose suite is installed for this process and those it starts."""
    site = tmp_path / "site"
    info = site / "jars-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jars\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[openfingym.suites]\njars = own_suite:SUITE\n")
    shutil.copy(Path(__file__).with_name("own_suite.py"), site / "own_suite.py")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *filter(None, sys.path)]))
    folder = tmp_path / "jar-forecast"
    folder.mkdir()
    (folder / "task.toml").write_text(TASK)
    (folder / "instruction.md").write_text("# Jars\n\nSay how full the jar is.\n")
    return folder
