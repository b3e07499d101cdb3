"""The folder of a command line that the user brings along: what it may be, and the digest by which a run knows it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openfingym import store
from openfingym.errors import UsageError
from openfingym.models.spec import KEY_VARIABLE

MOST_FILES = 200_000
SEARCHED_BYTES = 256 * 1024
"""Files up to this size are searched for secrets; longer ones are programs and data."""
SHORTEST_SECRET = 8
"""Fewest characters of a value that is looked for."""
SECRETS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Parts of names of environment variables whose values must not be in the folder."""
TELLING: Final = {
    "task.toml": "a task, whose files hold its hidden answers",
    "truth.json": "the hidden half of a task",
    "openfingym/version.py": "this library, whose files hold hidden answers",
    "result.json": "a run, with its verifier's records",
}
"""Ends of paths of files that no agent may see, and what they show to be there."""
SERIES: Final = ("statsmodels/datasets/", "arch/data/")
"""Folders of libraries with historical series, which may hold a task's hidden rows."""
CODE: Final = frozenset({".py", ".pyi", ".so", ".pyc"})
UNRELATED: Final = frozenset({"__pycache__", ".git"})
"""Folders that are shown, and are no part of what a command line does."""


@dataclass(frozen=True)
class BroughtFolder:
    """A folder that may be shown to an agent's programs."""

    path: str
    """Its real path on this machine."""
    digest: str
    """SHA-256 over the names and contents of its files, in hex."""


def read_folder(folder: Path, runs: Path | None = None) -> BroughtFolder:
    """Check that a folder may be shown, and take its digest.

    Links in it are shown as links: inside, they lead to what is at their aim there, and to nothing of this machine.

    Args:
        folder: the folder that the user names, which may be a link itself.
        runs: folder of runs, which must not be shown; None for ``runs`` in the current folder.

    Raises:
        UsageError: the folder is missing, would show hidden answers, runs, a home folder or a secret, or holds what the
            agent's user could not read; says which path, and what to do.
    """
    try:
        path = folder.resolve(strict=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read ({error.strerror}); give the folder of the command line") from error
    if not path.is_dir():
        raise UsageError(f"{folder}: is no folder; give the folder in which the command line is installed")
    _require_apart(path, runs or Path("runs"))
    return BroughtFolder(str(path), _digest(path))


def _require_apart(path: Path, runs: Path) -> None:
    """Refuse a folder that holds, or is in, what no agent may see."""
    private = {
        "the store, with the hidden answers of every task": store.home(),
        "runs, with their verifiers' records": runs.absolute(),
    }
    for what, place in private.items():
        real = Path(os.path.realpath(place))
        if path == real or path in real.parents or real in path.parents:
            raise UsageError(f"{path}: holds or is part of {real}, {what}; install the command line in a folder apart")
    # One below a home folder is usual; the home itself holds keys.
    for home in {Path.home(), Path(os.path.realpath(Path.home()))}:
        if path == home or path in home.parents:
            raise UsageError(f"{path}: holds the home folder {home}; install the command line in a folder of its own")


def _digest(path: Path) -> str:
    """SHA-256 of everything in a folder; every entry is checked on the way."""
    total, secrets = hashlib.sha256(), _secrets()
    _require_no_mounts(path)
    for count, entry in enumerate(_entries(path), 1):
        if count > MOST_FILES:
            raise UsageError(f"{path}: holds more than {MOST_FILES} files; give the folder of the command line alone")
        name, status = entry.relative_to(path).as_posix(), entry.lstat()
        _require_untelling(entry, f"/{name}", is_file=stat.S_ISREG(status.st_mode))
        content = b""
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(entry.readlink())
        else:
            _require_readable(path, entry, status.st_mode)
            if stat.S_ISREG(status.st_mode):
                content = _content_digest(entry, status.st_size, secrets)
        if UNRELATED.isdisjoint(entry.relative_to(path).parts):
            total.update(f"{name}\0{stat.S_IFMT(status.st_mode)}\0".encode("utf-8", "surrogateescape") + content)
    return total.hexdigest()


def _require_no_mounts(path: Path) -> None:
    """Refuse a folder in which others are mounted, which would be shown, too."""
    with contextlib.suppress(FileNotFoundError):  # not Linux, where nothing is shown to a sandbox
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            place = Path(line.split()[4].replace("\\040", " "))
            if path in place.parents:
                raise UsageError(f"{place}: is mounted in {path}; give a folder without mounts in it")


def _require_readable(path: Path, entry: Path, mode: int) -> None:
    """Refuse what is neither a file nor a folder, or what the agent's user could not read."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UsageError(f"{entry}: is neither a file nor a folder nor a link; take it out")
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    if mode & wanted != wanted:
        raise UsageError(f"{entry}: the agent's user could not read it; run: chmod -R a+rX {path}")


def _require_untelling(entry: Path, name: str, *, is_file: bool) -> None:
    """Refuse a file that tells hidden answers, or lies beside such files."""
    for end, what in TELLING.items():
        # Other programs call files of theirs so, too: a run has both of these.
        if name.endswith(f"/{end}") and (end != "result.json" or entry.with_name("config.json").exists()):
            raise UsageError(f"{entry}: is part of {what}; install the command line in a folder apart")
    if is_file and entry.suffix not in CODE and any(f"/{folder}" in name for folder in SERIES):
        raise UsageError(f"{entry}: is historical data, which may hold a task's hidden rows; delete such files")


def _entries(path: Path) -> Iterator[Path]:
    """Everything below a folder, in an order that is the same on every machine; links are not followed."""
    for root, folders, files in os.walk(path):
        folders.sort()
        for name in sorted([*folders, *files]):
            yield Path(root, name)


def _content_digest(path: Path, size: int, secrets: dict[bytes, str]) -> bytes:
    """SHA-256 of a file, in which no secret may be."""
    try:
        with path.open("rb") as stream:
            if size > SEARCHED_BYTES:
                return hashlib.file_digest(stream, "sha256").digest()
            content = stream.read(SEARCHED_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    for value, name in secrets.items():
        if value in content:
            raise UsageError(f"{path}: holds the value of ${name}, which no agent may see; take it out of the file")
    return hashlib.sha256(content).digest()


def _secrets() -> dict[bytes, str]:
    """Values of environment variables that are secrets by their names, with these names."""
    named = {name: value for name, value in os.environ.items() if any(part in name.upper() for part in SECRETS)}
    named |= {name: os.environ[name] for name in (KEY_VARIABLE,) if name in os.environ}
    return {os.fsencode(value): name for name, value in named.items() if len(value) >= SHORTEST_SECRET}
