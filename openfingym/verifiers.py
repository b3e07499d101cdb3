"""Where verifiers are: one that serves every task, or several that a registry file names, each with tasks of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError, VerifierError

if TYPE_CHECKING:
    from openfingym.client import VerifierClient
    from openfingym.package import BuiltPackage
    from openfingym.task import Task
    from openfingym.verifier_registry import Entry, Registry

VERIFIER_VARIABLE = "OPENFINGYM_VERIFIER"
ANSWER_S = 600.0
"""Longest wait for an answer: where scoring is heavy, many submissions at once wait for each other."""
QUICK_ANSWER_S = 30.0
"""Longest wait for what a verifier that is well answers at once."""
ADMIN_TOKEN_VARIABLE = "OPENFINGYM_ADMIN_TOKEN"  # noqa: S105  # the name of a variable
KEY_VARIABLE = "OPENFINGYM_KEY"
"""Holds a participant's key; asked where there is no admin token."""


@dataclass(frozen=True)
class VerifierAddress:
    """Where a running verifier is, and what lets one create rollouts there: the admin token, or a participant's key."""

    location: str
    """``http://host:port``, or the path of a unix socket."""
    admin_token: str = field(repr=False)

    def connect(self, *, timeout_s: float = ANSWER_S) -> VerifierClient:
        """A client for this verifier, which waits so long for an answer."""
        from openfingym.client import VerifierClient

        if self.is_url:
            return VerifierClient(base_url=self.location, admin_token=self.admin_token, timeout_s=timeout_s)
        return VerifierClient(uds=Path(self.location), admin_token=self.admin_token, timeout_s=timeout_s)

    @property
    def is_url(self) -> bool:
        """Whether it is reached over TCP."""
        return self.location.startswith(("http://", "https://"))


def find_verifiers(location: str | VerifierAddress | None, tasks: Iterable[Task]) -> dict[str, VerifierAddress] | None:
    """The verifier of each task, by the task's name.

    Args:
        location: the URL or the unix socket of one verifier for all of them, a registry file, or an address; None for
            ``$OPENFINGYM_VERIFIER``.
        tasks: which.

    Returns:
        None where neither says anything, so that one is to be started.

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
    from openfingym.verifier_registry import Registry

    path = Path(location).expanduser()
    return Registry.read(path) if path.suffix == ".toml" or path.is_file() else None


def address_of(registry: Registry, entry: Entry) -> VerifierAddress:
    """Where the verifier of an entry is, with its token.

    Raises:
        UsageError: the token is missing, or not kept as it should be.
    """
    from openfingym.verifier_registry import read_token

    location, file = registry.location(entry), registry.token_file(entry)
    return VerifierAddress(location, token_of_environment(location) if file is None else read_token(file))


def token_of_environment(location: str) -> str:
    """The admin token in ``$OPENFINGYM_ADMIN_TOKEN``, or the participant's key in ``$OPENFINGYM_KEY``.

    Raises:
        UsageError: there is neither, or what is there is none.
    """
    for variable, what in ((ADMIN_TOKEN_VARIABLE, "an admin token"), (KEY_VARIABLE, "a participant's key")):
        token = os.environ.get(variable, "").strip()
        if token and not (token.isascii() and token.isprintable()):
            raise UsageError(f"${variable}: expected {what}, one line of visible ASCII characters")
        if token:
            return token
    raise UsageError(
        f"the verifier at {location} needs its admin token in ${ADMIN_TOKEN_VARIABLE}, or a participant's key in ${KEY_VARIABLE}"
    )


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
                raise VerifierError(f"the verifier at {address.location} does not serve {name!r}; it serves {', '.join(digests)}")
            require_same_build(package, digests[name], address)


def require_same_build(package: BuiltPackage, digest: str, address: VerifierAddress) -> None:
    """Refuse a verifier that scores another build.

    Args:
        package: the build that agents see.
        digest: of the build that is scored.
        address: the verifier's.

    Raises:
        VerifierError: they differ.
    """
    if digest != package.manifest.digest:
        raise VerifierError(
            f"the verifier at {address.location} scores another build of {package.manifest.name!r} ({digest[:16]}) than this one "
            f"({package.manifest.digest[:16]}); update whichever is older"
        )
