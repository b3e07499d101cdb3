"""The first steps of a sandbox and of a fork server: a process that makes namespaces is started, and given users."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from openfingym.errors import RuntimeFailureError
from openfingym_runtime.sandbox.inside import channel
from openfingym_runtime.sandbox.inside.confine import PROGRAM_ID
from openfingym_runtime.sandbox.python_view import PythonView, agent_package

PROGRAM: Final = "/agent/program.py"
"""Path of the program inside of a sandbox."""
INSIDE: Final = Path(__file__).resolve().parent / "inside"
"""Folder of the modules that run behind the launcher."""
_BOOTSTRAP: Final = "import sys; sys.path += sys.argv[2:]; from inside.init import main; main(int(sys.argv[1]))"
# The names of the program's user and group; to look them up would fail without.
_ACCOUNTS: Final = {
    "/etc/passwd": f"nobody:x:{PROGRAM_ID}:{PROGRAM_ID}:nobody:/work:/usr/sbin/nologin\n",
    "/etc/group": f"nogroup:x:{PROGRAM_ID}:\n",
}
# joblib asks lscpu for the number of cores, and warns at length if nobody answers.
_TOOLS: Final = {
    "/usr/local/bin/lscpu": "#!/usr/local/bin/python3 -IS\nimport os\nprint(*sorted(os.sched_getaffinity(0)), "
    "sep='\\n')\n",
}


class SetupError(RuntimeFailureError):
    """The sandbox could not be built.

    Attributes:
        step: name of the step that failed, such as ``namespaces``.
        errno: number of the kernel's error; None if none is known.
    """

    def __init__(self, step: str, detail: str, errno: int | None = None) -> None:
        super().__init__(f"the sandbox could not be built; step {step!r} failed: {detail}")
        self.step = step
        self.errno = errno


def spawn(far: socket.socket) -> subprocess.Popen[bytes]:
    """Start the process that builds a sandbox, with ``far`` as its end of the channel to the launcher."""
    # Isolated and without `site`, so that nothing of the user's environment or packages runs in this process.
    folders = (str(INSIDE.parent), str(agent_package()))
    command = [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, str(far.fileno()), *folders]
    null = subprocess.DEVNULL
    return subprocess.Popen(
        command,
        pass_fds=(far.fileno(),),
        env={},
        cwd="/",
        stdin=null,
        stdout=null,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def last_words(process: subprocess.Popen[bytes] | None) -> str:
    """The last line that the process wrote to its standard error, such as an import error; empty if there is none."""
    if process is None or process.stderr is None:
        return ""
    os.set_blocking(process.stderr.fileno(), False)
    lines = (process.stderr.read() or b"").decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def receive(link: socket.socket, cleanup: contextlib.ExitStack, *expected: str) -> tuple[str, tuple[int, ...]]:
    """The state that the next message states, and the descriptors that came with it.

    Args:
        link: the channel to the other side.
        cleanup: closes the descriptors at its end.
        expected: the states of which the message must have one.

    Raises:
        SetupError: a step has failed on the other side, or the message is another one.
    """
    message, fds = channel.receive(link)
    for descriptor in fds:
        # Received descriptors are inheritable, and another thread may start a child at any time.
        os.set_inheritable(descriptor, False)
        cleanup.callback(os.close, descriptor)
    state = message.get("state")
    if state == "failed":
        number = message.get("errno")
        raise SetupError(
            str(message.get("step")), str(message.get("detail")), number if isinstance(number, int) else None
        )
    if not isinstance(state, str) or state not in expected:
        raise SetupError("protocol", f"expected {' or '.join(expected)}, found {state!r}")
    return state, fds


def map_identities(pid: int) -> None:
    """Give the new user namespace of a process its users.

    Root maps every user that it has to itself, so that files of any owner can be mounted and the
    program can become a user of its own. An ordinary user can map nobody but itself.
    """
    folder = Path("/proc", str(pid))
    try:
        if os.geteuid() == 0:
            for name in ("uid_map", "gid_map"):
                ranges = [line.split() for line in Path("/proc/self", name).read_text().splitlines()]
                (folder / name).write_text("".join(f"{start} {start} {count}\n" for start, _outside, count in ranges))
        else:
            # The kernel demands this before an ordinary user may map a group, since leaving a group may win rights.
            (folder / "setgroups").write_text("deny")
            (folder / "uid_map").write_text(f"{PROGRAM_ID} {os.geteuid()} 1")
            (folder / "gid_map").write_text(f"{PROGRAM_ID} {os.getegid()} 1")
    except OSError as error:
        raise SetupError("identity", str(error), error.errno) from error


def python_links(view: PythonView) -> list[tuple[str, str]]:
    """Targets of the links by which programs find Python, each with the link's path."""
    return [(view.interpreter, path) for path in ("/usr/local/bin/python3", "/usr/local/bin/python")]


def base_config(view: PythonView, storage_mb: int, files: Mapping[str, str]) -> channel.Message:
    """The part of a configuration that is the same for every program: its files, and the command that runs it.

    Args:
        view: the files of Python that the program sees.
        storage_mb: size of ``/work`` and of ``/tmp``, in MiB.
        files: texts of further files, by their paths inside.
    """
    return {
        "binds": list(view.binds),
        "hidden": list(view.hidden),
        "links": python_links(view),
        "files": {**_ACCOUNTS, **_TOOLS, **files},
        "storage_mb": storage_mb,
        # -s: no user site; the environment's PYTHONPATH alone says where packages are.
        "argv": [view.interpreter, "-s", PROGRAM],
    }
