"""The registry file: which verifier serves which tasks.

::

    [[verifiers]]
    url = "http://10.0.0.4:8080"
    tasks = ["treasury-*", "fraud/*"]       # names, globs over names, family/glob
    admin_token_file = "treasury.token"     # without it, the token is in $OPENFINGYM_ADMIN_TOKEN

    [[verifiers]]
    socket = "fx.sock"
    tasks = ["fx-forecast"]

Paths are relative to the file. There is no token in it, so that everybody may read it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import field_validator, model_validator

from openfingym.errors import UsageError, VerifierAbsentError, VerifierError
from openfingym.files.locks import take
from openfingym.files.whole import whole_file
from openfingym.listener.guard import require_token
from openfingym.task import Task
from openfingym.task.contracts import Section, as_tuple
from openfingym.task.pattern import TaskPattern
from openfingym.task.toml import checked, read_toml
from openfingym.verifiers.address import QUICK_ANSWER_S, VerifierAddress

HEADER = (
    "# Which verifier serves which tasks; kept by `openfingym verifier serve --register FILE`, which drops comments.\n"
)


class RegistryEntry(Section):
    """One of ``[[verifiers]]``: a verifier and the tasks that are left to it."""

    url: str | None = None
    """URL of the verifier; either this or :attr:`socket`."""
    socket: str | None = None
    """Path of the verifier's unix socket, relative to the file; either this or :attr:`url`."""
    tasks: tuple[str, ...]
    """Names of tasks, globs over names (``fx-*``), or ``family/glob`` (``fraud/*``)."""
    admin_token_file: str | None = None
    """File with the admin token, relative to the registry; None where the token is in ``$OPENFINGYM_ADMIN_TOKEN``."""

    _lists = field_validator("tasks", mode="before")(as_tuple)

    @field_validator("tasks")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("needs at least one")
        for pattern in value:
            TaskPattern.parse(pattern)
        return value

    @field_validator("url")
    @classmethod
    def _scheme(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError(f"expected http://host:port, found {value!r}")
        return value

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.url is None) == (self.socket is None):
            raise ValueError("give either url or socket")
        return self

    @property
    def place(self) -> str:
        """The address of the verifier, as the file states it."""
        return self.url or str(self.socket)

    def serves(self, task: Task) -> bool:
        """Whether a task is left to this verifier."""
        return any(TaskPattern.parse(pattern).gives(task) for pattern in self.tasks)


class _File(Section):
    verifiers: tuple[RegistryEntry, ...] = ()

    _lists = field_validator("verifiers", mode="before")(as_tuple)


@dataclass(frozen=True)
class Registry:
    """The content of a registry file."""

    path: Path
    """Path of the file, to which the paths in it are relative."""
    entries: tuple[RegistryEntry, ...]
    """The entries, in the order of the file."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a registry file.

        Raises:
            UsageError: the file cannot be read, or a value in it is not allowed; the message names the key.
        """
        return cls(path, checked(_File, read_toml(path, "the registry of verifiers"), str(path)).verifiers)

    def find(self, task: Task) -> RegistryEntry:
        """The one verifier of a task.

        Raises:
            UsageError: no verifier serves the task, or more than one.
        """
        matches = [entry for entry in self.entries if entry.serves(task)]
        if len(matches) == 1:
            return matches[0]
        # Budgets and disclosures are counted by each verifier for itself, so that two would give twice as much.
        if matches:
            places = " and ".join(entry.place for entry in matches)
            raise UsageError(f"{self.path}: {task.name!r} has {len(matches)} verifiers, {places}; leave it to one")
        served = ", ".join(f"{entry.place} ({', '.join(entry.tasks)})" for entry in self.entries) or "nothing at all"
        raise UsageError(f"{self.path}: no verifier serves {task.name!r}; listed: {served}")

    def location(self, entry: RegistryEntry) -> str:
        """The URL of an entry's verifier, or the absolute path of its socket."""
        return entry.url or str(self.path.parent.absolute() / str(entry.socket))

    def token_file(self, entry: RegistryEntry) -> Path | None:
        """The file with the admin token of an entry's verifier; None where the token is in the environment."""
        return None if entry.admin_token_file is None else self.path.parent / Path(entry.admin_token_file).expanduser()


def read_token(path: Path) -> str:
    """The admin token in a file that others may not read.

    Raises:
        UsageError: the file cannot be read, others may read it, or it holds no token.
    """
    try:
        mode, token = path.stat().st_mode, path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise UsageError(f"{path}: the admin token cannot be read ({error.strerror})") from error
    # Only the rights of others count: the file's group may read it.
    if mode & 0o007:
        raise UsageError(
            f"{path}: everybody may read this admin token (mode {mode & 0o777:04o}); run: chmod o= {path}, and make a "
            "new one"
        )
    require_token(token, f"the admin token in {path}")
    return token


def make_token(path: Path) -> None:
    """Write a new admin token to a file that only this user may read, unless the file exists.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        # O_EXCL: of two verifiers that start at once, only one makes the token, and the other one reads it.
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as stream:
            stream.write(secrets.token_hex(32) + "\n")
    except FileExistsError:
        return
    except OSError as error:
        raise UsageError(f"{path}: the admin token cannot be written ({error.strerror})") from error


def register(path: Path, entry: RegistryEntry, tasks: Iterable[Task]) -> list[RegistryEntry]:
    """Add a verifier that has started; an earlier entry with the same address is replaced.

    Args:
        path: path of the registry file; made if missing.
        entry: the new entry, whose tasks are names.
        tasks: the tasks that the verifier serves.

    Returns:
        Entries of other addresses that were dropped, because no verifier answers there and this one serves all of their
        tasks.

    Raises:
        UsageError: another verifier serves one of the tasks, or the file cannot be read or written.
    """
    tasks = list(tasks)
    with _locked(path):
        registry = Registry.read(path) if path.exists() else Registry(path, ())
        kept, dead = [], []
        for other in registry.entries:
            shared = [task.name for task in tasks if other.serves(task)]
            if registry.location(other) == registry.location(entry):
                continue
            if not shared:
                kept.append(other)
            elif _answers(registry.location(other)):
                raise UsageError(
                    f"{path}: {other.place} serves {', '.join(shared)} already; leave each task to one verifier"
                )
            # A verifier that was killed could not take its entry out. The entry is dropped only if that leaves no task
            # without a verifier.
            elif set(other.tasks) <= set(entry.tasks):
                dead.append(other)
            else:
                raise UsageError(
                    f"{path}: {', '.join(shared)} is left to {other.place}, which does not answer, with other tasks; "
                    "start that one "
                    "again, or take its entry out"
                )
        _write(path, [*kept, entry])
    return dead


def unregister(path: Path, entry: RegistryEntry) -> None:
    """Take out the entry of a verifier that ends, unless somebody else has taken it out or changed it.

    Args:
        path: path of the registry file.
        entry: the entry that was given to :func:`register`.

    Raises:
        UsageError: the file cannot be read or written.
    """
    with _locked(path):
        _write(path, [other for other in Registry.read(path).entries if other != entry])


def _answers(location: str) -> bool:
    """Whether a verifier answers at a location, be it well or not."""
    # Without a token, which is another verifier's.
    with VerifierAddress(location, "").connect(timeout_s=QUICK_ANSWER_S) as client:
        try:
            client.require_well()
        except VerifierAbsentError:
            return False
        except VerifierError:
            return True
    return True


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other writers out; readers need no lock, since the file is always whole."""
    # A file beside it, since the registry itself is replaced by every write.
    try:
        lock = take(path.with_name(f".{path.name}.lock"))
    except OSError as error:
        raise UsageError(f"{path}: the registry of verifiers cannot be written ({error.strerror})") from error
    with lock:
        yield


def _write(path: Path, entries: Sequence[RegistryEntry]) -> None:
    blocks = [HEADER, *("[[verifiers]]\n" + "".join(_lines(entry)) for entry in entries)]
    try:
        with whole_file(path, mode=0o644) as stream:
            stream.write("\n".join(blocks))
    except OSError as error:
        raise UsageError(f"{path}: the registry of verifiers cannot be written ({error.strerror})") from error


def _lines(entry: RegistryEntry) -> Iterator[str]:
    for key, value in entry.model_dump(exclude_none=True).items():
        # Strings and lists of strings are written the same in JSON and in TOML.
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
