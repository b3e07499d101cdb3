"""The program the launcher starts: it makes the namespaces, and stays as their first process.

Two processes come of it. The outer one only waits. The inner one is process 1 of the pid
namespace: it builds the mounts, gives up its rights, starts the program and reports how it
ended. When process 1 goes, the kernel kills everything else in the namespace; it goes when the
program ends, when the launcher closes the channel, and when the launcher dies in any way.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from . import channel, confine, mounts, syscalls

HOSTNAME: Final = "openfingym"
NAMESPACES: Final = (
    syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWCGROUP
)
NETLINK_SOCK_DIAG: Final = 4
_LOST: Final = 1
_FAILED: Final = 2


class StepError(Exception):
    """A step of the setup failed."""

    def __init__(self, step: str, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.step = step
        self.errno = getattr(error, "errno", None)


@contextlib.contextmanager
def _step(name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, StepError):
        raise
    except Exception as error:
        raise StepError(name, error) from error


def main(descriptor: int) -> NoReturn:
    """Run a sandbox as the launcher on the other end of ``descriptor`` says; never returns."""
    link = socket.socket(fileno=descriptor)
    with _reporting(link):
        _silence()
        config, fds = channel.receive(link)
        with _step("namespaces"):
            syscalls.unshare(NAMESPACES)
        # The launcher now writes the maps of users and groups: only from outside can more ids than this process's own
        # be mapped.
        channel.send(link, {"state": "unshared"})
        channel.receive(link)
        with _step("fork"):
            # A process stays in its pid namespace; only a child is the first process of the new one.
            first = os.fork()
        if first == 0:
            _first_process(link, config, fds)
        # A handle instead of a number, since a number may be reused by another process.
        handle = os.pidfd_open(first)
        channel.send(link, {"state": "forked"}, (handle,))
        link.close()
        # This process only waits; an end of the output kept open here would never let the launcher read to its end.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.waitpid(first, 0)
    os._exit(0)


@contextlib.contextmanager
def _reporting(link: socket.socket) -> Iterator[None]:
    """Tell the launcher of a failure; nobody is left to tell when the channel itself is gone."""
    try:
        yield
    except StepError as error:
        with contextlib.suppress(OSError):
            channel.send(link, {"state": "failed", "step": error.step, "errno": error.errno, "detail": str(error)})
        os._exit(_FAILED)
    except (EOFError, OSError):
        os._exit(_LOST)


def _silence() -> None:
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for target in (0, 1, 2):
        os.dup2(null, target)
    os.close(null)


def _first_process(link: socket.socket, config: dict[str, Any], fds: tuple[int, ...]) -> NoReturn:
    launcher, output = fds
    with _reporting(link):
        with _step("init"):
            os.setsid()
            socket.sethostname(HOSTNAME)
            # An undumpable process does not own its /proc files; it becomes one for good just below.
            syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
            # The machine's out-of-memory killer should take an agent's program before anything else.
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
            syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        with _step("mounts"):
            accounting = (*mounts.build(_world(config)), _socket_monitor())
            root = syscalls.clone_tree("/")
        with _step("privileges"):
            confine.drop_capabilities(config["become"])
            syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        channel.send(link, {"state": "ready"}, accounting)
        for descriptor in accounting:
            os.close(descriptor)
        orders, _none = channel.receive(link)
        wake = _wake_on_child()
        with _step("program"):
            program = _start(config, orders["environment"], output, root)
        os.close(output)
        _watch(link, launcher, wake, program)
    os._exit(0)


def _socket_monitor() -> int:
    """A socket by which the launcher can look at this network namespace's sockets, as a file descriptor."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG).detach()


def _world(config: dict[str, Any]) -> mounts.World:
    return mounts.World(
        binds=tuple((source, target) for source, target in config["binds"]),
        hidden=tuple(config["hidden"]),
        links=tuple((aim, path) for aim, path in config["links"]),
        files=config["files"],
        storage_mb=config["storage_mb"],
    )


def _start(config: dict[str, Any], environment: Any, output: int, root: int) -> int:
    """Start the program and return its process id once it is really running.

    Args:
        config: the configuration that the launcher sent.
        environment: environment variables of the program.
        output: file descriptor that the program's output goes to.
        root: descriptor of its root folder, which stays open here, since closing the last one would detach the mounts
            below it.
    """
    bounds = confine.Bounds(config["pids"], config["address_space_mb"], config["file_mb"], tuple(config["cpus"]))
    failure, report = os.pipe()
    program = os.fork()
    if program == 0:
        try:
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.dup2(report, 3)
            # execve closes this end of the pipe: if the pipe ends without a word, the program is running.
            os.set_inheritable(3, False)
            os.dup2(root, 4)
            # Whatever else is open here leads out of the sandbox.
            os.closerange(5, os.sysconf("SC_OPEN_MAX"))
            confine.confine(bounds, 4)
            os.execve(config["argv"][0], config["argv"], environment)  # noqa: S606 - replaces this process; no shell is wanted
        except BaseException as error:
            os.write(3, f"{type(error).__name__}: {error}".encode())
        os._exit(_FAILED)
    os.close(report)
    with os.fdopen(failure, "rb") as stream:
        problem = stream.read()
    if problem:
        raise RuntimeError(problem.decode(errors="replace"))
    return program


def _wake_on_child() -> socket.socket:
    """A socket that becomes readable when a child ends."""
    wake, ring = socket.socketpair()
    wake.setblocking(False)
    ring.setblocking(False)
    # A signal between waitpid and poll would be missed; a byte in a socket is not.
    signal.set_wakeup_fd(ring.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return wake


def _watch(link: socket.socket, launcher: int, wake: socket.socket, program: int) -> None:
    """Reap orphans until the program ends or the launcher is gone; returning ends the namespace."""
    poll = select.poll()
    for watched in (link.fileno(), launcher, wake.fileno()):
        poll.register(watched, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _event in poll.poll()}
        if ready & {link.fileno(), launcher}:
            return
        with contextlib.suppress(BlockingIOError):
            wake.recv(4096)
        while True:
            try:
                # As the first process this one inherits every orphan of the namespace; not waited for, they would fill
                # the limit on processes.
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pid, status = 0, 0
            if pid == program:
                channel.send(link, {"state": "ended", "exit_code": os.waitstatus_to_exitcode(status)})
                return
            if pid == 0:
                break
