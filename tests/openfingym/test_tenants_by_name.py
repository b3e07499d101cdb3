"""The trunk knows no suite by name: suites, their worlds, generators, reports, commands and stand-in answers are found
through entry points, as those of anybody's package are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym.plugins import own_packages
from openfingym.suites.registry import known_suites

ROOT = Path(__file__).resolve().parents[2]
TRUNK = ("openfingym", "openfingym_v1", "verifier/openfingym_verifier", "runtime/openfingym_runtime", "runtime/agent")
TENANTS = (
    "openfingym/cli/questions_import.py",
    "openfingym/cli/rounds_verdicts.py",
    "openfingym/cli/season_report.py",
    "openfingym/models/testing/finance/",
    "openfingym/models/testing/forecasts.py",
    "openfingym/models/testing/questions.py",
    "openfingym/reports/seasons/",
    "openfingym/rounds/generators/findeepforecast.py",
    "openfingym/rounds/kept_model.py",
    "openfingym/rounds/model_events.py",
    "openfingym/rounds/verdict_proposals.py",
    "openfingym/suites/findeepforecast/",
    "openfingym/suites/finsearch/",
    "openfingym/suites/imported/",
    "openfingym/suites/mirai/",
)
"""What belongs to the suites and not to the trunk."""
NAMED = re.compile(r"mirai|finsearch|findeepforecast|suites\.imported", re.IGNORECASE)
"""The concrete suites; ``imported`` is a common word, and only looked for as a module."""
CITED = re.compile(r"et al\. 20\d\d \(\w+\)")
"""A paper, by whose name its suite goes: a metric says where it is from."""


def trunk() -> Iterator[tuple[str, str]]:
    """Places and texts of the modules of the trunk."""
    for package in TRUNK:
        for path in sorted((ROOT / package).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if not place.startswith(TENANTS):
                yield place, path.read_text(encoding="utf-8")


def named(text: str) -> list[str]:
    """Lines that name a concrete suite, but for papers."""
    return [line.strip() for line in text.splitlines() if NAMED.search(CITED.sub("", line))]


def imported(text: str) -> set[str]:
    """Full names of the modules that a module imports, at whatever place, and of what it imports from them."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_no_line_of_the_trunk_names_a_suite() -> None:
    assert [f"{place}: {line}" for place, text in trunk() for line in named(text)] == []


def test_the_trunk_imports_nothing_of_a_tenant() -> None:
    modules = tuple(place.removesuffix(".py").rstrip("/").replace("/", ".") for place in TENANTS)
    doors = {"openfingym/__init__.py", "openfingym/reports/__init__.py"}  # they have names of the report on seasons
    found = [
        f"{place}: {name}"
        for place, text in trunk()
        for name in imported(text)
        if place not in doors and any(f"{name}.".startswith(f"{module}.") for module in modules)
    ]
    assert found == []


def test_the_suites_are_found_all_the_same() -> None:
    assert {"findeepforecast", "finsearch", "imported", "mirai"} <= set(known_suites())


def test_what_the_own_distribution_brings_is_its_own() -> None:
    assert "openfingym" in own_packages()
    assert "numpy" not in own_packages()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('suite = "mirai"', True),
        ("from openfingym.suites.imported import SUITE", True),
        ('"""As in FinSearchComp."""', True),
        ('source = "Ye et al. 2024 (MIRAI)"', False),
        ("imported = read()", False),
    ],
)
def test_a_name_is_found_and_a_paper_is_not(line: str, found: bool) -> None:
    assert bool(named(line)) is found
