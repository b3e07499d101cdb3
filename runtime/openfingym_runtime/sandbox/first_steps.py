"""The first steps of a sandbox and of a fork server: a process that makes namespaces, and its users."""

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
from openfingym_runtime.sandbox.python_view import PythonView

PROGRAM: Final = "/agent/program.py"
INSIDE: Final = Path(__file__).resolve().parent / "inside"
_BOOTSTRAP: Final = "import sys; sys.path.append(sys.argv[2]); from inside.init import main; main(int(sys.argv[1]))"
_ACCOUNTS: Final = {
    "/etc/passwd": f"nobody:x:{PROGRAM_ID}:{PROGRAM_ID}:nobody:/work:/usr/sbin/nologin\n",
    "/etc/group": f"nogroup:x:{PROGRAM_ID}:\n",
}
# joblib asks lscpu for the number of cores, and warns at length where neither it nor cat answers.
_TOOLS: Final = {
    "/usr/local/bin/lscpu": "#!/usr/local/bin/python3 -IS\nimport os\nprint(*sorted(os.sched_getaffinity(0)), "
    "sep='\\n')\n",
}


class SetupError(RuntimeFailureError):
    """The sandbox could not be built.

    Attributes:
        step: the step that failed, such as ``namespaces``.
        errno: the kernel's error number, if one is known.
    """

    def __init__(self, step: str, detail: str, errno: int | None = None) -> None:
        super().__init__(f"the sandbox could not be built; step {step!r} failed: {detail}")
        self.step = step
        self.errno = errno


def spawn(far: socket.socket) -> subprocess.Popen[bytes]:
    """Start the process that speaks with the other end of ``far``."""
    # Isolated and without site: nothing of the user's environment or packages runs in the process that builds the
    # sandbox.
    command = [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, str(far.fileno()), str(INSIDE.parent)]
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
    """The last line the process wrote before the channel took over, such as an import error."""
    if process is None or process.stderr is None:
        return ""
    os.set_blocking(process.stderr.fileno(), False)
    lines = (process.stderr.read() or b"").decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def receive(link: socket.socket, cleanup: contextlib.ExitStack, *expected: str) -> tuple[str, tuple[int, ...]]:
    """The next message, which must be one of those expected, and its descriptors, which ``cleanup`` closes.

    Raises:
        SetupError: a step has failed on the other side.
    """
    message, fds = channel.receive(link)
    for descriptor in fds:
        # Descriptors received over a socket may be inheritable, and another thread may start a child at any time.
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
    """Give the new user namespace its users.

    Root maps every user it has to itself, so that files of any owner can be mounted, and the
    program becomes a user of its own; an ordinary user can map nobody but itself.
    """
    folder = Path("/proc", str(pid))
    try:
        if os.geteuid() == 0:
            for name in ("uid_map", "gid_map"):
                ranges = [line.split() for line in Path("/proc/self", name).read_text().splitlines()]
                (folder / name).write_text("".join(f"{start} {start} {count}\n" for start, _outside, count in ranges))
        else:
            (folder / "setgroups").write_text("deny")
            (folder / "uid_map").write_text(f"{PROGRAM_ID} {os.geteuid()} 1")
            (folder / "gid_map").write_text(f"{PROGRAM_ID} {os.getegid()} 1")
    except OSError as error:
        raise SetupError("identity", str(error), error.errno) from error


def base_config(view: PythonView, storage_mb: int, files: Mapping[str, str]) -> channel.Message:
    """The files that are the same for every program, some more, and the command that runs :data:`PROGRAM`."""
    return {
        "binds": list(view.binds),
        "hidden": list(view.hidden),
        "links": [(view.interpreter, path) for path in ("/usr/local/bin/python3", "/usr/local/bin/python")],
        "files": {**_ACCOUNTS, **_TOOLS, **files},
        "storage_mb": storage_mb,
        # -s: no user site; the environment's PYTHONPATH alone says where packages are.
        "argv": [view.interpreter, "-s", PROGRAM],
    }
