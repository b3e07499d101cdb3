"""Becoming the fork server: its mounts, and the interpreter among them.

The fork server is started like a program of a sandbox, by the same command among the same files, so that what it
imports is what a program would import itself. Executing it leaves behind all that this process knows of the host.
"""

from __future__ import annotations

import fcntl
import os
import socket
from typing import Any, Final, NoReturn

from . import confine, mounts
from .reporting import reporting, step

CONTROL: Final = 3
"""Descriptor of the socket at which the fork server is asked for programs."""
LAUNCHER: Final = 4
"""Descriptor that is the handle (pidfd) of the process that asks."""
_AWAY: Final = 20
"""A number above all at which the fork server expects a descriptor."""


def become_server(link: socket.socket, config: dict[str, Any], fds: tuple[int, ...]) -> NoReturn:
    """Execute the fork server; called as process 1 of a new pid namespace, with all capabilities.

    Args:
        link: the launcher's channel, which is closed when the fork server is executed.
        config: the configuration that the launcher sent.
        fds: descriptors: the handle of the launcher, the control socket, and the file for the fork server's output.
    """
    # Moved out of the way of the numbers that are wanted below; these duplicates are closed by executing a program.
    launcher, control, output, reports = (
        fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _AWAY) for descriptor in (*fds, link.detach())
    )
    link = socket.socket(fileno=reports)
    with reporting(link):
        with step("mounts"):
            mounts.build_base(mounts.world_of(config))
        with step("fork server"):
            os.setsid()
            os.umask(0o022)
            for descriptor, place in ((output, 1), (output, 2), (control, CONTROL), (launcher, LAUNCHER)):
                os.dup2(descriptor, place)
            # All others, at whatever numbers they arrived: with any of them open the fork server refuses to serve.
            os.closerange(LAUNCHER + 1, reports)
            os.closerange(reports + 1, os.sysconf("SC_OPEN_MAX"))
            confine.keep_capabilities(f"{mounts.BASE_HOST}/proc")
            os.execve(config["argv"][0], config["argv"], config["environment"])  # noqa: S606 - replaces this process
    os._exit(0)
