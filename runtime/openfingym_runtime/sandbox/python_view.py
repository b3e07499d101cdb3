"""The files of this machine that make up the Python which an agent's program sees.

An installed wheel, a checkout and the store all hold the test period. So no folder is shown that may contain one of
them, such as ``site-packages`` or a home: the list has the standard library, the distributions that an agent may
import, and the shared libraries that these need.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import stat
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from openfingym.errors import BackendUnavailableError
from openfingym_runtime import elf
from openfingym_runtime.packages import distributions

WITH_MARKET_DATA: Final = frozenset({"arch", "statsmodels"})
"""Distributions that ship series which overlap the hidden ones; only their code is shown."""
AGENT_PACKAGE: Final = "openfingym_agent"
"""The agent's client."""
SITE: Final = "/opt/agent/site-packages"
"""Folder inside that holds the distributions."""
PYTHON_PATH: Final = f"/task:{SITE}"

_OURS: Final = "openfingym"
_CODE: Final = frozenset(
    {".py", ".pyc", ".pyi", ".so", ".pxd", ".pyx", ".in", ".typed", ".build", ".toml", ".h", ".f90"}
)
"""Suffixes of files that are no data."""
_OPENED_AT_RUN_TIME: Final = ("libgcc_s.so.1", "libgomp.so.1", "libnss_files.so.2")
"""Libraries that programs open by name, so that no ELF file says that it needs them."""
_SYSTEM_DATA: Final = ("/etc/ld.so.cache", "/usr/share/zoneinfo", "/usr/lib/locale/C.utf8")
_SITE_FOLDERS: Final = ("site-packages", "dist-packages")


@dataclass(frozen=True)
class PythonView:
    """Host files to show, and how to start Python among them."""

    interpreter: str
    """Path of the interpreter, which is the same inside as on the host."""
    binds: tuple[tuple[str, str], ...]
    """Real paths of files and folders on the host, each with its path inside."""
    hidden: tuple[str, ...]
    """Paths inside that are covered by an empty file or folder."""


@functools.cache
def python_view() -> PythonView:
    """The view for the interpreter that is running; computed once a process.

    Raises:
        BackendUnavailableError: a file that is needed is missing, or the agent's user could not read it.
    """
    # The one that a virtual environment was made from, since inside there is no environment.
    interpreter = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    standard = _standard_library()
    packages, hidden, objects = _distributions()
    modules = (path for folder in standard for path in (folder / "lib-dynload").glob("*.so"))
    # Not Tk's: there is no display inside, and it alone would bring fifteen libraries along.
    objects += [interpreter, *(path for path in modules if not path.name.startswith("_tkinter"))]
    own_libraries = (Path(sys.base_prefix) / "lib",)
    libraries = elf.required_libraries(objects, own_libraries, _OPENED_AT_RUN_TIME)
    binds = {str(interpreter): str(interpreter)}
    for folder in standard:
        binds[str(folder)] = str(folder.resolve())
        # The folders of installed distributions are inside the standard library's, and may hold openfingym itself.
        hidden += [str(folder / name) for name in _SITE_FOLDERS]
    binds |= {inside: str(real) for inside, real in libraries.items()}
    binds |= {path: os.path.realpath(path) for path in _SYSTEM_DATA if Path(path).exists()}
    binds |= {**packages, f"{SITE}/{AGENT_PACKAGE}": str(agent_package())}
    _check_readable(binds.values())
    # Folders before what is shown inside of them.
    pairs = tuple(sorted(((real, inside) for inside, real in binds.items()), key=lambda pair: pair[1].count("/")))
    return PythonView(str(interpreter), pairs, tuple(hidden))


def _standard_library() -> list[Path]:
    """Folders of the base interpreter's standard library (two where ``lib64`` is separate)."""
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    names = {"installed_base": sys.base_prefix, "installed_platbase": sys.base_exec_prefix, **base}
    folders = {Path(sysconfig.get_path(kind, vars=names)) for kind in ("stdlib", "platstdlib")}
    return sorted(folder for folder in folders if folder.is_dir())


def agent_package() -> Path:
    """Folder of the agent's client: inside an installed wheel, or beside this package in a checkout."""
    runtime = Path(__file__).resolve().parents[1]
    places = (runtime / "_image" / "runtime" / "agent" / AGENT_PACKAGE, runtime.parent / "agent" / AGENT_PACKAGE)
    for place in places:
        if place.is_dir():
            return place
    raise BackendUnavailableError(
        f"the agent's client package {AGENT_PACKAGE} is at neither {places[0]} nor {places[1]}; reinstall openfingym"
    )


def _distributions() -> tuple[dict[str, str], list[str], list[Path]]:
    """What is shown of the distributions: real paths by paths inside, paths inside to hide, and ELF files."""
    binds: dict[str, str] = {}
    hidden: dict[str, None] = {}
    objects: list[Path] = []
    for name, distribution in distributions().items():
        for entry in _recorded(distribution):
            path = PurePosixPath(entry)
            top = path.parts[0]
            # Only what lies inside site-packages is shown: files elsewhere are the host's. And ``.pth`` files run code
            # when Python starts.
            if (
                top == ".."
                or path.is_absolute()
                or top == "__pycache__"
                or top.endswith(".pth")
                or top.startswith(_OURS)
            ):
                continue
            if top not in binds:
                real = os.path.realpath(str(distribution.locate_file(top)))
                if not Path(real).exists():
                    continue
                binds[top] = real
            if elf.is_library(path.name):
                objects.append(Path(str(distribution.locate_file(entry))))
            # The historical series that some libraries ship may contain a task's hidden rows.
            if name in WITH_MARKET_DATA and (cover := _data(path)) is not None:
                hidden[f"{SITE}/{cover}"] = None
    present = [path for path in objects if path.is_file()]
    return {f"{SITE}/{top}": real for top, real in binds.items()}, list(hidden), present


def _recorded(distribution: importlib.metadata.Distribution) -> list[str]:
    """Paths of the files that a distribution installed, relative to its site-packages.

    A system's package manager may leave no RECORD behind; then every file below the distribution's top-level names is
    listed.
    """
    record = distribution.read_text("RECORD")
    if record is not None:
        # Path, digest and size. A path may hold commas itself, and is quoted then.
        return [line.rpartition(",")[0].rpartition(",")[0].strip('"') for line in record.splitlines() if line.strip()]
    names = (distribution.read_text("top_level.txt") or distribution.metadata["Name"]).split()
    listed: list[str] = []
    for name in names:
        folder = Path(str(distribution.locate_file(name)))
        listed += [f"{name}/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*") if path.is_file()]
    return listed


def _data(path: PurePosixPath) -> str | None:
    """What to cover so that data at ``path`` are not shown: the file itself, or its folder of tests; None for code."""
    if path.parts[0].endswith((".dist-info", ".egg-info")):
        return None
    if "tests" in path.parts[:-1]:
        return "/".join(path.parts[: path.parts.index("tests") + 1])
    return None if path.suffix in _CODE else str(path)


def _check_readable(paths: Iterable[str]) -> None:
    """Check that the program's user can read what it is shown.

    Raises:
        BackendUnavailableError: only the owner may read one of the files.
    """
    # Only root starts programs as another user than itself.
    if os.geteuid() != 0:
        return
    for path in paths:
        if not readable_by_all(Path(path)):
            raise BackendUnavailableError(
                f"{path} has mode {stat.S_IMODE(Path(path).stat().st_mode):04o}: an agent's program runs as another "
                f"user and could not read it; run: chmod -R a+rX {path}"
            )


def readable_by_all(path: Path) -> bool:
    """Whether every user may read the file or folder ``path`` itself, whatever its parents allow."""
    mode = path.stat().st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return mode & wanted == wanted
