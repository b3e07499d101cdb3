"""A built package is a Harbor task: Harbor itself reads it, in an environment of its own (Python 3.12)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from openfingym.packages.package import BuiltPackage

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
