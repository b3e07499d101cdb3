"""The fork server: a process that has imported what programs import, and forks a program whenever it is asked for one.

It runs the same interpreter with the same arguments among the same files as a program does, and never learns anything
of a rollout: all that it receives is a channel to the launcher, which only the forked processes read. There are two of
these for each program. The first becomes process 1 of a new pid namespace and makes the sandbox, as that of a cold
start does. The second is forked from the first before that has read anything, and is given only what the program may
know. It gives up the same rights as the process that executes a program in a cold start, and becomes the program.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
from pathlib import Path
from typing import Any, Final

from . import become, channel, mounts, syscalls
from .reporting import reporting, step
from .server_start import CONTROL, LAUNCHER
from .watching import HOSTNAME, await_orders, die_first, socket_monitor, watch

PROC: Final = f"{mounts.BASE_HOST}/proc"
"""The host's ``/proc``, since the fork server has none of its own."""
SANDBOX: Final = (
    syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWCGROUP
)


def serve(modules: tuple[str, ...]) -> None:
    """Import ``modules``, those that are installed, and fork programs until the launcher is gone.

    It returns only in the processes that are to be programs, which are confined already.
    """
    # No process of this user may look into this one, or change it.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    control = socket.socket(fileno=CONTROL)
    with reporting(control):
        with step("imports"):
            for name in modules:
                with contextlib.suppress(ModuleNotFoundError):
                    importlib.import_module(name)
            mounts.close_base()
            _require_nothing_shared()
        # Nothing of these modules is garbage. If a program's garbage collector looked at them, it would write to their
        # pages and so copy them.
        gc.collect()
        gc.freeze()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel then reaps the sandboxes' first processes
        own = os.open(f"{PROC}/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        channel.send(control, {"state": "serving"})
        poll = select.poll()
        for descriptor in (CONTROL, LAUNCHER):
            poll.register(descriptor, select.POLLIN)
        while LAUNCHER not in {descriptor for descriptor, _event in poll.poll()}:
            _byte, received, _flags, _address = socket.recv_fds(control, 1, 1)
            if not received:
                break
            # If this fails, the channel is closed below, and so the launcher knows.
            with contextlib.suppress(OSError):
                if _fork(own) == 0:
                    # Detached, because the child closes the descriptor by its number.
                    control.detach()
                    break
            os.close(received[0])
        else:
            os._exit(0)
    if not received:
        os._exit(0)
    _sandbox(socket.socket(fileno=received[0]))


def _require_nothing_shared() -> None:
    """Refuse to serve with anything that programs would share or a fork would lose: threads, memory, descriptors.

    Raises:
        RuntimeError: importing a module has left such a thing.
    """
    threads = list(Path(f"{PROC}/self/task").iterdir())
    files = {int(path.name) for path in Path(f"{PROC}/self/fd").iterdir()} - {0, 1, 2, CONTROL, LAUNCHER}
    # One of them was open for the listing itself, and is closed by now.
    files = {descriptor for descriptor in files if _is_open(descriptor)}
    maps = Path(f"{PROC}/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    shared = [line for line in maps if line.split()[1][1] == "w" and line.split()[1][3] == "s"]
    if len(threads) > 1 or files or shared:
        raise RuntimeError(f"importing left {len(threads)} threads, descriptors {files}, shared memory {shared}")


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _fork(own: int) -> int:
    """Fork a child that is process 1 of a new pid namespace; returns 0 in the child.

    Args:
        own: descriptor of the pid namespace that this process's children belong to.
    """
    syscalls.unshare(syscalls.CLONE_NEWPID)
    child = -1
    try:
        child = os.fork()
    finally:
        if child != 0:
            # Otherwise the next child would be born in that namespace as well.
            syscalls.enter(own, syscalls.CLONE_NEWPID)
    return child


def _sandbox(link: socket.socket) -> None:
    """Be the first process of a sandbox; returns only in the process that is to be its program."""
    with reporting(link):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(CONTROL)
        os.close(LAUNCHER)
        with step("init"):
            os.setsid()
            die_first(PROC)
        channel.send(link, {"state": "forked"}, (os.pidfd_open(os.getpid()),))
        # The launcher now puts this process into the control group, in which the program is then born.
        channel.receive(link)
        with step("namespaces"):
            syscalls.unshare(SANDBOX)
            socket.sethostname(HOSTNAME)
        near, far = socket.socketpair()
        with step("fork"):
            # Now, while this process knows nothing that the program may not know: its memory becomes the program's.
            program = os.fork()
        if program == 0:
            link.detach(), near.detach()
            become.confined(far.detach())
            return
        far.close()
        _first_process(link, near, program)
    os._exit(0)


def _first_process(link: socket.socket, near: socket.socket, program: int) -> None:
    message, (launcher, output) = channel.receive(link)
    config: dict[str, Any] = message
    with step("mounts"):
        shown = tuple((source, target, device, inode) for source, target, device, inode in config["shown"])
        processes = config["bounds"]["processes"]
        root, accounting = mounts.build_rollout(shown, config["program"], config["storage_mb"], processes=processes)
        accounting = (*accounting, socket_monitor())
    orders, wake = await_orders(link, config["become"], accounting)
    with step("program"):
        wanted = {"bounds": config["bounds"], "become": config["become"]}
        channel.send(near, {**orders, **wanted}, (root, output))
        # The program is about to run, and sends the descriptor of its calls that are to be answered; or it says what
        # failed.
        said, listeners = channel.receive(near)
        if not listeners:
            raise RuntimeError(said["problem"])
    near.close()
    os.close(output)
    # On the program's cores, since it works for the program.
    os.sched_setaffinity(0, config["bounds"]["cpus"])
    watch(link, launcher, wake, program, *listeners)
