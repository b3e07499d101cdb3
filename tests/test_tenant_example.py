"""The example of a package of one's own: installed as anybody's is, found, checked and played."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "tenant"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages, with the example alone."""
    folder = tmp_path_factory.mktemp("tenant")
    shutil.copytree(EXAMPLE, folder / "source")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--target", folder / "site", folder / "source"], check=True, capture_output=True)
    return folder / "site"


def said(site: Path, folder: Path, *words: str) -> dict[str, object]:
    """What a command says as JSON, with the example installed beside what this process has."""
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path, "OPENFINGYM_HOME": str(folder / "store")}
    command = [sys.executable, "-m", "openfingym", *words, "--json"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    first: dict[str, object] = document[0] if isinstance(document, list) else document
    return first


def test_an_example_of_a_tenant_is_installed_and_played(site: Path, tmp_path: Path) -> None:
    result = said(site, tmp_path, "run", "harbour-traffic", "--agent", "naive", "--backend", "inline")
    assert (result["task"], result["state"], result["data_kind"]) == ("harbour-traffic", "scored", "simulated")
    made = [said(site, tmp_path, "vault", "simulate", "harbour-traffic", "--seed", seed) for seed in ("0", "1", "0")]
    assert made[0] == made[2]
    assert made[0]["digest"] != made[1]["digest"]
    (described,) = [said(site, tmp_path, "vault", "info", "harbour-traffic@" + str(made[0]["digest"])[:12])]
    assert described["simulated"] is True
