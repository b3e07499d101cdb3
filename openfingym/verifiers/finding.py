"""Finding the verifier of each task, from one address or from a registry file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import VerifierError
from openfingym.verifiers.address import QUICK_ANSWER_S, VERIFIER_VARIABLE, VerifierAddress, token_of_environment

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.task import Task
    from openfingym.verifiers.registry import Registry, RegistryEntry


def find_verifiers(location: str | VerifierAddress | None, tasks: Iterable[Task]) -> dict[str, VerifierAddress] | None:
    """The verifier of each task, by the task's name.

    Args:
        location: the URL or the unix socket of one verifier for all of them, a registry file, or an address; None for
            ``$OPENFINGYM_VERIFIER``.
        tasks: the tasks to find a verifier for.

    Returns:
        Addresses by the names of tasks; None where nothing names a verifier, so that one is to be started.

    Raises:
        UsageError: a task has no verifier or two, the registry is malformed, or an admin token is missing.
    """
    if isinstance(location, VerifierAddress):
        return {task.name: location for task in tasks}
    location = location or os.environ.get(VERIFIER_VARIABLE)
    if not location:
        return None
    registry = find_registry(location)
    if registry is None:
        address = VerifierAddress(location, token_of_environment(location))
        return {task.name: address for task in tasks}
    entries = {task.name: registry.find(task) for task in tasks}
    addresses = {entry: address_of(registry, entry) for entry in entries.values()}
    return {name: addresses[entry] for name, entry in entries.items()}


def find_registry(location: str) -> Registry | None:
    """The registry file at a location; None where that is a verifier's own.

    Raises:
        UsageError: it is one, and cannot be used.
    """
    from openfingym.verifiers.registry import Registry

    path = Path(location).expanduser()
    return Registry.read(path) if path.suffix == ".toml" or path.is_file() else None


def address_of(registry: Registry, entry: RegistryEntry) -> VerifierAddress:
    """The address of an entry's verifier, with its token.

    Raises:
        UsageError: the token is missing, or not kept as it should be.
    """
    from openfingym.verifiers.registry import read_token

    location, file = registry.location(entry), registry.token_file(entry)
    return VerifierAddress(location, token_of_environment(location) if file is None else read_token(file))


def require_served(packages: Iterable[BuiltPackage], verifiers: Mapping[str, VerifierAddress]) -> None:
    """Ask every verifier for the tasks that are left to it, before anything is run.

    Raises:
        VerifierError: one cannot be reached, does not take the token, or scores no such task or another build of it.
    """
    wanted: dict[VerifierAddress, list[BuiltPackage]] = {}
    for package in packages:
        wanted.setdefault(verifiers[package.manifest.name], []).append(package)
    for address, own in wanted.items():
        with address.connect(timeout_s=QUICK_ANSWER_S) as client:
            digests = {task.name: task.digest for task in client.tasks()}
        for package in own:
            name = package.manifest.name
            if name not in digests:
                raise VerifierError(
                    f"the verifier at {address.location} does not serve {name!r}; it serves {', '.join(digests)}"
                )
            require_same_build(package, digests[name], address)


def require_same_build(package: BuiltPackage, digest: str, address: VerifierAddress) -> None:
    """Refuse a verifier that scores another build.

    Args:
        package: the build that agents see.
        digest: digest of the build that is scored.
        address: address of the verifier, for the message.

    Raises:
        VerifierError: the verifier scores another build than the one agents see.
    """
    if digest != package.manifest.digest:
        raise VerifierError(
            f"the verifier at {address.location} scores another build of {package.manifest.name!r} ({digest[:16]}) "
            "than this one "
            f"({package.manifest.digest[:16]}); update whichever is older"
        )
