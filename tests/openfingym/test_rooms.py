"""The rooms of the library, its tenants, the verifier and the runtime, and that imports go one way between them:
CONTRIBUTING.md lists the rooms, and the code is compared."""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.tenants import TENANTS

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
ENTRIES = ("__init__", "__main__")
"""Modules by which one enters; they may import anything, and the rooms nothing of them."""


@dataclass(frozen=True)
class House:
    """An import package that consists of rooms."""

    folder: Path
    column: str
    """Head of the column of the table that lists its rooms."""
    loose: int
    """Modules that may stand outside any folder."""

    def listed(self) -> list[str]:
        """The rooms in the order of the table."""
        table = CONTRIBUTING.read_text(encoding="utf-8").split(f"| {self.column} | what |")[1].split("\n\n")[0]
        return [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)/?`", line.split("|")[1])]

    def rooms(self) -> set[str]:
        folders = {path.name for path in self.folder.iterdir() if path.is_dir() and any(path.glob("*.py"))}
        return (folders | {path.stem for path in self.folder.glob("*.py")}) - set(ENTRIES)

    def arrows(self) -> dict[tuple[str, str], str]:
        """(room that imports, room that is imported), each with one place."""
        found = {}
        for path in self.folder.rglob("*.py"):
            inside = path.relative_to(self.folder)
            here = inside.parts[0].removesuffix(".py")
            for name in imported(path):
                parts = name.split(".")
                if parts[0] == self.folder.name and len(parts) > 1 and parts[1] != here:
                    found[here, parts[1]] = f"{inside} imports {name}"
        return found


LIBRARY = House(ROOT / "openfingym", "room", loose=14)
VERIFIER = House(ROOT / "verifier" / "openfingym_verifier", "room of the verifier", loose=14)
RUNTIME = House(ROOT / "runtime" / "openfingym_runtime", "room of the runtime", loose=12)
HOUSES = [LIBRARY, VERIFIER, RUNTIME, *(House(ROOT / name, f"room of `{name}`", loose=14) for name in TENANTS)]
each_house = pytest.mark.parametrize("house", HOUSES, ids=lambda house: house.folder.name)


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Full names of what a module imports, at whatever place."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # What runs inside a sandbox is no package of ours there, and imports what is beside it.
            assert node.level == 0 or path.parent.name == "inside", f"{path}: imports are absolute"
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


@each_house
def test_every_room_is_listed_once(house: House) -> None:
    assert sorted(house.listed()) == sorted(house.rooms())


@each_house
def test_few_modules_stand_outside_any_room(house: House) -> None:
    assert len(list(house.folder.glob("*.py"))) <= house.loose


@each_house
def test_a_room_imports_only_those_above_it(house: House) -> None:
    place = {name: number for number, name in enumerate(house.listed())}
    wrong = [
        text
        for (here, there), text in house.arrows().items()
        if here not in ENTRIES and not place.get(there, 99) < place[here]
    ]
    assert wrong == []


@each_house
def test_two_folders_of_a_room_do_not_import_each_other(house: House) -> None:
    found = set()
    for path in house.folder.rglob("*.py"):
        inside = path.relative_to(house.folder).parts
        for name in imported(path):
            parts = name.split(".")[1:]
            if len(inside) > 2 and len(parts) > 2 and parts[0] == inside[0] and parts[1] != inside[1]:
                found.add((inside[0], inside[1], parts[1]))
    assert [pair for pair in found if (pair[0], pair[2], pair[1]) in found] == []


@each_house
def test_no_folder_hides_a_public_name(house: House) -> None:
    assert house.rooms().isdisjoint(getattr(importlib.import_module(house.folder.name), "__all__", ()))
