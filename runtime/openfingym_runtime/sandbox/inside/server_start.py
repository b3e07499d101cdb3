"""Becoming the fork server: its mounts, and the interpreter among them.

The fork server is started as a program of a sandbox is, by the same command among the same files, so that what it has
imported is what a program would import itself. Executing it leaves behind all that this process knows of the host.
"""

from __future__ import annotations

import fcntl
import os
import socket
from typing import Any, Final, NoReturn

from . import confine, mounts
from .reporting import reporting, step

CONTROL: Final = 3
"""Descriptor at which the fork server is asked for programs."""
LAUNCHER: Final = 4
"""Handle (pidfd) of the process that asks."""
_AWAY: Final = 20


def become_server(link: socket.socket, config: dict[str, Any], fds: tuple[int, ...]) -> NoReturn:
    """Execute the fork server; called as process 1 of a new pid namespace, with all capabilities.

    Args:
        link: the launcher's channel, which is closed when the fork server is executed.
        config: what the launcher sent.
        fds: handle of the launcher, the control socket, and what takes the fork server's last words.
    """
    # Away from the numbers that the fork server finds them at; closed when it is executed, if nothing is done.
    launcher, control, output, told = (
        fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _AWAY) for descriptor in (*fds, link.detach())
    )
    link = socket.socket(fileno=told)
    with reporting(link):
        with step("mounts"):
            mounts.build_base(mounts.world_of(config))
        with step("fork server"):
            os.setsid()
            os.umask(0o022)
            for descriptor, place in ((output, 1), (output, 2), (control, CONTROL), (launcher, LAUNCHER)):
                os.dup2(descriptor, place)
            # All others, at whatever numbers they arrived: the fork server would not serve with one of them.
            os.closerange(LAUNCHER + 1, told)
            os.closerange(told + 1, os.sysconf("SC_OPEN_MAX"))
            confine.keep_capabilities(f"{mounts.BASE_HOST}/proc")
            os.execve(config["argv"][0], config["argv"], config["environment"])  # noqa: S606 - replaces this process
    os._exit(0)
