"""The doors: their names, that nothing in front of them goes past one, and that the reference and the changelog know
what is public."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from tests.tenants import TENANTS

ROOT = Path(__file__).resolve().parents[2]
NAMES = Path(__file__).with_name("doors.txt")
"""The names of the last version, or those of the day on which there were first any."""
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")), *sorted((ROOT / "examples").glob("**/*.md"))]
PROGRAMS = [
    *sorted((ROOT / "examples").glob("**/*.py")),
    *sorted((ROOT / "openfingym_v1").glob("*.py")),
    *sorted((ROOT / "tests" / "distribution").glob("*.py")),
    ROOT / "tests" / "openfingym" / "kinds" / "own_kind.py",
    ROOT / "tests" / "openfingym" / "suites" / "own_suite.py",
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PACKAGES = "|".join(("openfingym", *TENANTS))
OURS = re.compile(rf"({PACKAGES})(\.|$)")
INSIDE = re.compile(rf"openfingym\.|({'|'.join(TENANTS)})(\.|$)")
"""A module of the library below the top one, or any of a tenant."""
PLACE = re.compile(rf"((?:{PACKAGES})(?:\.\w+)*):(\w+)")
"""A name in a module, as a text that is loaded."""
GROUPS = {
    f"openfingym.{group}"
    for group in (
        "collectors",
        "commands",
        "commands.questions",
        "commands.rounds",
        "event_problems",
        "forecasters",
        "loggers",
        "providers",
        "question_generators",
        "recurrent_problems",
        "series_reports",
        "stand_in_answers",
        "stand_ins",
        "tasks",
        "worlds",
    )
}
"""Groups of entry points, which are named like modules; others have the name of a door."""
HEAVY = {"openfingym.agents", "openfingym.envs", "openfingym.envs.sb3", "openfingym.kinds", "openfingym.training.trl"}
"""Doors whose classes are there at once, for other classes to be derived from."""


def script() -> ModuleType:
    """The script that writes the reference, which has the list of doors."""
    spec = importlib.util.spec_from_file_location("api_reference", ROOT / "scripts" / "api_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = script()
DOORS: dict[str, str] = REFERENCE.DOORS


@cache
def homes() -> dict[str, list[str]]:
    """The doors that have a name, by the name; the top one is the last."""
    found: dict[str, list[str]] = {}
    for door in reversed(DOORS):
        for name in REFERENCE.names_of(door):
            found.setdefault(name, []).append(door)
    return found


def past(code: str) -> Iterator[str]:
    """What a program imports past a door, each with what to write in its place."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if INSIDE.match(alias.name) and alias.name not in DOORS:
                    yield f"import {alias.name}: import names from a door of API.md"
        elif isinstance(node, ast.ImportFrom) and OURS.match(node.module or ""):
            for alias in node.names:
                yield from unlisted(str(node.module), alias.name)
        elif isinstance(node, ast.Constant) and (place := PLACE.fullmatch(str(node.value))):
            yield from unlisted(place[1], place[2])


def unlisted(module: str, name: str) -> Iterator[str]:
    """A complaint where a module is no door, or a door has no such name."""
    if f"{module}.{name}" in DOORS or (module in DOORS and name in REFERENCE.names_of(module)):
        return
    doors = homes().get(name)
    advice = f"write `from {doors[0]} import {name}`" if doors else "it is private: use what API.md lists"
    yield f"{name} of {module}: {advice}"


@pytest.mark.parametrize("door", DOORS)
def test_a_door_has_sorted_names_that_are_there(door: str) -> None:
    module, names = importlib.import_module(door), REFERENCE.names_of(door)
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert len(names) == len(set(names))
    for name in names:
        assert not isinstance(getattr(module, name), ModuleType), f"{door}.{name} is a module"


@pytest.mark.parametrize("door", DOORS)
def test_no_module_hides_a_name_of_its_door(door: str) -> None:
    modules = {module.name for module in pkgutil.iter_modules(getattr(importlib.import_module(door), "__path__", []))}
    assert modules.isdisjoint(REFERENCE.names_of(door))


def test_a_name_is_of_one_door_which_the_top_one_may_repeat() -> None:
    # Each suite is one of its door; `openfingym.run` plays one rollout, and `rollouts.run` many.
    others = {"SUITE", "run"}
    for name, doors in homes().items():
        below = [door for door in doors if door != "openfingym"]
        assert len(below) <= 1 or name in others, f"{name}: {below}"
        assert name in others or len({id(getattr(importlib.import_module(door), name)) for door in doors}) == 1


def test_a_door_loads_nothing_before_a_name_is_used() -> None:
    heavy = ["numpy", "pandas", "sklearn", "scipy", "gymnasium", "pydantic", "duckdb", "httpx", "jinja2", "rich"]
    light = [door for door in DOORS if door not in HEAVY]
    program = f"import sys, {', '.join(light)}; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_program_in_front_of_the_doors_goes_past_none(program: Path) -> None:
    assert list(past(program.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_goes_past_no_door(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert [complaint for code in BLOCK.findall(text) for complaint in past(code)] == []
    for named in re.findall(rf"`((?:{PACKAGES})(?:\.\w+)+)", FENCED.sub("", text)):
        if named in DOORS or named in GROUPS:
            continue
        # A name of a door, or a member of one.
        parts = named.split(".")
        door = max((door for door in DOORS if f"{named}.".startswith(f"{door}.")), key=len)
        rest = parts[len(door.split(".")) :]
        assert rest[0] in REFERENCE.names_of(door), f"{named}: {list(unlisted('.'.join(parts[:-1]), parts[-1]))}"


def test_what_goes_past_a_door_is_told() -> None:
    assert list(past("from openfingym.data.bars import Bars")) == [
        "Bars of openfingym.data.bars: write `from openfingym.data import Bars`"
    ]
    assert list(past("import openfingym_forge.cli")) == [
        "import openfingym_forge.cli: import names from a door of API.md"
    ]
    assert list(past("from openfingym_forge.stage import STAGES")) == [
        "STAGES of openfingym_forge.stage: it is private: use what API.md lists"
    ]
    assert len(list(past("import openfingym.lazy\nplace = 'openfingym.envs.batch:BatchEnv'"))) == 2
    assert list(past("from openfingym import rollouts, run\nfrom openfingym.vault import Vault")) == []


def test_the_reference_is_what_the_program_says() -> None:
    assert (ROOT / "API.md").read_text(encoding="utf-8") == REFERENCE.reference(), (
        "python scripts/api_reference.py > API.md"
    )


def test_the_changelog_names_each_change_of_a_door() -> None:
    before = set(NAMES.read_text(encoding="utf-8").split())
    now = {f"{door}.{name}" for door in DOORS for name in REFERENCE.names_of(door)}
    newest = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    silent = [name for name in sorted(before ^ now) if f"`{name}`" not in newest]
    assert silent == [], "name these in the changelog, each as `openfingym.door.name`"
