"""The examples run as they stand, and find what they say they find."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.timeout(600)
def test_ppo_learns_a_planted_signal_and_nothing_on_a_martingale() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "train_ppo_vec.py"), "--rounds", "4"],
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SIMULATED")
    planted, martingale = (
        float(found) for found in re.findall(r"difference ([+-][\d.]+) standard errors", done.stdout)
    )
    assert planted > 10.0
    assert abs(martingale) < 3.0


@pytest.mark.sandbox
@pytest.mark.timeout(600)
def test_a_model_learns_what_can_be_learnt_and_nothing_on_noise(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra `faithful` brings PyTorch")
    few = ["--steps", "4", "--held-out", "8", "--each", "1", "--backend", "sandbox"]
    command = [sys.executable, str(EXAMPLES / "training" / "learns.py"), *few, "--plot", str(tmp_path / "plot.svg")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"rise ([+-][\d.]+), 95 % interval ([+-][\d.]+) to ([+-][\d.]+)", done.stdout)
    (signal, low, high), (control, *_) = (tuple(map(float, one)) for one in found)
    assert 0.2 < low <= signal <= high
    assert control < 0.1
    assert (tmp_path / "plot.svg").read_text().count("<polyline") == 2
