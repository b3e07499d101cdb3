"""The program that the launcher starts in a cold start: it makes the namespaces, and stays as their first process.

It becomes two processes. The outer one only waits. The inner one is process 1 of the pid
namespace: it builds the mounts, gives up its rights, starts the program and reports how the program
ended. When process 1 ends, the kernel kills everything else in the namespace; it ends when the
program does, when the launcher closes the channel, and when the launcher dies in any way.
"""

from __future__ import annotations

import os
import socket
from typing import Any, Final, NoReturn

from answering import install  # type: ignore[import-not-found]  # see `watching`

from . import channel, confine, loopback, mounts, syscalls
from .reporting import FAILED, reporting, step
from .server_start import become_server
from .watching import HOSTNAME, await_orders, die_first, socket_monitor, watch

NAMESPACES: Final = (
    syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWCGROUP
)

_LISTENS: Final = b"l"
"""What comes with the descriptor of the calls that are to be answered."""


def main(descriptor: int) -> NoReturn:
    """Run a sandbox, or become the fork server, as the launcher at the other end of ``descriptor`` says."""
    link = socket.socket(fileno=descriptor)
    with reporting(link):
        _silence()
        config, fds = channel.receive(link)
        with step("namespaces"):
            syscalls.unshare(NAMESPACES)
        # The launcher now writes the maps of users and groups, since ids other than this process's own can only be
        # mapped from outside.
        channel.send(link, {"state": "unshared"})
        channel.receive(link)
        with step("fork"):
            # A process stays in its pid namespace; a child is the first process of the new one.
            first = os.fork()
        if first == 0:
            if "serves" in config:
                become_server(link, config, fds)
            _first_process(link, config, fds)
        # A handle and not a number, since another process may get the same number later.
        handle = os.pidfd_open(first)
        channel.send(link, {"state": "forked"}, (handle,))
        link.close()
        # This process only waits. With the output's write end open here, the launcher would never read to its end.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.waitpid(first, 0)
    os._exit(0)


def _silence() -> None:
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for target in (0, 1, 2):
        os.dup2(null, target)
    os.close(null)


def _first_process(link: socket.socket, config: dict[str, Any], fds: tuple[int, ...]) -> NoReturn:
    launcher, output = fds
    with reporting(link):
        with step("init"):
            os.setsid()
            socket.sethostname(HOSTNAME)
            die_first("/proc")
        if config["tcp"]:
            with step("loopback"):
                loopback.start()
        with step("mounts"):
            root, accounting = mounts.build(mounts.world_of(config), processes=config["bounds"]["processes"])
            accounting = (*accounting, socket_monitor())
        orders, wake = await_orders(link, config["become"], accounting)
        with step("program"):
            program, listener = _start(config, orders["environment"], output, root)
        os.close(output)
        # On the program's cores, since it works for the program.
        os.sched_setaffinity(0, config["bounds"]["cpus"])
        watch(link, launcher, wake, program, listener)
    os._exit(0)


def _start(config: dict[str, Any], environment: Any, output: int, root: int) -> tuple[int, int]:
    """Start the program; returns its process id, once it is really running, and the descriptor of its calls that are to
    be answered.

    Args:
        config: the configuration that the launcher sent.
        environment: environment variables of the program.
        output: descriptor of the file that the program's output goes to.
        root: descriptor of the program's root folder. It stays open here, since closing the last one would detach the
            mounts below it.
    """
    bounds = confine.Bounds(**config["bounds"])
    failure, report = socket.socketpair()
    program = os.fork()
    if program == 0:
        try:
            os.dup2(output, 1)
            os.dup2(output, 2)
            # Executing a program closes this end: if nothing follows the listener, the program is running.
            os.dup2(report.fileno(), 3, inheritable=False)
            os.dup2(root, 4)
            # Whatever else is open here leads out of the sandbox, and must not reach the program.
            os.closerange(5, os.sysconf("SC_OPEN_MAX"))
            confine.confine(bounds, 4)
            # Last of all, since what is to be answered waits for the first process.
            reports = socket.socket(fileno=3)
            socket.send_fds(reports, [_LISTENS], [install()])
            # This replaces the process; no shell is involved.
            os.execve(config["argv"][0], config["argv"], environment)  # noqa: S606
        except BaseException as error:
            os.write(3, f"{type(error).__name__}: {error}".encode())
        os._exit(FAILED)
    report.close()
    with failure:
        said, received, _flags, _address = socket.recv_fds(failure, len(_LISTENS), 1)
        problem = b"" if received else said
        while part := failure.recv(4096):
            problem += part
    if problem or not received:
        raise RuntimeError(problem.decode(errors="replace") or "it ended before it ran")
    return program, received[0]
