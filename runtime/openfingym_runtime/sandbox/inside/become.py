"""Becoming a program in a process that was forked for it: first the rights are given up, then everything is made as a
new interpreter would find it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Final

from answering import install  # type: ignore[import-not-found]  # see `watching`

from . import channel, confine
from .reporting import FAILED

FOLDERS: Final = ("/agent", "/task")
"""Folders that modules are imported from and that are other ones for the program than for the fork server."""


def confined(link: int) -> None:
    """Wait for orders, give up every right, and become as a new interpreter is; returns when the program may begin.

    Args:
        link: descriptor of the channel to the sandbox's first process. A failure is reported through it; it is closed
            once nothing can fail any more.
    """
    channel_to_first = socket.socket(fileno=link)
    try:
        message, (root, output) = channel.receive(channel_to_first)
        orders: dict[str, Any] = message
        # No other descriptor stays open: whatever is open here leads out of the sandbox.
        high = os.dup(channel_to_first.detach())
        _arrange({1: output, 2: output, 3: high, 4: root})
        channel_to_first = socket.socket(fileno=3)
        os.set_inheritable(3, False)
        confine.drop_capabilities(orders["become"])
        bounds = confine.Bounds(**orders["bounds"])
        start, end = _shown_environment()
        confine.confine(bounds, 4, executes=False)
        _own_input()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _renew(orders["environment"], len(bounds.cpus))
        _show_environment(orders["environment"], start, end)
        # Last of all, since what is to be answered waits for the first process.
        listener = install()
        channel.send(channel_to_first, {}, (listener,))
        os.close(listener)
    except EOFError:
        os._exit(FAILED)
    except BaseException as error:
        channel.send(channel_to_first, {"problem": f"{type(error).__name__}: {error}"})
        os._exit(FAILED)
    channel_to_first.close()


def _arrange(wanted: dict[int, int]) -> None:
    """Put descriptors at the wanted numbers, and close every other one but 0."""
    # By way of numbers above all of them: put in its place at once, one could overwrite another that is still needed.
    highest = max(*wanted.values(), *wanted) + 1
    for place, descriptor in enumerate(wanted.values()):
        os.dup2(descriptor, highest + place)
    for place, number in enumerate(wanted):
        os.dup2(highest + place, number)
    os.closerange(max(wanted) + 1, os.sysconf("SC_OPEN_MAX"))


def _own_input() -> None:
    """Open standard input anew. Programs that had it from the fork server would share the flags and signal number of
    one open file, through which one could send another, or a later one, any message.
    """
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)


def _renew(environment: dict[str, str], cpus: int) -> None:
    """Replace what differs between programs: environment, cached folders, random numbers, threads."""
    os.environ.clear()
    os.environ.update(environment)
    for name in list(sys.path_importer_cache):
        if name.startswith(FOLDERS):
            del sys.path_importer_cache[name]
    sys.modules["openfingym_agent.forked"].draw_anew()
    # The numerical libraries read their number of threads when they were loaded, by the fork server, for one core.
    if cpus != 1 and "threadpoolctl" in sys.modules:
        sys.modules["threadpoolctl"].threadpool_limits(cpus)
    # A new interpreter would not have imported the modules of this folder.
    own = {__name__.partition(".")[0], install.__module__}
    for name in [name for name in sys.modules if name.partition(".")[0] in own]:
        del sys.modules[name]


def _shown_environment() -> tuple[int, int]:
    """Where in memory ``/proc/self/environ`` is read from: first and last address."""
    # Fields 50 and 51 of proc(5).
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return int(fields[47]), int(fields[48])


def _show_environment(environment: dict[str, str], start: int, end: int) -> None:
    """Make ``/proc/self/environ`` show these variables, as far as there is room, in place of the fork server's."""
    text = b"".join(f"{name}={value}".encode() + b"\0" for name, value in environment.items())[: end - start - 1]
    # Nothing points into this memory any more: the variables that were set above are elsewhere.
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, len(text))
