"""Being a new interpreter in a process that was forked from one which had imported much already."""

import atexit
import gc
import os
import random
import signal
import sys
import threading
from typing import NoReturn

from openfingym_agent.as_main import run_as_main

OWN_FOLDERS = ("/agent/", "/task/", "/work/", "/tmp/")  # noqa: S108 (inside, file systems of this rollout)
LAST_ERROR = ("last_exc", "last_type", "last_value", "last_traceback")
FLUSH_FAILED = 120
"""Exit status where what was printed cannot be written."""


def draw_anew() -> None:
    """Replace what was drawn at random before the fork, where others would have the same."""
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].current_process().authkey = os.urandom(32)


def run_to_the_end(path: str) -> NoReturn:
    """Run a program as `run_as_main` does, and end this process as the interpreter would.

    Its threads are waited for, its exit functions called, its own modules taken down, so that files it left open are
    written. What had been imported before stays: to take it down would copy its memory first.
    """
    try:
        run_as_main(path)
        code = 0
    except SystemExit as end:
        code = _exit_code(end)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter calls
    atexit._run_exitfuncs()
    flushed = _flush()
    for name in LAST_ERROR:
        if hasattr(sys, name):
            delattr(sys, name)
    for module in _own_modules():
        vars(module).clear()
    gc.collect()
    if not (_flush() and flushed) and code == 0:
        code = FLUSH_FAILED
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _own_modules() -> list[object]:
    """Modules of the program's own."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name == "__main__" or str(getattr(module, "__file__", "")).startswith(OWN_FOLDERS)
    ]


def _exit_code(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    _flush()
    sys.stderr.write(f"{end.code}\n")
    return 1


def _flush() -> bool:
    """Write what was printed; False where that fails."""
    done = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except (OSError, ValueError):
            done = False
    return done
