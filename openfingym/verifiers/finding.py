"""Finding the verifier of each task, from one address or from a registry file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import VerifierError
from openfingym.verifiers.address import QUICK_ANSWER_S, VERIFIER_VARIABLE, VerifierAddress, token_of_environment
from openfingym.verifiers.known_logs import require_known_checkpoint

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.task import Task
    from openfingym.verifiers.registry import Registry, RegistryEntry


def find_verifiers(location: str | VerifierAddress | None, tasks: Iterable[Task]) -> dict[str, VerifierAddress] | None:
    """The verifier of each task, by the task's name.

    Args:
        location: URL or unix socket of one verifier for all tasks, a registry file, or an address; None for what
            ``$OPENFINGYM_VERIFIER`` names.
        tasks: the tasks to find a verifier for.

    Returns:
        Addresses by the names of tasks; None where nothing names a verifier, so that one is to be started.

    Raises:
        UsageError: a task has no verifier or several, the registry is malformed, or an admin token is missing.
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
    # One address for each entry: tasks of one verifier share a client, and its token is read once.
    addresses = {entry: address_of(registry, entry) for entry in entries.values()}
    return {name: addresses[entry] for name, entry in entries.items()}


def find_registry(location: str) -> Registry | None:
    """The registry at a location; None where the location is a verifier's own URL or socket.

    Args:
        location: a URL, or the path of a unix socket or of a registry file.

    Raises:
        UsageError: the location is a registry file that cannot be used.
    """
    from openfingym.verifiers.registry import Registry

    path = Path(location).expanduser()
    # A path that ends with .toml is meant to be a registry, also where the file is missing.
    return Registry.read(path) if path.suffix == ".toml" or path.is_file() else None


def address_of(registry: Registry, entry: RegistryEntry) -> VerifierAddress:
    """The address of an entry's verifier, with its token.

    Args:
        registry: the registry that has the entry.
        entry: one of the registry's entries.

    Raises:
        UsageError: the token is missing, or others may read its file.
    """
    from openfingym.verifiers.registry import read_token

    location, file = registry.location(entry), registry.token_file(entry)
    return VerifierAddress(location, token_of_environment(location) if file is None else read_token(file))


def require_served(packages: Iterable[BuiltPackage], verifiers: Mapping[str, VerifierAddress]) -> None:
    """Check, before anything is run, that every verifier serves its tasks in the builds that agents will see.

    Args:
        packages: the built packages of the tasks.
        verifiers: address of the verifier of each task, by the task's name.

    Raises:
        VerifierError: a verifier cannot be reached, does not accept the token, signs its log by another key than this
            machine knows it by, does not serve one of its tasks, or scores another build of it.
    """
    wanted: dict[VerifierAddress, list[BuiltPackage]] = {}
    for package in packages:
        wanted.setdefault(verifiers[package.manifest.name], []).append(package)
    for address, own in wanted.items():
        with address.connect(timeout_s=QUICK_ANSWER_S) as client:
            digests = {task.name: task.digest for task in client.tasks()}
            require_known_checkpoint(client.checkpoint(), address.location)
        for package in own:
            name = package.manifest.name
            if name not in digests:
                raise VerifierError(
                    f"the verifier at {address.location} does not serve {name!r}; it serves {', '.join(digests)}"
                )
            require_same_build(package, digests[name], address)


def require_same_build(package: BuiltPackage, digest: str, address: VerifierAddress) -> None:
    """Refuse a verifier that scores another build of a task than the one that agents see.

    Args:
        package: the build that agents see.
        digest: digest of the build that the verifier scores.
        address: address of the verifier, for the message.

    Raises:
        VerifierError: the two builds differ.
    """
    # Another build may have other windows: its labels would be compared with answers about something else.
    if digest != package.manifest.digest:
        raise VerifierError(
            f"the verifier at {address.location} scores another build of {package.manifest.name!r} ({digest[:16]}) "
            "than this one "
            f"({package.manifest.digest[:16]}); update whichever is older"
        )
