"""A built package on disk: where its files are, and whether they are those that were built.

::

    <home>/packages/<task>/<key>/            public half, which is also a Harbor task
        package.json                         digests of every public file
        task.toml  instruction.md
        environment/Dockerfile
        environment/interface.py             what an agent's program imports; modules of its kind lie beside it
        environment/data/contract.json       shapes, units, metadata
        environment/data/NAME.npy            the public arrays; which there are depends on the task's kind
        tests/test.sh
    <home>/truth/<task>/<key>/               0700; read by the verifier, and by nothing else
        truth.json                           digest of the public half and of every hidden array
        NAME.npy                             the hidden arrays

Hidden items are in one order everywhere: the public fold first, then the private one. ``<key>`` is derived from
everything that the build reads, so that a changed input never finds an old build.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym import catalog, store
from openfingym.digests import sha256_of_json, sha256_of_text
from openfingym.errors import DigestMismatchError, OpenFinGymError, StoreError
from openfingym.files.strange import MEGABYTE, map_array, parse_json, read_bytes, read_json, require_plain, sha256
from openfingym.task import DataKind, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.machine import Libraries

PACKAGE_FORMAT = 2
DOCUMENT_LIMIT = 16 * MEGABYTE
"""Most bytes that a text or a JSON document of a package may have."""


@dataclass(frozen=True)
class PackageManifest:
    """``package.json``: what the task is, and the digests of its package."""

    format: int
    name: str
    version: str
    data_kind: DataKind
    dataset: str
    """Name of the dataset, or of the author's file."""
    dataset_digest: str
    n_train: int
    n_public: int
    """Hidden items of the public fold: windows, rows, nodes, or real windows to compare with."""
    n_private: int
    lookback: int
    horizon: int
    submission_shape: tuple[int, ...]
    submission_axes: tuple[str, ...]
    """What each axis of a submission is."""
    labels: tuple[str, ...]
    """Names along the last axis of a submission."""
    public_digest: str
    """SHA-256 over the sorted paths and digests in ``files``."""
    truth_digest: str
    """SHA-256 of ``truth.json``: a public commitment to the hidden arrays."""
    files: dict[str, str]
    """SHA-256 of each public file by its path, except ``package.json`` itself."""

    @property
    def digest(self) -> str:
        """The task digest: one value for both halves, recorded with every result."""
        return sha256_of_text(f"{self.public_digest}:{self.truth_digest}")

    @property
    def n_test(self) -> int:
        """Hidden items, both folds together."""
        return self.n_public + self.n_private

    def to_json(self) -> bytes:
        """The bytes of ``package.json``."""
        return json.dumps(asdict(self), indent=2, sort_keys=True).encode() + b"\n"

    @classmethod
    def from_json(cls, text: str) -> PackageManifest:
        """Read what :meth:`to_json` wrote."""
        data = parse_json(text)
        if not isinstance(data, dict) or not isinstance(data.get("files"), dict):
            raise TypeError("it is no object with files")
        # Every list in the file is the value of a field that is a tuple.
        lists: dict[str, Any] = {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
        return cls(**{**data, **lists})


@dataclass(frozen=True)
class BuiltPackage:
    """A complete built package: the public folder and the truth folder of one task."""

    public: Path
    """The public half."""
    truth: Path
    """The truth half; opened by the verifier only."""

    @property
    def remedy(self) -> str:
        """What to do about a damaged package, as the end of an error message."""
        # In the store a package is the folder packages/TASK/KEY.
        name = self.public.parent.name
        try:
            named = name in catalog.task_folders()
        except OpenFinGymError:
            named = False
        if named:
            return f"rebuild it with `openfingym task build {name} --force` (and --real where it is on pulled data)"
        # A task that was given by the path of its folder has no name by which `task build` would find it.
        halves = [str(half) for half in (self.public, self.truth) if half.exists()]
        if not halves:
            return "it is rebuilt when its task is next used"
        return f"remove it with `{shlex.join(['rm', '-rf', *halves])}`; it is rebuilt when its task is next used"

    @cached_property
    def manifest(self) -> PackageManifest:
        """The manifest, read from ``package.json``.

        Raises:
            StoreError: the file is missing or damaged.
        """
        path = self.public / "package.json"
        try:
            return PackageManifest.from_json(read_bytes(self.public, "package.json", DOCUMENT_LIMIT).decode())
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{path}: not a readable package manifest ({error}); {self.remedy}") from error

    @cached_property
    def task(self) -> Task:
        """The task that this package was built from, as the copy of ``task.toml`` in it states it."""
        return Task.read(self.public)

    @property
    def data(self) -> Path:
        """Folder of the public arrays and ``contract.json``, which an agent may read."""
        return self.public / "environment" / "data"

    @property
    def interface(self) -> Path:
        """Path of the module that an agent's program imports."""
        return self.public / "environment" / "interface.py"

    @property
    def instruction(self) -> Path:
        """Path of the instruction that the agent gets."""
        return self.public / "instruction.md"

    def agent_view(self, libraries: Libraries | None = None) -> dict[str, Path]:
        """The files under ``/task`` inside a sandbox or container, by name, with their host paths.

        Args:
            libraries: see :meth:`read_instruction`, whose text the instruction has.

        Raises:
            StoreError: the package is damaged, or the store cannot be written.
        """
        modules = {path.name: path for path in sorted(self.interface.parent.glob("*.py"))}
        written, text = self.read_written_instruction(), self.read_instruction(libraries)
        instruction = self.instruction if text == written else store.keep_text(text)
        return {"instruction.md": instruction, **modules, "data": self.data}

    @cached_property
    def contract(self) -> dict[str, Any]:
        """``contract.json``: everything that an agent's program can look up about the task.

        Raises:
            StoreError: the file is missing or damaged.
        """
        path = self.data / "contract.json"
        try:
            contract = read_json(self.public, "environment/data/contract.json", DOCUMENT_LIMIT)
            if not isinstance(contract, dict):
                raise ValueError("it is no object")
        except (OSError, ValueError) as error:
            raise StoreError(f"{path} cannot be read ({error}); {self.remedy}") from error
        return contract

    @property
    def windows(self) -> int:
        """Windows of the private fold, of a task that is walked through; 0 for any other."""
        return int(self.contract["windows"]["private"]) if "windows" in self.contract else 0

    def read_instruction(self, libraries: Libraries | None = None) -> str:
        """The text of the instruction that the agent gets: the package's, with the rules of its kind and with what is
        installed where it acts.

        Args:
            libraries: the libraries that its programs can import; None where it is not known yet where they will run.

        Raises:
            StoreError: the file is missing or damaged.
            TaskError: the package's ``task.toml`` cannot be read.
        """
        from openfingym.kinds import kind_of
        from openfingym.packages.instruction import told

        written, task = self.read_written_instruction(), self.task
        return told(written, kind_of(task).rules(task.spec.contract), libraries)

    def read_written_instruction(self) -> str:
        """The text of the instruction in the package, which was written before it was known where an agent acts.

        Raises:
            StoreError: the file is missing or damaged.
        """
        try:
            return read_bytes(self.public, "instruction.md", DOCUMENT_LIMIT).decode()
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.instruction} cannot be read ({error}); {self.remedy}") from error

    def array(self, name: str) -> NDArray[Any]:
        """A public array by its name, such as ``test_inputs``; memory-mapped, read-only.

        Raises:
            StoreError: the array's file is missing or damaged.
        """
        try:
            return map_array(self.public, f"environment/data/{name}.npy")
        except (OSError, ValueError) as error:
            path = self.data / f"{name}.npy"
            raise StoreError(f"{path} cannot be read ({error}); {self.remedy}") from error

    def shown_array(self, name: str) -> NDArray[Any]:
        """A public array, or one that hidden windows show a part of: for whoever holds the truth half.

        Raises:
            StoreError: the array's file is missing or damaged.
        """
        if name in self.contract["arrays"]:
            return self.array(name)
        try:
            return map_array(self.truth, f"{name}.npy")
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.truth / name}.npy cannot be read ({error}); {self.remedy}") from error

    def read_truth(self) -> dict[str, NDArray[Any]]:
        """The hidden arrays by name, after checking the digests of both halves.

        Raises:
            DigestMismatchError: either half differs from what was recorded when it was built.
            StoreError: a file of the package is missing.
        """
        import numpy as np

        # The public half first: its manifest holds the digest that the truth half is compared with.
        self.verify_public()
        try:
            stated = parse_json(read_bytes(self.truth, "truth.json", DOCUMENT_LIMIT))
            if not isinstance(stated, dict):
                raise TypeError("truth.json is no object")
            arrays = {name: sha256(self.truth, f"{name}.npy") for name in stated["arrays"]}
            actual = {"public_digest": self.manifest.public_digest, "arrays": arrays}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{self.truth}: the truth half cannot be read ({error}); {self.remedy}") from error
        if stated != actual or truth_digest(actual) != self.manifest.truth_digest:
            raise DigestMismatchError(
                f"{self.truth}: the hidden arrays are not the ones this package was built with; {self.remedy}"
            )
        # Copied: through a memory map, a later change to the file would change arrays that have been checked.
        return {name: np.array(map_array(self.truth, f"{name}.npy")) for name in arrays}

    def verify_public(self) -> None:
        """Check that every public file is there, unchanged, and that there is no other.

        Raises:
            DigestMismatchError: a file is missing, was added or changed, or is a link; the message names the first.
            StoreError: the folder cannot be read.
        """
        try:
            # Before any file is opened: a link could lead to files outside the package.
            require_plain(self.public)
        except FileNotFoundError as error:
            raise StoreError(f"{error.filename}: there is no built package; {self.remedy}") from error
        except OSError as error:
            raise DigestMismatchError(f"{error.filename} {error.strerror}: no build made that; {self.remedy}") from None
        present = {
            path.relative_to(self.public).as_posix()
            for path in self.public.rglob("*")
            if path.is_file() and path != self.public / "package.json"
        }
        stated = self.manifest.files
        for name in sorted(present | stated.keys()):
            if name not in present or name not in stated:
                state = "is missing" if name not in present else "was added"
                raise DigestMismatchError(f"{self.public / name} {state} after the build; {self.remedy}")
            if sha256(self.public, name) != stated[name]:
                raise DigestMismatchError(f"{self.public / name} changed after the build; {self.remedy}")
        # The list itself is not among the files that it states.
        if files_digest(stated) != self.manifest.public_digest:
            raise DigestMismatchError(
                f"{self.public / 'package.json'}: its digest does not match its files; {self.remedy}"
            )


def files_digest(files: dict[str, str]) -> str:
    """Digest of a set of files, from the SHA-256 of each by its path."""
    return sha256_of_json(files)


def truth_digest(record: Mapping[str, object]) -> str:
    """Digest of the truth half, from the content of ``truth.json``."""
    return sha256_of_json(record)
