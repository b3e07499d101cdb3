"""The first process of a sandbox, whether its program is executed or forked: it gives up its rights, waits for orders,
and watches the program and the launcher.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from pathlib import Path
from typing import Any, Final

from answering import Answers  # type: ignore[import-not-found]  # of the agent's client, without all that this imports

from . import channel, confine, syscalls
from .reporting import step

HOSTNAME: Final = "openfingym"
NETLINK_SOCK_DIAG: Final = 4


def die_first(proc: str) -> None:
    """Make the calling process, and whatever it starts, the first that is killed when the machine runs out of memory.

    Args:
        proc: path of a proc file system that lists the calling process.
    """
    # An undumpable process may not write its own files in /proc, so it becomes one for good only after that.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    Path(proc, "self/oom_score_adj").write_text("1000", encoding="ascii")
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)


def socket_monitor() -> int:
    """Descriptor of a socket by which the launcher can list the sockets of this network namespace."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG).detach()


def wake_on_child() -> socket.socket:
    """A socket that becomes readable when a child ends."""
    wake, ring = socket.socketpair()
    wake.setblocking(False)
    ring.setblocking(False)
    # A signal that arrives between waitpid and poll would be missed; a byte in a socket is not.
    signal.set_wakeup_fd(ring.detach(), warn_on_full_buffer=False)
    # Before Linux 6.12 a program can send this process any signal that it has a handler for. Python's own handler for
    # SIGINT would end it, which would look like a failure of ours. To ignore the signal will not do, since the program
    # would inherit that.
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)
    return wake


def await_orders(
    link: socket.socket, become: int | None, accounting: tuple[int, ...]
) -> tuple[dict[str, Any], socket.socket]:
    """Give up every right, tell the launcher that the sandbox is ready, and wait for its orders for the program.

    Args:
        link: the channel to the launcher.
        become: id of the user and group to change to, without supplementary groups; None keeps the user.
        accounting: descriptors by which the launcher counts memory; they are sent to it, and closed here.

    Returns:
        The launcher's orders, and the socket of :func:`wake_on_child`.
    """
    with step("privileges"):
        confine.drop_capabilities(become)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    channel.send(link, {"state": "ready"}, accounting)
    for descriptor in accounting:
        os.close(descriptor)
    orders, _none = channel.receive(link)
    return orders, wake_on_child()


def watch(link: socket.socket, launcher: int, wake: socket.socket, program: int, listener: int) -> None:
    """Reap orphans and answer the program's calls until it ends or the launcher is gone. The caller then ends, and with
    it the namespace.

    Args:
        link: the channel to the launcher.
        launcher: handle (pidfd) of the launcher.
        wake: socket that becomes readable when a child ends.
        program: process id of the program.
        listener: descriptor of the calls that are to be answered.
    """
    answers = Answers(listener)
    poll = select.poll()
    for watched in (link.fileno(), launcher, wake.fileno(), listener):
        poll.register(watched, select.POLLIN)
    while True:
        ready = dict(poll.poll(answers.patience_ms))
        if ready.keys() & {link.fileno(), launcher}:
            return
        if ready.get(listener, 0) & select.POLLIN:
            answers.answer()
        elif listener in ready:
            poll.unregister(listener)  # nobody is left who could call
        answers.look()
        if ready.keys() == {listener}:
            continue
        with contextlib.suppress(BlockingIOError):
            wake.recv(4096)
        while True:
            try:
                # The first process inherits every orphan of the namespace. If it did not wait for them, they would use
                # up the limit on processes.
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pid, status = 0, 0
            if pid == program:
                channel.send(link, {"state": "ended", "exit_code": os.waitstatus_to_exitcode(status)})
                return
            if pid == 0:
                break
