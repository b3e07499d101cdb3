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
        [sys.executable, str(EXAMPLES / "train_ppo_vec.py")], capture_output=True, text=True, timeout=580, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SIMULATED")
    planted, martingale = (
        float(found) for found in re.findall(r"difference ([+-][\d.]+) standard errors", done.stdout)
    )
    assert planted > 10.0
    assert abs(martingale) < 3.0
