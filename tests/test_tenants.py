"""The library, the verifier and the runtime name no tenant."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tenants import TENANTS

ROOT = Path(__file__).resolve().parents[1]
TRUNK = (
    "openfingym",
    "openfingym_v1",
    "verifier/openfingym_verifier",
    "runtime/openfingym_runtime",
    "runtime/agent/openfingym_agent",
)
SHORT = ("forge",)
"""What tenants were called when they were rooms of the library; the room ``suites`` is still one."""
OURS = re.compile(r"openfingym(_\w+)?(\.|$)")


def named(code: str) -> Iterator[str]:
    """What of a module names a tenant: what it imports, and texts, such as a module that is loaded by its name."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (f"{tenant} in a text" for tenant in TENANTS if tenant in node.value)
            names = re.findall(r"\bopenfingym(?:\.\w+)+", node.value)
        else:
            continue
        for name in names:
            if name.partition(".")[0] in TENANTS or (OURS.match(name) and set(SHORT) & set(name.split("."))):
                yield name


def test_no_module_of_the_trunk_names_a_tenant() -> None:
    found = []
    for package in TRUNK:
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix == ".py":
                names = list(named(path.read_text(encoding="utf-8")))
            elif path.suffix in {".jinja", ".toml", ".md", ".json", ".sh", ".txt"} and path.is_file():
                text = path.read_text(encoding="utf-8")
                names = [tenant for tenant in TENANTS if tenant in text]
            else:
                continue
            found += [f"{path.relative_to(ROOT)}: {name}" for name in names]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "import openfingym_forge.stage",
        "from openfingym_forge.cli import forge",
        "def late():\n    from openfingym.forge import stage",
        "from openfingym import forge",
        'HOME = "openfingym_forge.cli:forge"',
        'HOME = f"openfingym.models.testing.forge.{name}"',
    ],
)
def test_every_way_to_name_one_is_found(code: str) -> None:
    assert list(named(code))


@pytest.mark.parametrize("code", ["import forge", "from openfingym.kinds.forging import Forging", "forge = 'forge'"])
def test_what_names_none_is_not(code: str) -> None:
    assert list(named(code)) == []


def test_every_package_of_the_wheel_is_of_the_trunk_or_a_tenant() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = stated["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    # What goes into the agent image is no package of its own in the wheel.
    assert sorted(packages) == sorted({*TRUNK, *TENANTS} - {"runtime/agent/openfingym_agent"})
    entries = stated["project"]["entry-points"]
    assert {place.split(".")[0] for group in entries.values() for place in group.values()} <= set(TENANTS)
