"""The ``sandbox`` backend, for machines without a Docker engine: namespaces, Landlock, seccomp and limits."""

from openfingym_runtime.sandbox.backend import SandboxBackend

__all__ = ["SandboxBackend"]
