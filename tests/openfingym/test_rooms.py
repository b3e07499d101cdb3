"""The rooms of the library and its tenants, and that imports go one way between them: CONTRIBUTING.md lists them and
the code is compared."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from tests.tenants import TENANTS

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PACKAGES = ("openfingym", *TENANTS)
ENTRIES = ("__init__", "__main__")
"""Modules by which one enters; they may import anything, and the rooms nothing of them."""
LOOSE = 14
"""Modules of a package that may stand outside any folder."""

of_each_package = pytest.mark.parametrize("package", PACKAGES)


def listed(package: str) -> list[str]:
    """The rooms of a package in the order of its table."""
    head = "| room | what |" if package == "openfingym" else f"| room of `{package}` | what |"
    table = CONTRIBUTING.read_text(encoding="utf-8").split(head)[1].split("\n\n")[0]
    return [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)/?`", line.split("|")[1])]


def rooms(package: str) -> set[str]:
    folders = {path.name for path in (ROOT / package).iterdir() if path.is_dir() and any(path.glob("*.py"))}
    return (folders | {path.stem for path in (ROOT / package).glob("*.py")}) - set(ENTRIES)


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Full names of what a module imports, at whatever place."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


def arrows(package: str) -> dict[tuple[str, str], str]:
    """(room that imports, room that is imported) of a package, each with one place."""
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        inside = path.relative_to(ROOT / package)
        here = inside.parts[0].removesuffix(".py")
        for name in imported(path):
            parts = name.split(".")
            if parts[0] == package and len(parts) > 1 and parts[1] != here:
                found[here, parts[1]] = f"{inside} imports {name}"
    return found


@of_each_package
def test_every_room_is_listed_once(package: str) -> None:
    assert sorted(listed(package)) == sorted(rooms(package))


@of_each_package
def test_few_modules_stand_outside_any_room(package: str) -> None:
    assert len(list((ROOT / package).glob("*.py"))) <= LOOSE


@of_each_package
def test_a_room_imports_only_those_above_it(package: str) -> None:
    place = {name: number for number, name in enumerate(listed(package))}
    wrong = [
        text
        for (here, there), text in arrows(package).items()
        if here not in ENTRIES and not place.get(there, 99) < place[here]
    ]
    assert wrong == []


@of_each_package
def test_two_folders_of_a_room_do_not_import_each_other(package: str) -> None:
    found = set()
    for path in (ROOT / package).rglob("*.py"):
        inside = path.relative_to(ROOT / package).parts
        for name in imported(path):
            top, *parts = name.split(".")
            if top != package or len(inside) <= 2 or len(parts) <= 2:
                continue
            if parts[0] == inside[0] and parts[1] != inside[1]:
                found.add((inside[0], inside[1], parts[1]))
    assert [pair for pair in found if (pair[0], pair[2], pair[1]) in found] == []


@of_each_package
def test_no_folder_hides_a_public_name(package: str) -> None:
    assert rooms(package).isdisjoint(getattr(importlib.import_module(package), "__all__", ()))
