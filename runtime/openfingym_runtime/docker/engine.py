"""Connecting to the Docker engine, and checking that it has the features isolation needs."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import BackendUnavailableError, RuntimeFailureError

if TYPE_CHECKING:
    from docker import APIClient

TIMEOUT_S = 120
"""Longest wait for one answer of the engine; under load, creating a container takes seconds."""
UNIX = "unix://"
DEFAULT_HOST = "unix:///var/run/docker.sock"
OLDEST_KERNEL = (5, 0)
"""First Linux on which a process can answer another's system calls."""


def _host() -> str:
    return os.environ.get("DOCKER_HOST") or DEFAULT_HOST


def probe() -> None:
    """Connect to the engine once, without the SDK, which leaves a socket open if nothing listens.

    Raises:
        OSError: nothing listens at the engine's address.
    """
    if _host().startswith(UNIX):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.connect(_host().removeprefix(UNIX))


@contextlib.contextmanager
def client(version: str | None = None, *, timeout_s: int = TIMEOUT_S) -> Iterator[APIClient]:
    """A client for one caller, because the SDK's client is not made to be shared by threads.

    Args:
        version: version of the engine's API, if it is known already; None asks the engine.
        timeout_s: longest wait for one answer, in seconds.

    Raises:
        OSError: nothing listens at the engine's socket.
        DockerException: what listens there does not answer as a Docker engine.
    """
    from docker import APIClient
    from docker.utils import kwargs_from_env

    probe()
    api = APIClient(version=version or "auto", timeout=timeout_s, **kwargs_from_env())
    try:
        yield api
    finally:
        api.close()


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Report a failure of the engine, or of this machine, as a :class:`~openfingym.errors.RuntimeFailureError`."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except (DockerException, RequestException, OSError) as error:
        raise RuntimeFailureError(f"the Docker engine failed: {error}") from error


def require(info: dict[str, Any]) -> None:
    """Check that an engine has everything that the isolation rests on.

    Args:
        info: the engine's description of itself, as its API's ``/info`` gives it.

    Raises:
        BackendUnavailableError: something is missing; the message names the first such thing and the remedy.
    """
    host = _host()
    if not host.startswith(UNIX):
        raise BackendUnavailableError(
            f"DOCKER_HOST is {host}; the gate's socket can only be shown to containers of an engine on this machine"
        )
    if info.get("OSType") != "linux" or info.get("OperatingSystem") == "Docker Desktop":
        raise BackendUnavailableError(
            "the engine runs in a virtual machine, which the gate's unix socket cannot enter; use an engine on a Linux "
            "host"
        )
    if not any("name=seccomp" in option for option in info.get("SecurityOptions") or ()):
        raise BackendUnavailableError(
            "the engine cannot filter system calls; use one built with seccomp on a kernel that has it"
        )
    kernel = str(info.get("KernelVersion"))
    if tuple(map(int, re.findall(r"\d+", kernel)[:2])) < OLDEST_KERNEL:
        raise BackendUnavailableError(
            f"the engine's kernel is {kernel}; a container's first process answers some system calls in the kernel's "
            "place, for which it must be Linux 5.0 or later"
        )
    limits = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "CPU time"}
    missing = [what for key, what in limits.items() if not info.get(key)]
    if missing:
        raise BackendUnavailableError(
            f"the engine cannot limit {', '.join(missing)}; enable these control groups in the kernel"
        )
    if not info.get("SwapLimit") and _has_swap():
        raise BackendUnavailableError("the engine cannot limit swap; turn swap off, or boot with swapaccount=1")


def has_all_users(info: dict[str, Any]) -> bool:
    """Whether an engine, by its own description, lets a container run as any user id."""
    return not any(
        f"name={mapped}" in option for option in info.get("SecurityOptions") or () for mapped in ("userns", "rootless")
    )


def _has_swap() -> bool:
    try:
        return len(Path("/proc/swaps").read_text(encoding="ascii").splitlines()) > 1
    except OSError:
        # Unknown counts as yes: the limit on memory must hold for certain.
        return True


def unavailable(error: Exception) -> str:
    """The message for a user whose engine does not answer, with the remedy."""
    text = str(error)
    if "Permission denied" in text or "PermissionError" in text:
        return (
            "permission to use the Docker engine is denied; join its group (`sudo usermod -aG docker $USER`, then log "
            "in again)"
        )
    return (
        f"no Docker engine answers ({text}); start it (`sudo systemctl start docker`), install one "
        "(https://docs.docker.com/engine/install/), or use --backend sandbox"
    )
