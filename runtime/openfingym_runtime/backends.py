"""Choosing a backend, which is a way to isolate an agent's program, by its name."""

from __future__ import annotations

from typing import get_args

from openfingym.errors import BackendUnavailableError, UsageError
from openfingym.machine import ISOLATING, BackendName
from openfingym_runtime.job import Backend

NAMES: tuple[str, ...] = get_args(BackendName)
"""Names that the option ``--backend`` takes."""


def select(name: str, *, trusted: bool) -> Backend:
    """Return a backend that works on this machine.

    Args:
        name: one of :data:`NAMES`. ``auto`` takes Docker where an engine answers and the agent
            image is there, else the sandbox, else ``inline`` if the program is trusted.
        trusted: whether the program is one of ours.

    Raises:
        BackendUnavailableError: the named backend cannot run the program on this machine, or with ``auto`` none can;
            the message says why, for each that was tried.
        UsageError: the name is unknown, or it is ``inline`` and the program is not one of ours.
    """
    if name not in NAMES:
        raise UsageError(f"no backend is named {name!r}; known: {', '.join(NAMES)}")
    if name == "inline" and not trusted:
        raise UsageError(
            "backend 'inline' isolates nothing, so it runs built-in programs only; use 'docker' or 'sandbox' for your "
            "own"
        )
    if name != "auto":
        backend = _make(name)
        backend.check()
        return backend
    reasons = []
    for candidate in (*ISOLATING, *(("inline",) if trusted else ())):
        backend = _make(candidate)
        try:
            backend.check()
        except BackendUnavailableError as error:
            reasons.append(f"{candidate}: {error}")
        else:
            return backend
    raise BackendUnavailableError(
        "no backend can isolate an agent's program on this machine.\n" + "\n".join(f"  {reason}" for reason in reasons)
    )


def _make(name: str) -> Backend:
    if name == "docker":
        from openfingym_runtime.docker.backend import DockerBackend

        return DockerBackend()
    if name == "sandbox":
        from openfingym_runtime.sandbox import SandboxBackend

        return SandboxBackend()
    from openfingym_runtime.inline import InlineBackend

    return InlineBackend()
