"""What a metric compiles ahead of its first score is what it is computed with."""

from __future__ import annotations

import subprocess
import sys

import pytest

from openfingym.metrics.registry import METRICS

PROGRAM = """
import sys
import numpy as np
from openfingym.metrics.registry import METRICS
from numba.core.dispatcher import Dispatcher

compiled = []
compile_one = Dispatcher.compile

def counted(self, signature):
    compiled.append((self.py_func.__name__, str(signature)))
    return compile_one(self, signature)

Dispatcher.compile = counted
metric = METRICS[sys.argv[1]]
metric.prepare()
ahead = len(compiled)
assert ahead, "nothing was compiled ahead"
rng = np.random.default_rng(0)
metric.function(rng.standard_normal((40, 8, 2)), rng.standard_normal((40, 8, 2)), seed=0)
assert compiled[ahead:] == [], compiled
"""


def test_there_are_metrics_to_prepare() -> None:
    assert {name for name, metric in METRICS.items() if metric.prepare is not None} == {"sig_mmd", "disc_fast"}


@pytest.mark.parametrize("name", ["sig_mmd", "disc_fast"])
def test_nothing_is_left_to_compile_for_a_score(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
