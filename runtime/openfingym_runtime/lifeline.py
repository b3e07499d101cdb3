"""Runs a program so that it ends, with all its children, when its launcher does: ``python lifeline.py PIPE PROGRAM``.

``PIPE`` is the descriptor of a pipe's read end. The launcher holds the other end, which the operating system closes
however the launcher dies.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def _end_with_launcher(descriptor: int) -> None:
    # Nothing is ever written to the pipe: this returns when its other end is closed.
    os.read(descriptor, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    descriptor, program = int(sys.argv[1]), sys.argv[2]
    threading.Thread(target=_end_with_launcher, args=(descriptor,), daemon=True).start()
    # As the program would find it if Python had been started with it.
    sys.argv[:] = [program]
    sys.path[0] = os.path.dirname(program)  # noqa: PTH120  # pathlib would be in the program's way
    runpy.run_path(program, run_name="__main__")
