"""A suite from outside, installed for the processes of a test, and a task of it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym_verifier import embedded
from openfingym_verifier.child import environment
from tests.warm_verifiers import WarmVerifiers

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


@pytest.fixture(scope="session")
def jar_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages, with the suite of the jars alone."""
    site = tmp_path_factory.mktemp("site")
    info = site / "jars-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jars\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[openfingym.suites]\njars = own_suite:SUITE\n")
    shutil.copy(Path(__file__).with_name("own_suite.py"), site / "own_suite.py")
    return site


@pytest.fixture(scope="session")
def jar_path(jar_site: Path) -> str:
    """Where Python finds modules: as in this process, and the suite of the jars."""
    return os.pathsep.join([str(jar_site), *filter(None, sys.path)])


@pytest.fixture(scope="session")
def jar_verifiers(jar_path: str, warm_verifiers: WarmVerifiers) -> Iterator[WarmVerifiers]:
    """Has verifiers forked that find the suite of the jars: those of the session were started without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", jar_path)
        warm = WarmVerifiers(warm_verifiers.cold, environment(OPENBLAS_NUM_THREADS="1"))
    yield warm
    warm.close()


@pytest.fixture
def jar_task(
    tmp_path: Path, jar_site: Path, jar_path: str, jar_verifiers: WarmVerifiers, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder of a task whose suite is installed for this process and those it starts."""
    monkeypatch.syspath_prepend(jar_site)
    monkeypatch.setenv("PYTHONPATH", jar_path)
    monkeypatch.setattr(embedded, "_spawn", jar_verifiers.spawn)
    folder = tmp_path / "jar-forecast"
    folder.mkdir()
    (folder / "task.toml").write_text(TASK)
    (folder / "instruction.md").write_text("# Jars\n\nSay how full the jar is.\n")
    return folder
