"""Making a process that was forked behave like a new interpreter, though much is imported already."""

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
"""Folders that modules of the program's own are in."""
LAST_ERROR = ("last_exc", "last_type", "last_value", "last_traceback")
"""Names in ``sys`` by which an exception that was printed is still referred to."""
FLUSH_FAILED = 120
"""Exit status of an interpreter that cannot write what was printed."""


def draw_anew() -> None:
    """Replace what was drawn at random before the fork, since all forks would have the same."""
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].current_process().authkey = os.urandom(32)


def run_to_the_end(path: str) -> NoReturn:
    """Run a program as `run_as_main` does, and end this process as the interpreter would.

    The program's threads are waited for, its exit functions are called, and its own modules are emptied, so that files
    which it left open are written. What had been imported before stays as it is: to empty that would copy its memory.
    """
    try:
        run_as_main(path)
        code = 0
    except SystemExit as end:
        code = _exit_code(end)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    # In the interpreter's own order: threads, exit functions, streams, modules.
    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter calls
    atexit._run_exitfuncs()
    flushed = _flush()
    # A traceback refers to the program's frames, and through them to its open files.
    for name in LAST_ERROR:
        if hasattr(sys, name):
            delattr(sys, name)
    for module in _own_modules():
        vars(module).clear()
    gc.collect()
    if not (_flush() and flushed) and code == 0:
        code = FLUSH_FAILED
    # After an interrupt the interpreter ends by the signal itself, so that its parent sees that.
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _own_modules() -> list[object]:
    """The modules that are the program's own, ``__main__`` among them."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name == "__main__" or str(getattr(module, "__file__", "")).startswith(OWN_FOLDERS)
    ]


def _exit_code(end: SystemExit) -> int:
    """Exit status by the argument of ``SystemExit``; one that is no number is printed, as the interpreter does."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    _flush()
    sys.stderr.write(f"{end.code}\n")
    return 1


def _flush() -> bool:
    """Write what was printed; False if that fails."""
    done = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except (OSError, ValueError):
            done = False
    return done
