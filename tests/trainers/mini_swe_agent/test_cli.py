"""mini-swe-agent as it comes from the package index, inside: the example as it stands, with a stand-in for a model."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from openfingym.trajectory import read_rollout

from ..conftest import required

required("minisweagent")

EXAMPLE = Path(__file__).parents[3] / "examples" / "coding_cli.py"


@pytest.mark.parametrize("backend", [
    pytest.param("sandbox", marks=pytest.mark.sandbox), pytest.param("docker", marks=pytest.mark.docker),
])  # fmt: skip
@pytest.mark.timeout(1200)
def test_the_example_plays(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, backend: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "mini-swe-agent"
    command = [sys.executable, str(EXAMPLE), "--folder", str(folder), "--backend", backend, "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("scored (model inside): relative total "), done.stdout
    (run,) = [path.parent for path in tmp_path.glob("*/trajectory.json")]
    record = read_rollout(run / "trajectory.json")
    assert re.search(r"submission 1: public loss", (run / "output.log").read_text())
    # All that its model was asked and answered is on record, with the tool that the command line brought.
    assert [tool.name for tool in record.tools] == ["bash"]
    calls = [use for turn in record.messages for use in turn.tool_calls]
    assert len(calls) == 3
    assert "submission 1" in str(calls[1].result)
    assert (record.rewritten, record.failure) == (0, "none")
