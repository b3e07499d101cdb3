"""Run as ``python lifeline.py DESCRIPTOR PROGRAM``: a program that ends, with all its children, when its launcher does.

The launcher holds the other end of the pipe, which the operating system closes however it dies.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def _end_with_launcher(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    descriptor, program = int(sys.argv[1]), sys.argv[2]
    threading.Thread(target=_end_with_launcher, args=(descriptor,), daemon=True).start()
    sys.argv[:] = [program]
    sys.path[0] = os.path.dirname(program)  # noqa: PTH120  # pathlib would be in the program's way
    runpy.run_path(program, run_name="__main__")
