"""The rooms of the library, and that imports go one way between them: CONTRIBUTING.md lists the rooms, and the code is
compared."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[2] / "openfingym"
CONTRIBUTING = LIBRARY.parent / "CONTRIBUTING.md"
ENTRIES = ("__init__", "__main__")
"""Modules by which one enters; they may import anything, and the rooms nothing of them."""
LOOSE = 14
"""Modules that may stand outside any folder."""


def listed() -> list[str]:
    """The rooms in the order of the table."""
    table = CONTRIBUTING.read_text(encoding="utf-8").split("| room | what |")[1].split("\n\n")[0]
    return [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)/?`", line.split("|")[1])]


def rooms() -> set[str]:
    folders = {path.name for path in LIBRARY.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    return (folders | {path.stem for path in LIBRARY.glob("*.py")}) - set(ENTRIES)


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


def arrows() -> dict[tuple[str, str], str]:
    """(room that imports, room that is imported), each with one place."""
    found = {}
    for path in LIBRARY.rglob("*.py"):
        inside = path.relative_to(LIBRARY)
        here = inside.parts[0].removesuffix(".py")
        for name in imported(path):
            parts = name.split(".")
            if parts[0] == "openfingym" and len(parts) > 1 and parts[1] != here:
                found[here, parts[1]] = f"{inside} imports {name}"
    return found


def test_every_room_is_listed_once() -> None:
    assert sorted(listed()) == sorted(rooms())


def test_few_modules_stand_outside_any_room() -> None:
    assert len(list(LIBRARY.glob("*.py"))) <= LOOSE


def test_a_room_imports_only_those_above_it() -> None:
    place = {name: number for number, name in enumerate(listed())}
    wrong = [
        text
        for (here, there), text in arrows().items()
        if here not in ENTRIES and not place.get(there, 99) < place[here]
    ]
    assert wrong == []


def test_two_folders_of_a_room_do_not_import_each_other() -> None:
    found = set()
    for path in LIBRARY.rglob("*.py"):
        inside = path.relative_to(LIBRARY).parts
        for name in imported(path):
            parts = name.split(".")[1:]
            if len(inside) > 2 and len(parts) > 2 and parts[0] == inside[0] and parts[1] != inside[1]:
                found.add((inside[0], inside[1], parts[1]))
    assert [pair for pair in found if (pair[0], pair[2], pair[1]) in found] == []


def test_no_folder_hides_a_public_name() -> None:
    import openfingym

    assert rooms().isdisjoint(openfingym.__all__)
