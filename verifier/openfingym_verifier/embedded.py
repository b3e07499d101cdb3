"""A verifier for the caller alone, in a process of its own.

The labels stay out of the caller's memory, the admin token out of every argument list and
environment, and nothing survives the caller: not the process, not the socket, and not the
state unless the caller gave a place for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from openfingym.errors import DigestMismatchError, VerifierError
from openfingym.files.locks import Lock, take
from openfingym.listener.listener import SHUTDOWN_S
from openfingym_verifier.child import command, environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.packages.package import BuiltPackage
    from openfingym.results.result import PolicyName

START_S = 60.0
"""Seconds that a verifier may take to start, apart from its tasks."""
START_A_TASK_S = 10.0
"""Seconds more for each task. Loading its labels takes half a second of processor time, which may be shared with many;
a process that dies is noticed at once."""
MAX_SOCKET_PATH = 100
"""Longest path of a unix socket that is tried; the kernel has room for about 104 bytes."""


@dataclass
class EmbeddedVerifier:
    """A running verifier; a context manager that stops it."""

    uds: Path
    """Its unix socket, mode 0600."""
    admin_token: str
    """Bearer token for the control routes."""
    state: Path
    """State directory of the verifier."""
    _process: subprocess.Popen[bytes]
    _directory: Path
    """Private folder with the socket, and the state if the caller gave no place for it."""
    _owner: Lock
    """Held for as long as this process lives, so that nobody removes the folder before."""

    @classmethod
    def start(
        cls,
        packages: Sequence[BuiltPackage],
        state: Path | None = None,
        *,
        policy: PolicyName = "local",
        wait_s: float = 0.0,
    ) -> Self:
        """Start a verifier for ``packages`` and wait until it answers.

        Args:
            packages: the built packages of the tasks to hold; none for a verifier of questions alone.
            state: directory of the verifier's ledger; None for a private one that goes with the verifier.
            policy: name of the policy on what is told to whom; whoever starts a verifier for itself can read the
                labels, and is told everything.
            wait_s: seconds to wait for another verifier that uses ``state``.

        Raises:
            DigestMismatchError: a package is not what it was when it was built.
            VerifierError: the verifier did not start; the message says why.
        """
        directory, owner = _private_directory()
        token = secrets.token_urlsafe(32)
        verifier = None
        try:
            where = (state or directory / "state").resolve()
            stderr = (state or directory) / "verifier.stderr"
            process = _spawn(stderr)
            verifier = cls(directory / "v.sock", token, where, process, directory, owner)
            order: dict[str, object] = {
                "packages": [[str(p.public.resolve()), str(p.truth.resolve())] for p in packages],
                "state": str(where),
                "uds": str(verifier.uds),
                "admin_token": token,
                "policy": policy,
                "wait_s": wait_s,
            }
            _hand_over(process, order, stderr, START_S + wait_s + START_A_TASK_S * len(packages))
        # Interrupts included: the child holds labels and must not stay.
        except BaseException:
            if verifier is not None:
                verifier.close()
            else:
                _remove(directory, owner)
            raise
        return verifier

    @property
    def pid(self) -> int:
        """Process id of the verifier."""
        return self._process.pid

    def close(self) -> None:
        """Stop the verifier, wait for it, and remove what was private to it; a second call does nothing."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # The end of its input is the sign to stop.
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(SHUTDOWN_S + 5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        _remove(self._directory, self._owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _spawn(stderr: Path) -> subprocess.Popen[bytes]:
    """Start the process of a verifier, which waits for its order on stdin."""
    stderr.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with stderr.open("ab") as stream:
        # A session of its own: Ctrl-C at the caller's terminal is for the caller, who then closes stdin.
        return subprocess.Popen(
            command("openfingym_verifier.embedded_child"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stream,
            env=environment(OPENBLAS_NUM_THREADS="1"),
            start_new_session=True,
            bufsize=0,
        )


def _hand_over(process: subprocess.Popen[bytes], order: dict[str, object], stderr: Path, timeout_s: float) -> None:
    """Send a process its order, and wait until it is ready.

    Args:
        process: the process of the verifier.
        order: what it is to serve; see :mod:`openfingym_verifier.embedded_child`.
        stderr: file of its error output, the last line of which says why it did not start.
        timeout_s: seconds that it may take.

    Raises:
        DigestMismatchError: a package is not what it was when it was built.
        VerifierError: the process did not start; it has ended then.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    # A process that is dead already has no reader; what it died of is found out below.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(order).encode() + b"\n")
    readable, _, _ = select.select([process.stdout], [], [], timeout_s)
    line = process.stdout.readline() if readable else b""
    if not line:
        process.kill()
        process.wait()
        last = stderr.read_text(errors="replace").strip().splitlines()[-1:] if stderr.exists() else []
        reason = f"it said nothing for {timeout_s:g} s" if not readable else f"it ended with code {process.returncode}"
        raise VerifierError(f"the embedded verifier did not start: {reason}" + "".join(f"; {text}" for text in last))
    answer = json.loads(line)
    if not answer["ready"]:
        if answer["digest_mismatch"]:
            raise DigestMismatchError(answer["message"])
        raise VerifierError(f"the embedded verifier did not start: {answer['message']}")


def _private_directory() -> tuple[Path, Lock]:
    """A new private directory and the lock that shows that its owner lives; directories of dead owners go."""
    root = _root()
    # Without this, another start could take a directory not yet locked for a dead owner's.
    with take(root / "lock"):
        for leftover in root.iterdir():
            if leftover.is_dir():
                _reap(leftover)
        directory = Path(tempfile.mkdtemp(prefix="", dir=root))
        owner = take(directory / "owner")
    return directory, owner


def _root() -> Path:
    """The folder of this user's embedded verifiers, below a temporary folder with a short enough path.

    Raises:
        VerifierError: there is none, or somebody else made it.
    """
    for parent in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - a 0700 folder inside it, checked below
        root = Path(parent) / f"openfingym-verifier-{os.getuid()}"
        if len(str(root)) + len("/abcdefgh/v.sock") > MAX_SOCKET_PATH:
            continue
        root.mkdir(mode=0o700, exist_ok=True)
        # The temporary folder is everybody's: another user may have made this name first, or a link.
        status = root.lstat()
        if root.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise VerifierError(f"{root}: not a private directory of this user; remove it")
        return root
    raise VerifierError("no temporary directory with a short enough path for a unix socket; set TMPDIR")


def _reap(directory: Path) -> None:
    """Remove the directory of a verifier whose owner has died."""
    try:
        take(directory / "owner", wait=False, flags=0).release()
    except BlockingIOError:
        return
    # Its owner died between making it and taking its lock: a living one would still hold the lock of the root.
    except FileNotFoundError:
        pass
    shutil.rmtree(directory, ignore_errors=True)


def _remove(directory: Path, owner: Lock) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    # Last, so that no other start begins to remove the same directory.
    owner.release()
