"""What this process asks of its machine is given back."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import contextlib, threading
import numpy as np
from threadpoolctl import threadpool_info
from openfingym.machine import one_blas_thread

np.ones((2, 2)) @ np.ones((2, 2))
def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

before = threads()
inside, first_left = threading.Barrier(2), threading.Event()
seen = []
def first():
    with one_blas_thread():
        inside.wait(20)
        seen.append(threads())
        inside.wait(20)
    first_left.set()
def second():
    inside.wait(20)
    with one_blas_thread():
        seen.append(threads())
        inside.wait(20)
        assert first_left.wait(20)
for _ in range(2):
    both = [threading.Thread(target=one) for one in (first, second)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert threads() == before, "nothing is left behind"
assert seen == [{1}] * 4
with contextlib.suppress(ZeroDivisionError), one_blas_thread(), one_blas_thread():
    raise ZeroDivisionError
assert threads() == before
with one_blas_thread():
    assert threads() == {1}, "it can be had again"
print(before)
"""


def test_a_limit_on_blas_goes_with_whoever_set_it() -> None:
    # In a process of its own: tests have one thread.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=False, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout, ran.stderr) == ("{2}\n", "")
