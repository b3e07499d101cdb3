"""A shell and its usual programs, for command lines that users bring along, and the libraries that these need."""

from __future__ import annotations

import functools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openfingym_runtime import elf

FOLDER: Final = "/usr/bin"
"""Folder inside in which the programs are."""
NAMES: Final = """
[ awk base64 basename bash cat chmod cmp comm cp cut date dd df diff dirname du echo egrep env expr false fgrep find
fold grep gunzip gzip head hostname id join ln ls md5sum mkdir mktemp mv nl nproc od paste patch pgrep printf ps pwd
readlink realpath rm rmdir sed seq sh sha256sum sleep sort split stat tac tail tar tee test timeout touch tr true
uname uniq unzip wc which whoami xargs yes zip
"""
"""Names of the programs; those that this machine lacks are left out."""


@dataclass(frozen=True)
class ShellTools:
    """Host files to show beside Python's."""

    binds: tuple[tuple[str, str], ...]
    """Real paths of files on the host, each with its path inside."""
    links: tuple[tuple[str, str], ...]
    """Targets of symbolic links, each with the link's path."""


@functools.cache
def shell_tools(folder: Path) -> ShellTools:
    """The programs, with the libraries that they and the programs in ``folder`` need and that are not there."""
    found = {name: shutil.which(name, path="/usr/bin:/bin") for name in NAMES.split()}
    binds = {f"{FOLDER}/{name}": os.path.realpath(path) for name, path in found.items() if path is not None}
    programs = [Path(path) for path in dict.fromkeys(binds.values())]
    libraries = elf.required_libraries([*programs, *_programs_below(folder)], ())
    binds |= {inside: str(real) for inside, real in libraries.items()}
    return ShellTools(tuple((real, inside) for inside, real in binds.items()), ((FOLDER, "/bin"),))


def _programs_below(folder: Path) -> list[Path]:
    """Programs and libraries in a folder; files that are neither are told by :func:`elf.linkage`."""
    found = []
    for root, _folders, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            if not path.is_symlink() and path.is_file() and (elf.is_library(name) or os.access(path, os.X_OK)):
                found.append(path)
    return found
