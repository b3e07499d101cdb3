"""A built package is a Harbor task: Harbor itself reads it, in an environment of its own (Python 3.12)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from openfingym.packages.package import BuiltPackage

HARBOR = "harbor==0.24.0"

CHECK = """
import json, sys, tomllib, warnings
from pathlib import Path
warnings.simplefilter("error")
from harbor.models.task.config import TaskConfig
from harbor.models.task.task import Task

folder = Path(sys.argv[1])
assert Task.is_valid_dir(folder), "Harbor does not take it for a task"
task = Task(folder)

def unknown(model, data, where=""):
    # Harbor ignores keys it does not know; ours may stand under [metadata] only.
    for key, value in data.items():
        if key not in type(model).model_fields:
            yield f"{where}{key}"
        elif isinstance(value, dict) and key not in {"metadata", "env"}:
            yield from unknown(getattr(model, key), value, f"{where}{key}.")

raw = tomllib.loads((folder / "task.toml").read_text())
print(json.dumps({
    "name": task.name,
    "schema": task.config.schema_version,
    "network": task.config.environment.network_mode.value,
    "timeout": task.config.agent.timeout_sec,
    "metadata": sorted(raw["metadata"]),
    "unknown": list(unknown(task.config, raw)),
    "instruction": len(task.instruction),
    "round_trip": TaskConfig.model_validate_toml(task.config.model_dump_toml()) == task.config,
}))
"""


@pytest.fixture(scope="module")
def harbor_python() -> Path:
    """A Python with Harbor, made once a machine."""
    base = _python_312()
    if base is None:
        pytest.skip("Harbor needs Python 3.12 or later, and none was found")
    version = subprocess.run([base, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    folder = user_cache_path("openfingym") / "tests" / f"{HARBOR.replace('==', '-')}-python-{version}"
    python = folder / "bin" / "python"
    if not python.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            new = Path(made) / "environment"
            subprocess.run([base, "-m", "venv", new], check=True)
            subprocess.run(
                [new / "bin" / "python", "-m", "pip", "install", "-q", HARBOR], check=True, capture_output=True
            )
            with contextlib.suppress(OSError):  # somebody else was faster
                new.rename(
                    folder
                )  # whole or not at all; nothing but its scripts, which nobody calls, knows the other place
    return python


def _python_312() -> str | None:
    if sys.version_info >= (3, 12):
        return sys.executable
    candidates = [shutil.which(name) for name in ("python3.12", "python3.13")]
    candidates += [
        str(path) for path in Path(os.environ.get("PYENV_ROOT", "/nonexistent")).glob("versions/3.1[23]*/bin/python")
    ]
    for candidate in filter(None, candidates):
        probe = subprocess.run(
            [candidate, "-c", "import venv, ensurepip, sys; print(sys.version_info >= (3, 12))"],
            capture_output=True,
            text=True,
            check=False,
        )
        if probe.stdout.strip() == "True":
            return candidate
    return None


@pytest.mark.harbor
@pytest.mark.timeout(600)
def test_harbor_reads_the_package(harbor_python: Path, treasury: BuiltPackage) -> None:
    done = subprocess.run(
        [harbor_python, "-c", CHECK, str(treasury.public)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["name"] == "openfingym/treasury-forecast"
    assert seen["schema"] == "1.4"
    assert seen["network"] == "no-network"
    assert seen["timeout"] == 600.0
    assert seen["metadata"] == ["openfingym"]
    assert seen["unknown"] == []
    assert seen["instruction"] > 1000
    assert seen["round_trip"]
