"""The first process of a container, run as ``first_process.py SECONDS [brought]``: runs the agent's program in a child,
answers some of its system calls, and ends with it.

When it ends the kernel ends everything else in the container. It ends when the program does; when its standard input
closes, whose other end the launcher holds, so that a launcher that is killed takes the container along; when the engine
asks it to; and after ``SECONDS`` in any case. A program cannot kill or stop the first process of its
namespace; nor can it change this one's memory.
"""

# Every program waits for these imports. ``signal`` and ``socket`` are made of them, and would take longer than all the
# rest.
import _signal  # type: ignore[import-not-found]  # it has no stub
import _socket
import ctypes
import os
import select
import struct
import sys
import time

# From the folder of this file, without all that its package would import.
from answering import Answers, install  # type: ignore[import-not-found]
from as_main import run_as_main  # type: ignore[import-not-found]
from hiding import hide_processes  # type: ignore[import-not-found]

PROGRAM = "/agent/program.py"
PR_SET_DUMPABLE = 4
WATCHED = (_signal.SIGCHLD, _signal.SIGTERM)
"""Signals that a process has ended, and that the engine asks to stop."""
GONE = 128 + _signal.SIGKILL
"""Exit code of a container that is ended with its program still running."""


def main() -> None:
    """Start the program and wait for its end; returns only in the process that is to be the program."""
    stop_at = time.monotonic() + float(sys.argv[1])
    _set_dumpable(0)
    # A program can send the first process signals that it has a handler for, and Python has one for SIGINT.
    interrupted = _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    # A signal becomes a byte in this pipe, so that none is missed between a look and the next wait.
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in WATCHED:
        _signal.signal(number, lambda _number, _frame: None)
    near, far = _socket.socketpair()
    program = os.fork()
    if program == 0:
        _signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGINT, interrupted)
        for descriptor in (woken, wake, near.detach()):
            os.close(descriptor)
        _prepare()
        if "brought" not in sys.argv:
            hide_processes()
        # Last of all, since what is to be answered waits for the first process.
        listener = install()
        far.sendmsg([b"l"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("i", listener))])
        far.close()
        os.close(listener)
        return
    far.close()
    listener = _received(near)
    answers = Answers(listener)
    poll = select.poll()
    for descriptor in (0, woken, listener):
        poll.register(descriptor, select.POLLIN)
    while (left := stop_at - time.monotonic()) > 0:
        patience = answers.patience_ms
        events = dict(poll.poll(min(1000 * left + 1, 1000 * left + 1 if patience is None else patience)))
        ready = set(events)
        if events.get(listener, 0) & select.POLLIN:
            answers.answer()
        elif listener in ready:
            poll.unregister(listener)  # nobody is left who could call
        answers.look()
        # The end of standard input: the launcher is gone.
        if 0 in ready and not os.read(0, 4096):
            break
        if woken in ready and _signal.SIGTERM in os.read(woken, 4096):
            break
        _reap(program)
    os._exit(GONE)


def _set_dumpable(value: int) -> None:
    """Set whether other processes of this user may look into this one and change it."""
    if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, value, 0, 0, 0):
        raise OSError("prctl refused to change what may look into this process")


def _received(near: _socket.socket) -> int:
    """The descriptor of the program's calls; without one, the program has ended before it began, and so does this."""
    said, received, _flags, _address = near.recvmsg(1, _socket.CMSG_SPACE(4))
    near.close()
    if not said:
        _pid, status = os.waitpid(-1, 0)
        os._exit(os.waitstatus_to_exitcode(status) or 1)
    return int(struct.unpack("i", received[0][2])[0])


def _prepare() -> None:
    """Undo, in the program's process, what is meant for the first process only."""
    for number in WATCHED:
        _signal.signal(number, _signal.SIG_DFL)
    _set_dumpable(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # One pipe for both streams keeps their lines in the order in which they were written.
    os.dup2(1, 2)
    sys.orig_argv = [sys.executable, PROGRAM]
    sys.path[0] = os.path.dirname(PROGRAM)  # noqa: PTH120  # pathlib would take as long to import as everything else


def _reap(program: int) -> None:
    """Wait for every process that has ended, and if one of them is the program, end with its exit code."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == program:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
        if pid == 0:
            return


if __name__ == "__main__":
    main()
    run_as_main(PROGRAM)
